"""Probes of order: does LIMIT choose among equals, and does ORDER BY say in which order rows come?

`SELECT name FROM ship ORDER BY weight LIMIT 1` over two ships of the least weight -> tie_at_limit:
the other ship is an equally correct answer.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.audit.groupings import read_grouping
from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import (
    SHOWN_ROWS,
    SHOWN_TEXT,
    Run,
    Ties,
    read_ties,
    rows_of_run,
    show_rows,
    typed_row,
)
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.sql.query_parts import find_operand, find_with
from answerkey.sql.query_rewrites import copy_with, make_limit, to_sql, unwrap
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import QueryError, Row

_SHOWN_RUNS = 5


class Order(NamedTuple):
    """What the probes of order say of a query.

    findings: every tie_at_limit, limit_without_order and order_underdetermined: at most one of the
        first two for the query itself and one for each subquery, and one of the last.
    is_settled: no choice among ties was seen in what ORDER BY and LIMIT of the query itself do.
    is_repeated: the query was executed with its sort keys as further columns, and gave the answer
        row by row.
    """

    findings: list[Finding]
    is_settled: bool
    is_repeated: bool = False


def read_order(inspection: Inspection, *, rel_tol: float = 1e-6) -> Order:
    """What ORDER BY and LIMIT leave open."""
    query = unwrap(inspection.tree)
    cuts = _find_cuts_in_subqueries(inspection, inspection.scopes, rel_tol)
    if query.args.get("limit") is None and query.args.get("order") is None:
        return Order(cuts, is_settled=True)
    ties = read_ties(inspection)
    findings = [_find_cut(ties, inspection.rows), _find_open_order(ties, inspection.rows)]
    if ties is None:
        is_settled = query.args.get("limit") is None and len(inspection.rows) < 2
    else:
        is_settled = not ties.has_open_keys and findings == [None, None]
    found = [*(finding for finding in findings if finding is not None), *cuts]
    return Order(found, is_settled, is_repeated=ties is not None and ties.is_repeated)


def find_order_findings(inspection: Inspection, *, rel_tol: float = 1e-6) -> list[Finding]:
    """The findings alone."""
    return read_order(inspection, rel_tol=rel_tol).findings


def is_order_certain(tree: exp.Expression, findings: list[Finding]) -> bool:
    """Whether the sequence of the answer's rows is part of the answer: ORDER BY at the top level,
    and no ties that differ (`findings` are those of `find_order_findings`)."""
    return unwrap(tree).args.get("order") is not None and all(
        finding.code is not Flag.ORDER_UNDERDETERMINED for finding in findings
    )


def _find_cut(ties: Ties | None, answer: list[Row]) -> Finding | None:
    """tie_at_limit, or limit_without_order: rows tied on the sort keys (all rows, where there are
    none) stand on both sides of a bound, and do not all look the same in the answer."""
    runs = ties.cut_runs() if ties is not None else []
    if not runs:
        return None
    code = Flag.TIE_AT_LIMIT if ties.keys else Flag.LIMIT_WITHOUT_ORDER
    return Finding(code, _describe_cut(ties, runs[0], answer))


def _describe_cut(ties: Ties, run: Run, answer: list[Row]) -> dict[str, Any]:
    inside = rows_of_run(run, ties, answer)
    left = Counter(map(typed_row, run.rows)) - Counter(map(typed_row, inside))
    shown = {typed_row(row) for row in inside[:SHOWN_ROWS]}
    others = sorted(
        (row for row in run.rows if left[typed_row(row)]),
        key=lambda row: typed_row(row) in shown,  # first those that make a difference
    )
    return {
        "keys": ties.keys,
        "offset": ties.start,
        "limit": None if ties.stop is None else ties.stop - ties.start,
        "tied_positions": [run.first, run.end - 1],
        "returned": show_rows(inside),
        "as_good": show_rows(others),
    }


def _find_open_order(ties: Ties | None, answer: list[Row]) -> Finding | None:
    """order_underdetermined: neighbours in the answer that differ, and that no sort key orders."""
    if ties is None or not ties.keys:
        return None
    open_runs = []
    for run in ties.runs:
        rows = rows_of_run(run, ties, answer)
        if len({typed_row(row) for row in rows}) > 1:
            open_runs.append((max(run.first - ties.start, 0), rows))
    if not open_runs:
        return None
    first, rows = open_runs[0]
    evidence = {
        "keys": ties.keys,
        "certain_rows": first,
        "tied_positions": [[at, at + len(tied) - 1] for at, tied in open_runs[:_SHOWN_RUNS]],
        "tied_runs": len(open_runs),
        "rows": show_rows(rows),
    }
    return Finding(Flag.ORDER_UNDERDETERMINED, evidence)


def _find_cuts_in_subqueries(
    inspection: Inspection, scopes: Scopes, rel_tol: float
) -> list[Finding]:
    top = unwrap(inspection.tree)
    return [
        finding
        for query in scopes.nodes.find_all(exp.Select, exp.SetOperation)
        if query is not top
        and (query.args.get("limit") is not None or _is_one_row_of_several(query, scopes))
        for finding in [_find_cut_in_subquery(inspection, query, scopes, rel_tol)]
        if finding is not None
    ]


def _is_one_row_of_several(query: exp.Expression, scopes: Scopes) -> bool:
    """Whether a subquery stands for a value, which its first row is, and may have several rows.

    Source: the SQLite manual's page on expressions, section 11, "Subquery Expressions".
    """
    operand = find_operand(query)
    user = operand.parent
    is_set = isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Exists) or (
        isinstance(user, exp.In) and operand.arg_key == "query"
    )
    if user is None or is_set:
        return False
    grouping = read_grouping(query, scopes) if isinstance(query, exp.Select) else None
    return grouping is None or query.args.get("group") is not None


def _find_cut_in_subquery(
    inspection: Inspection, query: exp.Expression, scopes: Scopes, rel_tol: float
) -> Finding | None:
    """A cut through ties that decides the answer: it changes when ties are broken by the selected
    columns, one way or the other. Where a value is wanted, SQLite cuts behind the first row."""
    if isinstance(query.find_ancestor(exp.Exists, exp.Query), exp.Exists):
        return None
    alone = evidence = None
    if all(_is_inner(column, query, scopes) for column in query.find_all(exp.Column)):
        alone = _read_alone(inspection, query)
        evidence = alone and _find_cut(*alone)
        if alone and alone[0] is not None and evidence is None:
            return None
    other = _break_ties_otherwise(inspection, query, scopes, rel_tol)
    if other is None:
        return None
    details = {
        "subquery": to_sql(query)[:SHOWN_TEXT],
        **(evidence.evidence if evidence is not None else {}),
        "answer": show_rows(inspection.rows),
        "other_answer": show_rows(other),
    }
    code = Flag.TIE_AT_LIMIT if query.args.get("order") else Flag.LIMIT_WITHOUT_ORDER
    return Finding(code, details)


def _is_inner(column: exp.Column, query: exp.Expression, scopes: Scopes) -> bool:
    """Whether a column of a subquery belongs to a SELECT within it: it is not correlated."""
    found = scopes.resolve(column)
    node: exp.Expression | None = found.scope.select if found is not None else query
    while node is not None and node is not query:
        node = node.parent
    return node is query


def _read_alone(
    inspection: Inspection, query: exp.Expression
) -> tuple[Ties | None, list[Row]] | None:
    """The ties and rows of a subquery run on its own, with the CTEs around it."""
    tree = query.copy()
    with_ = find_with(query)
    tree.set("with_", with_.copy() if with_ is not None else None)
    if tree.args.get("limit") is None:
        tree.set("limit", make_limit(1))
    sql = to_sql(tree)
    try:
        rows = inspection.database.execute(sql)
    except QueryError:
        return None
    own = Inspection(sql, tree, inspection.schema, rows, inspection.database)
    return read_ties(own), rows


def _break_ties_otherwise(
    inspection: Inspection, query: exp.Expression, scopes: Scopes, rel_tol: float
) -> list[Row] | None:
    """Rows that the whole query returns when ties in the subquery are broken by its columns, where
    those differ from the answer."""
    width = len(scopes.outputs(query))
    answer = shape_answer(inspection.rows)

    def execute(descending: bool | None) -> list[Row]:
        copy, (twin,) = copy_with(inspection.tree, [query])
        if descending is not None:
            terms = [
                exp.Ordered(this=exp.Literal.number(place), desc=descending)
                for place in range(1, width + 1)
            ]
            order = twin.args.get("order")
            kept = [term.copy() for term in order.expressions] if order is not None else []
            twin.set("order", exp.Order(expressions=[*kept, *terms]))
        return inspection.database.execute(to_sql(copy))

    def is_same(rows: list[Row]) -> bool:
        return answers_match(answer, shape_answer(rows), ordered=False, rel_tol=rel_tol)

    try:
        for descending in (False, True):
            rows = execute(descending)
            if not is_same(rows):
                # Nothing can be concluded where the rewriting itself changes the answer.
                return rows if is_same(execute(None)) else None
    except QueryError:
        return None
    return None
