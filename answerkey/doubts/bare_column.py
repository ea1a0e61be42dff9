"""A column is neither grouped nor aggregated, so that any row of a group may give its value.

"How many ships are there in each harbour?"

Doubted: SELECT name, count(*) FROM ship GROUP BY harbour_id
Sound:   SELECT harbour.name, count(*) FROM harbour JOIN ship ON harbour.id = ship.harbour_id
         GROUP BY harbour.id

With exactly one min() or max() SQLite takes the values of a row that has the extreme, and otherwise
those of an arbitrary row (the manual's page on SELECT, section 2.5). There is no doubt where the
grouped columns determine the value, and none where a copy of the database that stores the same rows
in another order gives the same answer. Other engines refuse a bare column.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import find_other_answer
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import show_sql


def find_bare_column(inspection: Inspection) -> list[Finding]:
    """Return a finding of the first column that nothing determines, if the answer depends on the
    order in which rows are stored."""
    if find_other_answer(inspection) is None:
        return []
    for select in inspection.scopes.nodes.find_all(exp.Select):
        grouping = read_grouping(select, inspection.scopes)
        if grouping is not None and grouping.bare:
            keys = [show_sql(key) for key in grouping.keys]
            evidence = {"column": show_sql(grouping.bare[0]), "group_by": keys}
            return [Finding("bare_column", evidence)]
    return []


DOUBT = Doubt("bare_column", find_in_query=find_bare_column)
