"""Aggregates: another one, DISTINCT inside or not, rows counted in place of values.

`max(a)` -> `MIN(a)`, `AVG(a)`, `a`; `count(*)` -> `COUNT(b)`, `COUNT(DISTINCT b)`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import is_whole_order_term
from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Resolution, Scope, Scopes, Source
from answerkey.sqlite.schema import fold_name
from answerkey.suites.operators.trees import (
    COMPARISONS,
    Steps,
    changed,
    find_direct,
    find_user,
    has_unique_rows,
    is_asked_for_rows,
    is_counted_once,
    is_join_condition,
    is_nullable,
    is_number,
    is_same_column,
    is_top,
    list_key,
    list_others,
    name_column,
    read_text,
    replaced,
    without,
)

_OTHERS = {
    exp.Min: (exp.Max, exp.Avg),
    exp.Max: (exp.Min, exp.Avg),
    exp.Avg: (exp.Sum, exp.Max),
    exp.Sum: (exp.Avg, exp.Count),
    exp.Count: (exp.Sum,),
}
_OF_NUMBERS = (exp.Avg, exp.Sum)
_DISTINCT = (exp.Count, exp.Sum, exp.Avg)
_MOST = 2


def mutate_aggregates(scopes: Scopes) -> Steps:
    """aggregate, aggregate_removed, aggregate_distinct, count_argument."""
    for node in scopes.nodes.find_all(*_OTHERS):
        inner = node.this
        if isinstance(inner, exp.Star):
            yield from _count_values(node, scopes)
            continue
        is_distinct = isinstance(inner, exp.Distinct)
        values = inner.expressions if is_distinct else [inner]
        if len(values) != 1 or node.args.get("expressions"):
            continue
        yield from _replace(node, values[0], scopes)
        if isinstance(node, _DISTINCT):
            other = values[0].copy() if is_distinct else exp.Distinct(expressions=[inner.copy()])
            with changed(node, this=other):
                yield "aggregate_distinct"
        if isinstance(node, exp.Count):
            with changed(node, this=exp.Star()):
                yield "count_argument"


def _replace(node: exp.Expression, value: exp.Expression, scopes: Scopes) -> Steps:
    found = find_direct(value, scopes)
    is_text = found is not None and not is_number(found.column)
    for kind in _OTHERS[type(node)]:
        if not (is_text and issubclass(kind, _OF_NUMBERS)):
            with replaced(node, kind(this=node.this.copy())):
                yield "aggregate"
    select = node.find_ancestor(exp.Select)
    if select is not None and not select.args.get("group") and not isinstance(node, exp.Count):
        with replaced(node, value.copy()):
            yield "aggregate_removed"


def _count_values(node: exp.Count, scopes: Scopes) -> Steps:
    """Distinct values of columns that the SELECT names and does not group by; and values of one
    that it does not name, and that may be NULL."""
    scope = scopes.scope_of(node)
    if scope is None:
        return
    group = scope.select.args.get("group")
    keys = [find_direct(key, scopes) for key in group.expressions] if group is not None else []
    columns = [
        column for column in scopes.nodes.find_all(exp.Column) if _is_of(column, scope, scopes)
    ]
    named: dict[tuple[str, str], exp.Column] = {}
    for column in columns:
        found = find_direct(column, scopes)
        if not any(is_same_column(found, key) for key in keys):
            named.setdefault((found.source.name, found.column.name), column)
    inner = [exp.Distinct(expressions=[column.copy()]) for column in list(named.values())[:_MOST]]
    other = _find_nullable(scope, {column.name for column in columns})
    if other is not None:
        inner += [other, exp.Distinct(expressions=[other.copy()])]
    for values in inner:
        with changed(node, this=values):
            yield "count_argument"


def _is_of(column: exp.Column, scope: Scope, scopes: Scopes) -> bool:
    """Whether a column is one of a table in a SELECT's own FROM, named by that SELECT itself."""
    found = find_direct(column, scopes)
    return found is not None and found.scope is scope and scopes.scope_of(column) is scope


