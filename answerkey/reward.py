"""Rewards for text-to-SQL from stored gold answers: no gold SQL is executed.

    >>> score([("b",), ("a",)], ["a", "b"], order_matters=False)
    1.0
    >>> score([("b",), ("a",)], ["a", "b"], order_matters=True)
    0.0

Nothing but the standard library is imported. `compute_score` has the signature of verl's custom
reward functions, `score_completions` that of TRL's; both have an async variant. All are methods of
`RewardPool`, too.

Predicted SQL is executed in worker processes, read-only and within limits, on the databases of the
dataset. A worker whose prediction takes too long is replaced; the process that asks waits, and is
in no danger. It may fork, and ask from many threads.

What the dataset says of a question, under the names of the columns of exports:

- database_name, gold_answer, order_matters.
- max_steps: how many virtual machine steps of SQLite a prediction may take. Where nothing is said:
  1 million, and 10 for each byte of the database.
- rule: how rows are compared, such as "spider" or "subset,=,3" (`answerkey.scoring.rules`).
- accepted_rows: where rows tie, the segments of a right answer: how many rows may stand in any
  order, and where LIMIT cuts a tie, which. (`answerkey.scoring.comparison.rows_match`.)
- test_suite: small databases on which a prediction must be right, too, each with path, sha256,
  gold_answer, order_matters and accepted_rows. They are tried in their order once the real database
  says right.
- database_sha256: of the database file. It and those of the suite are read once, and again where
  they have changed: another file than the one of the question is an error, and never a score.

Options, by keyword, of RewardPool and of functions:

- rule: in place of that of the questions. rel_tol: relative tolerance between floats, in place of
  that of the rule.
- databases: their folder. By default the environment variable ANSWERKEY_DATABASES, or
  data/databases.
- test_suites: the folder of the databases of test suites. By default the environment variable
  ANSWERKEY_TEST_SUITES, or data/test_suites.
- limits: what one prediction may use: `Limits`, or a mapping with some of its names.
- workers: how many processes, by default the environment variable ANSWERKEY_WORKERS, or as many as
  there are cores, up to 8.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.completions import extract_sql
from answerkey.scoring.jobs import RIGHT, WRONG, Explanation
from answerkey.scoring.reward_pool import RewardPool, SharedPool, find_rule
from answerkey.scoring.rules import Rule
from answerkey.sqlite.guard import Limits, Row

__all__ = [
    "Explanation",
    "Limits",
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
    "score_sql",
]


def score(
    predicted_rows: Sequence[Sequence[Any]],
    gold_answer: Any,
    *,
    order_matters: bool,
    rule: str | Rule | None = None,
    accepted_rows: Sequence[Any] | None = None,
    rel_tol: float | None = None,
) -> float:
    """1.0 where the rows are those of the gold answer, else 0.0.

    >>> score([("Tern", 40.0000001)], [["Tern", 40.0]], order_matters=False)
    1.0
    >>> score([("3",)], 3, order_matters=False), score([], [], order_matters=False)
    (0.0, 1.0)
    >>> score([(40, "Tern")], [["Tern", 40.0]], order_matters=False, rule="spider")
    1.0

    gold_answer is the JSON value, as the product has it (exports hold it as JSON text: json.loads).
    Rows of your own may hold numbers of numpy, which count as those of Python. They are rows of one
    database: what tries a test suite is `score_sql`.
    """
    is_right = rows_match(
        [tuple(map(_read_value, row)) for row in predicted_rows],
        gold_answer,
        rule=find_rule(rule, rel_tol),
        order_matters=order_matters,
        accepted_rows=accepted_rows,
    )
    return RIGHT if is_right else WRONG


def _read_value(value: Any) -> Any:
    """A value as SQLite gives it: that of a numpy scalar, whose types equal no others."""
    return value.item() if hasattr(value, "item") else value


def execute(predicted_sql: str, database_name: str, **options: Any) -> list[Row] | None:
    """The rows of a predicted query; None where it is refused, fails or takes too much.

    Raises:
        FileNotFoundError: where the database is missing, which is no fault of the prediction.
        ValueError: where the question says that it was made with another file.
        sqlite3.DatabaseError: where it is corrupt.
    """
    return SharedPool(**options).execute(predicted_sql, database_name)


def score_sql(
    predicted_sql: str | None,
    gold_answer: Any,
    *,
    database_name: str,
    order_matters: bool,
    max_steps: int | None = None,
    accepted_rows: Sequence[Any] | None = None,
    test_suite: list[dict[str, Any]] | None = None,
    database_sha256: str | None = None,
    **options: Any,
) -> float:
    """`score` of the rows of a predicted query; 0.0 where it has none. Raises as `execute`.

    gold_answer, accepted_rows and test_suite are JSON values, as the product and its sidecars have
    them.
    """
    return SharedPool(**options).score_sql(
        predicted_sql,
        gold_answer,
        database_name=database_name,
        order_matters=order_matters,
        max_steps=max_steps,
        accepted_rows=accepted_rows,
        test_suite=test_suite,
        database_sha256=database_sha256,
    )


def explain_score(
    predicted_sql: str | None,
    gold_answer: Any,
    *,
    database_name: str,
    order_matters: bool,
    max_steps: int | None = None,
    accepted_rows: Sequence[Any] | None = None,
    test_suite: list[dict[str, Any]] | None = None,
    database_sha256: str | None = None,
    **options: Any,
) -> Explanation:
    """What `score_sql` gives, and why: SQLite's words, or how the rows differ. Raises as `execute`.

    >>> explain_score("SELECT nam FROM ship", ["Sun"], database_name="fleet",
    ...               order_matters=False)                                  # doctest: +SKIP
    Explanation(reward=0.0, reason='sql_error', detail='no such column: nam', ...)

    For logs, and for a model that may try again; it shows some rows of the gold answer. Where the
    test suite says wrong, `database` names its database, to which the rows belong.
    """
    return SharedPool(**options).explain_score(
        predicted_sql,
        gold_answer,
        database_name=database_name,
        order_matters=order_matters,
        max_steps=max_steps,
        accepted_rows=accepted_rows,
        test_suite=test_suite,
        database_sha256=database_sha256,
    )


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    **options: Any,
) -> float:
    """verl's reward function, for data/exports/verl: ground_truth is JSON text, extra_info says the
    rest of the question. Options may be set by `reward_kwargs`.

    Source: "Implement Reward Function for Dataset" in verl's documentation
    (docs/preparation/reward_function.rst).

    Raises:
        ValueError: without extra_info, which says which database is asked. Else as `execute`.
    """
    return SharedPool(**options).compute_score(data_source, solution_str, ground_truth, extra_info)


async def compute_score_async(*arguments: Any, **named: Any) -> float:
    """`compute_score` in a thread, for a loop that asks for many at once."""
    return await asyncio.to_thread(compute_score, *arguments, **named)


def score_completions(
    completions: Sequence[Any],
    *,
    workers: int | None = None,
    databases: str | os.PathLike[str] | None = None,
    test_suites: str | os.PathLike[str] | None = None,
    limits: Limits | Mapping[str, int] | None = None,
    rel_tol: float | None = None,
    **columns: Any,
) -> list[float]:
    """TRL's reward function, for data/exports/trl/prompt_completion: a reward for each completion,
    which is a text, or a chat whose last message counts.

    columns: those of the dataset, a value for each completion: database_name, gold_answer (JSON
    text), order_matters, max_steps, rule, accepted_rows and test_suite (JSON text), and
    database_sha256. `rule` may be one for all. Others are passed over.

    Source: "Using a custom reward function" in the documentation of TRL's GRPOTrainer.

    Raises: as `execute`.
    """
    pool = SharedPool(
        workers, databases=databases, test_suites=test_suites, limits=limits, rel_tol=rel_tol
    )
    return pool.score_completions(completions, **columns)


async def score_completions_async(completions: Sequence[Any], **columns: Any) -> list[float]:
    """`score_completions` in a thread, for a loop that has other things to do."""
    return await asyncio.to_thread(score_completions, completions, **columns)
