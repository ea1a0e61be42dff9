"""Probes of joins: rows that a join multiplies or repeats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair, write_rows
from answerkey.english.asked import Counted, list_counted
from answerkey.english.columns import is_table_of, split_name
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.rewrites.trees import add_condition
from answerkey.sql.conditions import list_conditions, list_merged_columns, list_terms
from answerkey.sql.keys import ID_WORDS, is_key
from answerkey.sql.query_tree import copy_nodes, make_limit, to_sql
from answerkey.sql.scopes import DirectColumn, Place, Scope, Source, list_columns, write_column
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Table, quote_name

_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)
_CLAUSES = ("group", "limit", "distinct")  # what merges rows that come again, or leaves them out
_MAX_SHOWN_ROWS = 3  # keys or groups as evidence


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """Return a finding if tables stand in one FROM and no condition joins them: `FROM ship, port`.

    Any condition on columns of both joins two tables, also by way of other tables. There is no
    finding where the author wrote CROSS JOIN, and so meant it, nor for a table of which a condition
    chooses one row, which repeats nothing,
    as in `SELECT a.depth - b.depth FROM port a, port b WHERE a.id = 1 AND b.id = 2`; nor where no
    row can be seen to come twice: `SELECT count(DISTINCT ship.id) / count(DISTINCT port.id) ...`.
    The repair joins the tables by the one reference between them.
    """
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
    names = [part[0].name for part in crossed[0][1][:5]]
    evidence = with_repair({"sources": names}, _write_joins(inspection, query, crossed))
    return [Finding("cross_join", evidence)]


def _hides_repeats(select: exp.Select, parts: list[list[Source]], query: Query) -> bool:
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


def _write_joins(
    inspection: Inspection, query: Query, crossed: list[tuple[Scope, list[list[Source]]]]
) -> str | None:
    """The query with the parts of each FROM joined by references; None if there is none, or
    several may be meant."""
    twins = copy_nodes(inspection.tree)
    for scope, parts in crossed:
        select = twins[id(scope.select)]
        references = list(_list_references(scope, query))
        while len(parts) > 1:
            tied = _find_tied(parts, references)
            if tied is None:
                return None
            left, right, (child, parent) = tied
            equality = exp.EQ(this=child.write(), expression=parent.write())
            select.set("where", add_condition(select, "where", equality))
            rest = [part for part in parts if part is not left and part is not right]
            parts = [*rest, left + right]
    return to_sql(twins[id(inspection.tree)])


_Reference = tuple[DirectColumn, DirectColumn]


def _find_tied(
    parts: list[list[Source]], references: list[_Reference]
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


def _part_sources(scope: Scope, query: Query) -> list[list[Source]]:
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
    # one row that is shown is meant to stand beside each other row; of one that is not, the
    # condition that joins it was forgotten
    outputs = scope.select.expressions
    shown = {source for output in outputs for source in query.list_sources(output)}
    return [part for part in parts if part not in single or part[0] not in shown]


def _returns_one_row(select: exp.Select, query: Query) -> bool:
    limit = select.args.get("limit")
    is_cut = limit is not None and limit.expression.name == "1"
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
    table, name = quote_name(source.table.name), quote_name(source.name)
    return query.count(f"SELECT count(*) FROM {table} AS {name}{where}") == (1,)


def find_join_repeats_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if all columns that a query with joins returns are of one table, whose rows
    the joins repeat.

    Kinds: `in_data` if a row comes twice, and a condition chooses some; `listed` if one does where
    all are listed, or in an order, so that a row for each pair may be meant. Else none does, and
    the query has a condition on a table that may have several rows for one: `linked` if one
    that only links others leads there, so that things are listed by a relation; `possible` for
    other conditions. The condition may name one thing, whose attribute is asked for, or several
    that each refer to one of what is shown ("the publishers of these heroes"), a row each: no
    finding. Nor is the one column that refers to things of another table: it names one in each row.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or any(select.args.get(clause) for clause in _CLAUSES):
        return []
    scope = query.scopes.scope_of(select)
    shown = query.scopes.find_all_direct(select.expressions)
    if len(scope.sources) < 2 or len({column.source for column in shown}) != 1:
        return []
    first = shown[0]
    source = first.source
    is_reference = query.scopes.refers(first) and first.place != query.key_of(source)
    key = query.find_key(first.table)
    if key is None or (len(shown) == 1 and is_reference):
        return []
    rows = query.ask(_write_repeats(select, write_column(source, key, scope))) or []
    pairs = query.list_equalities(select)
    ends = {end for pair in pairs for end in pair if end[0] is not source}
    leads_to_many = any(query.key_of(end[0]) != end for end in ends)
    if not (rows or (_has_condition(select) and leads_to_many)):
        return []
    if rows:
        if _has_condition(select) and _names_each(query, select, source):
            return []
        kind = "in_data" if _has_condition(select) else "listed"
    elif _links(query, ends):
        kind = "linked"
    elif _names_one(query, select, source):
        return []
    else:
        kind = "possible"
    evidence = {"kind": kind, "key": f"{first.table.name}.{key}", "repeated": show_rows(rows)}
    return [Finding("join_repeats_rows", evidence)]


def _write_repeats(select: exp.Select, column: exp.Column) -> str:
    count = exp.Count(this=column.copy())
    group, having = exp.Group(expressions=[column.copy()]), exp.Having(this=count > 1)
    return write_rows(
        select, column, count, group=group, having=having, limit=make_limit(_MAX_SHOWN_ROWS)
    )


def _has_condition(select: exp.Select) -> bool:
    """Whether WHERE chooses rows, and no outer join or order says that each is meant."""
    is_outer = any(join.side for join in select.args.get("joins") or ())
    is_ordered = select.args.get("order") is not None
    return select.args.get("where") is not None and not (is_outer or is_ordered)


def _links(query: Query, ends: set[Place]) -> bool:
    """Whether a table that only links others leads from the things of a condition to others."""
    joins = Counter(source for source, _ in ends)
    return any(n > 1 and query.find_key(source.table) is None for source, n in joins.items())


def _names_one(query: Query, select: exp.Select, shown: Source) -> bool:
    """Whether the condition names one thing of another table than the one that is shown."""
    return any(source is not shown for source in _list_named(query, select, exp.EQ))


def _names_each(query: Query, select: exp.Select, shown: Source) -> bool:
    """Whether the condition lists things by name that each refer to one of those that are shown."""
    key = query.key_of(shown)
    referring = {
        place[0]
        for pair in query.list_equalities(select)
        for place, other in (pair, pair[::-1])
        if other == key
    }
    return any(source in referring for source in _list_named(query, select, exp.In))


def _list_named(query: Query, select: exp.Select, kind: type[exp.Expression]) -> Iterator[Source]:
    """The tables of which a term of the condition, of this kind, names things by key or label."""
    for term in list_terms(select.args["where"]):
        named = query.scopes.find_direct(term.this) if isinstance(term, kind) else None
        if named is None or term.args.get("query") is not None:
            continue
        if named.place == query.key_of(named.source) or query.scopes.is_label(named):
            yield named.source


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the outermost SELECT counts rows, and a join repeats what the question
    counts: "How many singers have a song?" and `SELECT count(*) FROM singer JOIN song ...` count a
    singer of two songs twice. One song each, and there is no finding.

    Kinds: `counted`, the thing stands in FROM; `referred`, a table in FROM refers to it.
    """
    fan_out = inspection.once(_read_fan_out)
    evidence = next(fan_out.find_counted(question), None) if fan_out is not None else None
    return [Finding("join_fan_out", evidence)] if evidence is not None else []