def _find_nullable(scope: Scope, named: set[str]) -> exp.Column | None:
    for source in scope.sources.values():
        for column in source.table.columns if source.table is not None else ():
            if is_nullable(column) and column.name not in named:
                return name_column(column, source, scope)
    return None


# Columns: another column of the same table and affinity, or that of another table of the FROM.
#
# `SELECT name FROM ship` -> `SELECT "port" FROM ship`; `t.name` -> `u.name`; `a = 5` -> `a = b`.
# What groups, sorts or is counted may have any affinity: the answer looks the same. What is shown
# may
# be the key in place of the name.


_MOST_COLUMNS = 2
_AFFINITY_FREE = (exp.Group, exp.Count, exp.Distinct)


def mutate_columns(scopes: Scopes) -> Steps:
    """column, column_source (the same name in another table), join_key, literal_as_column."""
    for node in scopes.nodes.find_all(exp.Column):
        found = find_direct(node, scopes)
        if found is None or is_asked_for_rows(node):
            continue
        comparison = node.parent if isinstance(node.parent, COMPARISONS) else None
        if comparison is not None and is_join_condition(comparison, scopes):
            yield from _replace_key(node, found)
        else:
            yield from _replace_columns(node, found, scopes)
            if comparison is not None and comparison.this is node:
                yield from _replace_literal(comparison, found, scopes)


def _replace_key(node: exp.Column, found: Resolution) -> Steps:
    """Keys come first: a wrong one is what is written by mistake."""
    table = found.source.table
    keys = {name for key in table.foreign_keys for name in key.columns} | set(list_key(table))
    others = list_others(table, found.column, is_any=False, most=len(table.columns))
    others.sort(key=lambda column: column.name not in keys)
    for other in others[:_MOST_COLUMNS]:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "join_key"


def _replace_columns(node: exp.Column, found: Resolution, scopes: Scopes) -> Steps:
    table = found.source.table
    is_any = isinstance(node.parent, _AFFINITY_FREE) or is_whole_order_term(node)
    others = list_others(table, found.column, is_any=is_any, most=_MOST_COLUMNS)
    key = list_key(table)
    if _is_shown(node) and len(key) == 1 and not found.column.primary_key:
        others.append(table.find_column(key[0]))
    for other in others:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "column"
    for source in found.scope.sources.values():
        twin = source.table.find_column(found.column.name) if source.table is not None else None
        is_other = fold_name(source.name) != fold_name(found.source.name)
        if is_other and twin is not None and not _is_equated(found, source, scopes):
            with replaced(node, name_column(twin, source, found.scope)):
                yield "column_source"


def _is_shown(node: exp.Column) -> bool:
    place = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(place.parent, exp.Select) and place.arg_key == "expressions"


def _is_equated(found: Resolution, source: Source, scopes: Scopes) -> bool:
    """Whether an inner join gives a column and that of the same name in another table one value."""
    if any(join.side for join in found.scope.select.args.get("joins") or ()):
        return False
    wanted = {(id(other), fold_name(found.column.name)) for other in (found.source, source)}
    for node in scopes.nodes.find_all(exp.EQ):
        sides = [find_direct(side, scopes) for side in (node.this, node.expression)]
        if {(id(side.source), fold_name(side.column.name)) for side in sides if side} == wanted:
            return True
    return False


def _replace_literal(comparison: exp.Expression, found: Resolution, scopes: Scopes) -> Steps:
    literal = comparison.expression
    if not isinstance(literal, exp.Literal) and read_text(literal, scopes) is None:
        return
    for other in list_others(found.source.table, found.column, is_any=False, most=1):
        with replaced(literal, name_column(other, found.source, found.scope)):
            yield "literal_as_column"


# Expressions: another arithmetic operator, its sides swapped, a CAST or function left out, the
# values of CASE swapped.
#
# `a - b` -> `a + b`, `b - a`; `CAST(a AS REAL) / b` -> `a / b`; `round(a, 1)` -> `a`


