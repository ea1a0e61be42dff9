"""Rewards for text-to-SQL from stored gold answers: no gold SQL is executed.

    >>> score([("b",), ("a",)], ["a", "b"], order_matters=False)
    1.0
    >>> score([("b",), ("a",)], ["a", "b"], order_matters=True)
    0.0

The comparison is the one that validated the dataset. Nothing but the standard library is imported.
`compute_score` has the signature of verl's custom reward functions, `score_completions` that of
TRL's. Both execute the predicted SQL, read-only and within bounds, on the databases of the dataset:
in `data/databases`, or where the environment variable ANSWERKEY_DATABASES says.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answerkey.scoring.completions import extract_sql
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError, Row

REL_TOL = 1e-6
RIGHT, WRONG = 1.0, 0.0
DATABASES = "data/databases"

_ONE_AT_A_TIME = threading.Lock()  # the guard's watchdog looks after one query a process


def score(
    predicted_rows: Sequence[Sequence[Any]],
    gold_answer: Any,
    *,
    order_matters: bool,
    rel_tol: float = REL_TOL,
) -> float:
    """1.0 where the rows are those of the gold answer, else 0.0.

    >>> score([("Tern", 40.0000001)], [["Tern", 40.0]], order_matters=False)
    1.0
    >>> score([("3",)], 3, order_matters=False), score([], [], order_matters=False)
    (0.0, 1.0)

    gold_answer is the JSON value, as the product has it (exports hold it as JSON text: json.loads).
    Rows of your own may hold numbers of numpy, which count as those of Python.
    """
    predicted = shape_answer([tuple(map(_read_value, row)) for row in predicted_rows])
    is_right = answers_match(gold_answer, predicted, ordered=order_matters, rel_tol=rel_tol)
    return RIGHT if is_right else WRONG


def _read_value(value: Any) -> Any:
    """A value as SQLite gives it: that of a numpy scalar, whose types equal no others."""
    return value.item() if hasattr(value, "item") else value


def execute(
    predicted_sql: str,
    database_name: str,
    *,
    databases: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
) -> list[Row] | None:
    """The rows of a predicted query; None where it is refused, fails or takes too much.

    Raises:
        FileNotFoundError: where the database is missing, which is no fault of the prediction.
        sqlite3.DatabaseError: where it is corrupt.
    """
    folder = Path(databases or os.environ.get("ANSWERKEY_DATABASES") or DATABASES)
    path = folder / database_name / f"{database_name}.sqlite"
    if not path.is_file():
        raise FileNotFoundError(
            f"No database at {path.absolute()}: expected the databases of the dataset in {folder};"
            " elsewhere, say so by the environment variable ANSWERKEY_DATABASES"
        )
    with _ONE_AT_A_TIME, GuardedDatabase(path, limits) as database:
        try:
            return database.execute(predicted_sql)
        except QueryError:
            return None


def score_sql(
    predicted_sql: str | None,
    gold_answer: Any,
    *,
    database_name: str,
    order_matters: bool,
    rel_tol: float = REL_TOL,
    databases: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
) -> float:
    """`score` of the rows of a predicted query; 0.0 where it has none. Raises as `execute`."""
    if predicted_sql is None:
        return WRONG
    rows = execute(predicted_sql, database_name, databases=databases, limits=limits)
    if rows is None:
        return WRONG
    return score(rows, gold_answer, order_matters=order_matters, rel_tol=rel_tol)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: Mapping[str, Any] | None = None,
    *,
    rel_tol: float = REL_TOL,
    databases: str | os.PathLike[str] | None = None,
) -> float:
    """verl's reward function, for data/exports/verl: ground_truth is JSON text.

    Source: "Implement Reward Function for Dataset" in verl's documentation
    (docs/preparation/reward_function.rst). What is keyword-only may be set by `reward_kwargs`.

    Raises:
        ValueError: without extra_info, which says which database is asked.
    """
    if extra_info is None:
        raise ValueError(f"{data_source}: expected extra_info with database_name, found none")
    return score_sql(
        extract_sql(solution_str),
        json.loads(ground_truth),
        database_name=extra_info["database_name"],
        order_matters=bool(extra_info["order_matters"]),
        rel_tol=rel_tol,
        databases=databases,
    )


def score_completions(
    completions: Sequence[Any],
    *,
    gold_answer: Sequence[str],
    database_name: Sequence[str],
    order_matters: Sequence[bool],
    **_: Any,
) -> list[float]:
    """TRL's reward function, for data/exports/trl/prompt_completion: a completion is a text, or a
    chat whose last message counts.

    Source: "Using a custom reward function" in the documentation of TRL's GRPOTrainer.
    """
    return [
        score_sql(
            extract_sql(text if isinstance(text, str) else text[-1]["content"]),
            json.loads(answer),
            database_name=name,
            order_matters=is_ordered,
        )
        for text, answer, name, is_ordered in zip(
            completions, gold_answer, database_name, order_matters, strict=True
        )
    ]
