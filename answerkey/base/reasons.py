"""Codes for why a question is set aside, in records and in the product, and the policies by which
a flag sets one aside."""

from __future__ import annotations

from enum import StrEnum
from typing import TypedDict, final


class Reason(StrEnum):
    """Why a question is set aside. The reasons why it has no answer come first."""

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


# With these, gold SQL did not fail. It was not executed: a curator says so, the corpus has none, or
# its database cannot be read, which download_databases has logged. Or its answer is one NULL.
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
    """Replaces an outcome that is missing: a stable code, and words of SQLite or of the parser.

    No type of outcome has a field `reason`, and all are final. So a reader, and the type checker,
    recognize a failure by this field.
    """

    reason: str
    detail: str


class Policy(StrEnum):
    """The effect of a flag: exclude the question, only record the flag, accept every right answer
    to a tie, or nothing."""

    EXCLUDE = "exclude"
    FLAG = "flag"
    ACCEPT_TIES = "accept_ties"
    OFF = "off"
