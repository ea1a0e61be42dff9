"""Why a question is set aside: the codes that stand in records and in the product, and the policies
by which a flag sets one aside."""

from __future__ import annotations

from enum import StrEnum


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


class Policy(StrEnum):
    """What follows from a flag: the question is excluded, the flag is noted, every right answer to
    a tie is accepted, or nothing."""

    EXCLUDE = "exclude"
    FLAG = "flag"
    ACCEPT_TIES = "accept_ties"
    OFF = "off"
