"""Rewards for text-to-SQL: a predicted query is right if its rows are those of the stored answer.

    >>> score([("b",), ("a",)], ["a", "b"], order_matters=False)
    1.0
    >>> score([("b",), ("a",)], ["a", "b"], order_matters=True)
    0.0

A reward is 1.0 or 0.0. 1.0 means that the rows equal the gold answer on the real database and, if
the question brings a test suite, on each of its small databases, too. Everything else is 0.0: other
rows, no SQL in the text, SQL that fails, writes or takes too much. Gold SQL is never executed.

Trainers call `score_completions` (TRL) or `compute_score` (verl); both have an async variant.
`explain_score` says why a prediction is wrong. `RewardPool` has all of them as methods.

Only the standard library is imported. Predicted SQL runs in worker processes, read-only and within
limits. A worker that takes too long is ended and replaced; the process that asks only waits. It may
fork, and ask from many threads.

A question is told by these names, which are the columns of exports:

- database_name, gold_answer, order_matters.
- max_steps: how many steps of SQLite's virtual machine a prediction may take. By default 1 million,
  and 10 for each byte of the database.
- rule: how rows are compared, such as "spider" or "subset,=,3" (`answerkey.scoring.rules`).
- accepted_rows: the segments of a right answer whose rows tie: how many rows may stand in any
  order, and which, if LIMIT cuts a tie (`answerkey.scoring.comparison.rows_match`).
- other_answers: sql and answer of other queries that are right. A prediction must agree with gold,
  or with one of them, on all databases.
- test_suite: small databases, each with path, sha256, gold_answer, order_matters, accepted_rows and
  other_answers. They are tried in this order, after the real database.
- database_sha256: of the database file. Another file is an error, never a score.

Functions are the methods of `RewardPool`, with its options by keyword:

- rule: in place of the questions' own. rel_tol: tolerance of floats, in place of the rule's.
- databases: their folder; else the environment variable ANSWERKEY_DATABASES, or data/databases.
- test_suites: the folder of suites; else ANSWERKEY_TEST_SUITES, or data/test_suites.
- limits: what one prediction may use: `Limits`, or a mapping with some of its names.
- workers: how many processes; else ANSWERKEY_WORKERS, or as many as there are cores, up to 8.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from itertools import repeat, zip_longest
from typing import Any, NamedTuple, Self

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.completions import extract_sql, read_completion
from answerkey.scoring.pool import DEFAULT_LIMITS, Pool, find_shared_pool
from answerkey.scoring.rules import Rule, read_rule
from answerkey.scoring.worker import (
    DATABASES_VARIABLE,
    RIGHT,
    SUITES_VARIABLE,
    WRONG,
    Explanation,
    Job,
    Kind,
)
from answerkey.sqlite.answers import answer_rows
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import Limits, Row

__all__ = [
    "Explanation",
    "Limits",
    "Parts",
    "RewardPool",
    "Rule",
    "compute_score",
    "compute_score_async",
    "execute",
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

_LOG = logging.getLogger("answerkey.scoring")
_OPTIONS = ("workers", "databases", "test_suites", "limits", "rule", "rel_tol")
_JSON = ("gold_answer", "accepted_rows", "other_answers", "test_suite")
TERMS = ("max_steps", "rule", *_JSON[1:], "database_sha256")


class Parts(NamedTuple):
    """Parts of a score, each from 0.0 to 1.0: see `score_parts`."""

    executes: float
    tables: float
    columns: float
    rows: float
    on_database: float
    on_suite: float


def score(
    predicted_rows: Sequence[Sequence[Any]],
    gold_answer: Any,
    *,
    order_matters: bool,
    rule: str | Rule | None = None,
    accepted_rows: Sequence[Any] | None = None,
    other_answers: Sequence[Mapping[str, Any]] = (),
    rel_tol: float | None = None,
) -> float:
    """Return 1.0 if the rows are those of the gold answer, or of another right one, else 0.0.

    >>> score([("Tern", 40.0000001)], [["Tern", 40.0]], order_matters=False)
    1.0
    >>> score([("3",)], 3, order_matters=False), score([], [], order_matters=False)
    (0.0, 1.0)
    >>> score([(40, "Tern")], [["Tern", 40.0]], order_matters=False, rule="spider")
    1.0

    gold_answer is a JSON value, as in the product; exports hold it as JSON text (json.loads). Rows
    may hold numbers of numpy. They are rows of one database: `score_sql` tries a test suite.
    """
    rows = [tuple(map(_read_value, row)) for row in predicted_rows]
    known = {"rule": read_rule(rule, rel_tol), "order_matters": order_matters}
    is_right = rows_match(rows, gold_answer, accepted_rows=accepted_rows, **known) or any(
        rows_match(rows, other["answer"], accepted_rows=None, **known) for other in other_answers
    )
    return RIGHT if is_right else WRONG


def _read_value(value: Any) -> Any:
    """A value as SQLite gives it: that of a numpy scalar, whose types equal no others."""
    return value.item() if hasattr(value, "item") else value


def find_soft_f1(rows: Sequence[Row], gold_rows: Sequence[Row]) -> float:
    """Return BIRD's Soft-F1: each row against the gold row in its place, by the values they share.

    >>> find_soft_f1([("a", 1)], [("a", 2)]), find_soft_f1([], []), find_soft_f1([("a",)], [])
    (0.5, 1.0, 0.0)

    Equal rows count once. Source: evaluation/evaluation_f1.py of bird-bench/mini_dev.
    """
    shared = others = 0.0
    pairs = zip_longest(dict.fromkeys(rows), dict.fromkeys(gold_rows), fillvalue=())
    for row, gold_row in pairs:
        width = len(gold_row) or len(row)
        found = sum(value in gold_row for value in row)
        shared += found / width
        others += (len(row) - found + sum(value not in row for value in gold_row)) / width
    return 2 * shared / (2 * shared + others) if rows or gold_rows else 1.0


def _find_f1(found: set[Any], wanted: set[Any]) -> float:
    size = len(found) + len(wanted)
    return 2 * len(found & wanted) / size if size else 1.0


class RewardPool:
    """Worker processes that score predictions; use it as a context manager, or close it.

    >>> with RewardPool(workers=4, databases="data/databases") as pool:     # doctest: +SKIP
    ...     pool.score_completions(completions, **columns)
    [1.0, 0.0, ...]

    Workers start when they are needed. Threads may share a pool; a fork has workers of its own.

    Raises:
        FileNotFoundError: the folder of the databases is missing.
    """

    _find_processes: Callable[..., Pool] = Pool

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
        if isinstance(limits, Mapping):
            limits = replace(DEFAULT_LIMITS, **limits)
        self._folder = databases
        self._suites_folder = test_suites
        self._rule = rule
        self._rel_tol = rel_tol
        if rule is not None:
            _warn_if_loose(read_rule(rule))
        self._pool = self._find_processes(workers, limits)
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
        """End the workers; they start again if the pool is asked again."""
        self._pool.close()

    def execute(self, predicted_sql: str, database_name: str) -> list[Row] | None:
        """Return the rows of a predicted query; None if it is refused, fails or takes too much.

        Raises:
            FileNotFoundError: the database is missing, which is no fault of the prediction.
            ValueError: the database is another file than the one the question was made with.
            sqlite3.DatabaseError: the database is corrupt.
        """
        path = _find_path(self.find_folder(), database_name)
        return self._pool.run([Job(Kind.EXECUTE, path, str(predicted_sql))])[0]

    def score_sql(self, predicted_sql: str | None, gold_answer: Any, **question: Any) -> float:
        """Return the reward of a predicted query. Raises as `execute`.

        >>> score_sql("SELECT name FROM ship", ["Sun", "Tern"], database_name="fleet",
        ...           order_matters=False)                                      # doctest: +SKIP
        1.0

        gold_answer, accepted_rows and test_suite are JSON values, as in the product.
        """
        return self._ask(Kind.SCORE, predicted_sql, gold_answer, **question)

    def explain_score(
        self, predicted_sql: str | None, gold_answer: Any, **question: Any
    ) -> Explanation:
        """Return what `score_sql` gives, and why: SQLite's words, or how the rows differ.

        >>> explain_score("SELECT nam FROM ship", ["Sun"], database_name="fleet",
        ...               order_matters=False)                                  # doctest: +SKIP
        Explanation(reward=0.0, reason='sql_error', detail='no such column: nam', ...)

        It is for logs, and for a model that may try again; it shows some rows of the gold answer.
        If the test suite says wrong, `database` names its database, to which the rows belong.
        """
        return self._ask(Kind.EXPLAIN, predicted_sql, gold_answer, **question)

    def score_parts(
        self, predicted_sql: str | None, gold_answer: Any, *, gold_sql: str, **question: Any
    ) -> Parts:
        """Return parts of a score, for logs, or for a reward that you shape yourself.

        **No reward here has them: `on_suite` alone is what `score_sql` gives.** A policy learns
        what it is paid for, and each part but that can be had without the answer:

        - executes: `SELECT 1` does. It teaches to write something harmless.
        - tables, columns: the F1 of those that the query and gold SQL read. A query that reads them
          and does nothing with them has both. It teaches gold's way of writing.
        - rows: BIRD's Soft-F1 of the rows, in their order. It teaches to guess, and to return more.
        - on_database: what one database accepts. It teaches stored answers by heart.
        - on_suite: the reward, 1.0 or 0.0.

        Gold SQL is compiled, not executed. Raises as `execute`, and ValueError if SQLite refuses
        gold SQL.
        """
        explained = self.explain_score(predicted_sql, gold_answer, **question)
        path = _find_path(self.find_folder(), question["database_name"])
        jobs = [
            Job(Kind.EXECUTE, path, predicted_sql, max_steps=question.get("max_steps")),
            Job(Kind.LIST_READS, path, predicted_sql),
            Job(Kind.LIST_READS, path, gold_sql),
        ]
        rows, reads, gold_reads = self._pool.run(jobs)
        if gold_reads is None:
            raise ValueError(f"gold_sql: expected a query of {path}, found {gold_sql!r:.200}")
        if rows is None or reads is None:
            return Parts(*[WRONG] * len(Parts._fields))
        return Parts(
            executes=RIGHT,
            tables=_find_f1(*({table for table, _ in each} for each in (reads, gold_reads))),
            columns=_find_f1(*({each for each in both if each[1]} for both in (reads, gold_reads))),
            rows=find_soft_f1(rows, answer_rows(gold_answer)),
            on_database=RIGHT if explained.reward or explained.database else WRONG,
            on_suite=explained.reward,
        )

    def _ask(self, kind: Kind, predicted_sql: str | None, gold_answer: Any, **question: Any) -> Any:
        question["gold_answer"] = gold_answer
        texts = {
            name: json.dumps(question[name]) for name in _JSON if question.get(name) is not None
        }
        text = predicted_sql if predicted_sql is None else str(predicted_sql)
        return self._pool.run([self._make_job(kind, text, **{**question, **texts})])[0]

    def _make_job(
        self,
        kind: Kind,
        text: str | None,
        *,
        database_name: str,
        order_matters: bool,
        gold_answer: str | None = None,
        max_steps: int | None = None,
        rule: str | Rule | None = None,
        database_sha256: str | None = None,
        is_completion: bool = False,
        **texts: str | None,
    ) -> Job:
        # A worker has none of the packages of its user: it is sent Python's own types alone.
        known = {"gold_answer": "null" if gold_answer is None else gold_answer, **texts}
        return Job(
            kind,
            _find_path(self.find_folder(), database_name),
            text,
            is_completion=is_completion,
            max_steps=None if max_steps is None else int(max_steps),
            order_matters=bool(order_matters),
            rule=read_rule(self._rule or rule, self._rel_tol),
            suites_folder=self.find_suites_folder(),
            database_sha256=database_sha256 and str(database_sha256),
            **{name: text and _read_json(name, text) for name, text in known.items()},
        )

    def compute_score(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: str,
        extra_info: Mapping[str, Any] | None = None,
    ) -> float:
        """Return the reward of a completion: verl's reward function, for data/exports/verl.

        ground_truth is JSON text; extra_info says the rest of the question. `reward_kwargs` may set
        options.

        Source: "Implement Reward Function for Dataset" in verl's documentation
        (docs/preparation/reward_function.rst).

        Raises:
            ValueError: there is no extra_info, which names the database. Else as `execute`.
        """
        if extra_info is None:
            raise ValueError(f"{data_source}: expected extra_info with database_name, found none")
        known = {name: [extra_info[name]] for name in ("database_name", "order_matters")}
        terms = {name: [extra_info.get(name)] for name in TERMS}
        known["gold_answer"] = [ground_truth]
        return self.score_completions([solution_str], **known, **terms)[0]

    def score_completions(
        self,
        completions: Sequence[Any],
        *,
        gold_answer: Sequence[str],
        database_name: Sequence[str],
        order_matters: Sequence[bool],
        rule: Iterable[str | None] | str | Rule | None = None,
        **columns: Any,
    ) -> list[float]:
        """Return a reward for each completion: TRL's reward function, for
        data/exports/trl/prompt_completion.

        >>> score_completions(["```sql\\nSELECT name FROM ship\\n```"], database_name=["fleet"],
        ...                   gold_answer=['["Sun", "Tern"]'],
        ...                   order_matters=[False])                            # doctest: +SKIP
        [1.0]

        A completion is a text, or a chat whose last message counts; the last fenced query in it is
        scored (`extract_sql`). A column has a value for each completion; gold_answer, accepted_rows
        and test_suite are JSON text. `rule` may be one for all. Other columns are ignored.

        Source: "Using a custom reward function" in the documentation of TRL's GRPOTrainer.

        Raises: as `execute`.
        """
        count = len(completions)
        if isinstance(rule, str | Rule):
            _warn_if_loose(read_rule(rule))
            rule = repeat(rule, count)
        columns = {name: columns.get(name) for name in TERMS} | {
            "rule": rule,
            "gold_answer": gold_answer,
            "database_name": database_name,
            "order_matters": order_matters,
        }
        values = (repeat(None, count) if each is None else each for each in columns.values())
        jobs = [
            self._make_job(
                Kind.SCORE,
                str(read_completion(completion)),
                is_completion=True,
                **dict(zip(columns, question, strict=True)),
            )
            for completion, *question in zip(completions, *values, strict=True)
        ]
        return self._pool.run(jobs)

    async def compute_score_async(self, *arguments: Any, **named: Any) -> float:
        return await asyncio.to_thread(self.compute_score, *arguments, **named)

    async def score_completions_async(
        self, completions: Sequence[Any], **columns: Any
    ) -> list[float]:
        return await asyncio.to_thread(self.score_completions, completions, **columns)

    def find_folder(self) -> str:
        """The folder of the databases, as an absolute path."""
        return os.path.abspath(self._folder or os.environ.get(DATABASES_VARIABLE) or DATABASES)

    def find_suites_folder(self) -> str:
        """The folder of the databases of test suites, as an absolute path."""
        folder = self._suites_folder or os.environ.get(SUITES_VARIABLE) or TEST_SUITES
        return os.path.abspath(folder)


class SharedPool(RewardPool):
    """Options of one call; the workers are those of all calls with the same limits."""

    _find_processes = staticmethod(find_shared_pool)


def _by_shared_pool(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a pool as a function, which takes the options of one, too."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        # A rule is a column of completions, or one for all.
        own = ("rule",) if method is RewardPool.score_completions else ()
        options = {name: named.pop(name) for name in _OPTIONS if name in named and name not in own}
        return method(SharedPool(**options), *arguments, **named)

    return call


execute = _by_shared_pool(RewardPool.execute)
score_sql = _by_shared_pool(RewardPool.score_sql)
explain_score = _by_shared_pool(RewardPool.explain_score)
score_parts = _by_shared_pool(RewardPool.score_parts)
compute_score = _by_shared_pool(RewardPool.compute_score)
score_completions = _by_shared_pool(RewardPool.score_completions)


async def compute_score_async(*arguments: Any, **named: Any) -> float:
    """`compute_score` in a thread, for a loop that asks for many at once."""
    return await asyncio.to_thread(compute_score, *arguments, **named)


async def score_completions_async(completions: Sequence[Any], **columns: Any) -> list[float]:
    """`score_completions` in a thread, for a loop that has other things to do."""
    return await asyncio.to_thread(score_completions, completions, **columns)


@lru_cache  # once a rule
def _warn_if_loose(rule: Rule) -> None:
    if rule.is_loose:
        _LOG.warning(
            "rule %r is set for all questions: by it, guesses that were not asked for are right"
            " (docs/exports.md, Rules of comparison)",
            rule.name,
        )


@lru_cache(4096)
def _find_path(folder: str, database_name: str) -> str:
    return str(find_inside(folder, f"{database_name}/{database_name}.sqlite"))


def _read_json(name: str, text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"{name}: expected JSON text, as exports have it, found {type(text).__name__}:"
            f" {text!r:.80}"
        )
    return str(text)
