"""latent_text_order: numbers that are stored as text are put in order as text, and the answer is
right by chance.

Doubted, if weight is TEXT and holds '95' and '110', and both ships of the answer weigh '95':
`SELECT id FROM ship WHERE id > 2 ORDER BY weight`
Not doubted: `SELECT id FROM ship ORDER BY grade`, if all grades have one digit

The answer is the one that the numbers give, and would not be on other rows. So it is no sign that
gold's answer is wrong. The kinds are those of numeric_text_order, and so is the repair.
"""

from __future__ import annotations

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import with_repair
from answerkey.doubts.text_order import find_text_order
from answerkey.order.inspection import Inspection


def find_latent_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if the order of text gives the answer of the numbers, but not on all
    rows."""
    order = inspection.once(find_text_order)
    if order is None or order.answers:
        return []
    return [Finding("latent_text_order", with_repair(order.evidence, order.sql))]


DOUBT = Doubt("latent_text_order", find_in_query=find_latent_text_order, is_sign=False)
