"""Probes of GROUP BY and of set operations: names taken for things, and groups that are missing."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.english.columns import (
    is_part_of_name,
    names_people,
    split_words,
    stem_name,
)
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.rewrites.trees import add_condition
from answerkey.sql.conditions import list_terms
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import copy_nodes, find_with, to_sql
from answerkey.sql.scopes import DirectColumn, write_column
from answerkey.sqlite.schema import Column, fold_name, quote_name

_FORMULA = re.compile(r"\b(?:sum|count|avg|divide|subtract|multiply)\s*\(", re.IGNORECASE)
_MIN_SHARE_OF_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH = {"each", "every", "per", "by"}
_TOWNS = word_set("city town village")
_LANDS = word_set("country state province nation")
_MAX_WORDS_BETWEEN = 2  # "each famous old NAME"
_CUTS = ("group", "having", "limit")  # a side with one of these is more than what its WHERE says


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates, groups by names of a table whose key it joins to
    other rows, and not by that key: the songs of two singers of one name are counted together.

    A question that says "for each NAME" asks for groups of one name. Kind `place`: rows are grouped
    by a town, and towns of two countries have one name.
    """
    first = inspection.once(_find_first)
    if first is not None:
        return [] if _is_asked(question, first[0]) else [Finding("group_by_non_key", first[1])]
    place = inspection.once(_find_place)
    return [Finding("group_by_non_key", place)] if place is not None else []


def _find_place(inspection: Inspection) -> dict[str, Any] | None:
    """The evidence of rows grouped by a town, of which two countries have one of its name; nothing
    where a condition chooses the country."""
    query = read_query(inspection)
    for group in query.scopes.nodes.find_all(exp.Group):
        keys = query.scopes.find_all_direct(group.expressions)
        terms = list_terms(group.parent.args.get("where")) if group.parent is not None else []
        chosen = query.scopes.find_all_direct(
            node for term in terms for node in term.find_all(exp.Column)
        )
        for town in keys:
            if _TOWNS.isdisjoint(split_words(town.column.name)):
                continue
            for column in town.table.columns:
                wider = town.beside(column)
                if _LANDS.isdisjoint(split_words(column.name)) or column is town.column:
                    continue
                if any(other.place == wider.place for other in (*keys, *chosen)):
                    continue
                if (shared := _find_shared_name(town, column, query)) is not None:
                    twins = copy_nodes(query.scopes.tree)
                    twins[id(group)].append("expressions", wider.write())
                    evidence = {"kind": "place", "grouped_by": [town.full_name], "shared": shared}
                    evidence["key"] = wider.full_name
                    return with_repair(evidence, to_sql(twins[id(query.scopes.tree)]))
    return None


def _find_shared_name(town: DirectColumn, wider: Column, query: Query) -> str | None:
    """The first name of a town that several countries have; None if there is none."""
    name, land = quote_name(town.column.name), quote_name(wider.name)
    rows = query.ask(
        f"SELECT {name} FROM {quote_name(town.table.name)} WHERE typeof({name}) = 'text'"
        f" AND {name} <> '' GROUP BY {name} HAVING count(DISTINCT {land}) > 1 ORDER BY 1 LIMIT 1"
    )
    return str(rows[0][0]) if rows else None


def _find_first(inspection: Inspection) -> tuple[DirectColumn, dict[str, Any]] | None:
    for select in inspection.scopes.nodes.find_all(exp.Select):
        is_grouped = select.args.get("group") is not None and select.find(exp.AggFunc) is not None
        if is_grouped and find_with(select) is None:
            named = _find_names(select, read_query(inspection))
            if named is not None:
                return named
    return None


def _find_names(select: exp.Select, query: Query) -> tuple[DirectColumn, dict[str, Any]] | None:
    grouping = read_grouping(select, query.scopes)
    if grouping is None:
        return None
    keys = [query.scopes.find_direct(key) for key in grouping.keys if key.parent is not None]
    columns = [key for key in keys if key is not None and key.scope is grouping.scope]
    determined = query.list_determined([column.place for column in columns], select)
    joined = {end for pair in query.list_equalities(select) for end in pair}
    for label in filter(query.scopes.is_label, columns):
        key = query.key_of(label.source)
        if key in joined and key not in determined and _is_of_things(label, query):
            names = [column for column in columns if column.source is label.source]
            evidence = {
                "grouped_by": [column.full_name for column in names],
                "key": f"{label.table.name}.{query.find_key(label.table)}",
            }
            return label, with_repair(evidence, _write_by_key(query, select, label))
    return None


def _write_by_key(query: Query, select: exp.Select, label: DirectColumn) -> str | None:
    """The query grouped by the key of what has the name, in its place, or beside `1` or an alias
    that means it."""
    key = query.find_key(label.table)
    if key is None:
        return None
    twins = copy_nodes(query.scopes.tree)
    column = write_column(label.source, key, label.scope)
    for node in select.args["group"].expressions:
        named = query.scopes.find_direct(node)
        if named is not None and named.place == label.place:
            twins[id(node)].replace(column)
            return to_sql(twins[id(query.scopes.tree)])
    twins[id(select.args["group"])].append("expressions", column)
    return to_sql(twins[id(query.scopes.tree)])


