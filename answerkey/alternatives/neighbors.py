"""Neighbors of a gold query: all operators, and the queries one step away that they make.

The docstring of an operator starts with the name of what it makes, as records have it."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from answerkey.rewrites.trees import (
    Change,
    Steps,
    changed,
    find_user,
    has_unique_rows,
    is_counted_once,
    is_within,
    list_others,
    replaced,
    reverse,
    without,
    write_changes,
)
from answerkey.sql.conditions import (
    COMPARISONS,
    CONNECTORS,
    is_join_condition,
    join_parts,
    list_leaves,
    list_parts,
    list_roots,
    read_text,
)
from answerkey.sql.keys import find_one_key, is_nullable, is_number, list_key
from answerkey.sql.query_tree import is_star, is_whole_order_term, read_integer, to_sql
from answerkey.sql.scopes import DirectColumn, Place, Scope, Scopes, Source, list_columns
from answerkey.sqlite.schema import Schema

_DISTINCT = (exp.Count, exp.Sum, exp.Avg)
_MAX_COUNTED_PER_COUNT = 2  # columns: one call should not give most neighbors of a query


def _mutate_aggregates(scopes: Scopes) -> Steps:
    """aggregate_distinct: `sum(a)` -> `SUM(DISTINCT a)`; count_argument: `count(*)` -> `COUNT(b)`,
    `COUNT(DISTINCT b)`."""
    for node in scopes.nodes.find_all(*_DISTINCT):
        inner = node.this
        if isinstance(node, exp.Count) and isinstance(inner, exp.Star):
            yield from _count_values(node, scopes)
            continue
        is_distinct = isinstance(inner, exp.Distinct)
        values = inner.expressions if is_distinct else [inner]
        if len(values) != 1 or node.args.get("expressions"):
            continue
        other = values[0].copy() if is_distinct else exp.Distinct(expressions=[inner.copy()])
        with changed(node, this=other):
            yield "aggregate_distinct"
        if isinstance(node, exp.Count):
            with changed(node, this=exp.Star()):
                yield "count_argument"


def _count_values(node: exp.Count, scopes: Scopes) -> Steps:
    """Distinct values of columns that the SELECT names and does not group by; and values of one
    that it does not name, and that may be NULL."""
    scope = scopes.scope_of(node)
    if scope is None:
        return
    group = scope.select.args.get("group")
    keys = [scopes.find_direct(key) for key in group.expressions] if group is not None else []
    grouped = {key.place for key in keys if key is not None}
    named: dict[Place, exp.Column] = {}
    names: set[str] = set()
    for node_of_column in scopes.nodes.find_all(exp.Column):
        column = scopes.find_direct(node_of_column)
        is_own = scopes.scope_of(node_of_column) is scope
        if column is not None and column.scope is scope and is_own:
            names.add(node_of_column.name)
            if column.place not in grouped:
                named.setdefault(column.place, node_of_column)
    counted = list(named.values())[:_MAX_COUNTED_PER_COUNT]
    inner: list[exp.Expr] = [exp.Distinct(expressions=[column.copy()]) for column in counted]
    for other in list_columns(scope):
        if is_nullable(other.column) and other.column.name not in names:
            inner += [other.write(), exp.Distinct(expressions=[other.write()])]
            break
    for values in inner:
        with changed(node, this=values):
            yield "count_argument"


_AGGREGATES = (exp.Avg, exp.Max, exp.Min, exp.Sum)


def _mutate_functions(scopes: Scopes) -> Steps:
    """aggregate_function: `max(a)` -> `AVG(a)`, `MIN(a)`, `SUM(a)`; extreme_value: `SELECT a FROM t
    GROUP BY a ORDER BY count(*) DESC LIMIT 1` -> `SELECT MAX(a) FROM t`, `SELECT MIN(a) FROM t`,
    and so of `SELECT a FROM t ORDER BY b LIMIT 1`.

    Where the real rows have one value, all of these are the value; and of two, one is the greatest
    and the least, and the most common one, too.
    """
    for node in scopes.nodes.find_all(*_AGGREGATES):
        column = scopes.find_direct(node.this)
        is_text = column is not None and not is_number(column.column)
        kinds = (exp.Max, exp.Min) if is_text else _AGGREGATES
        for kind in kinds if type(node) in kinds else ():
            if type(node) is not kind:
                with replaced(node, kind(this=node.this.copy())):
                    yield "aggregate_function"
    for select in scopes.nodes.find_all(exp.Select):
        if len(select.expressions) == 1 and (_is_of_the_most(select) or _is_of_the_first(select)):
            shown = select.expressions[0].unalias()
            for extreme in (exp.Max, exp.Min):
                column_of = [extreme(this=shown.copy())]
                gone = dict.fromkeys(("group", "having", "order", "limit"))
                with changed(select, expressions=column_of, **gone):
                    yield "extreme_value"


def _is_of_the_first(select: exp.Select) -> bool:
    """Whether a SELECT shows a column of the row that is the first by another one."""
    order, limit = select.args.get("order"), select.args.get("limit")
    if select.args.get("group") is not None or order is None or limit is None:
        return False
    shown, key = select.expressions[0].unalias(), order.expressions[0].this
    is_other = isinstance(key, exp.Column) and to_sql(key).lower() != to_sql(shown).lower()
    return isinstance(shown, exp.Column) and is_other and read_integer(limit.expression) == 1


def _is_of_the_most(select: exp.Select) -> bool:
    """Whether a SELECT shows one of its groups, the first by an aggregate."""
    group, order, limit = (select.args.get(name) for name in ("group", "order", "limit"))
    if group is None or order is None or limit is None:
        return False
    keys = {to_sql(key).lower() for key in group.expressions}
    shown = to_sql(select.expressions[0].unalias()).lower()
    return shown in keys and read_integer(limit.expression) == 1


_MAX_OTHERS_PER_COLUMN = 2  # the nearest in the table: a wide one would give all neighbors
_AFFINITY_FREE = (exp.Group, exp.Count, exp.Distinct)


def _mutate_columns(scopes: Scopes) -> Steps:
    """column, another one of the table: `SELECT name FROM ship` -> `SELECT "port" FROM ship`; and
    join_key, where a condition joins.

    The other has the same affinity. What groups, sorts or is counted may have any: the answer looks
    the same. What is shown may be the key in place of the name.
    """
    for node in scopes.nodes.find_all(exp.Column):
        column = scopes.find_direct(node)
        if column is None:
            continue
        comparison = node.parent if isinstance(node.parent, COMPARISONS) else None
        if comparison is not None and is_join_condition(comparison, scopes):
            yield from _replace_key(node, column)
        else:
            yield from _replace_columns(node, column)


def _replace_key(node: exp.Column, joined: DirectColumn) -> Steps:
    table = joined.table  # whose keys come first: a wrong one is written by mistake
    keys = {name for key in table.foreign_keys for name in key.columns} | set(list_key(table))
    others = list_others(table, joined.column, is_any=False, most=len(table.columns))
    others.sort(key=lambda column: column.name not in keys)
    for other in others[:_MAX_OTHERS_PER_COLUMN]:
        with replaced(node, joined.beside(other).write()):
            yield "join_key"


def _replace_columns(node: exp.Column, column: DirectColumn) -> Steps:
    table = column.table
    is_any = isinstance(node.parent, _AFFINITY_FREE) or is_whole_order_term(node)
    others = list_others(table, column.column, is_any=is_any, most=_MAX_OTHERS_PER_COLUMN)
    key = find_one_key(table)
    if _is_shown(node) and key is not None and not column.column.primary_key:
        others.append(key)
    for other in others:
        with replaced(node, column.beside(other).write()):
            yield "column"


def _is_shown(node: exp.Column) -> bool:
    output = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(output.parent, exp.Select) and output.arg_key == "expressions"


def _mutate_select_list(scopes: Scopes) -> Steps:
    """distinct, where equal rows count more than once: `SELECT a` -> `SELECT DISTINCT a`."""
    for select in scopes.nodes.find_all(exp.Select):
        if _shows_rows(select) and not (is_counted_once(select) or has_unique_rows(select, scopes)):
            other = None if select.args.get("distinct") else exp.Distinct()
            with changed(select, distinct=other):
                yield "distinct"


def _shows_rows(select: exp.Select) -> bool:
    user = find_user(select)
    return user is None or isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation)


_OTHERS = {
    exp.EQ: (exp.NEQ, exp.LTE, exp.GTE),
    exp.NEQ: (exp.EQ, exp.LT, exp.GT),
    exp.LT: (exp.LTE, exp.NEQ, exp.GT),
    exp.LTE: (exp.LT, exp.EQ, exp.GTE),
    exp.GT: (exp.GTE, exp.NEQ, exp.LT),
    exp.GTE: (exp.GT, exp.EQ, exp.LTE),
}


def _mutate_comparisons(scopes: Scopes) -> Steps:
    """comparison: `a < 1` -> `a <= 1`, `a <> 1`, `a > 1`; but not where it joins tables.

    A database that tells the first two from the gold tells all others, but for the mirrored one,
    which models write by mistake.

    Source: Kaminski, Ammann and Offutt, "Improving logic-based testing", Journal of Systems and
    Software 86, 2013 (which three mutants of a relational operator stand for the others).
    """
    for node in scopes.nodes.find_all(*_OTHERS):
        if is_join_condition(node, scopes):
            continue
        for kind in _OTHERS[type(node)]:
            other = kind(this=node.this.copy(), expression=node.expression.copy())
            with replaced(node, other):
                yield "comparison"


def _mutate_connectors(scopes: Scopes) -> Steps:
    """condition_removed: `a = 1 AND b = 2` -> `b = 2`, `a = 1`; connector: `a = 1 OR b = 2`."""
    for root in list_roots(scopes):
        for leaf in list_leaves(root):
            if not is_join_condition(leaf, scopes):
                yield from _remove_condition(leaf)
        yield from _connect(root, scopes)


def _remove_condition(leaf: exp.Expr) -> Steps:
    node, parent = leaf, leaf.parent
    while isinstance(parent, exp.Paren):
        node, parent = parent, parent.parent
    if isinstance(parent, CONNECTORS):
        kept = parent.expression if parent.this is node else parent.this
        with replaced(parent, kept.copy()):
            yield "condition_removed"
    elif isinstance(parent, exp.Where | exp.Having) and parent.parent is not None:
        with changed(parent.parent, **{str(parent.arg_key): None}):
            yield "condition_removed"


def _connect(root: exp.Expr, scopes: Scopes) -> Steps:
    for node in root.find_all(*CONNECTORS):
        kind = type(node)
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if type(parent) is kind:
            continue
        parts = list_parts(node, kind)
        is_free = [not is_join_condition(part, scopes) for part in parts]
        for index in range(len(parts) - 1):
            if is_free[index] and is_free[index + 1]:
                with replaced(node, _swap_connector(kind, parts, index)):
                    yield "connector"


def _swap_connector(kind: type[exp.Connector], parts: list[exp.Expr], index: int) -> exp.Expr:
    other = exp.Or if kind is exp.And else exp.And
    pair = other(this=parts[index].copy(), expression=parts[index + 1].copy())
    if len(parts) == 2:
        return exp.Paren(this=pair)
    copies = [part.copy() for part in parts]
    copies[index] = exp.Paren(this=pair)
    return join_parts(kind, without(copies, index + 1))


_PLACES = (exp.Ordered, exp.Group, exp.Limit, exp.Offset)  # which column, or how many rows
_TESTS = (*COMPARISONS, exp.In, exp.Between, exp.Like, exp.Glob)
_MAX_DIGITS = 15  # digits that SQLite holds exactly


def _mutate_literals(scopes: Scopes) -> Steps:
    """number: `a = 5` -> `a = 4`, `a = 6`; text_affix: `b = 'Paris'` -> `b = 'Parisx'`."""
    for node in scopes.nodes.find_all(exp.Literal, exp.Column):
        if isinstance(node.parent, _PLACES):
            continue
        text = read_text(node, scopes)
        if text is not None:
            if isinstance(node.parent, _TESTS):
                yield from _mutate_text(node, text)
        elif isinstance(node, exp.Literal):
            yield from _mutate_number(node)


def _mutate_number(node: exp.Literal) -> Steps:
    if len(node.this) > _MAX_DIGITS or not node.this.replace(".", "", 1).isdigit():
        return
    number = Decimal(node.this)
    others = [number + 1]
    if number or not isinstance(node.parent, exp.Neg):
        others.append(number - 1)
    for other in others:
        with replaced(node, exp.Literal.number(str(other))):
            yield "number"


def _mutate_text(node: exp.Expr, text: str) -> Steps:
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        for other in (int(text) + 1, int(text) - 1):
            with replaced(node, exp.Literal.string(str(other).zfill(len(text)))):
                yield "number"
        return
    end = len(text.rstrip("%")) if isinstance(node.parent, exp.Like) else len(text)
    with replaced(node, exp.Literal.string(f"{text[:end]}x{text[end:]}")):
        yield "text_affix"


_FORMS = ("%{}%", "{}%", "%{}")


def _mutate_patterns(scopes: Scopes) -> Steps:
    """pattern: `a LIKE '%x%'` -> `a LIKE 'x%'`, `a LIKE '%x'`; equality_as_pattern: LIKE for =."""
    for node in scopes.nodes.find_all(exp.Like):
        pattern = read_text(node.expression, scopes)
        core = pattern.strip("%") if pattern else ""
        if not core:
            continue
        for form in _FORMS:
            if form.format(core) != pattern:
                with changed(node, expression=exp.Literal.string(form.format(core))):
                    yield "pattern"
    for equality in scopes.nodes.find_all(exp.EQ):
        text, column = read_text(equality.expression, scopes), scopes.find_direct(equality.this)
        if text and not (column is not None and is_number(column.column)):
            like = exp.Like(this=equality.this.copy(), expression=exp.Literal.string(f"%{text}%"))
            with replaced(equality, like):
                yield "equality_as_pattern"


def _mutate_ranges(scopes: Scopes) -> Steps:
    """range_bound, each excluded or left out: `a BETWEEN 1 AND 9` -> `(a > 1 AND a <= 9)`,
    `(a >= 1 AND a < 9)`, `a >= 1`, `a <= 9`."""
    for node in scopes.nodes.find_all(exp.Between):
        for low, high in ((exp.GT, exp.LTE), (exp.GTE, exp.LT), (exp.GTE, None), (None, exp.LTE)):
            sides = [
                kind(this=node.this.copy(), expression=node.args[bound].copy())
                for kind, bound in ((low, "low"), (high, "high"))
                if kind is not None
            ]
            other = exp.And(this=sides[0], expression=sides[1]) if len(sides) == 2 else sides[0]
            with replaced(node, exp.Paren(this=other)):
                yield "range_bound"


def _mutate_joins(scopes: Scopes) -> Steps:
    """join_type: `a JOIN b ON ...` -> `a LEFT JOIN b ON ...`, and back; join_removed: `a`, where
    the query says nothing else of b than conditions, which go with it."""
    for scope in scopes.select_scopes():
        joins = scope.select.args.get("joins") or []
        for join in joins:
            if join.args.get("on") or join.args.get("using"):
                with changed(join, side=None if join.side else "LEFT", kind=None):
                    yield "join_type"
        if joins and _is_plain(scope, joins):
            for source in scope.sources.values():
                yield from _remove_table(source, scope, scopes)


def _is_plain(scope: Scope, joins: list[exp.Join]) -> bool:
    """Whether FROM is a list of members with conditions, all of whose columns are named."""
    if any(join.method or join.side or join.args.get("using") for join in joins):
        return False
    if any(map(is_star, scope.select.expressions)):
        return False
    members = [scope.select.args["from_"].this, *(join.this for join in joins)]
    nodes = [source.node for source in scope.sources.values()]
    return len(members) == len(nodes) and all(
        left is right for left, right in zip(members, nodes, strict=True)
    )


def _remove_table(source: Source, scope: Scope, scopes: Scopes) -> Steps:
    select = scope.select
    joins = select.args["joins"]
    where = select.args.get("where")
    roots = [join.args["on"] for join in joins if join.args.get("on") is not None]
    roots += [where.this] if where is not None else []
    parts = [part for root in roots for part in list_parts(root, exp.And)]
    named = [
        column
        for column in scopes.nodes.find_all(exp.Column)
        if (resolution := scopes.resolve(column)) is not None and resolution.source is source
    ]
    dropped = {id(part) for part in parts if any(is_within(name, part) for name in named)}
    gone = [part for part in parts if id(part) in dropped]
    if not all(any(is_within(name, part) for part in gone) for name in named):
        return
    resolved = [scopes.resolve(column) for part in gone for column in part.find_all(exp.Column)]
    own = (column for column in resolved if column is not None and column.scope is scope)
    tied = {id(column.source) for column in own}
    if len(tied - {id(source)}) != 1:
        return  # without it, the others would not be joined
    members = [member.node for member in scope.sources.values() if member is not source]
    kept = [part.copy() for part in parts if id(part) not in dropped]
    new_joins = [exp.Join(this=member.copy()) for member in members[1:]]
    new_where = exp.Where(this=join_parts(exp.And, kept)) if kept else None
    start = exp.From(this=members[0].copy())
    with changed(select, from_=start, joins=new_joins or None, where=new_where):
        yield "join_removed"


def _mutate_order(scopes: Scopes) -> Steps:
    """order_dropped: `SELECT a FROM t ORDER BY b LIMIT 1` -> `SELECT a FROM t LIMIT 1`; and
    order_reversed: `ORDER BY b DESC LIMIT 1`; not where neither the answer nor a LIMIT has it."""
    for order in scopes.nodes.find_all(exp.Order):
        query = order.parent
        if not isinstance(query, exp.Query):  # a window's
            continue
        if query.args.get("limit") is None and find_user(query) is not None:
            continue
        with changed(query, order=None):
            yield "order_dropped"
        with replaced(order, exp.Order(expressions=[reverse(term) for term in order.expressions])):
            yield "order_reversed"


FAMILIES = (
    _mutate_aggregates,
    _mutate_columns,
    _mutate_comparisons,
    _mutate_connectors,
    _mutate_functions,
    _mutate_joins,
    _mutate_literals,
    _mutate_order,
    _mutate_patterns,
    _mutate_ranges,
    _mutate_select_list,
)


def list_neighbors(tree: exp.Expr, schema: Schema, *, max_neighbors: int) -> list[Change]:
    """The neighbors of a gold query, sorted, each text once, none of them the gold's own.

    `SELECT a FROM t WHERE b > 2` -> comparison: `SELECT a FROM t WHERE b >= 2`, number: `SELECT a
    FROM t WHERE b > 3`, distinct: `SELECT DISTINCT a FROM t WHERE b > 2`, ...

    Where there are more than `max_neighbors`, each operator gives the same number as far as it has
    so many, from all over the query. The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    texts_by_operator: dict[str, list[str]] = {}
    steps = [mutate(scopes) for mutate in FAMILIES]
    for operator, text in write_changes(scopes, steps, most=4 * max_neighbors):
        texts_by_operator.setdefault(operator, []).append(text)
    counts = {name: len(texts) for name, texts in sorted(texts_by_operator.items())}
    kept = _share_out(counts, max_neighbors)
    return sorted(
        Change(name, texts_by_operator[name][index * counts[name] // count])
        for name, count in kept.items()
        for index in range(count)
    )


def _share_out(counts: dict[str, int], most: int) -> dict[str, int]:
    kept = dict.fromkeys(counts, 0)
    while sum(kept.values()) < most and kept != counts:
        for name in [name for name in counts if kept[name] < counts[name]]:
            if sum(kept.values()) < most:
                kept[name] += 1
    return kept
