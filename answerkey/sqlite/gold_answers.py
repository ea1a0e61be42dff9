"""The gold answer: what gold SQL returns on its database, as a JSON value."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from answerkey.sqlite.answers import classify_answer_type, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.sqlite.reasons import QueryReason

_STEPS_ROUNDED = 50_000  # so coarse that another version of SQLite mostly gives the same number


def compute_gold_answer(
    gold_sql: str, db_path: str | os.PathLike[str], *, limits: Limits | None = None
) -> Any:
    """The answer of gold SQL on its database, as a JSON value.

    >>> compute_gold_answer("SELECT count(*) FROM ship", path)    # doctest: +SKIP
    42

    A scalar for 1 x 1 (None for NULL), a list for n x 1, a list of rows for n x m, [] for no row.

    Raises:
        QueryError: a sqlite3.OperationalError with `reason` and `detail`.
        FileNotFoundError: where there is no database at db_path.
    """
    with GuardedDatabase(Path(db_path), limits) as database:
        return shape_answer(database.execute(gold_sql))


def answer_query(database: GuardedDatabase, gold_sql: str) -> dict[str, Any]:
    """What is recorded of a query: gold_answer, answer_type and steps (virtual machine steps,
    rounded up to 50,000), or reason and detail."""
    try:
        answer = shape_answer(database.execute(gold_sql))
    except QueryError as error:
        return {"reason": error.reason, "detail": error.detail}
    if answer is None:
        return {"reason": QueryReason.NULL_ANSWER, "detail": "the answer is a single NULL"}
    return {
        "gold_answer": answer,
        "answer_type": classify_answer_type(answer),
        "steps": math.ceil(database.steps / _STEPS_ROUNDED) * _STEPS_ROUNDED,
    }
