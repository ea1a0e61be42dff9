"""Reasons and flags: the closed vocabulary of why a question is set aside, or looked at twice.

A code is a reason or a flag, never both. A reason is recorded with the stage that set the question
aside; a flag only where a policy says so.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a question is set aside, whatever policies say."""

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
