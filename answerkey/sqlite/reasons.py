"""Why a query has no answer that could be kept: a code for each reason."""

from __future__ import annotations

from enum import StrEnum


class QueryReason(StrEnum):
    """What SQLite says of a query, which bound it passed, or what its answer holds."""

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
