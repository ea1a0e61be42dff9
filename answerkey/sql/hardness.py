"""Hardness of a query by the official rule of Spider's evaluation script, read off sqlglot's tree.

    component1  one for WHERE, for GROUP BY, for ORDER BY, for LIMIT; one for each join (tables in
                FROM, less one); one for each OR and LIKE in the conditions of ON, WHERE, HAVING
    component2  one for each query nested in those conditions; one for INTERSECT, EXCEPT or UNION
    others      one for more than one aggregate, for more than one selected column, for more than
                one WHERE condition, for more than one GROUP BY column

Only the outermost query counts; in a set operation that is its left arm. ORDER BY and LIMIT at the
very end belong to the right arm, as in Spider's own parse. A subquery in FROM is a table.

Two habits of the official script are kept, so that labels are the official ones. It looks for
an aggregate in the first field of each condition in WHERE and HAVING, where its parse has the
negation flag: so NOT IN counts as an aggregate, and count(*) in HAVING does not. In HAVING it also
takes each AND and OR for an aggregate.

What Spider's grammar cannot parse is counted in the same spirit:

- CASE, iif() and OVER (...), in a selected column, a condition, GROUP BY or ORDER BY: component1,
  one each. An OR or LIKE inside CASE is no condition of the query, and counts nothing.
- EXISTS (...), each CTE, and a query nested in the select list, GROUP BY, ORDER BY or LIMIT:
  component2, one each. A chain of set operations is one, since Spider nests it to the right.
- VALUES is a query that selects as many columns as its first row has; inside IN it is a list.
- GLOB, REGEXP and MATCH are kinds of LIKE. NOT BETWEEN, NOT EXISTS and NOT before a condition or
  parentheses negate like NOT IN. IS NOT is an operator like !=, and no negation.
- Each aggregate call in a selected column, GROUP BY or ORDER BY counts, so sum(a) / count(*) has
  two; row_number() is an aggregate, and max(a, b) of several arguments is not.
- Parentheses group: conditions are counted inside them, and so are tables in FROM (a JOIN b).
- Arithmetic, COALESCE and other functions, DISTINCT, FILTER, OFFSET, HAVING itself: nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import HARDNESS_LEVELS
from answerkey.sql.query_tree import is_aggregate

EASY, MEDIUM, HARD, EXTRA = HARDNESS_LEVELS

_LIKE_TYPES = (exp.Like, exp.Glob, exp.RegexpLike, exp.Match)
# Nothing that counts stands below these, and they are most of a tree.
_CLOSED_TYPES = (exp.Column, exp.Literal, exp.Query)


class Components(NamedTuple):
    """The sums of the official rule: see the module's table."""

    component1: int
    component2: int
    others: int


def classify_hardness(tree: exp.Expression) -> str:
    """One of HARDNESS_LEVELS.

    >>> from sqlglot import parse_one
    >>> classify_hardness(parse_one("SELECT name FROM cat WHERE age > 3", read="sqlite"))
    'easy'
    >>> classify_hardness(parse_one("SELECT name FROM cat ORDER BY age LIMIT 1", read="sqlite"))
    'medium'
    >>> classify_hardness(parse_one("SELECT a FROM cat EXCEPT SELECT a FROM dog", read="sqlite"))
    'hard'

    Raises:
        ValueError: as `count_components`.
    """
    component1, component2, others = count_components(tree)
    if component2 == 0:
        if component1 <= 1 and others == 0:
            return EASY
        if (component1 <= 1 and others <= 2) or (component1 <= 2 and others < 2):
            return MEDIUM
        if (component1 <= 2 and others > 2) or (component1 == 3 and others <= 2):
            return HARD
    elif component2 == 1 and component1 <= 1 and others == 0:
        return HARD
    return EXTRA


