"""The fewest are asked for, or at most some number, and the query leaves out things with none.

"Which singer has the fewest songs?"

Doubted: SELECT singer.name FROM singer JOIN song ON singer.id = song.singer_id
         GROUP BY singer.id ORDER BY count(*) LIMIT 1
Sound:   SELECT singer.name FROM singer LEFT JOIN song ON singer.id = song.singer_id
         GROUP BY singer.id ORDER BY count(song.id) LIMIT 1

A singer without a song has the fewest, and JOIN has no row for that singer. The same holds for
"fewer than two songs", and for a query of `song` alone that groups by `singer_id`.

Kinds:

fewest: the query takes the least counts.
at_most: the query takes counts up to some number, and there are things without a row.
possible: the same, and each thing has a row yet.

"How many songs has each singer?" may leave out those with none: of 64 such queries that were
read, none was held wrong for it.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair, write_rows
from answerkey.engines.database import Value
from answerkey.engines.schema import Column, Table, fold_name, quote_name
from answerkey.english.columns import stem_name
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.rewrites.groups import keep_zero_counts
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import to_sql, write_table
from answerkey.sql.scopes import DirectColumn, Source, spell_source

_MAX_SHOWN_KEYS = 3  # keys as evidence


class _Things(NamedTuple):
    """The things that a query counts by.

    table, key: their table and its key.
    source: the table in FROM; None if it is not there.
    shown: the column by which the query groups, or its key.
    counted: the column that refers to the key, in the table whose rows are counted.
    """

    table: Table
    key: Column
    source: Source | None
    shown: DirectColumn
    counted: DirectColumn


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question names things of which the query drops counts of zero."""
    query = read_query(inspection)
    select = query.select
    if select is None or not select.args.get("group"):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []  # an outer join has a row for each of them
    kind = _read_form(select, query)
    things = _find_things(select, query) if kind is not None else None
    asked = _find_noun(question, things.table) if things is not None else None
    if things is None or asked is None:
        return []
    dropped = _find_dropped(select, things, query)
    if kind == "at_most" and not dropped:
        kind = "possible"
    shown = {"things": f"{things.table.name}.{things.key.name}", "dropped": dropped}
    evidence = {"kind": kind, "asked": asked.text} | shown
    repair = _write_repair(select, things, query)
    return [Finding("zero_count_dropped", with_repair(evidence, repair))]


def _read_form(select: exp.Select, query: Query) -> str | None:
    """Return the use of the counts: at_most or fewest; None if none can be missed."""
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        condition = having.this.unnest()
        is_bound = isinstance(condition, exp.LT | exp.LTE) and _counts(condition.this, query)
        return "at_most" if is_bound else None
    if select.args.get("limit") is None or order is None:
        return None
    first = order.expressions[0]
    return "fewest" if not first.args.get("desc") and _counts(first.this, query) else None


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
            key, counted = (query.find_column(place, column.scope) for place in (own, ends[own]))
            if key is not None and counted is not None:
                return _Things(key.table, key.column, key.source, key, counted)
        if other is not None and other == query.key_of(other[0]):
            key = query.find_column(other, column.scope)
            if key is not None:
                return _Things(key.table, key.column, key.source, column, column)
        for reference in query.scopes.references.of_table(column.table):
            if column.place != own and reference.column is column.column:
                return _Things(reference.parent, reference.referred, None, column, column)
    return None


def _find_dropped(select: exp.Select, things: _Things, query: Query) -> list[Value]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    key, table = quote_name(things.key.name), write_table(things.table.name)
    name = to_sql(spell_source(things.source)) if things.source is not None else table
    counted = write_rows(select, exp.alias_(things.shown.write(), "k"))
    conditions = [f"{key} IS NOT NULL"]
    for term in list_terms(select.args.get("where")) if things.source is not None else ():
        if query.list_sources(term) <= {things.source}:
            conditions.append(f"({to_sql(term)})")
    conditions.append(f"{key} NOT IN (SELECT k FROM ({counted}) WHERE k IS NOT NULL)")
    rows = query.ask(
        f"SELECT {key} FROM {table} AS {name} WHERE {' AND '.join(conditions)}"
        f" ORDER BY 1 LIMIT {_MAX_SHOWN_KEYS}"
    )
    return [key for (key,) in show_rows(rows or [])]


def _find_noun(question: Question, table: Table) -> Word | None:
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


def _write_repair(select: exp.Select, things: _Things, query: Query) -> str | None:
    """The query with counts of zero; None if it shows more than things and counts, or reads other
    tables than those of the things and of what is counted."""
    source, counted, scope = things.source, things.counted, things.counted.scope
    for output in select.expressions:
        column = query.scopes.find_direct(output)
        is_of_thing = column is not None and (
            column.source is source or column.is_same(things.shown)
        )
        if not is_of_thing and not _counts(output, query):
            return None
    joins = select.args.get("joins") or []
    if set(scope.sources.values()) != {counted.source, source} - {None}:
        return None
    if any(join.method or join.args.get("using") for join in joins):
        return None
    if source is None and fold_name(counted.source.name) == fold_name(things.table.name):
        return None  # rows of a table that refer to others of it
    name = source.name if source is not None else things.table.name
    node = source.node if source is not None else exp.to_table(write_table(name))
    own = spell_source(source) if source is not None else exp.to_identifier(name, quoted=True)
    key = exp.column(things.key.name, table=own, quoted=True)
    change = keep_zero_counts(select, node, key, counted, query.scopes)
    return write_change(query.scopes, change)


DOUBT = Doubt(
    "zero_count_dropped",
    find_in_question=find_zero_count_dropped,
    readings=("with_zero_counts",),
    answers_of_kinds={"fewest": "other", "at_most": "other", "possible": "same"},
)
