"""Probes of joins: rows that a join multiplies, repeats or drops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.asked import Counted, list_counted
from answerkey.english.columns import is_table_of, stem_name
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues, shorten
from answerkey.probes.conditions import is_one_row
from answerkey.probes.entities import (
    Place,
    count_distinct,
    find_key,
    is_label,
    joins_of,
    list_equalities,
    list_key,
    list_known,
    list_references,
    list_terms,
    merged_columns,
    name_column,
    place_of,
    resolve_direct,
    write_rows,
)
from answerkey.sql.query_tree import find_with, to_sql, unwrap
from answerkey.sql.scopes import Resolution, Scope, Scopes, Source
from answerkey.sqlite.schema import Schema, Table, fold_name, quote_name

_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """Return a finding if tables stand in one FROM and no condition joins them: `FROM ship, port`.

    Any condition on columns of both joins two tables, also by way of other tables. There is no
    finding where the author wrote CROSS JOIN, nor for a table of which `=` chooses a row, as in
    `SELECT a.depth - b.depth FROM port a, port b WHERE a.id = 1 AND b.id = 2`.
    """
    if _CROSS_JOIN.search(inspection.sql):
        return []
    for scope in inspection.scopes.select_scopes():
        parts = _part_sources(scope, inspection.scopes)
        if len(parts) > 1:
            names = [part[0].name for part in parts[:5]]
            return [Finding("cross_join", {"sources": names})]
    return []


def _part_sources(scope: Scope, scopes: Scopes) -> list[list[Source]]:
    """The members of FROM of several rows, those together that conditions join."""
    parts = [
        [source]
        for source in scope.sources.values()
        if source.table is not None
        or (isinstance(source.query, exp.Select) and not is_one_row(source.query, scopes))
    ]
    ties = [
        [left, right]
        for join in joins_of(scope.select)
        for _, left, right in merged_columns(join, scope)
    ]
    chosen = []
    for term in _list_conditions(scope.select):
        found = {id(s): s for s in _list_sources(term, scopes)}
        ties.append(list(found.values()))
        if isinstance(term, exp.EQ) and isinstance(term.expression.unnest(), exp.Literal):
            column = resolve_direct(term.this, scopes)
            if column is not None and list_key(column.table) == (column.column.name,):
                chosen.append(column.source)
    for tie in ties:
        tied = [part for part in parts if any(source in part for source in tie)]
        rest = [part for part in parts if part not in tied]
        parts = [*rest, [source for part in tied for source in part]] if tied else parts
    return [part for part in parts if len(part) > 1 or part[0] not in chosen]


def _list_conditions(select: exp.Select) -> list[exp.Expression]:
    """The terms of WHERE, HAVING and ON."""
    conditions = [join.args.get("on") for join in joins_of(select)]
    conditions += [select.args[name].this for name in ("where", "having") if select.args.get(name)]
    return [term for condition in conditions if condition for term in list_terms(condition)]


def _list_sources(node: exp.Expression, scopes: Scopes) -> list[Source]:
    found = map(scopes.resolve, node.find_all(exp.Column))
    return [what.source for what in found if what is not None and what.source is not None]


_CLAUSES = ("group", "limit", "distinct")
_KEYS_SHOWN = 3


def find_join_repeats_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if all columns that a query with joins returns are of one table, whose rows
    the joins repeat.

    Kinds: `in_data` if a row comes twice; `referred` if the one column refers to things of another
    table, and may name one twice. Else none does yet, and the query has a condition on a table that
    may have several rows for one: `linked` if a table that only links others leads there, so that
    things are listed by a relation; `named` if the condition names one thing, whose attribute is
    asked for; `possible` for other conditions.
    """
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or find_with(select) is not None:
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    scope = scopes.scope_of(select)
    shown = [resolve_direct(column, scopes) for column in select.expressions]
    is_cut = any(select.args.get(clause) for clause in _CLAUSES)
    if is_cut or len(scope.sources) < 2 or None in shown or not shown:
        return []
    source = shown[0].source
    key, kind = find_key(source.table, values), "possible"
    if len(shown) == 1 and _refers(shown[0], key, inspection.schema):
        key, kind = shown[0].column.name, "referred"
    if key is None or any(found.source is not source for found in shown):
        return []
    column = name_column(source, key, scope)
    rows = values.ask(_write_repeats(select, column)) or []
    is_referred = kind == "referred" and _has_condition(select)
    if not (rows or is_referred or _has_condition_on_many(select, source, scopes, values)):
        return []
    if kind == "possible":
        kind = "in_data" if rows else _name_way(select, source, inspection, values)
    evidence = {
        "kind": kind,
        "key": f"{source.table.name}.{key}",
        "repeated": [[shorten(value) for value in row] for row in rows],
    }
    return [Finding("join_repeats_rows", evidence)]