def count_components(tree: exp.Expression) -> Components:
    """Return the three counts of the official rule; the tree stays as it is.

    >>> from sqlglot import parse_one
    >>> sql = "SELECT a, b FROM t JOIN u ON t.id = u.id WHERE a IN (SELECT c FROM v)"
    >>> count_components(parse_one(sql, read="sqlite"))
    Components(component1=2, component2=1, others=1)

    Raises:
        ValueError: the tree is no query (SELECT, VALUES, a set operation, or one in parentheses).
    """
    query, outer_queries = _find_left_arm(tree)
    clauses = query.args
    columns = query.expressions
    if isinstance(query, exp.Values):
        columns = [column for row in columns[:1] for column in row.expressions]
    where, having = clauses.get("where"), clauses.get("having")
    group, order, limit = clauses.get("group"), clauses.get("order"), clauses.get("limit")
    tables, on_conditions = _read_from(query)

    on = _count_conditions(on_conditions)
    filtered = _count_conditions([where.this] if where else [])
    kept = _count_conditions([having.this] if having else [])
    shown = _count_constructs([*query.expressions, group, order])
    # Real aggregates in here do not count: the script looks at the negation flag instead.
    tested = _count_constructs([where, having, limit, *on_conditions])

    aggregates = (
        shown["aggregates"] + filtered["negations"] + kept["negations"] + kept["connectors"]
    )
    return Components(
        component1=sum(clause is not None for clause in (where, group, order, limit))
        + max(tables - 1, 0)
        + sum(clause["ors"] + clause["likes"] for clause in (on, filtered, kept))
        + shown["branches"]
        + tested["branches"],
        component2=outer_queries + shown["nested_queries"] + tested["nested_queries"],
        others=sum(
            count > 1
            for count in (
                aggregates,
                len(columns),
                filtered["conditions"],
                len(group.expressions) if group else 0,
            )
        ),
    )


def _find_left_arm(query: exp.Expression) -> tuple[exp.Expr, int]:
    """Return the leftmost SELECT or VALUES, and the number of queries beside it: CTEs, and one for
    a chain of set operations."""
    ctes = 0
    has_set_operation = False
    while isinstance(query, exp.Query):
        if with_ := query.args.get("with_"):
            ctes += len(with_.expressions)
        if isinstance(query, exp.Select):
            break
        has_set_operation |= isinstance(query, exp.SetOperation)
        query = query.this
    if not isinstance(query, (exp.Select, exp.Values)):
        raise ValueError(f"Not a query: expected SELECT or VALUES, found {type(query).__name__}")
    return query, ctes + has_set_operation


def _read_from(query: exp.Expr) -> tuple[int, list[exp.Expr]]:
    from_ = query.args.get("from_")
    if from_ is None:
        return 0, []
    tables = 0
    on_conditions = []
    pending = [from_.this]
    joins = list(query.args.get("joins") or ())
    while pending:
        source = pending.pop()
        joins += source.args.get("joins") or ()
        if isinstance(source, exp.Subquery) and isinstance(source.this, (exp.Table, exp.Subquery)):
            pending.append(source.this)
        else:
            tables += 1
        for join in joins:
            pending.append(join.this)
            if on := join.args.get("on"):
                on_conditions.append(on)
        joins.clear()
    return tables, on_conditions


def _count_conditions(roots: Iterable[exp.Expr]) -> Counter[str]:
    """Count what AND, OR, NOT and parentheses join, without a look inside a condition."""
    counts: Counter[str] = Counter()
    pending = list(roots)
    while pending:
        node = pending.pop()
        is_negated = False
        while isinstance(node, (exp.Not, exp.Paren)):
            inner = node.this
            # sqlglot's tree of `x IS NOT NULL` is that of `NOT x IS NULL`.
            is_negated |= isinstance(node, exp.Not) and not isinstance(inner, exp.Is)
            node = inner
        if isinstance(node, exp.Connector):
            counts["connectors"] += 1
            counts["ors"] += isinstance(node, exp.Or)
            pending += (node.this, node.expression)
        else:
            counts["conditions"] += 1
            if isinstance(node, exp.Escape):
                node = node.this
            counts["likes"] += isinstance(node, _LIKE_TYPES)
            is_negated |= bool(node.args.get("negate"))
        counts["negations"] += is_negated
    return counts


def _count_constructs(roots: Iterable[exp.Expr | None]) -> Counter[str]:
    """Count the parts of expressions below some nodes, without a look inside a nested query;
    branches are CASE, iif() and OVER."""
    counts: Counter[str] = Counter()
    for root in roots:
        if root is None:
            continue
        for node in root.dfs(prune=lambda node: isinstance(node, _CLOSED_TYPES)):
            if isinstance(node, exp.Query):
                counts["nested_queries"] += 1
            elif isinstance(node, (exp.Case, exp.Window)):
                counts["branches"] += 1
            elif isinstance(node, exp.If):
                # Each WHEN of a CASE is an If too.
                counts["branches"] += node.arg_key != "ifs"
            else:
                counts["aggregates"] += is_aggregate(node) or isinstance(node, exp.RowNumber)
    return counts
