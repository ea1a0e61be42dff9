"""type_mismatch: a text is compared with a number, and the answer is wrong for that.

Doubted: `SELECT name FROM ship WHERE strftime('%Y', built) = 2010`, which returns no row
Not doubted: `SELECT name FROM ship WHERE year = 2010`, if year is an INTEGER

SQLite holds any text to be greater than any number, if no side is a column of a numeric type. So
`strftime('%Y', built) = 2010` is never true, and `code > 30` is true for 'N1'. There are no kinds.
The repair reads the text as a number. Other engines refuse such a comparison, or read the text as a
number, so that there is no doubt.

Source: section 4 of the SQLite manual's page on datatypes.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.compared_literals import list_compared_literals
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.doubts.text_numbers import compare_answers
from answerkey.order.inspection import Inspection
from answerkey.rewrites.text_values import compare_as_number
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import PATTERNS
from answerkey.sql.query_tree import speaks_sqlite

_TEXTS = (
    *(exp.TimeToStr, exp.Date, exp.Substring, exp.Lower, exp.Upper),
    *(exp.Trim, exp.Replace, exp.DPipe),
)


def find_type_mismatch(inspection: Inspection) -> list[Finding]:
    """Return a finding if text is compared with a number, and the answer is another if the text is
    read as a number."""
    if not speaks_sqlite():
        return []  # other engines refuse the comparison, or read the text as a number
    query = read_query(inspection)
    for literal in inspection.once(list_compared_literals):
        node, left = literal.comparison.node, literal.comparison.left
        if literal.number is None or literal.is_text or literal.comparison.operator in PATTERNS:
            continue
        is_within = any(part is left for part in node.walk())
        if is_within and _may_be_text(left, query):
            sql = write_change(query.scopes, compare_as_number(left))
            if answers := compare_answers(inspection, sql):
                evidence = {"sql": literal.comparison.text} | answers
                return [Finding("type_mismatch", with_repair(evidence, sql))]
    return []


def _may_be_text(expression: exp.Expr, query: Query) -> bool:
    base = query.base_column(expression)
    if base is None:
        return isinstance(expression, _TEXTS)
    return query.has_texts(*base)


DOUBT = Doubt("type_mismatch", find_in_query=find_type_mismatch)
