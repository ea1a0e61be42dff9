"""Probes of joins: rows that a join multiplies, repeats or drops."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.asked import Counted, list_counted
from answerkey.english.columns import is_table_of, stem_name
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.probes.query import (
    Place,
    Query,
    list_key,
    list_merged_columns,
    list_terms,
    name_column,
    place_of,
    read_query,
    write_rows,
)
from answerkey.sql.query_tree import make_limit, to_sql
from answerkey.sql.scopes import Resolution, Scope, Source
from answerkey.sqlite.schema import Table, fold_name, quote_name

_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)
_CLAUSES = ("group", "limit", "distinct")
_SHOWN = 3  # keys or groups as evidence
_RESTRICTIONS = {"who", "that", "which", "with", "having", "used"}
_NAME_WORDS = {"id", "ids", "name", "names", "code", "codes"}


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """Return a finding if tables stand in one FROM and no condition joins them: `FROM ship, port`.

    Any condition on columns of both joins two tables, also by way of other tables. There is no
    finding where the author wrote CROSS JOIN, nor for a table of which `=` chooses a row, as in
    `SELECT a.depth - b.depth FROM port a, port b WHERE a.id = 1 AND b.id = 2`.
    """
    if _CROSS_JOIN.search(inspection.sql):
        return []
    query = read_query(inspection)
    for scope in query.scopes.select_scopes():
        parts = _part_sources(scope, query)
        if len(parts) > 1:
            names = [part[0].name for part in parts[:5]]
            return [Finding("cross_join", {"sources": names})]
    return []


def _part_sources(scope: Scope, query: Query) -> list[list[Source]]:
    """The members of FROM of several rows, those together that conditions join."""
    parts = [
        [source]
        for source in scope.sources.values()
        if source.table is not None
        or (isinstance(source.query, exp.Select) and not query.is_one_row(source.query))
    ]
    ties = [{left, right} for _, left, right in list_merged_columns(scope)]
    chosen = set()
    having = list_terms(scope.select.args.get("having"))
    for term in [*query.list_conditions(scope.select), *having]:
        found = map(query.resolve, term.find_all(exp.Column))
        ties.append({what.source for what in found if what is not None})
        if isinstance(term, exp.EQ) and isinstance(term.expression.unnest(), exp.Literal):
            column = query.resolve_direct(term.this)
            if column is not None and list_key(column.table) == (column.column.name,):
                chosen.add(column.source)
    for tie in ties:
        tied = [part for part in parts if not tie.isdisjoint(part)]
        rest = [part for part in parts if part not in tied]
        parts = [*rest, [source for part in tied for source in part]] if tied else parts
    return [part for part in parts if len(part) > 1 or part[0] not in chosen]


def find_join_repeats_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if all columns that a query with joins returns are of one table, whose rows
    the joins repeat.

    Kinds: `in_data` if a row comes twice; `referred` if the one column refers to things of another
    table, and may name one twice. Else none does yet, and the query has a condition on a table that
    may have several rows for one: `linked` if a table that only links others leads there, so that
    things are listed by a relation; `named` if the condition names one thing, whose attribute is
    asked for; `possible` for other conditions.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or any(select.args.get(clause) for clause in _CLAUSES):
        return []
    scope = query.scopes.scope_of(select)
    shown = [query.resolve_direct(column) for column in select.expressions]
    if len(scope.sources) < 2 or None in shown or len({found.source for found in shown}) != 1:
        return []
    source = shown[0].source
    key, kind = query.find_key(source.table), "possible"
    if len(shown) == 1 and query.refers(shown[0]) and place_of(shown[0]) != query.key_of(source):
        key, kind = shown[0].column.name, "referred"
    if key is None:
        return []
    rows = query.ask(_write_repeats(select, name_column(source, key, scope))) or []
    pairs = query.list_equalities(select)
    ends = {end for pair in pairs for end in pair if end[0] is not source}
    leads_to_many = any(query.key_of(end[0]) != end for end in ends)
    if not (rows or (_has_condition(select) and (kind == "referred" or leads_to_many))):
        return []
    if kind == "possible":
        kind = "in_data" if rows else _read_way(query, source, ends)
    key = f"{source.table.name}.{key}"
    return [Finding("join_repeats_rows", {"kind": kind, "key": key, "repeated": show_rows(rows)})]


def _write_repeats(select: exp.Select, column: exp.Column) -> str:
    count = exp.Count(this=column.copy())
    group, having = exp.Group(expressions=[column.copy()]), exp.Having(this=count > 1)
    return write_rows(select, column, count, group=group, having=having, limit=make_limit(_SHOWN))


def _has_condition(select: exp.Select) -> bool:
    """Whether WHERE chooses rows, and no outer join or order says that each is meant."""
    is_outer = any(join.side for join in select.args.get("joins") or ())
    is_ordered = select.args.get("order") is not None
    return select.args.get("where") is not None and not (is_outer or is_ordered)


def _read_way(query: Query, shown: Source, ends: set[Place]) -> str:
    """How a query comes from the things of its condition to those that it returns."""
    for source, joins in Counter(source for source, _ in ends).items():
        if joins > 1 and query.find_key(source.table) is None:
            return "linked"
    for term in list_terms(query.select.args["where"]):
        found = query.resolve_direct(term.this) if isinstance(term, exp.EQ) else None
        if found is None or found.source is shown:
            continue
        if place_of(found) == query.key_of(found.source) or query.is_label(found):
            return "named"
    return "possible"


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the outermost SELECT counts rows that repeat what the question counts, or
    adds up or averages values that a join repeats: "How many singers have a song?" and `SELECT
    count(*) FROM singer JOIN song ...` count a singer of two songs twice.

    Kinds: `counted`, the thing stands in FROM; `referred`, a table in FROM refers to it;
    `possible`, the same where nothing is repeated yet; `added`, of SUM and AVG.
    """
    select = read_query(inspection).select
    if select is None or select.args.get("from_") is None:
        return []
    fan_out = inspection.once(_FanOut)
    evidence = next(fan_out.find_counted(question), None) or fan_out.find_added(question)
    return [Finding("join_fan_out", evidence)] if evidence is not None else []


