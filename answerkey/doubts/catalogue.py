"""The catalogue of doubts, in the order in which the audit asks them."""

from __future__ import annotations

from answerkey.doubts import (
    answers,
    bare_column,
    comparison_mismatch,
    cross_join,
    date_text_order,
    direction_mismatch,
    group_by_non_key,
    join_fan_out,
    join_repeats_rows,
    latent_text_order,
    limit_without_order,
    literal_not_in_column,
    literal_not_in_question,
    numeric_text_order,
    projection_mismatch,
    row_order_dependent,
    set_operation_on_non_key,
    text_arithmetic,
    tie_at_limit,
    type_mismatch,
    zero_count_dropped,
)
from answerkey.doubts.doubt import Doubt

DOUBTS: tuple[Doubt, ...] = (
    *answers.DOUBTS,
    set_operation_on_non_key.DOUBT,
    group_by_non_key.DOUBT,
    cross_join.DOUBT,
    join_repeats_rows.DOUBT,
    join_fan_out.DOUBT,
    literal_not_in_column.DOUBT,
    comparison_mismatch.DOUBT,
    literal_not_in_question.DOUBT,
    bare_column.DOUBT,
    limit_without_order.DOUBT,
    row_order_dependent.DOUBT,
    tie_at_limit.DOUBT,
    direction_mismatch.DOUBT,
    date_text_order.DOUBT,
    numeric_text_order.DOUBT,
    latent_text_order.DOUBT,
    type_mismatch.DOUBT,
    zero_count_dropped.DOUBT,
    text_arithmetic.DOUBT,
    projection_mismatch.DOUBT,
)
DOUBTS_BY_NAME = {doubt.name: doubt for doubt in DOUBTS}
