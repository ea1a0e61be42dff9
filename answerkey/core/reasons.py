"""Reasons: the closed vocabulary of why a question is set aside, whatever policies say.

A code is a reason or a flag (`answerkey.core.flags`), never both. A reason is recorded with the
stage that set the question aside; a flag only where a policy says so.
"""

from __future__ import annotations

from enum import StrEnum

from answerkey.sqlite.reasons import QueryReason


class Reason(StrEnum):
    """Why a question is set aside: those of queries come first."""

    SQL_ERROR = QueryReason.SQL_ERROR
    NOT_A_SELECT = QueryReason.NOT_A_SELECT
    MULTIPLE_STATEMENTS = QueryReason.MULTIPLE_STATEMENTS
    FORBIDDEN_FUNCTION = QueryReason.FORBIDDEN_FUNCTION
    NONDETERMINISTIC_FUNCTION = QueryReason.NONDETERMINISTIC_FUNCTION
    STEP_BUDGET_EXCEEDED = QueryReason.STEP_BUDGET_EXCEEDED
    TIME_EXCEEDED = QueryReason.TIME_EXCEEDED
    TOO_MANY_ROWS = QueryReason.TOO_MANY_ROWS
    VALUE_TOO_LARGE = QueryReason.VALUE_TOO_LARGE
    ANSWER_TOO_LARGE = QueryReason.ANSWER_TOO_LARGE
    HEAP_EXCEEDED = QueryReason.HEAP_EXCEEDED
    UNDECODABLE_TEXT = QueryReason.UNDECODABLE_TEXT
    BLOB = QueryReason.BLOB
    NOT_FINITE = QueryReason.NOT_FINITE
    NULL_ANSWER = QueryReason.NULL_ANSWER
    UNPARSABLE_SQL = "unparsable_sql"
    TOO_COMPLEX = "too_complex"
    EMPTY_QUESTION = "empty_question"
    EXCLUDED_BY_CURATOR = "excluded_by_curator"
    NOT_SELECTED = "not_selected"