class _FanOut:
    """What a SELECT aggregates, and what its joins repeat, for all questions that it answers."""

    def __init__(self, inspection: Inspection) -> None:
        self.query = query = read_query(inspection)
        self.select = select = query.select
        self.scope: Scope = query.scopes.scope_of(select)
        self.sources = [s for s in self.scope.sources.values() if s.table is not None]
        self.calls = [
            call
            for call in query.scopes.nodes.find_all(exp.Count, exp.Sum, exp.Avg)
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")
        self.equalities = list(query.list_equalities(select))

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counts = [call for call in self.calls if isinstance(call, exp.Count)]
        counted = [self.query.resolve_direct(call.this) for call in counts]
        for asked in list_counted(question) if counts else ():
            for source, column, kind in self._list_things(asked):
                if all(found is None or found.source is source for found in counted):
                    yield from self._describe(asked, source, column, kind)

    def _list_things(self, asked: Counted) -> Iterator[tuple[Source, str, str]]:
        """Where FROM has what is asked for, or else what refers to it."""
        source = next((s for s in self.sources if is_table_of(asked.stems, s.table.name)), None)
        if source is not None:
            key = self.query.find_key(source.table)
            if key is not None:
                yield source, key, "counted"
            return
        for source in self.sources:
            for column, parent, _ in self.query.list_references(source.table):
                if is_table_of(asked.stems, parent.name):
                    yield source, column, "referred"

    def find_added(self, question: Question) -> dict[str, Any] | None:
        """The evidence of a SUM or AVG over values that the rows of another table repeat, which the
        question does not name."""
        stems = {word.stem for word in question.words}
        for call in self.calls:
            found = None if isinstance(call, exp.Count) else self.query.resolve_direct(call.this)
            many = self.many.get(self.query.key_of(found.source)) if found is not None else None
            if not many or any(stems.issuperset(stem_name(source.table.name)) for source in many):
                continue
            key = self.query.find_key(found.table)
            if rows := self._find_repeated(found.source, key):
                repeated = f"{found.table.name}.{key}"
                return {"kind": "added", "sql": to_sql(call), "repeated": repeated, "groups": rows}
        return None

    def _describe(
        self, asked: Counted, source: Source, column: str, kind: str
    ) -> Iterator[dict[str, Any]]:
        place = source, fold_name(column)
        if place in self.known:
            return
        rows = self._find_repeated(source, column)
        if rows or self._may_repeat(place, is_thing=kind == "counted"):
            yield {
                "kind": kind if rows else "possible",
                "asked": asked.phrase,
                "repeated": f"{source.table.name}.{column}",
                "groups": rows,
            }

    def _may_repeat(self, place: Place, *, is_thing: bool) -> bool:
        """Whether the schema allows that a group has a value twice: no key of the table that has
        many rows for one is among what the value and the group determine."""
        determined = self.query.list_known([*self.known, place], self.equalities)
        for source in self.many.get(place, []) if is_thing else [place[0]]:
            names = {name for other, name in determined if other is source}
            if not any(names.issuperset(map(fold_name, key)) for key in source.table.unique_keys):
                return True
        return False

    @cached_property
    def known(self) -> set[Place]:
        """The columns that have one value in each group. The name of a thing stands for it."""
        nodes = list(self.group.expressions) if self.group is not None else []
        for term in list_terms(self.select.args.get("where")):
            if isinstance(term, exp.EQ) and not term.expression.find(exp.Query):
                nodes.append(term.this)
        found = [what for what in map(self.query.resolve_direct, nodes) if what is not None]
        places = [place_of(what) for what in found]
        places += [self.query.key_of(what.source) for what in found if self.query.is_label(what)]
        return self.query.list_known(places, self.equalities)

    def _find_repeated(self, source: Source, column: str) -> list[list[object]]:
        """Groups in which a value is repeated: their keys, how many values differ, how many rows
        have one."""
        node = name_column(source, column, self.scope)
        count = exp.Count(this=exp.Distinct(expressions=[node.copy()]))
        rows = exp.Count(this=node)
        keys = [key.copy() for key in self.group.expressions] if self.group is not None else []
        clauses = {"group": self.group, "having": exp.Having(this=count < rows)}
        sql = write_rows(self.select, *keys, count, rows, **clauses, limit=make_limit(_SHOWN))
        return show_rows(self.query.ask(sql) or [])

    @cached_property
    def many(self) -> dict[Place, list[Source]]:
        """For each column that is joined: the tables that have many rows for one value of it."""
        ends: dict[Place, list[Source]] = {}
        for pair in self.equalities:
            for end, other in (pair, pair[::-1]):
                if other[0].table is not None and self.query.key_of(other[0]) != other:
                    ends.setdefault(end, []).append(other[0])
        return ends


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table's place in FROM, or None where it is not there."""

    table: Table
    key: str
    column: exp.Column
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if rows are counted for each of the things of a table that the question
    names, and an inner join, or a table that refers to them, has no row for some: "How many songs
    has each singer?" and `singer JOIN song ... GROUP BY singer.id`.

    Kinds: `at_most`, only things of a count below a bound are asked for, and some have none;
    `fewest`, that of the least count; `each`, the counts of all, and some are left out; `possible`,
    the same where none are yet; `all`, the same for "all THINGS" where only another table is read.
    "Singers who have a song" asks for no others: no finding.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or not select.args.get("group"):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []
    kind = _read_form(select, query)
    things = _find_things(select, query) if kind is not None else None
    asked = _find_noun(question, things.table) if things is not None else None
    if asked is None or (kind == "each" and _is_restricted(question, asked.stem)):
        return []
    dropped = _find_dropped(select, things, query)
    if kind == "each" and things.source is None:
        if all(word.text != "all" for word in question.words):
            return []
        kind = "all"
    elif kind == "each" and _has_other_condition(select, things, query):
        return []  # the condition may say which things are meant
    elif kind != "fewest" and not dropped:
        kind = "possible"
    shown = {"things": f"{things.table.name}.{things.key}", "dropped": dropped}
    return [Finding("zero_count_dropped", {"kind": kind, "asked": asked.text} | shown)]


def _read_form(select: exp.Select, query: Query) -> str | None:
    """What the counts are for: at_most, fewest or each; None where none can be missed."""
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        condition = having.this.unnest()
        is_bound = isinstance(condition, exp.LT | exp.LTE) and _counts(condition.this, query)
        return "at_most" if is_bound else None
    if select.args.get("limit") is not None:
        first = order.expressions[0] if order is not None else None
        is_least = first is not None and not first.args.get("desc") and _counts(first.this, query)
        return "fewest" if is_least else None
    return "each" if any(_counts(column, query) for column in select.expressions) else None


def _counts(node: exp.Expression, query: Query) -> bool:
    node = node.unalias().unnest()
    found = query.resolve(node)
    return isinstance(found.expression if found is not None else node, exp.Count)


def _find_things(select: exp.Select, query: Query) -> _Things | None:
    found = [query.resolve_direct(key) for key in select.args["group"].expressions]
    pairs = list(query.list_equalities(select))
    ends = {end: other for pair in pairs for end, other in (pair, pair[::-1])}
    for what in found if None not in found else ():
        place, own = place_of(what), query.key_of(what.source)
        if own in ends and (place == own or query.is_label(what)):
            return _name_things(own, own, what)
        other = ends.get(place)
        if other is not None and other == query.key_of(other[0]):
            return _name_things(other, place, what)
        for column, parent, referred in query.list_references(what.table):
            if place != own and fold_name(column) == place[1]:
                return _Things(parent, referred, name_column(what.source, column, what.scope), None)
    return None


def _name_things(key: Place, shown: Place, what: Resolution) -> _Things:
    table = key[0].table
    column = name_column(*shown, what.scope)
    return _Things(table, table.find_column(key[1]).name, column, key[0])


def _find_dropped(select: exp.Select, things: _Things, query: Query) -> list[object]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    key, table = quote_name(things.key), quote_name(things.table.name)
    name = quote_name(things.source.name) if things.source is not None else table
    counted = write_rows(select, exp.alias_(things.column.copy(), "k"))
    conditions = [f"{key} IS NOT NULL"]
    for term in list_terms(select.args.get("where")) if things.source is not None else ():
        if _list_sources(term, query) <= {things.source}:
            conditions.append(f"({to_sql(term)})")
    conditions.append(f"{key} NOT IN (SELECT k FROM ({counted}) WHERE k IS NOT NULL)")
    sql = f"SELECT {key} FROM {table} AS {name} WHERE {' AND '.join(conditions)}"
    rows = query.ask(f"{sql} ORDER BY 1 LIMIT {_SHOWN}")
    return [key for (key,) in show_rows(rows or [])]


def _list_sources(term: exp.Expression, query: Query) -> set[Source | None]:
    """The members of FROM whose columns a term names; None for what is no column of a table."""
    found = map(query.resolve_direct, term.find_all(exp.Column))
    return {what.source if what is not None else None for what in found}


def _has_other_condition(select: exp.Select, things: _Things, query: Query) -> bool:
    """Whether a term of WHERE, which is no join, tests a column of another table."""
    for term in list_terms(select.args.get("where")):
        sources = _list_sources(term, query)
        is_join = isinstance(term, exp.EQ) and len(sources) == 2
        if not is_join and sources != {things.source}:
            return True
    return False


def _find_noun(question: Question, table: Table) -> Word | None:
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


def _is_restricted(question: Question, noun: str) -> bool:
    """Whether a relative clause, or what stands for one, says which things are meant."""
    words = question.words
    for place, word in enumerate(words):
        after = [other.text for other in words[place + 1 : place + 3]]
        after = after[1:] if after and after[0] in _NAME_WORDS else after
        is_followed = bool(_RESTRICTIONS & set(after[:1])) or after[1:] == ["who"]
        if word.stem == noun and is_followed:
            return True
    return False


PROBES = (find_cross_join, find_join_repeats_rows)
QUESTION_PROBES = (find_join_fan_out, find_zero_count_dropped)
