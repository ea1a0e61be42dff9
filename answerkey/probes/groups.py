"""Probes of GROUP BY and of set operations: names taken for things, and groups that are missing."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import is_part_of_name, names_people, stem_name
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.query import Query, place_of, read_query
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import find_with
from answerkey.sql.scopes import Resolution
from answerkey.sqlite.schema import fold_name, quote_name

_EACH_OF = re.compile(r"\b(?:for|of|in|by|to|at|from|with) (?:each|every) (?!other\b)\w+")
_NUMBER_WORD = re.compile(
    r"\b(?:many|much|numbers?|counts?|totals?|sums?|amounts?|average|mean|maximum|minimum)\b"
)
_SENTENCE_END = re.compile("[.?!]")
_FORMULA = re.compile(r"\b(?:sum|count|avg|divide|subtract|multiply)\s*\(", re.IGNORECASE)
_FEWEST_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH = {"each", "every", "per", "by"}
_WORDS_BETWEEN = 2
_CUTS = ("group", "having", "limit")


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a sentence of the question asks for a number `of each` thing, as in "the
    total weight of each port", and the query aggregates without any GROUP BY; neither a quotient
    nor a formula in the evidence is a finding."""
    query = read_query(inspection)
    if query.select is None or query.scopes.nodes.find_all(exp.Group, exp.Window, exp.Div):
        return []
    if not query.is_one_row(query.select) or _FORMULA.search(question.evidence):
        return []
    for sentence in _SENTENCE_END.split(question.text.lower()):
        each = _EACH_OF.search(sentence)
        if each is not None and _NUMBER_WORD.search(sentence):
            return [Finding("each_without_group", {"asked": each.group()})]
    return []


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates, groups by names of a table whose key it joins to
    other rows, and not by that key: the songs of two singers of one name are counted together.

    A question that says "for each NAME" asks for groups of one name.
    """
    found = inspection.once(_find_first)
    if found is None or _is_asked(question, found[0]):
        return []
    return [Finding("group_by_non_key", found[1])]


def _find_first(inspection: Inspection) -> tuple[Resolution, dict[str, Any]] | None:
    for select in inspection.scopes.nodes.find_all(exp.Select):
        is_grouped = select.args.get("group") is not None and select.find(exp.AggFunc) is not None
        if is_grouped and find_with(select) is None:
            found = _find_names(select, read_query(inspection))
            if found is not None:
                return found
    return None


def _find_names(select: exp.Select, query: Query) -> tuple[Resolution, dict[str, Any]] | None:
    grouping = read_grouping(select, query.scopes)
    if grouping is None:
        return None
    found = [query.resolve_direct(key) for key in grouping.keys if key.parent is not None]
    columns = [what for what in found if what is not None and what.scope is grouping.scope]
    equalities = list(query.list_equalities(select))
    known = query.list_known(map(place_of, columns), equalities)
    joined = {place for pair in equalities for place in pair}
    for label in filter(query.is_label, columns):
        key = query.key_of(label.source)
        if key in joined and key not in known and _is_of_things(label, query):
            names = [what for what in columns if what.source is label.source]
            return label, {
                "grouped_by": [f"{what.table.name}.{what.column.name}" for what in names],
                "key": f"{label.table.name}.{query.find_key(label.table)}",
            }
    return None


def _is_of_things(label: Resolution, query: Query) -> bool:
    """Whether most rows of a table have a name of their own, and are not classed by it. A table of
    a key and a name alone lists names, each once."""
    column, table = quote_name(label.column.name), quote_name(label.table.name)
    counts = query.ask(f"SELECT count(DISTINCT {column}), count(*) FROM {table}")
    if len(label.table.columns) < 3 or not counts:
        return False
    names, rows = counts[0]
    return names > 0 and names >= rows * _FEWEST_NAMES


def _is_asked(question: Question, label: Resolution) -> bool:
    """Whether the question says "for each job title", as the column is called."""
    name = stem_name(label.column.name)[-1]
    words = question.words
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2 + _WORDS_BETWEEN]
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
        found = _list_compared(node, query)
        key = query.find_key(found[0].table) if any(map(query.is_label, found)) else None
        names = [what.column.name for what in found]
        if key is not None and fold_name(key) not in map(fold_name, names):
            table = found[0].table.name
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
            return [Finding("set_operation_on_non_key", evidence)]
    return []


def _list_compared(node: exp.SetOperation, query: Query) -> list[Resolution]:
    """The columns that are compared, if both sides have the same ones of one table, and could have
    the same row: conditions on single rows of that table alone are met by other rows of a name."""
    sides = [node.this, node.expression]
    if not all(isinstance(side, exp.Select) for side in sides) or find_with(node) is not None:
        return []
    own, other = ([query.resolve_direct(c) for c in side.expressions] for side in sides)
    if None in own or None in other or any(sides[1].args.get(clause) for clause in _CUTS):
        return []
    is_same = [found.column for found in own] == [found.column for found in other]
    is_joined = any(side.args.get("joins") for side in sides)
    is_of_rows = not is_joined and sides[0].args.get("where") is not None
    return own if is_same and own[0].table is other[0].table and not is_of_rows else []


PROBES = (find_set_operation_on_non_key,)
QUESTION_PROBES = (find_each_without_group, find_group_by_non_key)
