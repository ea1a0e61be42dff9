"""Rewards for text-to-SQL: a predicted query is right if its rows are those of the stored answer.

    >>> score([("b",), ("a",)], ["a", "b"], order_matters=False)
    1.0
    >>> score([("b",), ("a",)], ["a", "b"], order_matters=True)
    0.0

A reward is 1.0 or 0.0. It is 1.0 if the rows equal the gold answer on the real database and, if the
question has a test suite, on each of its small databases, too. Everything else is 0.0: other rows,
no SQL in the text, SQL that fails, writes or takes too much. Gold SQL is never executed.

Trainers call `score_completions` (TRL) or `compute_score` (verl); both have an async variant.
`explain_score` says why a prediction is wrong. `RewardPool` has all of them as methods.

Only the standard library is imported; for a database of another engine than SQLite, workers import
what that engine needs. Predicted SQL runs in worker processes, read-only and within limits. A
worker that takes too long is ended and replaced, while the caller only waits. The calling process
may fork, and call from many threads.

`Terms` are the facts about a question, and the columns of exports. `Options` are the folders of
databases and the limits of a prediction. Values may be those of numpy, pandas, polars, Arrow or
`datasets`; None, NaN and pandas.NA mean that a term is absent. Functions pickle by their names.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from itertools import repeat, zip_longest
from typing import Any, NamedTuple, ParamSpec, Self, TypedDict, TypeVar, Unpack

from answerkey.engines.answers import answer_rows, check_answer
from answerkey.engines.database import Limits, Row
from answerkey.engines.opening import find_database_file
from answerkey.scoring.arguments import (
    check_names,
    read_column,
    read_count,
    read_flag,
    read_json,
    read_nested,
    read_predicted_rows,
    read_rate,
    read_rule_term,
    read_terms,
    read_text,
    read_value,
    write_json,
)
from answerkey.scoring.comparison import read_other_order, rows_match
from answerkey.scoring.completions import explain_no_query, extract_sql, read_completion
from answerkey.scoring.pool import DEFAULT_LIMITS, Pool, find_shared_pool
from answerkey.scoring.rules import Rule, read_rule
from answerkey.scoring.worker import (
    DATABASES_VARIABLE,
    RIGHT,
    SUITES_VARIABLE,
    WRONG,
    Explanation,
    Job,
    JobKind,
)

__all__ = [
    "Columns",
    "Explanation",
    "Limits",
    "Options",
    "Parts",
    "RewardPool",
    "Rule",
    "Terms",
    "compute_score",
    "compute_score_async",
    "execute",
    "explain_completion",
    "explain_score",
    "extract_sql",
    "score",
    "score_completions",
    "score_completions_async",
    "score_parts",
    "score_sql",
]

DATABASES = "data/databases"
TEST_SUITES = "data/test_suites"

PathLike = str | os.PathLike[str]
P = ParamSpec("P")
R = TypeVar("R")

_LOG = logging.getLogger("answerkey.scoring")
_MANY = 4  # the least number of completions without a query that is warned about
_TOLD: set[str] = set()
_JSON = ("accepted_rows", "other_answers", "test_suite")
TERMS = ("engine", "max_steps", "max_cpu_s", "rule", *_JSON, "database_sha256", "now")


class _NeededTerms(TypedDict):
    database_name: str
    order_matters: bool


class Terms(_NeededTerms, total=False):
    """Terms of a question, beside its gold answer:

    - database_name, order_matters (whether the order of rows counts).
    - engine: sqlite, duckdb or postgres; by default that of the database's file in the folder.
    - max_steps: how many steps of SQLite's virtual machine a prediction may take. By default 1
      million, and 10 for each byte of the database.
    - max_cpu_s: how many seconds of CPU time it may take in another engine, which counts no steps.
    - rule: how rows are compared, such as "spider" or "subset,=,3" (`answerkey.scoring.rules`).
    - accepted_rows: the segments of a right answer whose rows tie: how many rows may be in any
      order, and which rows, if LIMIT cuts a tie (`answerkey.scoring.comparison.rows_match`).
    - other_answers: sql and answer of other right queries. A prediction must agree with gold, or
      with one of them, on all databases.
    - test_suite: small databases, each with path, sha256, gold_answer, order_matters, accepted_rows
      and other_answers. The prediction runs on them in this order, after the real database.
    - database_sha256: of the database file. Another file is an error, never a score.
    - now: the time of the clock for the prediction, a date or a time in UTC, such as "2025-01-30".
      Without it a prediction that reads the clock is refused.
    """

    engine: str | None
    max_steps: int | None
    max_cpu_s: int | None
    rule: str | Rule | None
    accepted_rows: Sequence[Any] | str | None
    other_answers: Sequence[Mapping[str, Any]] | str | None
    test_suite: Sequence[Mapping[str, Any]] | str | None
    database_sha256: str | None
    now: str | None


class Options(TypedDict, total=False):
    """Options, those of `RewardPool`:

    - databases: their folder; else the environment variable ANSWERKEY_DATABASES, or data/databases.
    - test_suites: the folder of suites; else ANSWERKEY_TEST_SUITES, or data/test_suites.
    - limits: the limits of one prediction: `Limits`, or a mapping with some of its names.
    - workers: how many processes; else ANSWERKEY_WORKERS, or as many as there are cores, up to 8.
    - rel_tol: tolerance of floats, in place of the rule's.
    """

    workers: int | None
    databases: PathLike | None
    test_suites: PathLike | None
    limits: Limits | Mapping[str, int] | None
    rel_tol: float | None


class _NeededColumns(TypedDict):
    gold_answer: Sequence[str]
    database_name: Sequence[str]
    order_matters: Sequence[bool]


class Columns(_NeededColumns, total=False):
    """Columns: gold_answer and the `Terms`, with a value for each completion.

    JSON terms are JSON text, as in exports. `rule` may be one for all. Trainers pass all columns
    that they have: others are ignored.
    """

    engine: Sequence[str | None] | None
    max_steps: Sequence[int | None] | None
    max_cpu_s: Sequence[int | None] | None
    rule: Sequence[str | None] | str | Rule | None
    accepted_rows: Sequence[str | None] | None
    other_answers: Sequence[str | None] | None
    test_suite: Sequence[str | None] | None
    database_sha256: Sequence[str | None] | None
    now: Sequence[str | None] | None


class TermsAndOptions(Terms, Options, total=False):
    pass


class ColumnsAndOptions(Columns, Options, total=False):
    pass


TermsAndOptions.__doc__ = ColumnsAndOptions.__doc__ = Options.__doc__


class Parts(NamedTuple):
    """Parts of a score, each from 0.0 to 1.0: see `score_parts`."""

    executes: float
    tables: float
    columns: float
    rows: float
    on_database: float
    on_suite: float


@check_names()
def score(
    predicted_rows: Iterable[Any],
    gold_answer: Any,
    *,
    order_matters: bool,
    rule: str | Rule | None = None,
    accepted_rows: Sequence[Any] | None = None,
    other_answers: Sequence[Mapping[str, Any]] | None = None,
    rel_tol: float | None = None,
) -> float:
    """Return 1.0 if the rows are those of the gold answer, or of another right query, else 0.0.

    >>> score([("Tern", 40.0000001)], [["Tern", 40.0]], order_matters=False)
    1.0
    >>> score([("3",)], 3, order_matters=False), score([], [], order_matters=False)
    (0.0, 1.0)
    >>> score([(40, "Tern")], [["Tern", 40.0]], order_matters=False, rule="spider")
    1.0

    gold_answer is a JSON value, as in the product; exports have it as JSON text (json.loads).
    accepted_rows and other_answers are values or JSON text. Rows may be an array or a data frame,
    where NaN is NULL. They are rows of one database: `score_sql` uses a test suite, too.

    Raises:
        TypeError: an argument has another type. JSON text as gold_answer is a TypeError, too, if
            its value is right, and the text itself is not.
        ValueError: the gold answer has no shape of an answer.
    """
    rows = read_predicted_rows("predicted_rows", predicted_rows)
    order_matters = read_flag("order_matters", order_matters)
    known: dict[str, Any] = {
        "rule": read_rule(read_rule_term("rule", rule), read_rate("rel_tol", rel_tol)),
        "order_matters": order_matters,
    }
    gold_answer = check_answer("gold_answer", read_json("gold_answer", gold_answer))
    accepted_rows = _read_list("accepted_rows", accepted_rows)
    others = _read_list("other_answers", other_answers) or ()
    is_right = rows_match(rows, gold_answer, accepted_rows=accepted_rows, **known) or any(
        _is_other_answer(rows, other, **known) for other in others
    )
    if is_right:
        return RIGHT
    if (text := _find_json_text(gold_answer)) is not None and rows_match(
        rows, json.loads(text), accepted_rows=accepted_rows, **known
    ):
        raise TypeError(_explain_json_text(text))
    return WRONG


def _is_other_answer(
    rows: list[Row], other: Mapping[str, Any], *, rule: Rule, order_matters: bool
) -> bool:
    order, accepted_rows = read_other_order(other, order_matters=order_matters)
    answer = other["answer"]
    return rows_match(rows, answer, rule=rule, order_matters=order, accepted_rows=accepted_rows)


def _read_list(name: str, value: Any) -> Any:
    own = read_json(name, value)
    return json.loads(own) if type(own) is str else own


def _find_json_text(gold_answer: Any) -> str | None:
    """Return a gold answer if it is a text that may be the JSON text of another answer."""
    text = read_value(gold_answer)
    if type(text) is not str:
        return None
    try:
        check_answer("gold_answer", json.loads(text))
    except (ValueError, RecursionError):
        return None
    return text


def _explain_json_text(text: str) -> str:
    return (
        f"gold_answer: found the text {text!r:.80}. The rows are not this text, but the answer that"
        " it spells as JSON. Exports have JSON text: give json.loads(gold_answer). If the text"
        " itself is the answer, give [gold_answer]"
    )


def find_soft_f1(rows: Sequence[Row], gold_rows: Sequence[Row]) -> float:
    """Return BIRD's Soft-F1: compare each row with the gold row at its position, by shared values.

    >>> find_soft_f1([("a", 1)], [("a", 2)]), find_soft_f1([], []), find_soft_f1([("a",)], [])
    (0.5, 1.0, 0.0)

    Equal rows count once. Source: evaluation/evaluation_f1.py of bird-bench/mini_dev.
    """
    shared = others = 0.0
    pairs = zip_longest(dict.fromkeys(rows), dict.fromkeys(gold_rows), fillvalue=())
    for row, gold_row in pairs:
        width = len(gold_row) or len(row)
        matches = sum(value in gold_row for value in row)
        shared += matches / width
        others += (len(row) - matches + sum(value not in row for value in gold_row)) / width
    return 2 * shared / (2 * shared + others) if rows or gold_rows else 1.0


def _find_f1(predicted: set[Any], wanted: set[Any]) -> float:
    size = len(predicted) + len(wanted)
    return 2 * len(predicted & wanted) / size if size else 1.0


def _in_thread(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a function that runs another one in a thread, so that the event loop goes on."""

    @wraps(function)
    async def call(*arguments: P.args, **named: P.kwargs) -> R:
        return await asyncio.to_thread(function, *arguments, **named)

    call.__name__ += "_async"
    call.__qualname__ += "_async"
    return call


