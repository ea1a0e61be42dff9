"""Order: whether the answer's rows come in a sequence that is certain, and which of them tie.

`SELECT name FROM ship ORDER BY weight` -> certain, unless two ships have the same weight.
"""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import is_confirmed, read_ties, rows_of_run
from answerkey.sql.query_rewrites import unwrap
from answerkey.sqlite.answers import Order


def is_order_certain(inspection: Inspection) -> bool:
    """Whether a correct answer must keep the sequence of the rows: there is an ORDER BY at the top
    level, and no rows that differ tie on its keys."""
    if unwrap(inspection.tree).args.get("order") is None:
        return False
    ties = read_ties(inspection)
    return ties is None or not ties.open_runs(inspection.rows)


def read_row_order(inspection: Inspection) -> Order:
    """How far a correct answer must keep the sequence of the rows.

    `SELECT name FROM ship ORDER BY weight` over weights 4, 5, 5 and 9 -> [1, 2, 1]

    False without ORDER BY at the top level, where all rows tie, and where it is not known which
    do. True where no rows that differ tie.
    """
    if is_order_certain(inspection):
        return True
    ties = read_ties(inspection)
    if ties is None or not ties.keys:
        return False
    takes = [len(rows_of_run(run, ties, inspection.rows)) for run in ties.runs]
    takes = [take for take in takes if take]
    is_known = sum(takes) == len(inspection.rows) and is_confirmed(ties, inspection.rows)
    return takes if is_known and len(takes) > 1 else False


def is_order_settled(inspection: Inspection) -> bool:
    """Whether ORDER BY and LIMIT of the query itself are seen to leave nothing open: neither the
    sequence of its rows nor which of them it returns. Subqueries are not looked at."""
    query = unwrap(inspection.tree)
    if query.args.get("limit") is None and query.args.get("order") is None:
        return True
    ties = read_ties(inspection)
    if ties is None:
        return query.args.get("limit") is None and len(inspection.rows) < 2
    return not (ties.has_open_keys or ties.cut_runs() or ties.open_runs(inspection.rows))
