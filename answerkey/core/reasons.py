"""Reasons and flags: the closed vocabulary of why a question is set aside, or looked at twice.

A code is a reason or a flag, never both. A reason is recorded with the stage that set the question
aside; a flag only where a policy says so.
"""

from __future__ import annotations

from enum import StrEnum

from answerkey.sqlite.reasons import QueryReason


class Reason(StrEnum):
    """Why a question is set aside, whatever policies say: those of queries come first."""

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
    EMPTY_QUESTION = "empty_question"
    EXCLUDED_BY_CURATOR = "excluded_by_curator"
    NOT_SELECTED = "not_selected"


class Flag(StrEnum):
    """What a probe may raise about a question that has an answer; a policy says what follows."""

    # Order and determinism
    TIE_AT_LIMIT = "tie_at_limit"
    LIMIT_WITHOUT_ORDER = "limit_without_order"
    BARE_COLUMN = "bare_column"
    ROW_ORDER_DEPENDENT = "row_order_dependent"  # last of those that it may follow from
    NOT_REPRODUCIBLE = "not_reproducible"
    ORDER_UNDERDETERMINED = "order_underdetermined"
    NUMERIC_TEXT_ORDER = "numeric_text_order"
    # Soundness on the schema
    DOUBLE_QUOTED_LITERAL = "double_quoted_literal"
    TYPE_MISMATCH = "type_mismatch"
    CROSS_JOIN = "cross_join"
    JOIN_NOT_ON_KEY = "join_not_on_key"
    DUPLICATE_ROWS = "duplicate_rows"
    EMPTY_ANSWER = "empty_answer"
    ALL_NULL = "all_null"
    REPEATED_COLUMN = "repeated_column"
    VACUOUS_CONDITION = "vacuous_condition"
    EMPTY_TABLE = "empty_table"
    # Worth as a training signal
    BOOLEAN_ANSWER = "boolean_answer"
    GUESSABLE = "guessable"
    MANY_ROWS = "many_rows"
    TOO_LARGE = "too_large"
    # The set as a whole
    DUPLICATE_QUESTION = "duplicate_question"
    NEAR_DUPLICATE_QUESTION = "near_duplicate_question"
    PARAPHRASE_OF = "paraphrase_of"
    CONFLICTING_GOLD = "conflicting_gold"
    QUESTION_IN_BOTH_SPLITS = "question_in_both_splits"
    TEMPLATE_IN_BOTH_SPLITS = "template_in_both_splits"
    SCHEMA_IN_BOTH_SPLITS = "schema_in_both_splits"


# The order of the vocabulary.
FLAG_PLACES = {flag: place for place, flag in enumerate(Flag)}
