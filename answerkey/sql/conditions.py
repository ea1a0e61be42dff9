"""Conditions: the terms of WHERE, HAVING, QUALIFY and ON, and the columns that they make equal.

`FROM ship JOIN port ON ship.home = port.id WHERE port.town = 'Oslo'` has the terms
`ship.home = port.id` and `port.town = 'Oslo'`, equates ship.home and port.id, and makes port.town
constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlglot import exp

from answerkey.engines.schema import fold_name
from answerkey.sql.query_tree import show_sql
from answerkey.sql.scopes import DirectColumn, Place, Scope, Scopes, Source, list_merged

CONNECTORS = (exp.And, exp.Or)
_CLAUSES = (exp.Where, exp.Having, exp.Qualify)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
RANGES = frozenset({"<", "<=", ">", ">="})
PATTERNS = frozenset({"LIKE", "ILIKE", "GLOB"})
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS",
    exp.NullSafeNEQ: "IS NOT",
    exp.Is: "IS",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.Glob: "GLOB",
}
_PREDICATES = (*_OPERATORS, exp.Between, exp.In)
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


# A condition and its parts


def list_parts(node: exp.Expr, kind: type[exp.Connector]) -> list[exp.Expr]:
    """Return the operands of the ANDs (or ORs) at the top of a condition, from left to right, with
    their parentheses, so that they can be joined again."""
    inner = node.unnest()
    if type(inner) is not kind:
        return [node]
    return list_parts(inner.this, kind) + list_parts(inner.expression, kind)


def join_parts(kind: type[exp.Connector], parts: list[exp.Expr]) -> exp.Expr:
    """Return the parts joined by AND (or OR) from the left."""
    joined = parts[0]
    for part in parts[1:]:
        joined = kind(this=joined, expression=part)
    return joined


def list_leaves(node: exp.Expr) -> list[exp.Expr]:
    """Return the conditions that contain neither AND nor OR, from left to right."""
    inner = node.unnest()
    if not isinstance(inner, CONNECTORS):
        return [inner]
    return list_leaves(inner.this) + list_leaves(inner.expression)


def list_terms(clause: exp.Expr | None) -> list[exp.Expr]:
    """Return the terms that AND joins in a condition, a WHERE or a HAVING, without parentheses; []
    for None."""
    if clause is None:
        return []
    condition = clause.this if isinstance(clause, _CLAUSES) else clause
    return [part.unnest() for part in list_parts(condition, exp.And)]


def list_roots(scopes: Scopes) -> Iterator[exp.Expr]:
    """Yield the whole condition of each WHERE, HAVING, QUALIFY and ON of a query."""
    for clause in scopes.nodes.find_all(*_CLAUSES):
        yield clause.this
    for join in scopes.nodes.find_all(exp.Join):
        if join.args.get("on") is not None:
            yield join.args["on"]


def list_joins(select: exp.Select, scopes: Scopes) -> list[exp.Join]:
    """Return the joins in the FROM of a SELECT, also those in parentheses."""
    joins = scopes.nodes.find_all(exp.Join)
    return [join for join in joins if join.parent_select is select]


def list_conditions(select: exp.Select, scopes: Scopes) -> Iterator[exp.Expr]:
    """Yield the terms of each ON in the FROM of a SELECT, and of its WHERE."""
    for join in list_joins(select, scopes):
        yield from list_terms(join.args.get("on"))
    yield from list_terms(select.args.get("where"))


def is_join_condition(node: exp.Expr, scopes: Scopes) -> bool:
    """Return whether a condition compares several members of one FROM.

    Without it, or with its opposite, every row meets every other. Any database shows that such a
    query is wrong, and it takes long.
    """
    sources: dict[int, set[int]] = {}
    for column in node.find_all(exp.Column):
        resolution = scopes.resolve(column)
        if resolution is not None and resolution.source is not None:
            sources.setdefault(id(resolution.scope), set()).add(id(resolution.source))
    return any(len(members) > 1 for members in sources.values())


# Comparisons with values


class Comparison(NamedTuple):
    """`left operator right`, with the query's predicate that it comes from. A literal is always on
    the right. `5 < age` becomes `age > 5`, BETWEEN two comparisons, and IN one per member. NOT is
    dropped, since it compares the same values."""

    node: exp.Expr
    operator: str
    left: exp.Expr
    right: exp.Expr

    @property
    def text(self) -> str:
        """Return the predicate as SQL that a person reads."""
        return show_sql(self.node)


def list_comparisons(scopes: Scopes, within: Iterable[exp.Expr] | None = None) -> list[Comparison]:
    """Return all comparisons of a query and its subqueries, or of parts of the query."""
    predicates: list[exp.Expr] = []
    if within is None:
        predicates += scopes.nodes.find_all(*_PREDICATES)
    else:
        for part in within:
            predicates += part.find_all(*_PREDICATES)
    return [comparison for node in predicates for comparison in _read_predicate(node, scopes)]


def _read_predicate(node: exp.Expr, scopes: Scopes) -> Iterator[Comparison]:
    if isinstance(node, exp.Between):
        yield _compare(node, ">=", node.args["low"], scopes)
        yield _compare(node, "<=", node.args["high"], scopes)
    elif isinstance(node, exp.In):
        for member in node.expressions:
            yield _compare(node, "=", member, scopes)
    else:
        yield _compare(node, _OPERATORS[type(node)], node.expression, scopes)


def _compare(node: exp.Expr, operator: str, right: exp.Expr, scopes: Scopes) -> Comparison:
    left, right = node.this.unnest(), right.unnest()
    if operator not in PATTERNS and is_literal(left, scopes) and not is_literal(right, scopes):
        return Comparison(node, _MIRRORED.get(operator, operator), right, left)
    return Comparison(node, operator, left, right)


def is_literal(node: exp.Expr, scopes: Scopes) -> bool:
    """Return whether an expression is a text or a number, with or without a sign."""
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal)
    return isinstance(node, exp.Literal | exp.Boolean) or read_text(node, scopes) is not None


def read_text(node: exp.Expr, scopes: Scopes) -> str | None:
    """Return the text of a literal, also of one in double quotes; None if it is no text."""
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else None
    return node.name if isinstance(node, exp.Column) and scopes.is_string(node) else None


# Columns that conditions make equal, or constant


def list_merged_columns(scope: Scope) -> Iterator[tuple[str, Source, Source]]:
    """Yield each folded name that USING or NATURAL merges, with the member of FROM that has it
    first and the member that is joined. A subquery may have any name that USING lists."""
    earlier: dict[Source, set[str]] = {}
    for source in scope.sources.values():
        own = {fold_name(column.name) for column in source.table.columns} if source.table else set()
        for name in list_merged(source.node, own, set().union(*earlier.values())):
            left = [other for other, has in earlier.items() if name in has or not other.table]
            if left and (name in own or not source.table):
                yield name, left[0], source
        earlier[source] = own


def list_equalities(select: exp.Select, scopes: Scopes) -> list[tuple[Place, Place]]:
    """Return the columns of two members of FROM that ON, USING or a term of WHERE equates. Outer
    joins count as well: a row without a partner only has NULL on one side."""
    scope = scopes.scope_of(select)
    merged = list_merged_columns(scope) if scope is not None else ()
    pairs: list[tuple[Place, Place]] = [
        ((left, name), (right, name)) for name, left, right in merged
    ]
    for term in list_conditions(select, scopes):
        sides = _read_sides(term, scopes)
        if sides is not None and sides[0].source is not sides[1].source:
            pairs.append((sides[0].place, sides[1].place))
    return pairs


def _read_sides(term: exp.Expr, scopes: Scopes) -> tuple[DirectColumn, DirectColumn] | None:
    if not isinstance(term, exp.EQ):
        return None
    left, right = scopes.find_direct(term.this), scopes.find_direct(term.expression)
    return (left, right) if left is not None and right is not None else None
