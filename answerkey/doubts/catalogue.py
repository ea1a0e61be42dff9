"""The catalogue of doubts, in the order in which the audit asks them."""

from __future__ import annotations

from answerkey.doubts import (
    answers,
    arithmetic,
    groups,
    joins,
    literals,
    order,
    projection,
    types,
    zero_count_dropped,
)
from answerkey.doubts.doubt import Doubt

DOUBTS: tuple[Doubt, ...] = (
    *answers.DOUBTS,
    *groups.DOUBTS,
    *joins.DOUBTS,
    *literals.DOUBTS,
    *order.DOUBTS,
    *types.DOUBTS,
    zero_count_dropped.DOUBT,
    *arithmetic.DOUBTS,
    *projection.DOUBTS,
)
DOUBTS_BY_NAME = {doubt.name: doubt for doubt in DOUBTS}
