"""Probes of joins: rows that a join multiplies, repeats or drops."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.alternatives.trees import add_condition
from answerkey.base.records import Finding
from answerkey.english.asked import Counted, list_counted
from answerkey.english.columns import is_table_of, stem_name
from answerkey.english.measures import MOST, SIZE, find_superlatives
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.probes.query import Query, read_query, with_repair, write_rows
from answerkey.sql.conditions import list_conditions, list_merged_columns, list_terms
from answerkey.sql.keys import is_key
from answerkey.sql.query_tree import (
    copy_nodes,
    make_limit,
    read_integer,
    to_sql,
    write_with,
)
from answerkey.sql.scopes import (
    DirectColumn,
    Place,
    Scope,
    Source,
    inline_aliases,
    list_columns,
    write_column,
)
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Table, fold_name, quote_name

_CROSS_JOIN = re.compile(r"\bCROSS\s+JOIN\b", re.IGNORECASE)
_CLAUSES = ("group", "limit", "distinct")
_SHOWN = 3  # keys or groups as evidence
_RESTRICTIONS = {"who", "that", "which", "with", "having", "used"}
_NAME_WORDS = {"id", "ids", "name", "names", "code", "codes"}


def find_cross_join(inspection: Inspection) -> list[Finding]:
    """Return a finding if tables stand in one FROM and no condition joins them: `FROM ship, port`.

    Any condition on columns of both joins two tables, also by way of other tables. There is no
    finding where the author wrote CROSS JOIN, nor for a table of which a condition chooses one row,
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
            taken |= _list_sources(call, query)
    return all(not taken.isdisjoint(part) for part in parts)


def _write_joins(
    inspection: Inspection, query: Query, crossed: list[tuple[Scope, list[list[Source]]]]
) -> str | None:
    """The query with the parts of each FROM joined by references; None where there is none, or
    where several may be meant."""
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
        return []
    outputs = scope.select.expressions
    shown = {source for output in outputs for source in _list_sources(output, query)}
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
        if _list_sources(term, query) == {source}
    ]
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    table, name = quote_name(source.table.name), quote_name(source.name)
    return query.count(f"SELECT count(*) FROM {table} AS {name}{where}") == (1,)


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
    shown = query.scopes.find_all_direct(select.expressions)
    if len(scope.sources) < 2 or len({column.source for column in shown}) != 1:
        return []
    first = shown[0]
    source = first.source
    key, kind = query.find_key(first.table), "possible"
    if len(shown) == 1 and query.scopes.refers(first) and first.place != query.key_of(source):
        key, kind = first.column.name, "referred"
    if key is None:
        return []
    rows = query.ask(_write_repeats(select, write_column(source, key, scope))) or []
    pairs = query.list_equalities(select)
    ends = {end for pair in pairs for end in pair if end[0] is not source}
    leads_to_many = any(query.key_of(end[0]) != end for end in ends)
    if not (rows or (_has_condition(select) and (kind == "referred" or leads_to_many))):
        return []
    if kind == "possible":
        kind = "in_data" if rows else _read_way(query, select, source, ends)
    evidence = {"kind": kind, "key": f"{first.table.name}.{key}", "repeated": show_rows(rows)}
    return [Finding("join_repeats_rows", evidence)]


def _write_repeats(select: exp.Select, column: exp.Column) -> str:
    count = exp.Count(this=column.copy())
    group, having = exp.Group(expressions=[column.copy()]), exp.Having(this=count > 1)
    return write_rows(select, column, count, group=group, having=having, limit=make_limit(_SHOWN))


def _has_condition(select: exp.Select) -> bool:
    """Whether WHERE chooses rows, and no outer join or order says that each is meant."""
    is_outer = any(join.side for join in select.args.get("joins") or ())
    is_ordered = select.args.get("order") is not None
    return select.args.get("where") is not None and not (is_outer or is_ordered)


