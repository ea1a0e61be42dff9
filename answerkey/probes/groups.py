"""Probes of GROUP BY: groups that the question does not mean, or that their keys do not part."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import stem_name
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues
from answerkey.probes.conditions import is_one_row
from answerkey.probes.entities import (
    find_key,
    is_label,
    list_equalities,
    list_known,
    place_of,
    resolve_direct,
)
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import (
    find_with,
    unwrap,
)
from answerkey.sql.scopes import Resolution
from answerkey.sqlite.schema import fold_name, quote_name

# each_without_group: the question asks for a number of each thing, and the query returns one.


_EACH_OF = re.compile(r"\b(?:for|of|in|by|to|at|from|with) (?:each|every) (?!other\b)\w+")
_NUMBER_WORD = re.compile(
    r"\b(?:many|much|numbers?|counts?|totals?|sums?|amounts?|average|mean|maximum|minimum)\b"
)
_SENTENCE_END = re.compile("[.?!]")
_FORMULA = re.compile(r"\b(?:sum|count|avg|divide|subtract|multiply)\s*\(", re.IGNORECASE)


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a sentence of the question asks for a number `of each` thing, as in "the
    total weight of each port", and the query aggregates without any GROUP BY; neither a quotient
    nor a formula in the evidence is a finding."""
    select, nodes = unwrap(inspection.tree), inspection.scopes.nodes
    if not isinstance(select, exp.Select) or nodes.find_all(exp.Group, exp.Window, exp.Div):
        return []
    if not is_one_row(select, inspection.scopes) or _FORMULA.search(question.evidence):
        return []
    for sentence in _SENTENCE_END.split(question.text.lower()):
        each = _EACH_OF.search(sentence)
        if each is not None and _NUMBER_WORD.search(sentence):
            return [Finding("each_without_group", {"asked": each.group()})]
    return []


# group_by_non_key: rows are grouped by a name, where several things may have one name.
#
# `SELECT T1.name, count(*) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id GROUP BY
# T1.name` -> the songs of two singers of one name are counted together.


_FEWEST_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH_GROUP_BY_NON_KEY = {"each", "every", "per", "by"}
_WORDS_BETWEEN = 2


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates, groups by names of a table whose key it joins to
    other rows, and not by that key.

    A question that says "for each NAME" asks for groups of one name.
    """
    found = inspection.once(_find_first)
    if found is None or _is_asked(question, found[0]):
        return []
    return [Finding("group_by_non_key", found[1])]


def _find_first(inspection: Inspection) -> tuple[Resolution, dict[str, Any]] | None:
    for select in inspection.scopes.nodes.find_all(exp.Select):
        is_grouped = select.args.get("group") is not None and select.find(exp.AggFunc) is not None
        found = None
        if is_grouped and find_with(select) is None:
            found = _find_names(inspection, select)
        if found is not None:
            return found
    return None


def _find_names(
    inspection: Inspection, select: exp.Select
) -> tuple[Resolution, dict[str, Any]] | None:
    """The first name by which a SELECT groups, and the evidence."""
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    grouping = read_grouping(select, scopes)
    if grouping is None:
        return None
    found = [resolve_direct(key, scopes) for key in grouping.keys if key.parent is not None]
    columns = [what for what in found if what is not None and what.scope is grouping.scope]
    equalities = list(list_equalities(select, scopes))
    known = list_known(map(place_of, columns), equalities, values)
    joined = {place for pair in equalities for place in pair}
    for label in columns:
        if not is_label(label, inspection.schema):
            continue
        key = find_key(label.table, values)
        place = label.source, fold_name(key) if key is not None else ""
        if place not in joined or place in known or not _is_of_things(label, values):
            continue
        names = [what for what in columns if what.source is label.source]
        return label, {
            "grouped_by": [f"{what.table.name}.{what.column.name}" for what in names],
            "key": f"{label.table.name}.{key}",
        }
    return None


def _is_of_things(label: Resolution, values: ColumnValues) -> bool:
    """Whether most rows of a table have a name of their own, and are not classed by it. A table of
    a key and a name alone lists names, each once."""
    if len(label.table.columns) < 3:
        return False
    column = quote_name(label.column.name)
    table = quote_name(label.table.name)
    names = values.ask_number(f"SELECT count(DISTINCT {column}) FROM {table}")
    rows = values.ask_number(f"SELECT count(*) FROM {table}")
    return bool(names) and bool(rows) and names >= rows * _FEWEST_NAMES


def _is_asked(question: Question, label: Resolution) -> bool:
    """Whether the question says "for each job title", as the column is called."""
    name = stem_name(label.column.name)[-1]
    words = question.words
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2 + _WORDS_BETWEEN]
        if word.text in _EACH_GROUP_BY_NON_KEY and any(other.stem == name for other in after):
            return True
    return False


QUESTION_PROBES = (find_each_without_group, find_group_by_non_key)
