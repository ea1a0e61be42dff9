"""What gold SQL answers on its database, and why one query has no answer."""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
from pathlib import Path
from typing import Any, NotRequired, TypedDict, final

from answerkey.base.reasons import Failure, Reason
from answerkey.engines.answers import OtherAnswer, classify_answer_type, shape_answer
from answerkey.engines.database import Database, Limits, QueryError
from answerkey.engines.opening import open_database

Queries = str | tuple[str, ...]  # gold SQL, or gold SQL followed by other right queries
_STEPS_ROUNDED = 50_000  # so coarse that other versions of SQLite mostly give the same number


def compute_gold_answer(
    gold_sql: str,
    db_path: str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    now: str | None = None,
) -> Any:
    """Return the answer of gold SQL on its database, as a JSON value.

    >>> compute_gold_answer("SELECT count(*) FROM ship", path)    # doctest: +SKIP
    42

    A scalar for 1 x 1 (None for NULL), a list for n x 1, a list of rows for n x m, [] for no row.

    now: the time of the clock, such as '2025-01-30'; None: a query that reads it is refused.

    Raises:
        QueryError: a sqlite3.OperationalError with `reason` and `detail`.
        FileNotFoundError: there is no database at db_path.
    """
    with open_database(Path(db_path), limits, now=now) as database:
        return shape_answer(database.execute(gold_sql))


@final
class GoldAnswer(TypedDict):
    """The answer of gold SQL.

    steps: of SQLite's virtual machine, rounded up to 50,000; the highest of several queries. None
        if the engine counts none.
    other_answers: the answers of other right queries, if the corpus has any.
    """

    gold_answer: Any
    answer_type: str
    steps: int | None
    other_answers: NotRequired[list[OtherAnswer]]


def answer_query(database: Database, gold_sql: str) -> GoldAnswer | Failure:
    """Return the answer of a query, or the reason why it has none."""
    try:
        answer = shape_answer(database.execute(gold_sql))
    except QueryError as error:
        return {"reason": error.reason, "detail": error.detail}
    if answer is None:
        return {"reason": Reason.NULL_ANSWER, "detail": "the answer is a single NULL"}
    return {
        "gold_answer": answer,
        "answer_type": classify_answer_type(answer),
        "steps": _round_steps(database.steps),
    }


def _round_steps(steps: int | None) -> int | None:
    return None if steps is None else math.ceil(steps / _STEPS_ROUNDED) * _STEPS_ROUNDED


def answer_queries(database: Database, queries: Queries) -> GoldAnswer | Failure:
    """Return the answer of the first query, which is gold SQL, with the answers of the other right
    queries."""
    if isinstance(queries, str):
        return answer_query(database, queries)
    gold_sql, *others = queries
    record = answer_query(database, gold_sql)
    if "reason" in record:
        return record
    other_answers: list[OtherAnswer] = []
    record["other_answers"] = other_answers
    for sql in others:
        other = answer_query(database, sql)
        if "reason" not in other:
            other_answers.append({"sql": sql, "answer": other["gold_answer"]})
            if record["steps"] is not None and other["steps"] is not None:
                record["steps"] = max(record["steps"], other["steps"])
    return record


def answer_on_damaged(database: Database, queries: Queries, *, sha256: str) -> GoldAnswer | Failure:
    """Return `answer_queries` for a file that may be damaged in a way that checks do not find, such
    as a wrong index in a large file. A query that meets the damage has no answer.

    Raises:
        sqlite3.DatabaseError: the file is damaged, and its sha256 is not that of the corpus.
    """
    try:
        return answer_queries(database, queries)
    except sqlite3.DatabaseError as error:
        with database.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise
        words = str(error).rpartition(": ")[2]
        return {"reason": Reason.UNREADABLE_DATABASE, "detail": words}