def _refers(shown: Resolution, key: str | None, schema: Schema) -> bool:
    """Whether a column that is no key of its table refers to another table."""
    name = fold_name(shown.column.name)
    references = {fold_name(column) for column, _, _ in list_references(shown.table, schema)}
    return name in references and (key is None or fold_name(key) != name)


def _write_repeats(select: exp.Select, column: exp.Column) -> str:
    count = exp.Count(this=column.copy())
    return write_rows(
        select,
        column,
        count,
        group=exp.Group(expressions=[column.copy()]),
        having=exp.Having(this=exp.GT(this=count.copy(), expression=exp.Literal.number(1))),
        limit=exp.Limit(expression=exp.Literal.number(_KEYS_SHOWN)),
    )


def _has_condition(select: exp.Select) -> bool:
    """Whether WHERE chooses rows, and no outer join or order says that each of them is meant."""
    is_outer = any(join.side for join in select.args.get("joins") or ())
    is_ordered = select.args.get("order") is not None
    return select.args.get("where") is not None and not (is_outer or is_ordered)


def _name_way(
    select: exp.Select, shown: Source, inspection: Inspection, values: ColumnValues
) -> str:
    """How a query comes from the things of its condition to those that it returns."""
    scopes = inspection.scopes
    ends = {end for pair in list_equalities(select, scopes) for end in pair if end[0] is not shown}
    for source in {source for source, _ in ends}:
        is_keyless = find_key(source.table, values) is None
        if is_keyless and len({name for other, name in ends if other is source}) > 1:
            return "linked"
    for term in list_terms(select.args["where"].this):
        found = resolve_direct(term.this, scopes) if isinstance(term, exp.EQ) else None
        if found is not None and found.source is not shown:
            is_key = fold_name(found.column.name) == fold_name(find_key(found.table, values) or "")
            if is_key or is_label(found, inspection.schema):
                return "named"
    return "possible"


def _has_condition_on_many(
    select: exp.Select, shown: Source, scopes: Scopes, values: ColumnValues
) -> bool:
    """Whether WHERE chooses rows, and some table is not joined by its key."""
    if not _has_condition(select):
        return False
    ends = {end for pair in list_equalities(select, scopes) for end in pair if end[0] is not shown}
    keys = {(source, fold_name(find_key(source.table, values) or "")) for source, _ in ends}
    return not ends <= keys


# join_fan_out: a join repeats the rows of a thing, and an aggregate takes it more than once.
#
# "How many singers have a song?" with `SELECT count(*) FROM singer JOIN song ...` -> a singer of
# two songs is counted twice.