def _read_fan_out(inspection: Inspection) -> _FanOut | None:
    query = read_query(inspection)
    if query.select is None or query.select.args.get("from_") is None:
        return None
    return _FanOut(query, query.select)


class _FanOut:
    """The counts of a SELECT, and the rows that its joins repeat, for all questions that it
    answers."""

    def __init__(self, query: Query, select: exp.Select) -> None:
        self.query = query
        self.select = select
        self.scope: Scope = query.scopes.scope_of(select)
        self.tables = [
            (source, source.table)
            for source in self.scope.sources.values()
            if source.table is not None
        ]
        self.calls = [
            call
            for call in query.scopes.nodes.find_all(exp.Count)
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counted = [self.query.scopes.find_direct(call.this) for call in self.calls]
        for asked in list_counted(question) if counted else ():
            for thing, kind in self._list_things(asked):
                if all(column is None or column.source is thing.source for column in counted):
                    yield from self._describe(asked, thing, kind)

    def _list_things(self, asked: Counted) -> Iterator[tuple[DirectColumn, str]]:
        """The key of what is asked for, if FROM has it, or else the columns that refer to it."""
        for source, table in self.tables:
            if is_table_of(asked.stems, table.name):
                key = self._find_column(source, table, self.query.find_key(table))
                if key is not None:
                    yield key, "counted"
                return
        for source, table in self.tables:
            for column, parent, _ in self.query.scopes.references.of_table(table):
                if is_table_of(asked.stems, parent.name) or _is_called(column.name, asked):
                    yield DirectColumn(source, table, column, self.scope), "referred"

    def _find_column(self, source: Source, table: Table, name: str | None) -> DirectColumn | None:
        column = table.find_column(name) if name is not None else None
        return DirectColumn(source, table, column, self.scope) if column is not None else None

    def _describe(
        self, asked: Counted, column: DirectColumn, kind: str
    ) -> Iterator[dict[str, Any]]:
        if column.place in self.known:
            return
        if rows := self._find_repeated(column):
            evidence = {
                "kind": kind,
                "asked": asked.phrase,
                "repeated": column.full_name,
                "groups": rows,
            }
            yield with_repair(evidence, self._count_once(column))

    def _count_once(self, column: DirectColumn) -> str:
        """The query that counts each thing once, by the column that stands for it."""
        twins = copy_nodes(self.query.scopes.tree)
        for call in self.calls:
            twins[id(call)].set("this", exp.Distinct(expressions=[column.write()]))
        return to_sql(twins[id(self.query.scopes.tree)])

    @cached_property
    def known(self) -> set[Place]:
        """The columns that have one value in each group. The name of a thing stands for it."""
        keys = self.group.expressions if self.group is not None else []
        columns = [self.query.scopes.find_direct(key) for key in keys]
        given = [column.place for column in columns if column is not None]
        determined = self.query.list_determined(given, self.select)
        labels = [
            column
            for column in list_columns(self.scope)
            if column.place in determined and self.query.scopes.is_label(column)
        ]
        things = [self.query.key_of(label.source) for label in labels]
        return self.query.list_determined([*determined, *things], self.select)

    def _find_repeated(self, column: DirectColumn) -> list[list[Value]]:
        """Groups in which a value is repeated: their keys, how many values differ, how many rows
        have one."""
        node = write_column(column.source, column.column.name, self.scope)
        count = exp.Count(this=exp.Distinct(expressions=[node.copy()]))
        rows = exp.Count(this=node)
        keys = [key.copy() for key in self.group.expressions] if self.group is not None else []
        having = exp.Having(this=count < rows)
        columns, limit = [*keys, count, rows], make_limit(_MAX_SHOWN_ROWS)
        sql = write_rows(self.select, *columns, group=self.group, having=having, limit=limit)
        return show_rows(self.query.ask(sql) or [])


def _is_called(column: str, asked: Counted) -> bool:
    """Whether a column that refers to others has the name of what is counted: `order_id` for
    "how many orders", whatever the table of orders is called."""
    stems = [word.stem for word in split_name(column) if word.text not in ID_WORDS]
    return bool(stems) and stems[-1] == asked.stems[-1] and set(stems) <= set(asked.stems)


QUESTION_PROBES = (find_join_fan_out,)


DOUBTS = (
    Doubt("cross_join", find_in_query=find_cross_join),
    Doubt(
        "join_repeats_rows",
        find_in_query=find_join_repeats_rows,
        readings=("each_thing_once", "distinct_rows"),
    ),
    Doubt("join_fan_out", find_in_question=find_join_fan_out),
)