_OTHERS_EXPRESSIONS = {exp.Add: exp.Sub, exp.Sub: exp.Add, exp.Mul: exp.Div, exp.Div: exp.Mul}
_SWAPPED = (exp.Sub, exp.Div)
_WRAPPERS = (exp.Round, exp.Abs, exp.Upper, exp.Lower, exp.Trim, exp.Coalesce)


def mutate_expressions(scopes: Scopes) -> Steps:
    """arithmetic, operands_swapped, cast_removed, function_removed, case_values."""
    for node in scopes.nodes.find_all(*_OTHERS_EXPRESSIONS):
        left, right = node.this, node.expression
        with replaced(
            node, _OTHERS_EXPRESSIONS[type(node)](this=left.copy(), expression=right.copy())
        ):
            yield "arithmetic"
        if isinstance(node, _SWAPPED):
            with changed(node, this=_wrap(right), expression=_wrap(left)):
                yield "operands_swapped"
    for node in scopes.nodes.find_all(exp.Cast):
        with replaced(node, _wrap(node.this)):
            yield "cast_removed"
    for node in scopes.nodes.find_all(*_WRAPPERS):
        with replaced(node, _wrap(node.this)):
            yield "function_removed"
    for node in scopes.nodes.find_all(exp.Case):
        yield from _mutate_case(node)
    for node in scopes.nodes.find_all(exp.If):
        other = node.args.get("false")
        if other is not None and not isinstance(node.parent, exp.Case):
            with changed(node, true=other.copy(), false=node.args["true"].copy()):
                yield "case_values"


def _mutate_case(node: exp.Case) -> Steps:
    default, branches = node.args.get("default"), node.args["ifs"]
    if default is None:
        return
    with changed(node, default=None):
        yield "case_values"
    if len(branches) == 1:
        first = branches[0].copy()
        first.set("true", default.copy())
        with changed(node, ifs=[first], default=branches[0].args["true"].copy()):
            yield "case_values"


def _wrap(node: exp.Expression) -> exp.Expression:
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Binary) else node.copy()


# Select list: DISTINCT or not, a column less, two columns swapped, one more.
#
# `SELECT a, b FROM t` -> `SELECT DISTINCT a, b FROM t`, `SELECT b FROM t`, `SELECT b, a FROM t`


def mutate_select_list(scopes: Scopes) -> Steps:
    """distinct, where equal rows count more than once; shown_column_removed, shown_columns_swapped
    and shown_column_added (what it sorts or groups by), in the outermost SELECT."""
    for select in scopes.nodes.find_all(exp.Select):
        if (
            _shows_rows(select)
            and not is_counted_once(select)
            and not has_unique_rows(select, scopes)
        ):
            other = None if select.args.get("distinct") else exp.Distinct()
            with changed(select, distinct=other):
                yield "distinct"
        if is_top(select):
            yield from _mutate_columns(select)


def _shows_rows(select: exp.Select) -> bool:
    user = find_user(select)
    return user is None or isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation)


def _mutate_columns(select: exp.Select) -> Steps:
    columns = select.expressions
    for place in range(len(columns) if len(columns) > 1 else 0):
        with changed(select, expressions=without(columns, place)):
            yield "shown_column_removed"
    for place in range(len(columns) - 1):
        pair = [columns[place + 1], columns[place]]
        if pair[0].unalias() == pair[1].unalias():
            continue
        with changed(select, expressions=[*columns[:place], *pair, *columns[place + 2 :]]):
            yield "shown_columns_swapped"
    shown = {to_sql(column.unalias()).lower() for column in columns}
    aliases = {column.alias.lower() for column in columns if column.alias}
    for key in _list_keys(select):
        text = to_sql(key).lower()
        if text not in shown | aliases and not isinstance(key, exp.Literal):
            with changed(select, expressions=[*columns, key.copy()]):
                yield "shown_column_added"


def _list_keys(select: exp.Select) -> list[exp.Expression]:
    order, group = select.args.get("order"), select.args.get("group")
    keys = [key.this for key in order.expressions] if order is not None else []
    return keys + (group.expressions if group is not None else [])
