"""Flags: the closed vocabulary of why a question should be looked at; policies say what follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from answerkey.dataset import Reason


class Flag(StrEnum):
    """What a probe may raise about a question that has an answer; a policy says what follows.

    Each has a sentence for people: `Flag.EMPTY_TABLE.explanation`.
    """

    explanation: str

    def __new__(cls, value: str, explanation: str) -> Self:
        flag = str.__new__(cls, value)
        flag._value_ = value
        flag.explanation = explanation
        return flag

    # Order and determinism
    TIE_AT_LIMIT = (
        "tie_at_limit",
        "LIMIT cuts through rows that ORDER BY holds equal: another correct query gives"
        " another answer.",
    )
    LIMIT_WITHOUT_ORDER = (
        "limit_without_order",
        "LIMIT without ORDER BY, or a value taken from several rows, keeps whichever SQLite"
        " reads first.",
    )
    BARE_COLUMN = (
        "bare_column",
        "A selected column is neither grouped nor aggregated: its value comes from any row"
        " of the group.",
    )
    # last of those that it may follow from
    ROW_ORDER_DEPENDENT = (
        "row_order_dependent",
        "The answer changes when the same rows are stored or scanned in another order.",
    )
    NOT_REPRODUCIBLE = (
        "not_reproducible",
        "The query could not be audited: that took too long, or it is nested too deeply.",
    )
    ORDER_UNDERDETERMINED = (
        "order_underdetermined",
        "ORDER BY leaves the order of rows that differ open.",
    )
    NUMERIC_TEXT_ORDER = (
        "numeric_text_order",
        "Numbers stored as text are sorted or compared as text, where '95' is greater than '1200'.",
    )
    # Soundness on the schema
    DOUBLE_QUOTED_LITERAL = (
        "double_quoted_literal",
        "A double-quoted word is a column or a string, and here it may not be what was meant.",
    )
    TYPE_MISMATCH = (
        "type_mismatch",
        "A comparison is decided by the types of its sides, not by their values.",
    )
    CROSS_JOIN = "cross_join", "No condition joins two tables, so that every row meets every other."
    JOIN_NOT_ON_KEY = (
        "join_not_on_key",
        "Tables are joined on columns that neither the schema nor the data relate to each other.",
    )
    DUPLICATE_ROWS = (
        "duplicate_rows",
        "The answer has equal rows: with DISTINCT, which its question may mean, it has fewer.",
    )
    EMPTY_ANSWER = (
        "empty_answer",
        "The answer has no row: any query that finds nothing would be right.",
    )
    ALL_NULL = "all_null", "The answer has several values, and each of them is NULL."
    REPEATED_COLUMN = (
        "repeated_column",
        "The query selects the same column twice, where its question may ask for another.",
    )
    VACUOUS_CONDITION = (
        "vacuous_condition",
        "Every row meets a condition, or none does: another condition gets the same answer.",
    )
    EMPTY_TABLE = "empty_table", "The query reads a table that has no row."
    # Worth as a training signal
    BOOLEAN_ANSWER = (
        "boolean_answer",
        "The answer is one of two values, such as 0 or 1: a guess is right half of the time.",
    )
    GUESSABLE = (
        "guessable",
        "Trivial queries on the same tables, such as counting rows, give the same answer.",
    )
    MANY_ROWS = "many_rows", "The answer has more rows than params allow."
    TOO_LARGE = "too_large", "The answer is longer, as JSON, than params allow."
    # What the query does, and what its question asks for
    ORDER_WITHOUT_EFFECT = (
        "order_without_effect",
        "ORDER BY or LIMIT works on a single row: the condition that was meant is missing.",
    )
    GROUP_BY_NON_KEY = (
        "group_by_non_key",
        "Rows are grouped by a column that different things share, such as a name.",
    )
    SET_OPERATION_ON_NON_KEY = (
        "set_operation_on_non_key",
        "INTERSECT or EXCEPT compares a column that different things share, such as a name.",
    )
    JOIN_FAN_OUT = (
        "join_fan_out",
        "A join repeats rows, and an aggregate counts or adds them more than once.",
    )
    JOIN_REPEATS_ROWS = (
        "join_repeats_rows",
        "A join returns one thing several times, and the query has no DISTINCT.",
    )
    TEXT_ARITHMETIC = (
        "text_arithmetic",
        "Text that is no number is calculated with: SQLite takes its first digits, or 0.",
    )
    DISJOINT_COMPARISON = (
        "disjoint_comparison",
        "A column is compared with another that never has the same value, so that all rows pass.",
    )
    LATENT_TIE = (
        "latent_tie",
        "ORDER BY with LIMIT sorts by a column that only happens to have no tie in these rows.",
    )
    HAVING_WITHOUT_GROUP = (
        "having_without_group",
        "HAVING without GROUP BY tests all rows as one group.",
    )
    MIXED_CONNECTIVES = "mixed_connectives", "AND and OR stand side by side without parentheses."
    DATE_TEXT_ORDER = (
        "date_text_order",
        "Dates that begin with the day or the month are compared as text.",
    )
    AGGREGATE_OF_OTHER_ROWS = "aggregate_of_other_rows", "A group meets an aggregate of others."
    COUNTS_OF_GROUPS = (
        "counts_of_groups",
        "The size of each group that HAVING left is returned.",
    )
    NULL_DROPPED = "null_dropped", "A condition on what a value must not be drops rows without any."
    NULL_SORTED_FIRST = (
        "null_sorted_first",
        "A row without a value is taken for the least.",
    )
    CONTRADICTORY_CONDITIONS = (
        "contradictory_conditions",
        "Of two conditions on one column no row meets both, or every row meets one.",
    )
    LIMIT_ON_JOINED_ROWS = "limit_on_joined_rows", "LIMIT counts rows of a join, not things."
    EACH_WITHOUT_GROUP = (
        "each_without_group",
        "A number of each is asked for, and one is returned.",
    )
    LIKE_WITHOUT_WILDCARD = "like_without_wildcard", "LIKE without % or _ compares the whole text."
    SPLIT_NEGATION = "split_negation", "A thing with two names is denied name by name."
    ZERO_COUNT_DROPPED = (
        "zero_count_dropped",
        "The question counts for each, or asks for the fewest, and a join drops those with none.",
    )
    NOT_IN_ON_ROWS = (
        "not_in_on_rows",
        "The question asks for those that have none, and the query for those that have another.",
    )
    LITERAL_NOT_IN_COLUMN = (
        "literal_not_in_column",
        "A column is compared with a text that it does not hold.",
    )
    LITERAL_NOT_IN_QUESTION = (
        "literal_not_in_question",
        "A value of the query is not in its question.",
    )
    LITERAL_NOT_IN_QUERY = (
        "literal_not_in_query",
        "A value of the question is not in its query.",
    )
    PATTERN_MISMATCH = (
        "pattern_mismatch",
        "The question says where in a text a value stands, and the query looks elsewhere.",
    )
    DIRECTION_MISMATCH = (
        "direction_mismatch",
        "The question asks for the least and the query for the most, or the other way round.",
    )
    COMPARISON_MISMATCH = (
        "comparison_mismatch",
        "The question compares otherwise than the query does: at least is not more than.",
    )
    NEGATION_MISMATCH = (
        "negation_mismatch",
        "The question denies what the query does not, or the other way round.",
    )
    PROJECTION_MISMATCH = (
        "projection_mismatch",
        "The query returns other columns, or other aggregates, than its question asks for.",
    )
    DISTINCT_MISSING = (
        "distinct_missing",
        "The question asks for different values, and the answer has equal rows.",
    )
    DISTINCT_EXTRA = (
        "distinct_extra",
        "The query drops equal values that its question counts.",
    )
    ORDER_MISSING = (
        "order_missing",
        "The question asks for an order that the query does not make: none, or by another column.",
    )
    CONNECTIVE_MISMATCH = (
        "connective_mismatch",
        "The question says both, either or or, and the query joins its conditions otherwise.",
    )
    # What other rows show, those of its test suite
    LATENT_AMBIGUITY = (
        "latent_ambiguity",
        "Another reading of the question has the same answer here, and another on other rows.",
    )
    WEAK_ANSWER = (
        "weak_answer",
        "The answers on the test suite tell too few wrong queries from the gold query.",
    )
    # All of the above, and what people or models said
    GOLD_RISK = (
        "gold_risk",
        "Its flags together make it likely that the SQL does not say what the question asks.",
    )
    JUDGED_WRONG = (
        "judged_wrong",
        "A person or a model judged that the SQL does not say what the question asks.",
    )
    JUDGED_RIGHT = (
        "judged_right",
        "A person or a model judged that the SQL says what the question asks.",
    )
    # The set as a whole
    DUPLICATE_QUESTION = (
        "duplicate_question",
        "The same question of the same database, with the same SQL or answer, stands earlier"
        " in the corpus.",
    )
    NEAR_DUPLICATE_QUESTION = (
        "near_duplicate_question",
        "Its wording is almost that of another question.",
    )
    PARAPHRASE_OF = (
        "paraphrase_of",
        "Another question of the database, worded otherwise, has the same SQL.",
    )
    CONFLICTING_GOLD = (
        "conflicting_gold",
        "The same question of the same database has another gold answer too.",
    )
    QUESTION_IN_BOTH_SPLITS = (
        "question_in_both_splits",
        "The same question stands in train and in eval.",
    )
    TEMPLATE_IN_BOTH_SPLITS = (
        "template_in_both_splits",
        "A query of the same form stands in the other split.",
    )
    SCHEMA_IN_BOTH_SPLITS = (
        "schema_in_both_splits",
        "A database of the other split has the same tables and columns, or nearly so.",
    )
    OVERLAP = (
        "overlap",
        "The question or its SQL stands in a dev or test set that params name, or nearly so.",
    )
    # What models make of it
    ALWAYS_SOLVED = "always_solved", "Every rollout is right, on the test suite as well."
    NEVER_SOLVED = "never_solved", "No rollout is right on the test suite as well."


# The order of the vocabulary.
FLAG_PLACES = {flag: place for place, flag in enumerate(Flag)}
# Doubts whether the SQL says what the question asks, which a person may settle. The other flags are
# facts about the answer or the set: that another answer is as good, that it is easy to guess.
DOUBTS = frozenset(
    {
        Flag.NUMERIC_TEXT_ORDER,
        Flag.DOUBLE_QUOTED_LITERAL,
        Flag.TYPE_MISMATCH,
        Flag.CROSS_JOIN,
        Flag.JOIN_NOT_ON_KEY,
        Flag.REPEATED_COLUMN,
        Flag.VACUOUS_CONDITION,
        Flag.GOLD_RISK,
        # those of the query and its question
        *list(Flag)[FLAG_PLACES[Flag.TOO_LARGE] + 1 : FLAG_PLACES[Flag.LATENT_AMBIGUITY]],
    }
)


# Findings: what a probe reports of a question.


@dataclass(frozen=True, slots=True)
class Finding:
    """A flag, and evidence that a person can check: a JSON object with stable keys."""

    code: Flag
    evidence: dict[str, Any]


def encode_findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings as audit.jsonl has them: {code, evidence}, in the order of the vocabulary."""
    ranked = sorted(findings, key=lambda finding: FLAG_PLACES[finding.code])
    return [{"code": str(found.code), "evidence": found.evidence} for found in ranked]


