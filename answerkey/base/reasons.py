"""Why a question is set aside: the codes that stand in records and in the product, and the policies
by which a flag sets one aside."""

from __future__ import annotations

from enum import StrEnum
from typing import TypedDict, final


class Reason(StrEnum):
    """Why a question is set aside: those of databases and queries, which have no answer that could
    be kept, come first."""

    UNREADABLE_DATABASE = "unreadable_database"
    SQL_ERROR = "sql_error"
    NOT_A_SELECT = "not_a_select"
    MULTIPLE_STATEMENTS = "multiple_statements"
    FORBIDDEN_FUNCTION = "forbidden_function"
    NONDETERMINISTIC_FUNCTION = "nondeterministic_function"
    STEP_BUDGET_EXCEEDED = "step_budget_exceeded"
    TIME_EXCEEDED = "time_exceeded"
    TOO_MANY_ROWS = "too_many_rows"
    VALUE_TOO_LARGE = "value_too_large"
    ANSWER_TOO_LARGE = "answer_too_large"
    HEAP_EXCEEDED = "heap_exceeded"
    UNDECODABLE_TEXT = "undecodable_text"
    BLOB = "blob"
    NOT_FINITE = "not_finite"
    NULL_ANSWER = "null_answer"
    UNPARSABLE_SQL = "unparsable_sql"
    TOO_COMPLEX = "too_complex"
    EMPTY_QUESTION = "empty_question"
    NO_GOLD_SQL = "no_gold_sql"
    EXCLUDED_BY_CURATOR = "excluded_by_curator"
    NOT_SELECTED = "not_selected"


# With these, gold SQL did not fail: nothing ran it, since a curator says so, the corpus has none,
# or its database cannot be read, of which download_databases has told; or its answer is a NULL.
NO_FAILURES = frozenset(
    {
        Reason.EXCLUDED_BY_CURATOR,
        Reason.NO_GOLD_SQL,
        Reason.UNREADABLE_DATABASE,
        Reason.NULL_ANSWER,
    }
)


@final
class Failure(TypedDict):
    """What stands in the place of an outcome: a stable code, and words of SQLite or of the parser.

    The types of outcomes have no field `reason`, and are final: so a reader, and the type checker,
    tell a failure by it.
    """

    reason: str
    detail: str


class Policy(StrEnum):
    """What follows from a flag: the question is excluded, the flag is noted, every right answer to
    a tie is accepted, or nothing."""

    EXCLUDE = "exclude"
    FLAG = "flag"
    ACCEPT_TIES = "accept_ties"
    OFF = "off"