_GROUPS_SHOWN = 3


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the outermost SELECT counts rows that repeat what the question counts, or
    adds up or averages values that a join repeats.

    Kinds: `counted`, the thing stands in FROM; `referred`, a table in FROM refers to it;
    `possible`, the same where nothing is repeated yet; `added`, of SUM and AVG.
    """
    fan_out = inspection.once(_read_fan_out)
    if fan_out is None:
        return []
    evidence = next(fan_out.find_counted(question), None) or fan_out.find_added(question)
    return [Finding("join_fan_out", evidence)] if evidence is not None else []


def _read_fan_out(inspection: Inspection) -> _FanOut | None:
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or not select.args.get("from_") or find_with(select):
        return None
    return _FanOut(inspection, select)


class _FanOut:
    """What a SELECT aggregates, and what its joins repeat, for all questions that it answers."""

    def __init__(self, inspection: Inspection, select: exp.Select) -> None:
        self.select = select
        self.schema = inspection.schema
        self.scopes = inspection.scopes
        self.scope: Scope = self.scopes.scope_of(select)
        self.values = ColumnValues(inspection.database)
        self.sources = [s for s in self.scope.sources.values() if s.table is not None]
        calls = self.scopes.nodes.find_all(exp.Count, exp.Sum, exp.Avg)
        self.calls = [
            call
            for call in calls
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")
        self.equalities = list(list_equalities(select, self.scopes))

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counts = [call for call in self.calls if isinstance(call, exp.Count)]
        counted = [resolve_direct(call.this, self.scopes) for call in counts]
        for asked in list_counted(question) if counts else ():
            source = next((s for s in self.sources if is_table_of(asked.stems, s.table.name)), None)
            if source is None:
                referring = [(*found, "referred") for found in self._list_referring(asked)]
            else:
                key = find_key(source.table, self.values)
                referring = [(source, key, "counted")] if key is not None else []
            for place, column, kind in referring:
                if all(found is None or found.source is place for found in counted):
                    yield from self._describe(asked, place, column, kind)

    def find_added(self, question: Question) -> dict[str, Any] | None:
        """The evidence of a SUM or AVG over values that the rows of another table repeat, which the
        question does not name."""
        stems = {word.stem for word in question.words}
        for call in self.calls:
            found = None if isinstance(call, exp.Count) else resolve_direct(call.this, self.scopes)
            key = find_key(found.table, self.values) if found is not None else None
            many = self.many.get((found.source, fold_name(key)), ()) if key is not None else ()
            if not many or any(stems.issuperset(stem_name(source.table.name)) for source in many):
                continue
            if rows := self._find_repeated(found.source, key):
                repeated = f"{found.table.name}.{key}"
                return {"kind": "added", "sql": to_sql(call), "repeated": repeated, "groups": rows}
        return None

    def _list_referring(self, asked: Counted) -> Iterator[tuple[Source, str]]:
        for source in self.sources:
            for column, parent, _ in list_references(source.table, self.schema):
                if is_table_of(asked.stems, parent.name):
                    yield source, column

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
        determined = list_known([*self.known, place], self.equalities, self.values)
        tables = self.many.get(place, []) if is_thing else [place[0]]
        for source in tables:
            names = {name for other, name in determined if other is source}
            if not any(names.issuperset(map(fold_name, key)) for key in source.table.unique_keys):
                return True
        return False

    @cached_property
    def known(self) -> set[Place]:
        """The columns that have one value in each group."""
        nodes = list(self.group.expressions) if self.group is not None else []
        where = self.select.args.get("where")
        for term in list_terms(where.this) if where is not None else ():
            if isinstance(term, exp.EQ) and not term.expression.find(exp.Query):
                nodes.append(term.this)
        found = [resolve_direct(node, self.scopes) for node in nodes]
        known = [what for what in found if what is not None]
        places = [place_of(what) for what in known]
        for what in known:  # the name of a thing stands for the thing
            key = find_key(what.table, self.values)
            if key is not None and is_label(what, self.schema):
                places.append((what.source, fold_name(key)))
        return list_known(places, self.equalities, self.values)

    def _find_repeated(self, source: Source, column: str) -> list[list[object]]:
        """Groups in which a value is repeated: their keys, how many values differ, how many rows
        have one."""
        node = name_column(source, column, self.scope)
        count, rows = count_distinct(node), exp.Count(this=node.copy())
        keys = [key.copy() for key in self.group.expressions] if self.group is not None else []
        sql = write_rows(
            self.select,
            *keys,
            count,
            rows,
            group=self.group,
            having=exp.Having(this=exp.LT(this=count.copy(), expression=rows.copy())),
            limit=exp.Limit(expression=exp.Literal.number(_GROUPS_SHOWN)),
        )
        return [[shorten(value) for value in row] for row in self.values.ask(sql) or ()]

    @cached_property
    def many(self) -> dict[Place, list[Source]]:
        """For each column that is joined: the tables that have many rows for one value of it."""
        ends: dict[Place, list[Source]] = {}
        for pair in self.equalities:
            for end, (source, name) in (pair, pair[::-1]):
                key = find_key(source.table, self.values)
                if source.table is not None and (key is None or fold_name(key) != name):
                    ends.setdefault(end, []).append(source)
        return ends


# zero_count_dropped: a count leaves out the things of which there are none.
#
# "How many songs has each singer?" with `singer JOIN song ... GROUP BY singer.id` -> no row for a
# singer without a song; and "singers with fewer than two songs" lacks those without one.


_KEYS_SHOWN_ZERO_COUNT_DROPPED = 3
_RESTRICTIONS = {"who", "that", "which", "with", "having", "used"}
_NAME_WORDS = {"id", "ids", "name", "names", "code", "codes"}


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table's place in FROM, or None where it is not there."""

    table: Table
    key: str
    column: exp.Column
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if rows are counted for each of the things of a table that the question
    names, and an inner join, or a table that refers to them, has no row for some.

    Kinds: `at_most`, only things of a count below a bound are asked for, and some have none;
    `fewest`, that of the least count; `each`, the counts of all, and some are left out; `possible`,
    the same where none are yet; `all`, the same for "all THINGS" where only another table is read.
    "Singers who have a song" asks for no others: no finding.
    """
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or not select.args.get("group") or find_with(select):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    form = _read_form(select, scopes)
    things = _find_things(select, inspection, values) if form is not None else None
    asked = _find_noun(question, things.table) if things is not None else None
    if asked is None or (form == "each" and _is_restricted(question, asked.stem)):
        return []
    dropped = _find_dropped(select, things, scopes, values)
    kind = form
    if form == "each":
        if things.source is None:
            kind = "all" if any(word.text == "all" for word in question.words) else None
        elif _has_other_condition(select, things, scopes):
            kind = None  # the condition may say which things are meant
        elif not dropped:
            kind = "possible"
    elif form == "at_most" and not dropped:
        kind = "possible"
    if kind is None:
        return []
    evidence: dict[str, Any] = {
        "kind": kind,
        "asked": asked.text,
        "things": f"{things.table.name}.{things.key}",
        "dropped": dropped,
    }
    return [Finding("zero_count_dropped", evidence)]


def _read_form(select: exp.Select, scopes: Scopes) -> str | None:
    """What the counts are for: at_most, fewest or each; None where none can be missed."""
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        condition = having.this.unnest()
        is_bound = isinstance(condition, exp.LT | exp.LTE) and _counts(condition.this, scopes)
        return "at_most" if is_bound else None
    if select.args.get("limit") is not None:
        first = order.expressions[0] if order is not None else None
        is_least = first is not None and not first.args.get("desc") and _counts(first.this, scopes)
        return "fewest" if is_least else None
    return "each" if any(_counts(column, scopes) for column in select.expressions) else None


def _counts(node: exp.Expression, scopes: Scopes) -> bool:
    node = node.unalias().unnest()
    if isinstance(node, exp.Column):
        found = scopes.resolve(node)
        node = found.expression if found is not None and found.is_alias else node
    return isinstance(node, exp.Count)


def _find_things(
    select: exp.Select, inspection: Inspection, values: ColumnValues
) -> _Things | None:
    found = [resolve_direct(key, inspection.scopes) for key in select.args["group"].expressions]
    pairs = list(list_equalities(select, inspection.scopes))
    ends = {end: other for pair in pairs for end, other in (pair, pair[::-1])}
    for what in found if None not in found else ():
        key = find_key(what.table, values)
        own = what.source, fold_name(key) if key is not None else ""
        is_key = place_of(what) == own
        if own in ends and (is_key or is_label(what, inspection.schema)):
            return _name_things(own, own, what)
        other = ends.get(place_of(what))
        if other is not None and other[1] == fold_name(find_key(other[0].table, values) or ""):
            return _name_things(other, place_of(what), what)
        if not is_key:
            for column, parent, referred in list_references(what.table, inspection.schema):
                if fold_name(column) == place_of(what)[1]:
                    node = name_column(what.source, column, what.scope)
                    return _Things(parent, referred, node, None)
    return None


def _name_things(key: tuple[Source, str], shown: tuple[Source, str], what: Resolution) -> _Things:
    source, name = key
    column = name_column(shown[0], shown[1], what.scope)
    return _Things(source.table, source.table.find_column(name).name, column, source)


def _find_dropped(
    select: exp.Select, things: _Things, scopes: Scopes, values: ColumnValues
) -> list[object]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    where = select.args.get("where")
    conditions = [f"{quote_name(things.key)} IS NOT NULL"]
    for term in list_terms(where.this) if where is not None and things.source is not None else ():
        found = [resolve_direct(column, scopes) for column in term.find_all(exp.Column)]
        if all(what is not None and what.source is things.source for what in found):
            conditions.append(f"({to_sql(term)})")
    rows = write_rows(select, exp.alias_(things.column.copy(), "k"))
    name = quote_name(things.source.name if things.source is not None else things.table.name)
    sql = (
        f"SELECT {quote_name(things.key)} FROM {quote_name(things.table.name)} AS {name}"
        f" WHERE {' AND '.join(conditions)}"
        f" AND {quote_name(things.key)} NOT IN (SELECT k FROM ({rows}) WHERE k IS NOT NULL)"
        f" ORDER BY 1 LIMIT {_KEYS_SHOWN_ZERO_COUNT_DROPPED}"
    )
    return [shorten(row[0]) for row in values.ask(sql) or ()]


def _has_other_condition(select: exp.Select, things: _Things, scopes: Scopes) -> bool:
    """Whether a term of WHERE, which is no join, tests a column of another table."""
    where = select.args.get("where")
    for term in list_terms(where.this) if where is not None else ():
        found = [resolve_direct(column, scopes) for column in term.find_all(exp.Column)]
        sources = {id(what.source) if what is not None else None for what in found}
        is_join = isinstance(term, exp.EQ) and len(sources) == 2
        if not is_join and sources != {id(things.source)}:
            return True
    return False


def _find_noun(question: Question, table: Table) -> Word | None:
    """The first word of the question that names the things."""
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


def _is_restricted(question: Question, noun: str) -> bool:
    """Whether a relative clause, or what stands for one, says which things are meant."""
    words = question.words
    for place, word in enumerate(words):
        after = [other.text for other in words[place + 1 : place + 3]]
        after = after[1:] if after and after[0] in _NAME_WORDS else after
        is_restricted = bool(_RESTRICTIONS & set(after[:1])) or after[1:] == [
            "who"
        ]  # faculty members who
        if word.stem == noun and is_restricted:
            return True
    return False


PROBES = (
    find_cross_join,
    find_join_repeats_rows,
)
QUESTION_PROBES = (
    find_join_fan_out,
    find_zero_count_dropped,
)
