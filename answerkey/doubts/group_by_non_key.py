"""GROUP BY takes a name for the thing that has it.

"How many songs has each singer?"

Doubted: SELECT a.name, count(*) FROM singer AS a JOIN song AS b ON a.id = b.singer_id
         GROUP BY a.name
Sound:   SELECT a.name, count(*) FROM singer AS a JOIN song AS b ON a.id = b.singer_id
         GROUP BY a.id

The songs of two singers of one name are counted together. The query joins songs to the key of the
singers, so that it means singers and not their names. A question that says "for each name" asks
for the names; and a table in which many rows share a name has it as a class.

Kind `place`: rows are grouped by a town, and towns of two countries have one name. There is no
doubt where the query chooses the country, or groups by it as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.engines.column_texts import write_is_text
from answerkey.engines.schema import Column, quote_name
from answerkey.english.columns import names_land, names_town, stem_name
from answerkey.english.phrases import asks_by_name
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.rewrites.groups import group_by_key
from answerkey.rewrites.trees import write_change
from answerkey.sql.conditions import list_terms
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import find_with, spoken_engine, write_table
from answerkey.sql.scopes import DirectColumn

_MIN_SHARE_OF_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates and groups by names of things that it joins by their
    key, and the question does not ask for the names; or if it groups by an ambiguous town."""
    named = inspection.once(_find_named)
    if named is not None:
        return (
            []
            if asks_by_name(question, stem_name(named[0].column.name)[-1])
            else [Finding("group_by_non_key", named[1])]
        )
    place = inspection.once(_find_place)
    return [Finding("group_by_non_key", place)] if place is not None else []


def _find_named(inspection: Inspection) -> tuple[DirectColumn, dict[str, Any]] | None:
    """The first name by which a SELECT groups, and the evidence."""
    query = read_query(inspection)
    for select in query.scopes.nodes.find_all(exp.Select):
        group = select.args.get("group")
        if not isinstance(group, exp.Group) or select.find(exp.AggFunc) is None:
            continue
        if find_with(select) is not None:
            continue
        columns = _list_keys(select, query)
        determined = query.list_determined([column.place for column in columns], select)
        joined = {end for pair in query.list_equalities(select) for end in pair}
        for label in filter(query.scopes.is_label, columns):
            own = query.key_of(label.source)
            if own in joined and own not in determined and _is_of_things(label, query):
                key = query.find_column(own, label.scope)
                names = [column.full_name for column in columns if column.source is label.source]
                if key is not None:
                    evidence = {"grouped_by": names, "key": key.full_name}
                    return label, with_repair(evidence, _write_repair(query, group, label, key))
    return None


def _list_keys(select: exp.Select, query: Query) -> list[DirectColumn]:
    """The columns of its own FROM by which a SELECT groups."""
    grouping = read_grouping(select, query.scopes)
    keys = grouping.keys if grouping is not None else []
    columns = query.scopes.find_all_direct(key for key in keys if key.parent is not None)
    return [column for column in columns if grouping and column.scope is grouping.scope]


def _is_of_things(label: DirectColumn, query: Query) -> bool:
    """Whether most rows of a table have a name of their own, and are not classed by it. A table of
    a key and a name alone lists names, each once."""
    column, table = quote_name(label.column.name), write_table(label.table.name)
    counts = query.count(f"SELECT count(DISTINCT {column}), count(*) FROM {table}")
    if len(label.table.columns) < 3 or not counts:
        return False
    names, rows = counts
    return names > 0 and names >= rows * _MIN_SHARE_OF_NAMES


def _write_repair(query: Query, group: exp.Group, label: DirectColumn, key: DirectColumn) -> str:
    """The query grouped by the key in place of the name, or beside `1` or an alias that means the
    name."""
    named = zip(group.expressions, map(query.scopes.find_direct, group.expressions), strict=True)
    names = (node for node, column in named if column is not None and column.is_same(label))
    return write_change(query.scopes, group_by_key(group, next(names, None), [key.write()]))


def _find_place(inspection: Inspection) -> dict[str, Any] | None:
    """The evidence of rows grouped by a town, of which two countries have one of its name."""
    query = read_query(inspection)
    for group in query.scopes.nodes.find_all(exp.Group):
        for town, land in _list_places(group, query):
            shared = _find_shared_name(town, land.column, query)
            if shared is not None:
                repair = write_change(query.scopes, group_by_key(group, None, [land.write()]))
                evidence = {"kind": "place", "grouped_by": [town.full_name], "shared": shared}
                return with_repair(evidence | {"key": land.full_name}, repair)
    return None


def _list_places(group: exp.Group, query: Query) -> Iterator[tuple[DirectColumn, DirectColumn]]:
    """The towns by which a SELECT groups, each with a column of its table that has the country, if
    the query neither groups by that nor has a condition on it."""
    keys = query.scopes.find_all_direct(group.expressions)
    terms = list_terms(group.parent.args.get("where")) if group.parent is not None else []
    chosen = query.scopes.find_all_direct(
        node for term in terms for node in term.find_all(exp.Column)
    )
    for town in keys:
        for column in town.table.columns if names_town(town.column.name) else ():
            land = town.beside(column)
            is_land = names_land(column.name) and column is not town.column
            if is_land and not any(other.is_same(land) for other in (*keys, *chosen)):
                yield town, land


def _find_shared_name(town: DirectColumn, land: Column, query: Query) -> str | None:
    """The first name of a town that several countries have; None if there is none."""
    name, wider = quote_name(town.column.name), quote_name(land.name)
    is_text = write_is_text(
        town.column.name, declared_type=town.column.type, engine=spoken_engine()
    )
    rows = query.ask(
        f"SELECT {name} FROM {write_table(town.table.name)} WHERE {is_text}"
        f" AND {name} <> '' GROUP BY {name} HAVING count(DISTINCT {wider}) > 1 ORDER BY 1 LIMIT 1"
    )
    return str(rows[0][0]) if rows else None


DOUBT = Doubt("group_by_non_key", find_in_question=find_group_by_non_key)
