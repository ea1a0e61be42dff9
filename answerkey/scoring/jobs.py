"""Jobs: questions to a worker about one prediction, its answers, and the messages for both."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from answerkey.scoring.rules import Rule
from answerkey.sqlite.guard import Row

RIGHT, WRONG = 1.0, 0.0

# Reasons beside those of the guard (QueryReason) and of differences (DifferenceKind).
NO_QUERY = "no_query"
WORKER_DIED = "worker_died"

SUMMARY_ROWS = 20


class Kind(StrEnum):
    """The result of a job: a reward, an Explanation, the rows of the query, a RowSummary of them
    (None if the query has no rows), or the columns that it reads (None if it is refused)."""

    SCORE = "score"
    EXPLAIN = "explain"
    EXECUTE = "execute"
    SUMMARIZE = "summarize"
    LIST_READS = "list_reads"


class Job(NamedTuple):
    """One prediction.

    text: SQL, or a completion from which it is taken; None: there is none.
    max_steps: the budget of the query; None: by the size of the database.
    gold_answer, accepted_rows, other_answers, test_suite: JSON text, as exports have them.
    suites_folder: where the databases of test suites are.
    database_sha256: of the file at path; None: nobody says.
    """

    kind: Kind
    path: str
    text: str | None
    is_completion: bool = False
    max_steps: int | None = None
    gold_answer: str = "null"
    order_matters: bool = False
    rule: Rule | None = None
    accepted_rows: str | None = None
    other_answers: str | None = None
    test_suite: str | None = None
    suites_folder: str = ""
    database_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reward and the reason for it.

    reason: None if the prediction is right; `no_query`; why the query has no answer (`QueryReason`,
        such as sql_error or time_exceeded); or how its rows differ (`DifferenceKind`, such as
        too_few_rows).
    detail: the same in words: SQLite's own if it refuses the query.
    missing, unexpected: some rows that the answer lacks, and some that it should not have.
    database: the database of the test suite on which the prediction is wrong; None if it is wrong
        on the real one, or right.
    """

    reward: float
    reason: str | None = None
    detail: str = ""
    missing: list[Row] = field(default_factory=list)
    unexpected: list[Row] = field(default_factory=list)
    database: str | None = None


class RowSummary(NamedTuple):
    """Some of the rows of a query, long texts cut; how many there are; and a hash of all of them,
    floats to six digits, the same in any order unless the job says that the order matters."""

    rows: list[Row]
    row_count: int
    answer: str


def answer_without_rows(
    kind: Kind, reason: str, detail: str, *, database: str | None = None
) -> Any:
    """Return what a job gives if its prediction has no rows."""
    if kind is Kind.SCORE:
        return WRONG
    if kind is not Kind.EXPLAIN:
        return None
    return Explanation(WRONG, reason, detail, database=database)


def write_message(file: int, message: Any) -> None:
    """Write a pickle to an open file, whole. There is no buffer that a fork could write again."""
    data = memoryview(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    while data:
        data = data[os.write(file, data) :]
