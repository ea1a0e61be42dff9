"""The catalogue of doubts, in the order in which the audit asks them."""

from __future__ import annotations

from answerkey.doubts import (
    answers,
    arithmetic,
    group_by_non_key,
    joins,
    literals,
    order,
    projection,
    set_operation_on_non_key,
    types,
    zero_count_dropped,
)
from answerkey.doubts.doubt import Doubt

DOUBTS: tuple[Doubt, ...] = (
    *answers.DOUBTS,
    set_operation_on_non_key.DOUBT,
    group_by_non_key.DOUBT,
    *joins.DOUBTS,
    *literals.DOUBTS,
    *order.DOUBTS,
    *types.DOUBTS,
    zero_count_dropped.DOUBT,
    *arithmetic.DOUBTS,
    *projection.DOUBTS,
)
DOUBTS_BY_NAME = {doubt.name: doubt for doubt in DOUBTS}
