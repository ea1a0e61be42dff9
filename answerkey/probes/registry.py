"""All probes, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable

from answerkey.english.question import Question
from answerkey.flags import Finding
from answerkey.order.inspection import Inspection
from answerkey.probes.answers import (
    find_all_null,
    find_boolean_answer,
    find_duplicate_rows,
    find_empty_answer,
    find_empty_table,
    find_guessable,
    find_many_rows,
    find_repeated_column,
    find_too_large,
)
from answerkey.probes.comparison import (
    find_comparison_mismatch,
    find_connective_mismatch,
    find_contradictory_conditions,
    find_disjoint_comparison,
    find_mixed_connectives,
    find_vacuous_condition,
)
from answerkey.probes.distinct import find_distinct_extra, find_distinct_missing
from answerkey.probes.groups import (
    find_aggregate_of_other_rows,
    find_bare_column,
    find_counts_of_groups,
    find_each_without_group,
    find_group_by_non_key,
    find_having_without_group,
)
from answerkey.probes.joins import (
    find_cross_join,
    find_join_fan_out,
    find_join_not_on_key,
    find_join_repeats_rows,
    find_zero_count_dropped,
)
from answerkey.probes.literals import (
    find_like_without_wildcard,
    find_literal_not_in_column,
    find_literal_not_in_query,
    find_literal_not_in_question,
    find_pattern_mismatch,
)
from answerkey.probes.negation import (
    find_negation_mismatch,
    find_not_in_on_rows,
    find_null_dropped,
    find_split_negation,
)
from answerkey.probes.order import (
    find_direction_mismatch,
    find_latent_tie,
    find_limit_on_joined_rows,
    find_limit_without_order,
    find_null_sorted_first,
    find_order_missing,
    find_order_underdetermined,
    find_order_without_effect,
    find_row_order_dependent,
    find_tie_at_limit,
)
from answerkey.probes.projection import find_projection_mismatch
from answerkey.probes.sets import find_set_operation_on_non_key
from answerkey.probes.types import (
    find_date_text_order,
    find_double_quoted_literal,
    find_numeric_text_order,
    find_text_arithmetic,
    find_type_mismatch,
)

Probe = Callable[[Inspection], list[Finding]]
QuestionProbe = Callable[[Inspection, Question], list[Finding]]

# These look at a query and its answer, once for all questions that have them.
PROBES: tuple[Probe, ...] = (
    find_aggregate_of_other_rows,
    find_all_null,
    find_bare_column,
    find_boolean_answer,
    find_contradictory_conditions,
    find_counts_of_groups,
    find_cross_join,
    find_date_text_order,
    find_disjoint_comparison,
    find_double_quoted_literal,
    find_duplicate_rows,
    find_empty_answer,
    find_empty_table,
    find_guessable,
    find_having_without_group,
    find_join_not_on_key,
    find_join_repeats_rows,
    find_latent_tie,
    find_limit_on_joined_rows,
    find_limit_without_order,
    find_literal_not_in_column,
    find_many_rows,
    find_mixed_connectives,
    find_null_dropped,
    find_null_sorted_first,
    find_numeric_text_order,
    find_order_underdetermined,
    find_order_without_effect,
    find_repeated_column,
    find_row_order_dependent,
    find_set_operation_on_non_key,
    find_text_arithmetic,
    find_tie_at_limit,
    find_too_large,
    find_type_mismatch,
    find_vacuous_condition,
)

# These look at the question, too.
QUESTION_PROBES: tuple[QuestionProbe, ...] = (
    find_comparison_mismatch,
    find_connective_mismatch,
    find_direction_mismatch,
    find_distinct_extra,
    find_distinct_missing,
    find_each_without_group,
    find_group_by_non_key,
    find_join_fan_out,
    find_like_without_wildcard,
    find_literal_not_in_query,
    find_literal_not_in_question,
    find_negation_mismatch,
    find_not_in_on_rows,
    find_order_missing,
    find_pattern_mismatch,
    find_projection_mismatch,
    find_split_negation,
    find_zero_count_dropped,
)


def ask_probes(inspection: Inspection) -> list[Finding]:
    """Return what all probes of the query find."""
    return [finding for probe in PROBES for finding in probe(inspection)]


def ask_question_probes(inspection: Inspection, question: Question) -> list[Finding]:
    """Return what all probes of the query against its question find; nothing if it has no word."""
    if not question.words:
        return []
    return [finding for probe in QUESTION_PROBES for finding in probe(inspection, question)]
