"""DISTINCT or not, where the question does not say what the gold query does.

Reason: "the countries of the singers" may name a country once, or once a singer.
"""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name
from answerkey.suites.neighbors.changes import Steps, changed
from answerkey.suites.neighbors.names import find_direct, is_name, list_key, name_column
from answerkey.suites.neighbors.queries import has_unique_rows

_ONCE = re.compile(r"\b(different|distinct|unique|duplicates?|repeat\w*)\b", re.IGNORECASE)
_EACH_ROW = re.compile(r"\b(each|every|duplicates?|repeat\w*)\b", re.IGNORECASE)

_END = "do|does|did|is|are|was|were|has|have|had|can|for|in|of|on|at|by|to|with|from|that|who|which"
_COUNTED = re.compile(
    rf"\b(?:how many|number of)((?:\s+(?!(?:{_END})\b)\w+){{1,2}})", re.IGNORECASE
)


def read_duplicates(scopes: Scopes, question_text: str) -> Steps:
    """distinct_rows of the outermost SELECT, distinct_values in its counts, and distinct_things:
    "how many singers" of a count of rows that joins singers to others; without_distinct, and
    each_thing_once: DISTINCT names of joined things, but things of one name are several."""
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    if _ONCE.search(question_text) is None:
        if select.args.get("distinct") is not None and not has_unique_rows(select, scopes):
            with changed(select, distinct=None):
                yield "without_distinct"
            yield from _show_each_once(select, scopes)
        for count in _list_counts(select):
            if isinstance(count.this, exp.Distinct) and len(count.this.expressions) == 1:
                with changed(count, this=count.this.expressions[0].copy()):
                    yield "without_distinct"
    if _EACH_ROW.search(question_text) is None or _ONCE.search(question_text) is not None:
        is_cut = select.args.get("limit") is not None
        if not (select.args.get("distinct") or is_cut or has_unique_rows(select, scopes)):
            with changed(select, distinct=exp.Distinct()):
                yield "distinct_rows"
        for count in _list_counts(select):
            if isinstance(count.this, exp.Star) and _is_of_joined_rows(select):
                yield from _count_things(count, select, scopes, question_text)
            found = find_direct(count.this, scopes)
            if found is not None and list_key(found.source.table) != (found.column.name,):
                with changed(count, this=exp.Distinct(expressions=[count.this.copy()])):
                    yield "distinct_values"


def _show_each_once(select: exp.Select, scopes: Scopes) -> Steps:
    found = [find_direct(column.unalias(), scopes) for column in select.expressions]
    if not _is_of_joined_rows(select) or None in found or not any(map(is_name, found)):
        return
    source, key = found[0].source, list_key(found[0].source.table)
    if len(key) == 1 and all(what.source is source for what in found):
        column = name_column(source.table.find_column(key[0]), source, found[0].scope)
        with changed(select, distinct=None, group=exp.Group(expressions=[column])):
            yield "each_thing_once"


def _list_counts(select: exp.Select) -> list[exp.Count]:
    shown = [column.unalias() for column in select.expressions]
    return [column for column in shown if isinstance(column, exp.Count)]


def _is_of_joined_rows(select: exp.Select) -> bool:
    return bool(select.args.get("joins")) and select.args.get("group") is None


def _count_things(
    count: exp.Count, select: exp.Select, scopes: Scopes, question_text: str
) -> Steps:
    """The key of each table whose name the question counts."""
    counted = {noun.lower() for noun in _COUNTED.findall(question_text)}
    words = {word.rstrip("s") for phrase in counted for word in re.findall(r"\w+", phrase)}
    scope = scopes.scope_of(select)
    for source in scope.sources.values():
        key = list_key(source.table) if source.table is not None else ()
        if len(key) == 1 and fold_name(source.table.name).rstrip("s") in words:
            column = name_column(source.table.find_column(key[0]), source, scope)
            with changed(count, this=exp.Distinct(expressions=[column])):
                yield "distinct_things"
