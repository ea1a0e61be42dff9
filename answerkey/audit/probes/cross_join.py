"""cross_join: no condition joins two tables of a FROM, so that every row meets every other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.joins import joins_of, merged_columns
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.resolutions import Scope, Source
from answerkey.sqlite.schema import fold_name, quote_name

_PRODUCTS_SHOWN = 3
_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """A finding where tables stand in one FROM and no condition joins them: `FROM ship, port`.

    Any condition on columns of both joins two tables, also by way of other tables. So does a
    subquery that uses both. There is no finding where the author wrote CROSS JOIN, nor for a
    product with one row that the query returns or sorts by (`a.depth - b.depth`): the source has no
    other row, or its own conditions leave one. A source that is only there, as in `JOIN port ON
    ship.id = ship.id`, is a finding.
    """
    reading = read_query(inspection)
    products: list[dict[str, Any]] = []
    for scope in reading.scopes.select_scopes():
        if len(scope.sources) > 1:
            product = _find_product(scope, reading)
            if product is not None:
                products.append(product)
    if not products:
        return []
    return [Finding(Flag.CROSS_JOIN, {"products": products[:_PRODUCTS_SHOWN]})]


def _find_product(scope: Scope, reading: Reading) -> dict[str, Any] | None:
    groups = _Groups()
    sources = list(scope.sources.values())
    conjuncts = list(_conjuncts_of(scope.select))
    joins = joins_of(scope.select)
    for conjunct in conjuncts:
        groups.tie(_sources_in(conjunct, reading))
    for join in joins:
        for _, source, joined in merged_columns(join, scope):
            groups.tie([id(source), id(joined)])
        if _is_cross_join(join, reading.inspection.sql):
            groups.tie([id(sources[0]), *(id(s) for s in sources if s.node is join.this)])
    for source in sources:
        if source.table is None and source.query is None:  # a function of what stands before it
            groups.tie([id(sources[0]), id(source)])
    parts = groups.part([id(source) for source in sources])
    if len(parts) < 2:
        return None
    by_id = {id(source): source for source in sources}
    names: list[str] = []
    rows: list[int | None] = []
    for part in parts:
        members = [by_id[key] for key in part]
        count = _count_rows(members[0], [], reading) if len(members) == 1 else None
        if count is not None and (count <= 1 or _is_wanted_row(members[0], conjuncts, reading)):
            continue
        names.append(members[0].name)
        rows.append(count)
    return {"sources": names[:5], "rows": rows[:5]} if len(names) > 1 else None


def _conjuncts_of(select: exp.Select) -> Iterator[exp.Expression]:
    """The conditions of WHERE, HAVING and ON, taken apart at AND."""
    waiting = [join.args.get("on") for join in joins_of(select)]
    waiting += [clause.this for clause in map(select.args.get, ("where", "having")) if clause]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.And):
            waiting += [node.left, node.right]
        elif isinstance(node, exp.Paren):
            waiting.append(node.this)
        elif node is not None:
            yield node


def _sources_in(node: exp.Expression, reading: Reading) -> list[Any]:
    """What a condition ties together: the sources of its columns; with `T1.name = 'x'` also every
    other source whose `name` is equated to the same literal."""
    found: list[Any] = []
    for column in node.find_all(exp.Column):
        resolution = reading.resolve(column)
        if resolution is not None and resolution.source is not None:
            found.append(id(resolution.source))
        elif resolution is not None and resolution.expression is not None:
            found += _sources_in(resolution.expression, reading)
    if isinstance(node, exp.EQ):
        for side, other in ((node.this, node.expression), (node.expression, node.this)):
            if isinstance(side, exp.Column) and reading.is_literal(other.unnest()):
                found.append((fold_name(side.name), reading.literal_sql(other.unnest())))
    return found


def _is_cross_join(join: exp.Join, sql: str) -> bool:
    """Whether a join is spelt CROSS JOIN; the parser makes the same of a comma."""
    if join.kind != "CROSS" or not _CROSS_JOIN.search(sql):
        return False
    name = join.this.this
    if not isinstance(name, exp.Identifier) or "start" not in name.meta:
        return True
    return not sql[: name.meta["start"]].rstrip(' "`[(').endswith(",")


def _is_wanted_row(source: Source, conjuncts: list[exp.Expression], reading: Reading) -> bool:
    """Whether its own conditions leave one row of a source, and the query returns it or sorts by
    it."""
    select = source.node.find_ancestor(exp.Select)
    if (_count_rows(source, conjuncts, reading) or 0) != 1 or select is None:
        return False
    for join in joins_of(select):
        on = join.args.get("on") if join.this is source.node else None
        tied = _sources_in(on, reading) if on is not None else []
        if tied and id(source) not in tied:
            return False
    used = [*select.expressions, *(filter(None, map(select.args.get, ("group", "order"))))]
    return any(
        isinstance(node, exp.Star)
        or (isinstance(node, exp.Column) and node.is_star)
        or id(source) in _sources_in(node, reading)
        for node in used
    )


def _count_rows(
    source: Source, conjuncts: Iterable[exp.Expression], reading: Reading
) -> int | None:
    """How many rows of a source those conditions leave that look at nothing else; None where that
    cannot be found out."""
    own = [
        to_sql(conjunct)
        for conjunct in conjuncts
        if {key for key in _sources_in(conjunct, reading) if isinstance(key, int)} == {id(source)}
        and conjunct.find(exp.Query, exp.AggFunc) is None
    ]
    where = f" WHERE ({') AND ('.join(own)})" if own else ""
    name = f" AS {quote_name(source.name)}" if source.name else ""
    if source.table is not None:
        return reading.values.ask_number(
            f"SELECT count(*) FROM {quote_name(source.table.name)}{name}{where}"
        )
    with_ = reading.inspection.tree.args.get("with_")
    prefix = f"{to_sql(with_)} " if with_ is not None else ""
    body = quote_name(source.node.name) if source.is_cte else f"({to_sql(source.query)})"
    return reading.values.ask_number(f"{prefix}SELECT count(*) FROM {body}{name}{where}")


class _Groups:
    """Keys that are tied together, directly or over others."""

    def __init__(self) -> None:
        self._leader: dict[Any, Any] = {}

    def _find(self, key: Any) -> Any:
        while self._leader.setdefault(key, key) != key:
            key = self._leader[key]
        return key

    def tie(self, keys: list[Any]) -> None:
        for key in keys[1:]:
            self._leader[self._find(key)] = self._find(keys[0])

    def part(self, keys: list[Any]) -> list[list[Any]]:
        """The keys by group, in their own order."""
        groups: dict[Any, list[Any]] = {}
        for key in keys:
            groups.setdefault(self._find(key), []).append(key)
        return list(groups.values())