class RewardPool:
    """Worker processes that score predictions; use it as a context manager, or close it.

    >>> with RewardPool(workers=4, databases="data/databases") as pool:     # doctest: +SKIP
    ...     pool.score_completions(completions, **columns)
    [1.0, 0.0, ...]

    Workers start when they are needed. Threads may share a pool; a fork has workers of its own.

    rule: replaces the questions' own. The others are `Options`.

    Raises:
        FileNotFoundError: the folder of the databases is missing.
    """

    _find_processes: Callable[..., Pool] = Pool

    @check_names()
    def __init__(
        self,
        workers: int | None = None,
        *,
        databases: PathLike | None = None,
        test_suites: PathLike | None = None,
        limits: Limits | Mapping[str, int] | None = None,
        rule: str | Rule | None = None,
        rel_tol: float | None = None,
    ) -> None:
        self._folder = databases
        self._suites_folder = test_suites
        self._rule = read_rule_term("rule", rule)
        self._rel_tol = read_rate("rel_tol", rel_tol)
        if self._rule is not None:
            _warn_if_loose(self._rule)
        self._pool = self._find_processes(read_count("workers", workers), _read_limits(limits))
        folder = self.find_folder()
        if not os.path.isdir(folder):
            raise FileNotFoundError(
                f"No databases at {folder}: expected the folder of the dataset; fetch it by `dvc"
                f" pull data/databases`, or say where it is by the option `databases` or the"
                f" environment variable {DATABASES_VARIABLE}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers. They start again when the pool gets new work."""
        self._pool.close()

    @check_names()
    def execute(
        self, predicted_sql: str, database_name: str, *, now: str | None = None
    ) -> list[Row] | None:
        """Return the rows of a predicted query; None if it is refused, fails or takes too much.

        now: the time of its clock, as in `Terms`.

        Raises:
            FileNotFoundError: the database is missing, which is not the prediction's fault.
            ValueError: the database is another file than the one the question was made with.
            TypeError: an argument has another type, or an unknown name.
            sqlite3.DatabaseError: the database is corrupt.
        """
        sql = read_text("predicted_sql", predicted_sql)
        terms = read_terms(database_name=database_name, now=now)
        path = find_database_file(self.find_folder(), terms["database_name"])
        job = Job(JobKind.EXECUTE, path, sql, now=terms["now"])
        rows: list[Row] | None = self._pool.run([job])[0]
        return rows

    @check_names()
    def score_sql(
        self, predicted_sql: str | None, gold_answer: Any, **terms: Unpack[Terms]
    ) -> float:
        """Return the reward of a predicted query. Raises as `execute`.

        >>> score_sql("SELECT name FROM ship", ["Sun", "Tern"], database_name="fleet",
        ...           order_matters=False)                                      # doctest: +SKIP
        1.0

        gold_answer is a JSON value, as in the product; exports have it as JSON text (json.loads). A
        text is an answer itself: '7' is not the number 7. JSON text is a TypeError if the
        prediction is right by its value and wrong by the text; `explain_score` says so in `detail`.
        accepted_rows, other_answers and test_suite are JSON values or JSON text.
        """
        text = read_text("predicted_sql", predicted_sql)
        job = self._make_job(JobKind.SCORE, text, gold_answer, terms)
        reward: float | None = self._pool.run([job])[0]
        if not reward and (words := self._explain_wrong_form(job, gold_answer)):
            raise TypeError(words)
        return reward or WRONG

    def _explain_wrong_form(self, job: Job, gold_answer: Any) -> str | None:
        """Return an error text if a prediction is wrong only because gold_answer is JSON text."""
        text = _find_json_text(gold_answer)
        if text is None:
            return None
        as_json = job._replace(kind=JobKind.SCORE, gold_answer=text)
        return _explain_json_text(text) if self._pool.run([as_json])[0] else None

    def _explain(self, job: Job, gold_answer: Any) -> Explanation:
        explanation: Explanation = self._pool.run([job])[0]
        if not explanation.reward and (words := self._explain_wrong_form(job, gold_answer)):
            return replace(explanation, detail=f"{explanation.detail} {words}")
        return explanation

    @check_names()
    def explain_score(
        self, predicted_sql: str | None, gold_answer: Any, **terms: Unpack[Terms]
    ) -> Explanation:
        """Return the reward of `score_sql`, and the reason: SQLite's message, or how rows differ.

        >>> explain_score("SELECT nam FROM ship", ["Sun"], database_name="fleet",
        ...               order_matters=False)                                  # doctest: +SKIP
        Explanation(reward=0.0, reason='sql_error', detail='no such column: nam', ...)

        It is for logs, and for a model that may try again; it shows some rows of the gold answer.
        If the test suite rejects the prediction, `database` names the database with these rows.
        """
        text = read_text("predicted_sql", predicted_sql)
        return self._explain(self._make_job(JobKind.EXPLAIN, text, gold_answer, terms), gold_answer)

    @check_names()
    def explain_completion(
        self, completion: Any, gold_answer: Any, **terms: Unpack[Terms]
    ) -> Explanation:
        """Return the reward of `score_completions` for one completion, and the reason.

        >>> explain_completion("SELECT name FROM ship", ["Sun"], database_name="fleet",
        ...                    order_matters=False)                             # doctest: +SKIP
        Explanation(reward=0.0, reason='no_query', detail='no SQL in a fenced block: ...', ...)

        A completion and its query are as for `score_completions`; all else is as for
        `explain_score`.
        """
        text = _read_text(completion)
        job = self._make_job(JobKind.EXPLAIN, text, gold_answer, terms, is_completion=True)
        return self._explain(job, gold_answer)

    @check_names()
    def score_parts(
        self, predicted_sql: str | None, gold_answer: Any, *, gold_sql: str, **terms: Unpack[Terms]
    ) -> Parts:
        """Return parts of a score, for logs, or for a reward that you shape yourself.

        **Do not use them as a reward: only `on_suite` is what `score_sql` gives.** A policy learns
        whatever it is paid for, and can get each other part without the answer:

        - executes: `SELECT 1` does. It teaches to write something harmless.
        - tables, columns: the F1 of those that the query and gold SQL read. A query that reads them
          and ignores them has both. It teaches gold's way of writing.
        - rows: BIRD's Soft-F1 of the rows, in their order. It teaches to guess, and to return more.
        - on_database: right on the real database alone. It teaches memorized answers.
        - on_suite: the reward, 1.0 or 0.0.

        Gold SQL is compiled, not executed. Raises as `execute`, and ValueError if SQLite refuses
        gold SQL.
        """
        text = read_text("predicted_sql", predicted_sql)
        gold_text = read_text("gold_sql", gold_sql)
        job = self._make_job(JobKind.EXPLAIN, text, gold_answer, terms)
        jobs = [
            job,
            job._replace(kind=JobKind.EXECUTE),
            Job(JobKind.LIST_READS, job.path, text, now=job.now),
            Job(JobKind.LIST_READS, job.path, gold_text, now=job.now),
        ]
        explained, rows, reads, gold_reads = self._pool.run(jobs)
        if gold_reads is None:
            raise ValueError(f"gold_sql: expected a query of {job.path}, found {gold_sql!r:.200}")
        if not explained.reward and (words := self._explain_wrong_form(job, gold_answer)):
            raise TypeError(words)
        if rows is None or reads is None:
            return Parts(*[WRONG] * len(Parts._fields))
        return Parts(
            executes=RIGHT,
            tables=_find_f1(*({table for table, _ in each} for each in (reads, gold_reads))),
            columns=_find_f1(*({each for each in both if each[1]} for both in (reads, gold_reads))),
            rows=find_soft_f1(rows, answer_rows(read_json("gold_answer", gold_answer))),
            on_database=RIGHT if explained.reward or explained.database else WRONG,
            on_suite=explained.reward,
        )

    def _make_job(
        self,
        kind: JobKind,
        text: str | None,
        gold_answer: Any,
        terms: Terms,
        *,
        is_completion: bool = False,
    ) -> Job:
        known: dict[str, Any] = {**terms, "gold_answer": write_json("gold_answer", gold_answer)}
        for name in _JSON:
            if not isinstance(value := read_value(known.get(name)), str | None):
                known[name] = write_json(name, value)
        known = read_terms(**known)
        name, engine = known.pop("database_name"), known.pop("engine", None)
        return Job(
            kind,
            find_database_file(self.find_folder(), name, engine=engine),
            text,
            is_completion=is_completion,
            suites_folder=self.find_suites_folder(),
            **known | {"rule": read_rule(self._rule or known.get("rule"), self._rel_tol)},
        )

    @check_names()
    def compute_score(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: str,
        extra_info: Mapping[str, Any] | None = None,
    ) -> float:
        """Return the reward of a completion: verl's reward function, for data/exports/verl.

        ground_truth is JSON text; extra_info has the other terms of the question. `reward_kwargs`
        may set options.

        Source: "Implement Reward Function for Dataset" in verl's documentation
        (docs/preparation/reward_function.rst).

        Raises:
            ValueError: there is no extra_info, which names the database. Otherwise as `execute`.
        """
        if extra_info is None:
            raise ValueError(f"{data_source}: expected extra_info with database_name, found none")
        terms: dict[str, Any] = {
            name: [extra_info.get(name)] for name in ("database_name", "order_matters", *TERMS)
        }
        return self.score_completions([solution_str], gold_answer=[ground_truth], **terms)[0]

    @check_names(ignores_others=True)
    def score_completions(
        self, completions: Sequence[Any], **columns: Unpack[Columns]
    ) -> list[float]:
        """Return a reward for each completion: TRL's reward function, for
        data/exports/trl/prompt_only.

        >>> score_completions(["```sql\\nSELECT name FROM ship\\n```"], database_name=["fleet"],
        ...                   gold_answer=['["Sun", "Tern"]'],
        ...                   order_matters=[False])                            # doctest: +SKIP
        [1.0]

        A completion is a text, or a chat whose last message counts; the last fenced query in it is
        scored (`extract_sql`).

        Source: "Using a custom reward function" in the documentation of TRL's GRPOTrainer.

        Raises: as `execute`.
        """
        texts = [*map(_read_text, read_value(completions))]
        count = len(texts)
        known: dict[str, Any] = {name: columns.get(name) for name in Columns.__annotations__}
        if isinstance(rule := known["rule"], str | Rule):
            _warn_if_loose(read_rule(rule))
            known["rule"] = [rule] * count
        read = {name: read_column(name, values, count) for name, values in known.items()}
        folder, own_rule, rel_tol = self.find_folder(), self._rule, self._rel_tol
        parts: dict[str, Iterable[Any]] = {
            **read,
            "kind": repeat(JobKind.SCORE),
            "path": [
                find_database_file(folder, name, engine=engine)
                for name, engine in zip(read["database_name"], read["engine"], strict=False)
            ],
            "text": texts,
            "is_completion": repeat(True),
            "gold_answer": ["null" if answer is None else answer for answer in read["gold_answer"]],
            "rule": [read_rule(own_rule or own, rel_tol) for own in read["rule"]],
            "suites_folder": repeat(self.find_suites_folder()),
        }
        jobs = [*map(Job._make, zip(*(parts[name] for name in Job._fields), strict=False))]
        rewards: list[float | None] = self._pool.run(jobs)
        without_query = rewards.count(None)
        if without_query >= _MANY and 2 * without_query >= count:
            first = rewards.index(None)
            _warn_of_no_query(count, without_query, explain_no_query(texts[first]))
        return [reward or WRONG for reward in rewards]

    compute_score_async = _in_thread(compute_score)
    """`compute_score` in a thread, for a loop that has other things to do."""
    score_completions_async = _in_thread(score_completions)
    """`score_completions` in a thread, for a loop that has other things to do."""

    def find_folder(self) -> str:
        """Return the folder of the databases, as an absolute path."""
        return os.path.abspath(self._folder or os.environ.get(DATABASES_VARIABLE) or DATABASES)

    def find_suites_folder(self) -> str:
        """Return the folder of the databases of test suites, as an absolute path."""
        folder = self._suites_folder or os.environ.get(SUITES_VARIABLE) or TEST_SUITES
        return os.path.abspath(folder)


class SharedPool(RewardPool):
    """The options of one call. All calls with the same limits share their workers."""

    _find_processes = staticmethod(find_shared_pool)


def _read_text(completion: Any) -> str:
    return completion if type(completion) is str else read_completion(read_nested(completion))


def _share(named: Mapping[str, Any]) -> tuple[SharedPool, Any]:
    """Return the pool for the options among these names, and the other names."""
    others = {**named}
    options = {name: others.pop(name) for name in Options.__optional_keys__ & others.keys()}
    return SharedPool(**options), others


@check_names(RewardPool.execute)
def execute(
    predicted_sql: str,
    database_name: str,
    *,
    now: str | None = None,
    **options: Unpack[Options],
) -> list[Row] | None:
    """Call `RewardPool.execute` in workers that all calls share."""
    return SharedPool(**options).execute(predicted_sql, database_name, now=now)


@check_names(RewardPool.score_sql)
def score_sql(
    predicted_sql: str | None, gold_answer: Any, **named: Unpack[TermsAndOptions]
) -> float:
    """Call `RewardPool.score_sql` in workers that all calls share."""
    pool, terms = _share(named)
    return pool.score_sql(predicted_sql, gold_answer, **terms)


@check_names(RewardPool.explain_score)
def explain_score(
    predicted_sql: str | None, gold_answer: Any, **named: Unpack[TermsAndOptions]
) -> Explanation:
    """Call `RewardPool.explain_score` in workers that all calls share."""
    pool, terms = _share(named)
    return pool.explain_score(predicted_sql, gold_answer, **terms)


@check_names(RewardPool.explain_completion)
def explain_completion(
    completion: Any, gold_answer: Any, **named: Unpack[TermsAndOptions]
) -> Explanation:
    """Call `RewardPool.explain_completion` in workers that all calls share."""
    pool, terms = _share(named)
    return pool.explain_completion(completion, gold_answer, **terms)


@check_names(RewardPool.score_parts)
def score_parts(
    predicted_sql: str | None, gold_answer: Any, *, gold_sql: str, **named: Unpack[TermsAndOptions]
) -> Parts:
    """Call `RewardPool.score_parts` in workers that all calls share."""
    pool, terms = _share(named)
    return pool.score_parts(predicted_sql, gold_answer, gold_sql=gold_sql, **terms)


@check_names(RewardPool.compute_score)
def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    rule: str | Rule | None = None,
    **options: Unpack[Options],
) -> float:
    """Call `RewardPool.compute_score` in workers that all calls share."""
    pool = SharedPool(rule=rule, **options)
    return pool.compute_score(data_source, solution_str, ground_truth, extra_info)


