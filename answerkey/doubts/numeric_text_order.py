"""numeric_text_order: numbers that are stored as text are put in order as text, and the answer is
wrong for that.

Doubted, if weight is TEXT and holds '95' and '1200': `SELECT name FROM ship ORDER BY weight DESC
LIMIT 1`, which returns the ship of 95
Not doubted: the same with `ORDER BY CAST(weight AS INTEGER)`

Text is sorted letter by letter, so '95' comes after '1200'. The same holds for <, >, BETWEEN,
min() and max(). Kinds:

number: at least nine in ten texts of the column are numbers.
unit: they are numbers with the same unit, such as '22.7%' or '4:32'.

The repair puts numbers in order.
"""

from __future__ import annotations

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import with_repair
from answerkey.doubts.text_order import find_text_order
from answerkey.order.inspection import Inspection


def find_numeric_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if the order of text gives another answer than that of the numbers."""
    order = inspection.once(find_text_order)
    if order is None or not order.answers:
        return []
    evidence = with_repair(order.evidence | order.answers, order.sql)
    return [Finding("numeric_text_order", evidence)]


DOUBT = Doubt("numeric_text_order", find_in_query=find_numeric_text_order)
