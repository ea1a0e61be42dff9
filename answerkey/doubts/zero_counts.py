"""The probe of counts of zero: things that have no row to be counted, and that a join drops."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair, write_rows
from answerkey.english.columns import stem_name
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import to_sql, write_with
from answerkey.sql.scopes import DirectColumn, Place, Scope, Source, inline_aliases
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Table, quote_name

_MAX_SHOWN_KEYS = 3  # keys as evidence


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table in FROM, or None if it is not there."""

    table: Table
    key: str
    column: DirectColumn
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question asks for the things of a table that have the fewest rows, or
    at most so many, and an inner join, or a table that refers to them, has no row for some: "Which
    singer has the fewest songs?" and `singer JOIN song ... GROUP BY singer.id ORDER BY count(*)`.

    Kinds: `at_most`, some have none; `fewest`; `possible`, at most so many, and each has one yet.
    "How many songs has each singer?" may leave out those with none: of 64 such queries that were
    read, none was held wrong for it.
    """
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
    repair = _write_zeros(select, things, query, is_cut=kind == "fewest")
    if kind == "at_most" and not dropped:
        kind = "possible"
    shown = {"things": f"{things.table.name}.{things.key}", "dropped": dropped}
    evidence = {"kind": kind, "asked": asked.text} | shown
    return [Finding("zero_count_dropped", with_repair(evidence, repair))]


def _write_zeros(select: exp.Select, things: _Things, query: Query, *, is_cut: bool) -> str | None:
    """The counts of a query, and 0 of each thing that it has no row for; None if it shows more than
    things and counts, or sorts the things of at most so many rows."""
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
    if terms:
        return None
    return f"{to_sql(select)} UNION ALL SELECT {', '.join(zeros)} {dropped}"


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
    rows = query.ask(
        f"SELECT {quote_name(things.key)} {dropped} ORDER BY 1 LIMIT {_MAX_SHOWN_KEYS}"
    )
    return [key for (key,) in show_rows(rows or [])]


def _write_dropped(select: exp.Select, things: _Things, query: Query) -> str:
    """FROM and WHERE of those things."""
    key, table = quote_name(things.key), quote_name(things.table.name)
    name = quote_name(things.source.name) if things.source is not None else table
    counted = write_rows(select, exp.alias_(things.column.write(), "k"))
    conditions = [f"{key} IS NOT NULL"]
    for term in list_terms(select.args.get("where")) if things.source is not None else ():
        if query.list_sources(term) <= {things.source}:
            conditions.append(f"({to_sql(term)})")
    conditions.append(f"{key} NOT IN (SELECT k FROM ({counted}) WHERE k IS NOT NULL)")
    return f"FROM {table} AS {name} WHERE {' AND '.join(conditions)}"


def _find_noun(question: Question, table: Table) -> Word | None:
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


DOUBTS = (
    Doubt(
        "zero_count_dropped",
        find_in_question=find_zero_count_dropped,
        readings=("with_zero_counts",),
        answers_of_kinds={"fewest": "other", "at_most": "other", "possible": "same"},
    ),
)
