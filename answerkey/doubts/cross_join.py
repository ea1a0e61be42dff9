"""Tables meet in FROM, and no condition joins them.

"How many ships are there in Oslo?"

Doubted: SELECT count(*) FROM ship, port WHERE port.name = 'Oslo' OR port.name = 'Bergen'
Sound:   SELECT count(*) FROM ship, port WHERE ship.home = port.id AND port.name = 'Oslo'

Every ship meets every port. Any condition on columns of both tables joins them, also by way of
other tables. There is no doubt where

- the author wrote CROSS JOIN, and so meant it;
- a condition chooses one row of a table, which repeats nothing:
  `SELECT a.depth - b.depth FROM port AS a, port AS b WHERE a.id = 1 AND b.id = 2`;
- no row is seen to come twice: `SELECT count(DISTINCT ship.id) / count(DISTINCT port.id) ...`.

The repair joins the tables by the one reference between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, permutations

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.order.inspection import Inspection
from answerkey.rewrites.members import join_tables
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import list_conditions, list_merged_columns, list_terms
from answerkey.sql.keys import is_key
from answerkey.sql.query_tree import to_sql, write_table
from answerkey.sql.scopes import DirectColumn, Scope, Source, spell_source

_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)
_MAX_SHOWN_SOURCES = 5

_Reference = tuple[DirectColumn, DirectColumn]  # a column, and the one that it refers to
_Parts = list[list[Source]]  # the members of FROM, those together that conditions join


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """Return a finding if conditions do not join all members of a FROM."""
    if _CROSS_JOIN.search(inspection.sql):
        return []
    query = read_query(inspection)
    crossed = []
    for scope in query.scopes.select_scopes():
        parts = _part_sources(scope, query)
        if len(parts) > 1 and not _hides_repeats(scope.select, parts, query):
            crossed.append((scope, parts))
    if not crossed:
        return []
    names = [part[0].name for part in crossed[0][1][:_MAX_SHOWN_SOURCES]]
    return [Finding("cross_join", with_repair({"sources": names}, _write_repair(query, crossed)))]


def _part_sources(scope: Scope, query: Query) -> _Parts:
    """The members of FROM of several rows, those together that conditions join."""
    parts = [
        [source]
        for source in scope.sources.values()
        if source.table is not None
        or (isinstance(source.query, exp.Select) and not _returns_one_row(source.query, query))
    ]
    ties = [{left, right} for _, left, right in list_merged_columns(scope)]
    chosen = set()
    having = list_terms(scope.select.args.get("having"))
    for term in [*list_conditions(scope.select, query.scopes), *having]:
        resolved = map(query.resolve, term.find_all(exp.Column))
        sources = (resolution.source for resolution in resolved if resolution is not None)
        ties.append(set(filter(None, sources)))
        if isinstance(term, exp.EQ) and isinstance(term.expression.unnest(), exp.Literal):
            column = query.scopes.find_direct(term.this)
            if column is not None and is_key(column.table, column.column):
                chosen.add(column.source)
    for tie in ties:
        tied = [part for part in parts if not tie.isdisjoint(part)]
        rest = [part for part in parts if part not in tied]
        parts = [*rest, [source for part in tied for source in part]] if tied else parts
    parts = [part for part in parts if len(part) > 1 or part[0] not in chosen]
    if len(parts) < 2:
        return parts
    single = [part for part in parts if len(part) == 1 and _has_one_row(part[0], scope, query)]
    if len(single) == len(parts):
        return []  # one row beside one row
    # If one row is shown, it is meant to come beside each other row. If it is not shown, the
    # condition that joins it was forgotten.
    outputs = scope.select.expressions
    shown = {source for output in outputs for source in query.list_sources(output)}
    return [part for part in parts if part not in single or part[0] not in shown]


def _returns_one_row(select: exp.Select, query: Query) -> bool:
    limit = select.args.get("limit")
    is_cut = isinstance(limit, exp.Limit) and limit.expression.name == "1"
    return is_cut or select.args.get("from_") is None or query.is_one_row(select)


def _has_one_row(source: Source, scope: Scope, query: Query) -> bool:
    """Whether the conditions on a table alone leave one of its rows."""
    if source.table is None:
        return False
    terms = [
        f"({to_sql(term)})"
        for term in list_conditions(scope.select, query.scopes)
        if query.list_sources(term) == {source}
    ]
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    table, name = write_table(source.table.name), to_sql(spell_source(source))
    return query.count(f"SELECT count(*) FROM {table} AS {name}{where}") == (1,)


def _hides_repeats(select: exp.Select, parts: _Parts, query: Query) -> bool:
    """Whether a SELECT takes the different values, the least or the greatest of each part: a row
    that comes again changes none of them."""
    if not query.is_one_row(select):
        return False
    taken: set[Source | None] = set()
    for expression in select.expressions:
        for call in expression.find_all(exp.AggFunc):
            if not isinstance(call, exp.Min | exp.Max) and not isinstance(call.this, exp.Distinct):
                return False
            taken |= query.list_sources(call)
    return all(not taken.isdisjoint(part) for part in parts)


def _write_repair(query: Query, crossed: list[tuple[Scope, _Parts]]) -> str | None:
    """The query with the parts of each FROM joined by references; None if there is none, or
    several may be meant."""
    joined = []
    for scope, parts in crossed:
        equalities = _list_equalities(parts, list(_list_references(scope, query)))
        if equalities is None:
            return None
        joined.append((scope.select, equalities))
    return write_change(query.scopes, join_tables(joined))


def _list_equalities(parts: _Parts, references: list[_Reference]) -> list[exp.Expr] | None:
    """The conditions that join all parts; None if that can be done in no way or in several."""
    equalities: list[exp.Expr] = []
    while len(parts) > 1:
        tied = _find_tied(parts, references)
        if tied is None:
            return None
        left, right, (child, parent) = tied
        equalities.append(exp.EQ(this=child.write(), expression=parent.write()))
        parts = [*(part for part in parts if part not in (left, right)), left + right]
    return equalities


def _find_tied(
    parts: _Parts, references: list[_Reference]
) -> tuple[list[Source], list[Source], _Reference] | None:
    """Two parts, and the one reference between them; None if two have several, or none has any."""
    tied = None
    for left, right in combinations(parts, 2):
        ties = [
            (child, parent)
            for child, parent in references
            if (child.source in left and parent.source in right)
            or (child.source in right and parent.source in left)
        ]
        if len(ties) > 1:
            return None
        if ties and tied is None:
            tied = left, right, ties[0]
    return tied


def _list_references(scope: Scope, query: Query) -> Iterator[_Reference]:
    """The columns of members of FROM that refer to others of them, and what they refer to."""
    tables = [(source, source.table) for source in scope.sources.values() if source.table]
    for (source, table), (other, other_table) in permutations(tables, 2):
        for column, parent, referred in query.scopes.references.of_table(table):
            if parent is other_table:
                child = DirectColumn(source, table, column, scope)
                yield child, DirectColumn(other, other_table, referred, scope)


DOUBT = Doubt("cross_join", find_in_query=find_cross_join)