def _is_of_things(label: DirectColumn, query: Query) -> bool:
    """Whether most rows of a table have a name of their own, and are not classed by it. A table of
    a key and a name alone lists names, each once."""
    column, table = quote_name(label.column.name), quote_name(label.table.name)
    counts = query.count(f"SELECT count(DISTINCT {column}), count(*) FROM {table}")
    if len(label.table.columns) < 3 or not counts:
        return False
    names, rows = counts
    return names > 0 and names >= rows * _MIN_SHARE_OF_NAMES


def _is_asked(question: Question, label: DirectColumn) -> bool:
    """Whether the question says "for each job title", as the column is called."""
    name = stem_name(label.column.name)[-1]
    words = question.words
    for word_index, word in enumerate(words):
        after = words[word_index + 1 : word_index + 2 + _MAX_WORDS_BETWEEN]
        if word.text in _EACH and any(other.stem == name for other in after):
            return True
    return False


def find_set_operation_on_non_key(inspection: Inspection) -> list[Finding]:
    """Return a finding if INTERSECT or EXCEPT compares rows of one table by their names and not by
    its key: without a song, a singer is left out where another of that name has one.

    Kinds: `part_of_name`, a first name alone or a last name; `people` for EXCEPT over people, where
    one other of the same name is enough; `others`, whose names are seldom shared, or, for
    INTERSECT, by two who meet one side each.
    """
    query = read_query(inspection)
    for node in query.scopes.nodes.find_all(exp.Except, exp.Intersect):
        columns = _list_compared(node, query)
        has_label = any(map(query.scopes.is_label, columns))
        key = query.find_key(columns[0].table) if has_label else None
        names = [column.column.name for column in columns]
        if key is not None and fold_name(key) not in map(fold_name, names):
            table = columns[0].table.name
            kind = "others"
            if len(names) == 1 and is_part_of_name(names[0]):
                kind = "part_of_name"
            elif names_people(table) and isinstance(node, exp.Except):
                kind = "people"
            evidence = {
                "kind": kind,
                "operation": node.key.upper(),
                "columns": [f"{table}.{name}" for name in names],
                "key": f"{table}.{key}",
            }
            repair = _write_members(query, node, key)
            return [Finding("set_operation_on_non_key", with_repair(evidence, repair))]
    return []


def _write_members(query: Query, node: exp.SetOperation, key: str) -> str | None:
    """The query for the things of the left side whose key is, or is not, among those of the
    right: their names once, as set operations have them."""
    left, right = node.this, node.expression
    if any(left.args.get(clause) for clause in (*_CUTS, "order")):
        return None
    keys = [
        write_column(columns[0].source, key, columns[0].scope)
        for side in (left, right)
        if (columns := query.scopes.find_all_direct(side.expressions))
    ]
    twins = copy_nodes(query.scopes.tree)
    outer, inner, whole = twins[id(left)], twins[id(right)], twins[id(node)]
    inner.set("expressions", [keys[1]])
    test: exp.Expr = exp.In(this=keys[0], query=exp.Subquery(this=inner.copy()))
    test = exp.Not(this=test) if isinstance(node, exp.Except) else test
    outer.set("where", add_condition(outer, "where", test))
    outer.set("distinct", exp.Distinct())
    for clause in ("order", "limit", "offset"):
        if whole.args.get(clause) is not None:
            outer.set(clause, whole.args[clause])
    if node is query.scopes.tree:
        return to_sql(outer)
    whole.replace(outer.copy())
    return to_sql(twins[id(query.scopes.tree)])


def _list_compared(node: exp.SetOperation, query: Query) -> list[DirectColumn]:
    """The columns that are compared, if both sides have the same ones of one table, and could have
    the same row: conditions on single rows of that table alone are met by other rows of a name."""
    sides = [node.this, node.expression]
    if not all(isinstance(side, exp.Select) for side in sides) or find_with(node) is not None:
        return []
    own, other = (query.scopes.find_all_direct(side.expressions) for side in sides)
    if not own or not other or any(sides[1].args.get(clause) for clause in _CUTS):
        return []
    is_same = [column.column for column in own] == [column.column for column in other]
    is_joined = any(side.args.get("joins") for side in sides)
    is_of_rows = not is_joined and sides[0].args.get("where") is not None
    return own if is_same and own[0].table is other[0].table and not is_of_rows else []


QUESTION_PROBES = (find_group_by_non_key,)


DOUBTS = (
    Doubt("set_operation_on_non_key", find_in_query=find_set_operation_on_non_key),
    Doubt("group_by_non_key", find_in_question=find_group_by_non_key),
)
