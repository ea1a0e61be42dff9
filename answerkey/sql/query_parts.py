"""Parts of a query's tree that need no schema: its SELECTs, what its FROM joins, what WITH defines.

`answerkey.sql.scopes` says what names stand for.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sqlite.schema import fold_name

ROW_AGGREGATES = (exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg)  # rows count as they come
LITERALS = (exp.Literal, exp.Null, exp.Boolean, exp.HexString, exp.Placeholder)
_ATOMS = (*LITERALS, exp.Star, exp.Column, exp.Subquery, exp.Tuple, exp.Window, exp.Filter)

_AGGREGATES_WITHOUT_A_CLASS = {
    "json_group_array",
    "json_group_object",
    "jsonb_group_array",
    "jsonb_group_object",
    "percentile",
    "string_agg",
    "total",
}


def is_aggregate(node: exp.Expression) -> bool:
    """Whether a node is the call of an aggregate, be it one that sqlglot has no class for."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATES_WITHOUT_A_CLASS
    return isinstance(node, exp.AggFunc)


def is_windowed(node: exp.Expression) -> bool:
    """Whether OVER follows a call, which then aggregates nothing."""
    call = node.parent if isinstance(node.parent, exp.Filter) else node
    return isinstance(call.parent, exp.Window) and call.arg_key == "this"


def is_atom(node: exp.Expression) -> bool:
    """Whether a node needs no parentheses wherever it stands."""
    if isinstance(node, exp.Func):
        return not isinstance(node, exp.Connector | exp.Binary)
    return isinstance(node, _ATOMS)


def is_star(expression: exp.Expression) -> bool:
    return isinstance(expression, exp.Star) or (
        isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
    )


def read_integer(node: exp.Expression) -> int | None:
    """Return the place of a column that a term of ORDER BY or GROUP BY is, or None.

    `2` -> 2, `-(1)` -> -1, `0x10` -> 16, `2.0` -> None, `1 + 1` -> None

    Source: sqlite3ExprIsInteger in SQLite's expr.c.
    """
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_int or int(node.this) >= 2**31:
        return None
    return sign * int(node.this)


def first_select(query: exp.Expression) -> exp.Select | None:
    """Return the leftmost SELECT of a query, or None if that is VALUES."""
    while not isinstance(query, exp.Select):
        if not isinstance(query, exp.SetOperation | exp.Subquery):
            return None
        query = query.this
    return query


def selects_of(query: exp.Expression) -> list[exp.Select]:
    """The SELECTs of a compound select, from left to right; one for a plain SELECT."""
    if isinstance(query, exp.Select):
        return [query]
    if isinstance(query, exp.SetOperation):
        return selects_of(query.this) + selects_of(query.expression)
    return selects_of(query.this) if isinstance(query, exp.Subquery) else []


def members_of_from(select: exp.Select) -> list[exp.Expression]:
    """The tables and subqueries of FROM from left to right, out of their parentheses."""
    start = select.args.get("from_")
    nodes = [start.this] if start is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    members: list[exp.Expression] = []
    for node in nodes:
        _unwrap_member(node, members)
    return members


def name_output(expression: exp.Expression) -> str:
    """The name of a result column; '' if SQLite makes one up.

    Source: sqlite3ColumnsFromExprList in SQLite's select.c.
    """
    inner = expression
    while isinstance(inner, exp.Paren | exp.Collate):
        inner = inner.this
    return expression.alias or (inner.name if isinstance(inner, exp.Column) else "")


def sees_aliases(column: exp.Column, query: exp.Expression) -> bool:
    """Whether a name in a query may mean what the query's AS defines: not in its result columns
    and windows, nor in a subquery there.

    Source: sqlite3ResolveSelectNames in SQLite's resolve.c, which allows it (NC_UEList) after it
    has resolved the result columns.
    """
    return _find_clause(column, query) not in ("expressions", "windows")


def sees_outer_names(column: exp.Expression, query: exp.Expression) -> bool:
    """Whether a name in a query may mean a column of a query around it: not in its ORDER BY and
    GROUP BY, nor in a subquery there.

    Source: sqlite3ResolveSelectNames in SQLite's resolve.c.
    """
    return _find_clause(column, query) not in ("order", "group")


def _find_clause(node: exp.Expression, query: exp.Expression) -> str | None:
    """The part of a query that a node stands in, as sqlglot calls it; None outside the query."""
    while node.parent is not None and node.parent is not query:
        node = node.parent
    return node.arg_key if node.parent is not None else None


def find_operand(query: exp.Expression) -> exp.Expression:
    """A query with all parentheses around it."""
    while isinstance(query.parent, exp.Subquery | exp.Paren):
        query = query.parent
    return query


def list_merged(member: exp.Expression, own: set[str], left: set[str]) -> set[str]:
    """The columns that USING or NATURAL merges with those of tables to the left, so that `*` shows
    them once; `own` are the names of the member, `left` those before it."""
    join = member.parent
    while isinstance(join, exp.Subquery):
        join = join.parent
    if not isinstance(join, exp.Join):
        return set()
    if join.method.upper() == "NATURAL":
        return own & left
    return {fold_name(name.name) for name in join.args.get("using") or ()}


def _unwrap_member(node: exp.Expression, members: list[exp.Expression]) -> None:
    is_wrapper = isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery)
    if is_wrapper and not node.alias:
        _unwrap_member(node.this, members)
    else:
        members.append(node)
    for join in node.args.get("joins") or ():
        _unwrap_member(join.this, members)


def alias_columns(node: exp.Expression) -> tuple[str, ...]:
    alias = node.args.get("alias")
    return tuple(name.name for name in alias.args.get("columns") or ()) if alias else ()


def find_cte(node: exp.Expression, name: str) -> exp.CTE | None:
    """The CTE that a table name means: of the nearest WITH around it that defines one; or None."""
    folded = fold_name(name)
    current: exp.Expression | None = node
    while current is not None:
        with_ = current.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            if fold_name(cte.alias) == folded:
                return cte
        current = current.parent
    return None


def is_whole_order_term(column: exp.Column) -> bool:
    """Whether a column is a whole term of ORDER BY (COLLATE aside), in which AS names come first.

    Source: resolveOrderGroupBy in SQLite's resolve.c; everywhere else columns of FROM come first.
    """
    node = column.parent
    while isinstance(node, exp.Collate | exp.Paren):
        node = node.parent
    if not isinstance(node, exp.Ordered):
        return False
    order = node.parent
    return isinstance(order, exp.Order) and isinstance(order.parent, exp.Query)


def find_with(query: exp.Expression) -> exp.With | None:
    """The nearest WITH whose tables a query may use: its own, or one around it; or None."""
    node: exp.Expression | None = query
    while node is not None:
        if node.args.get("with_") is not None:
            return node.args["with_"]
        node = node.parent
    return None