# Explanations: what each reason and each flag says of a question, in one sentence for people.


EXPLANATIONS: dict[str, str] = {
    Reason.SQL_ERROR: "SQLite refuses the gold SQL, for example because a column does not exist.",
    Reason.NOT_A_SELECT: "The gold SQL is not a query that only reads.",
    Reason.MULTIPLE_STATEMENTS: "The gold SQL holds more than one statement.",
    Reason.FORBIDDEN_FUNCTION: "The gold SQL calls a function that foreign SQL may not call.",
    Reason.NONDETERMINISTIC_FUNCTION: (
        "The query asks the clock, chance or the connection, so its answer changes from run to run."
    ),
    Reason.STEP_BUDGET_EXCEEDED: "The query takes more of SQLite's steps than params allow.",
    Reason.TIME_EXCEEDED: "One step of the query took longer than the last resort, a time limit.",
    Reason.TOO_MANY_ROWS: "The query returns more rows than params let any query return.",
    Reason.VALUE_TOO_LARGE: "The query makes a value that is larger than params allow.",
    Reason.ANSWER_TOO_LARGE: "The answer takes more bytes than params allow.",
    Reason.HEAP_EXCEEDED: "The query needs more memory than params allow.",
    Reason.UNDECODABLE_TEXT: "The question or its answer holds text that is not UTF-8.",
    Reason.BLOB: "The answer holds a BLOB, which JSON cannot hold.",
    Reason.NOT_FINITE: "The answer holds a number that is not finite, which JSON cannot hold.",
    Reason.NULL_ANSWER: "The answer is a single NULL.",
    Reason.UNPARSABLE_SQL: "SQLite runs the query, but it cannot be parsed.",
    Reason.TOO_COMPLEX: "The query is larger than any that a person would write.",
    Reason.EMPTY_QUESTION: "The question has no text: the corpus asks nothing.",
    Reason.EXCLUDED_BY_CURATOR: "A person looked at the question and decided against it.",
    Reason.NOT_SELECTED: "The question is usable, but the targets take no more of its kind.",
    **{flag: flag.explanation for flag in Flag},
}