@check_names(RewardPool.score_completions, ignores_others=True)
def score_completions(
    completions: Sequence[Any], **named: Unpack[ColumnsAndOptions]
) -> list[float]:
    """Call `RewardPool.score_completions` in workers that all calls share."""
    pool, columns = _share(named)
    return pool.score_completions(completions, **columns)


compute_score_async = _in_thread(compute_score)
"""`compute_score` in a thread, for a loop that has other things to do."""
score_completions_async = _in_thread(score_completions)
"""`score_completions` in a thread, for a loop that has other things to do."""


def _read_limits(limits: Limits | Mapping[str, int] | None) -> Limits | None:
    if limits is None or isinstance(limits, Limits):
        return limits
    counts = {name: read_count(f"limits: {name}", value) for name, value in limits.items()}
    if wrong := counts.keys() - set(Limits.__slots__):
        raise TypeError(
            f"limits: no limit is named {', '.join(sorted(wrong))}:"
            f" expected some of {', '.join(Limits.__slots__)}"
        )
    return replace(DEFAULT_LIMITS, **{name: value for name, value in counts.items() if value})


def _warn_of_no_query(count: int, without_query: int, why: str) -> None:
    if not _TOLD:  # once, since batches of one run are alike
        _TOLD.add("no query")
        _LOG.warning(
            "%d of %d completions score 0.0 without a query, the first for: %s."
            " `explain_completion` says it of each; later batches are not warned of",
            without_query,
            count,
            why,
        )


@lru_cache  # warns once per rule
def _warn_if_loose(rule: Rule) -> None:
    if rule.is_loose:
        _LOG.warning(
            "rule %r is set for all questions: by it, guesses that were not asked for are right"
            " (docs/exports.md, Rules of comparison)",
            rule.name,
        )