def _read_way(query: Query, select: exp.Select, shown: Source, ends: set[Place]) -> str:
    """How a query comes from the things of its condition to those that it returns."""
    for source, joins in Counter(source for source, _ in ends).items():
        if joins > 1 and query.find_key(source.table) is None:
            return "linked"
    for term in list_terms(select.args["where"]):
        named = query.scopes.find_direct(term.this) if isinstance(term, exp.EQ) else None
        if named is None or named.source is shown:
            continue
        if named.place == query.key_of(named.source) or query.scopes.is_label(named):
            return "named"
    return "possible"


def find_join_fan_out(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the outermost SELECT counts rows that repeat what the question counts, or
    adds up or averages values that a join repeats: "How many singers have a song?" and `SELECT
    count(*) FROM singer JOIN song ...` count a singer of two songs twice.

    Kinds: `counted`, the thing stands in FROM; `referred`, a table in FROM refers to it;
    `possible`, the same where nothing is repeated yet; `added`, of SUM and AVG.
    """
    fan_out = inspection.once(_read_fan_out)
    if fan_out is None:
        return []
    evidence = next(fan_out.find_counted(question), None) or fan_out.find_added(question)
    return [Finding("join_fan_out", evidence)] if evidence is not None else []


def _read_fan_out(inspection: Inspection) -> _FanOut | None:
    query = read_query(inspection)
    if query.select is None or query.select.args.get("from_") is None:
        return None
    return _FanOut(query, query.select)


class _FanOut:
    """What a SELECT aggregates, and what its joins repeat, for all questions that it answers."""

    def __init__(self, query: Query, select: exp.Select) -> None:
        self.query = query
        self.select = select
        self.scope: Scope = query.scopes.scope_of(select)
        self.tables = [(s, s.table) for s in self.scope.sources.values() if s.table is not None]
        self.calls = [
            call
            for call in query.scopes.nodes.find_all(exp.Count, exp.Sum, exp.Avg)
            if call.parent_select is select
            and not isinstance(call.this, exp.Distinct)
            and not isinstance(call.parent, exp.Window)
        ]
        self.group = select.args.get("group")

    def find_counted(self, question: Question) -> Iterator[dict[str, Any]]:
        """The evidence of each thing that the question counts, and the query more than once."""
        counts = [call for call in self.calls if isinstance(call, exp.Count)]
        counted = [self.query.scopes.find_direct(call.this) for call in counts]
        for asked in list_counted(question) if counts else ():
            for thing, kind in self._list_things(asked):
                if all(column is None or column.source is thing.source for column in counted):
                    yield from self._describe(asked, thing, kind)

    def _list_things(self, asked: Counted) -> Iterator[tuple[DirectColumn, str]]:
        """Where FROM has the key of what is asked for, or else what refers to it."""
        for source, table in self.tables:
            if is_table_of(asked.stems, table.name):
                key = self._find_column(source, table, self.query.find_key(table))
                if key is not None:
                    yield key, "counted"
                return
        for source, table in self.tables:
            for column, parent, _ in self.query.scopes.references.of_table(table):
                if is_table_of(asked.stems, parent.name):
                    yield DirectColumn(source, table, column, self.scope), "referred"

    def _find_column(self, source: Source, table: Table, name: str | None) -> DirectColumn | None:
        column = table.find_column(name) if name is not None else None
        return DirectColumn(source, table, column, self.scope) if column is not None else None

    def find_added(self, question: Question) -> dict[str, Any] | None:
        """The evidence of a SUM or AVG over values that the rows of another table repeat, which the
        question does not name."""
        stems = {word.stem for word in question.words}
        for call in self.calls:
            if isinstance(call, exp.Count):
                continue
            added = self.query.scopes.find_direct(call.this)
            many = self.many.get(self.query.key_of(added.source)) if added is not None else None
            if added is None or not many:
                continue
            if any(stems.issuperset(stem_name(table.name)) for _, table in many):
                continue
            key = self._find_column(added.source, added.table, self.query.find_key(added.table))
            if key is not None and (rows := self._find_repeated(key)):
                shown = {"sql": to_sql(call), "repeated": key.full_name, "groups": rows}
                return with_repair({"kind": "added"} | shown, self._write_added_once(call, key))
        return None

    def _write_added_once(self, call: exp.Expr, key: DirectColumn) -> str | None:
        """The query with each thing's value added once in a group: `SELECT c0, sum(v) FROM (SELECT
        DISTINCT port.name AS c0, ship.id, ship.weight AS v FROM ...) GROUP BY c0`."""
        keys = self.group.expressions if self.group is not None else []
        texts = [to_sql(column.unalias()) for column in self.select.expressions]
        order = [texts.index(text) if (text := to_sql(own)) in texts else -1 for own in keys]
        if -1 in order or len(texts) != len(keys) + 1 or to_sql(call) not in texts:
            return None
        if any(self.select.args.get(clause) for clause in ("having", "order", "limit")):
            return None
        names = [f"c{column_index}" for column_index in order]
        columns = [exp.alias_(own.copy(), name) for own, name in zip(keys, names, strict=True)]
        inner = write_rows(
            self.select,
            *columns,
            exp.alias_(key.write(), "k"),
            exp.alias_(call.this.copy(), "v"),
            group=None,
            distinct=exp.Distinct(),
        )
        total = f"{call.key.upper()}(v)"
        shown = [
            total if text == to_sql(call) else f"c{column_index}"
            for column_index, text in enumerate(texts)
        ]
        groups = f" GROUP BY {', '.join(names)}" if names else ""
        return f"SELECT {', '.join(shown)} FROM ({inner}){groups}"

    def _describe(
        self, asked: Counted, column: DirectColumn, kind: str
    ) -> Iterator[dict[str, Any]]:
        if column.place in self.known:
            return
        rows = self._find_repeated(column)
        if rows or self._may_repeat(column, is_thing=kind == "counted"):
            evidence = {
                "kind": kind if rows else "possible",
                "asked": asked.phrase,
                "repeated": column.full_name,
                "groups": rows,
            }
            yield with_repair(evidence, self._count_once(column))

    def _count_once(self, column: DirectColumn) -> str:
        """The query that counts each thing once, by the column that stands for it."""
        twins = copy_nodes(self.query.scopes.tree)
        for call in self.calls:
            if isinstance(call, exp.Count):
                twins[id(call)].set("this", exp.Distinct(expressions=[column.write()]))
        return to_sql(twins[id(self.query.scopes.tree)])

    def _may_repeat(self, column: DirectColumn, *, is_thing: bool) -> bool:
        """Whether the schema allows that a group has a value twice: no key of the table that has
        many rows for one is among what the value and the group determine."""
        determined = self.query.list_determined([*self.known, column.place], self.select)
        own = [(column.source, column.table)]
        for source, table in self.many.get(column.place, []) if is_thing else own:
            names = {name for other, name in determined if other is source}
            if not any(names.issuperset(map(fold_name, key)) for key in table.unique_keys):
                return True
        return False

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
        columns, limit = [*keys, count, rows], make_limit(_SHOWN)
        sql = write_rows(self.select, *columns, group=self.group, having=having, limit=limit)
        return show_rows(self.query.ask(sql) or [])

    @cached_property
    def many(self) -> dict[Place, list[tuple[Source, Table]]]:
        """For each column that is joined: the tables that have many rows for one value of it."""
        ends: dict[Place, list[tuple[Source, Table]]] = {}
        for pair in self.query.list_equalities(self.select):
            for end, (source, name) in (pair, pair[::-1]):
                if source.table is not None and self.query.key_of(source) != (source, name):
                    ends.setdefault(end, []).append((source, source.table))
        return ends


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table's place in FROM, or None where it is not there."""

    table: Table
    key: str
    column: DirectColumn
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if rows are counted for each of the things of a table that the question
    names, and an inner join, or a table that refers to them, has no row for some: "How many songs
    has each singer?" and `singer JOIN song ... GROUP BY singer.id`.

    Kinds: `at_most`, only things of a count below a bound are asked for, and some have none;
    `fewest`, that of the least count; `each`, the counts of all, and some are left out; `possible`,
    the same where none are yet; `all`, the same for "all THINGS" where only another table is read.
    "Singers who have a song" and "the most songs" ask for no others: no finding.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or not select.args.get("group"):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []
    kind = _read_form(select, query)
    things = _find_things(select, query) if kind is not None else None
    if things is None:
        return []
    asked = _find_noun(question, things.table)
    if asked is None or (kind == "each" and _is_restricted(question, asked.stem)):
        return []
    if kind == "each" and _are_within_others(question, asked.stem, select, things, query):
        return []
    if kind == "each" and _asks_for_most(question):
        return []
    form, dropped = kind, _find_dropped(select, things, query)
    if kind == "each" and things.source is None:
        if all(word.text != "all" for word in question.words):
            return []
        kind = "all"
    elif kind == "each" and _has_other_condition(select, things, query):
        return []  # the condition may say which things are meant
    elif kind != "fewest" and not dropped:
        kind = "possible"
    shown = {"things": f"{things.table.name}.{things.key}", "dropped": dropped}
    evidence = {"kind": kind, "asked": asked.text} | shown
    repair = _write_zeros(select, things, query, is_cut=form == "fewest")
    return [Finding("zero_count_dropped", with_repair(evidence, repair))]


def _write_zeros(select: exp.Select, things: _Things, query: Query, *, is_cut: bool) -> str | None:
    """The counts of a query, and 0 of each thing that it has no row for; None if it shows more than
    things and counts."""
    zeros = []
    for output in select.expressions:
        column = query.scopes.find_direct(output)
        if _counts(output, query):
            zeros.append("0")
        elif column is not None and column.is_same(things.column):
            zeros.append(quote_name(things.key))
        elif column is not None and column.source is things.source:
            zeros.append(quote_name(column.column.name))
        else:
            return None
    dropped = _write_dropped(select, things, query)
    order = select.args.get("order")
    terms = order.expressions if order is not None else []
    if is_cut:
        names = [f"c{column_index}" for column_index in range(len(zeros))]
        columns = [
            exp.alias_(output.unalias().copy(), name)
            for output, name in zip(select.expressions, names, strict=True)
        ]
        count = exp.alias_(inline_aliases(terms[0].this, query.scopes), "n")
        counted = write_with(select, expressions=[*columns, count], order=None, limit=None)
        shown, limit = ", ".join(names), to_sql(select.args["limit"]).strip()
        zero = f"SELECT {', '.join(zeros)}, 0 {dropped}"
        return f"SELECT {shown} FROM ({counted} UNION ALL {zero}) ORDER BY n {limit}"
    texts = [to_sql(output.unalias()) for output in select.expressions]
    sorted_by = []
    for term in terms:
        text = to_sql(inline_aliases(term.this, query.scopes).unnest())
        column_number = texts.index(text) + 1 if text in texts else read_integer(term.this)
        if column_number is None:
            return None
        sorted_by.append(f"{column_number}{' DESC' if term.args.get('desc') else ''}")
    by = f" ORDER BY {', '.join(sorted_by)}" if sorted_by else ""
    counted = write_with(select, order=None)
    return f"{counted} UNION ALL SELECT {', '.join(zeros)} {dropped}{by}"


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


def _counts(node: exp.Expr, query: Query) -> bool:
    node = node.unalias().unnest()
    resolution = query.resolve(node)
    return isinstance(resolution.expression if resolution is not None else node, exp.Count)


def _find_things(select: exp.Select, query: Query) -> _Things | None:
    columns = query.scopes.find_all_direct(select.args["group"].expressions)
    pairs = query.list_equalities(select)
    ends = {end: other for pair in pairs for end, other in (pair, pair[::-1])}
    for column in columns:
        own, other = query.key_of(column.source), ends.get(column.place)
        if own in ends and (column.place == own or query.scopes.is_label(column)):
            return _name_things(own, own, column.scope)
        if other is not None and other == query.key_of(other[0]):
            return _name_things(other, column.place, column.scope)
        for reference in query.scopes.references.of_table(column.table):
            if column.place != own and reference.column is column.column:
                return _Things(reference.parent, reference.referred.name, column, None)
    return None


def _name_things(key: Place, shown: Place, scope: Scope) -> _Things | None:
    (source, name), (other, other_name) = key, shown
    column = source.table.find_column(name) if source.table is not None else None
    grouped = other.table.find_column(other_name) if other.table is not None else None
    if source.table is None or column is None or other.table is None or grouped is None:
        return None
    by = DirectColumn(other, other.table, grouped, scope)
    return _Things(source.table, column.name, by, source)


def _find_dropped(select: exp.Select, things: _Things, query: Query) -> list[Value]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    dropped = _write_dropped(select, things, query)
    rows = query.ask(f"SELECT {quote_name(things.key)} {dropped} ORDER BY 1 LIMIT {_SHOWN}")
    return [key for (key,) in show_rows(rows or [])]


def _write_dropped(select: exp.Select, things: _Things, query: Query) -> str:
    """FROM and WHERE of those things."""
    key, table = quote_name(things.key), quote_name(things.table.name)
    name = quote_name(things.source.name) if things.source is not None else table
    counted = write_rows(select, exp.alias_(things.column.write(), "k"))
    conditions = [f"{key} IS NOT NULL"]
    for term in list_terms(select.args.get("where")) if things.source is not None else ():
        if _list_sources(term, query) <= {things.source}:
            conditions.append(f"({to_sql(term)})")
    conditions.append(f"{key} NOT IN (SELECT k FROM ({counted}) WHERE k IS NOT NULL)")
    return f"FROM {table} AS {name} WHERE {' AND '.join(conditions)}"


def _list_sources(term: exp.Expr, query: Query) -> set[Source | None]:
    """The members of FROM whose columns a term names; None for what is no column of a table."""
    columns = map(query.scopes.find_direct, term.find_all(exp.Column))
    return {column.source if column is not None else None for column in columns}


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


def _asks_for_most(question: Question) -> bool:
    """Whether those of the most are asked for, of which none has a count of zero: "which port has
    the most ships?" by a list, the greatest count first; not "from most to least"."""
    superlatives = find_superlatives(question)
    poles = {superlative.pole for superlative in superlatives if superlative.measure == SIZE}
    return poles == {MOST}


def _are_within_others(
    question: Question, noun: str, select: exp.Select, things: _Things, query: Query
) -> bool:
    """Whether the things are those in rows of another table: "each product in all the orders"."""
    sources = query.scopes.scope_of(select).sources.values()
    others = {stem_name(s.table.name)[-1:] for s in sources if s.table not in (None, things.table)}
    texts = [word.text for word in question.words]
    for word_index, word in enumerate(question.words[:-1]):
        if word.stem == noun and texts[word_index + 1] in ("in", "on", "from"):
            rest = question.words[word_index + 2 :]
            noun_after = next((other for other in rest if other.text not in ("all", "the")), None)
            if noun_after is not None and (noun_after.stem,) in others:
                return True
    return False


def _is_restricted(question: Question, noun: str) -> bool:
    """Whether a relative clause, or what stands for one, says which things are meant."""
    words = question.words
    for word_index, word in enumerate(words):
        after = [other.text for other in words[word_index + 1 : word_index + 3]]
        after = after[1:] if after and after[0] in _NAME_WORDS else after
        is_followed = bool(_RESTRICTIONS & set(after[:1])) or after[1:] == ["who"]
        if word.stem == noun and is_followed:
            return True
    return False


PROBES = (find_cross_join, find_join_repeats_rows)
QUESTION_PROBES = (find_join_fan_out, find_zero_count_dropped)
