"""A join repeats the rows of the one table that a query shows.

"Which singers have a song in French?"

Doubted: SELECT name FROM singer JOIN song ON singer.id = song.singer_id
         WHERE language = 'French'
Sound:   SELECT DISTINCT name FROM singer JOIN song ON singer.id = song.singer_id
         WHERE language = 'French'

A singer of two such songs comes twice. There is no doubt where

- a condition names one thing whose attribute is asked for: "Who sang Tide?";
- it names several things that each refer to one of those that are shown, a row each: "the
  publishers of these heroes";
- the query shows only a column that refers to things of another table: it names one in each row.

Kinds:

in_data: a row comes twice, and a condition chooses rows.
listed: a row comes twice, and all rows are listed, or in an order, so that a row for each pair may
    be meant.
linked: no row comes twice yet, and the condition is reached over a table that only links others, so
    that things are listed by a relation.
possible: no row comes twice yet, and the query has another condition on a table that may have
    several rows for one that is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, write_rows
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import make_limit
from answerkey.sql.scopes import Place, Source, write_column

_CLAUSES = ("group", "limit", "distinct")  # what merges rows that come again, or leaves them out
_MAX_SHOWN_KEYS = 3


def find_join_repeats_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if all columns that the query shows are of one table, whose rows its joins
    repeat, or could repeat."""
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
        select, column, count, group=group, having=having, limit=make_limit(_MAX_SHOWN_KEYS)
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


DOUBT = Doubt(
    "join_repeats_rows",
    find_in_query=find_join_repeats_rows,
    readings=("each_thing_once", "distinct_rows"),
)
