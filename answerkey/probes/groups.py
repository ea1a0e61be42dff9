"""Probes of GROUP BY: groups that the question does not mean, or that their keys do not part."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.english.columns import stem_name
from answerkey.english.question import Question, list_words, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import ColumnValues, shorten
from answerkey.probes.compared_values import Comparison, Reading, read_query
from answerkey.probes.conditions import is_one_row
from answerkey.probes.entities import (
    count_distinct,
    find_key,
    is_label,
    list_equalities,
    list_known,
    name_column,
    place_of,
    resolve_direct,
    write_rows,
)
from answerkey.records import Finding
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_parts import find_with, members_of_from
from answerkey.sql.query_rewrites import (
    unwrap,
)
from answerkey.sql.scopes import Resolution
from answerkey.sqlite.schema import fold_name, quote_name


def find_aggregate_of_other_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if a subquery that does not look at the row around it aggregates too much.

    Kinds: `any_group` for `weight IN (SELECT max(weight) FROM ship GROUP BY port)`, which a ship
    meets that is as heavy as the heaviest of another port; `all_groups` for `SELECT port, count(*)
    FROM ship WHERE weight > (SELECT avg(weight) FROM ship) GROUP BY port`, where the average is of
    the ships of all ports.
    """
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        kind = _judge(comparison, reading)
        if kind is not None:
            evidence = {"kind": kind, "condition": comparison.text}
            return [Finding("aggregate_of_other_rows", evidence)]
    return []


def _judge(comparison: Comparison, reading: Reading) -> str | None:
    query, outer = comparison.right, comparison.node.parent_select
    if not isinstance(query, exp.Select) or outer is None or _is_correlated(query, reading):
        return None
    first = query.expressions[0].unalias()
    if query.args.get("group") is not None:
        is_extreme = isinstance(first, exp.Min | exp.Max) and query.args.get("limit") is None
        return "any_group" if is_extreme and comparison.operator in ("=", "IN") else None
    if outer.args.get("group") is None or not is_one_row(query, reading.scopes):
        return None
    clause = comparison.node.find_ancestor(exp.Where, exp.Having, exp.Select)
    if not isinstance(clause, exp.Where) or query.args.get("where") is not None:
        return None
    if not isinstance(first, exp.Avg):  # `= (SELECT max(...))` chooses rows, and then groups them
        return None
    inner = {member.name.lower() for member in members_of_from(query)}
    around = {member.name.lower() for member in members_of_from(outer)}
    return "all_groups" if inner <= around else None


def _is_correlated(query: exp.Select, reading: Reading) -> bool:
    own = reading.scopes.scope_of(query)
    found = (reading.resolve(column) for column in query.find_all(exp.Column))
    return any(resolution is not None and resolution.scope is own.parent for resolution in found)


# each_without_group: the question asks for a number of each thing, and the query returns one.


_EACH = word_set("each every")
_PREPOSITIONS = word_set("for of in by to at from with")
_VERBS = word_set("do does did has have had")
_ASKED_STEMS = word_set("mani much number count total sum amount averag mean maximum minimum")
_ADDED = (exp.Count, exp.Sum)
_SENTENCE_END = re.compile("[.?!]")
_FORMULA = re.compile(r"\b(?:sum|count|avg|divide|subtract|multiply)\s*\(", re.IGNORECASE)


def find_each_without_group(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a sentence of the question asks for a number (`how many`, `average`) of
    `each` or `every` or `per` thing of the schema, and the query aggregates without any GROUP BY.

    Kinds: `of_each` after a preposition, as in "the total weight of each port"; `does_each` after a
    verb, as in "how many ships does each port have?". An average may well be over each thing ("how
    many ships, on average, does each port have?"), so that the latter needs COUNT or SUM, and
    neither a quotient nor a formula in the evidence is a finding.
    """
    select, nodes = unwrap(inspection.tree), inspection.scopes.nodes
    if not isinstance(select, exp.Select) or nodes.find_all(exp.Group, exp.Window, exp.Div):
        return []
    if not is_one_row(select, inspection.scopes) or _FORMULA.search(question.evidence):
        return []
    asked = _find_each(question) or _find_per(question, inspection)
    if asked is None:
        return []
    kind = "does_each" if asked.split()[0] in _VERBS else "of_each"
    if kind == "does_each" and not any(output.find(*_ADDED) for output in select.expressions):
        return []
    return [Finding("each_without_group", {"kind": kind, "asked": asked})]


def _find_each(question: Question) -> str | None:
    """The first `each` that its sentence asks a number of, with the words around it."""
    if _EACH.isdisjoint(word.text for word in question.words):
        return None
    for sentence in _SENTENCE_END.split(question.text):
        words = list_words(sentence)
        if not _ASKED_STEMS & {word.stem for word in words}:
            continue
        texts = [word.text for word in words]
        for before, word, after in zip(texts, texts[1:], texts[2:], strict=False):
            if word in _EACH and before in _PREPOSITIONS | _VERBS and after != "other":
                return f"{before} {word} {after}"
    return None


def _find_per(question: Question, inspection: Inspection) -> str | None:
    """`per` before the name of a table: not the `per` of a column such as cost_per_day, nor that of
    a rate: "250 per account"."""
    words = question.words
    tables = {stem_name(table.name)[-1:] for table in read_query(inspection).tables}
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if word.text == "per" and (after.stem,) in tables and not before.text[:1].isdigit():
            return f"per {after.text}"
    return None


# group_by_non_key: rows are grouped by a name, where several things may have one name.
#
# `SELECT T1.name, count(*) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id GROUP BY
# T1.name` -> the songs of two singers of one name are counted together.


_GROUPS_SHOWN = 3
_FEWEST_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH_GROUP_BY_NON_KEY = {"each", "every", "per", "by"}
_WORDS_BETWEEN = 2


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a SELECT aggregates, groups by names of a table whose key it joins to
    other rows, and not by that key.

    Kinds: `in_data` if some of the things that are grouped have one name; `possible` if none have.
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
        groups = _find_shared(select, names, key, values)
        return label, {
            "kind": "in_data" if groups else "possible",
            "grouped_by": [f"{what.table.name}.{what.column.name}" for what in names],
            "key": f"{label.table.name}.{key}",
            "groups": groups,
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


def _find_shared(
    select: exp.Select, names: list[Resolution], key: str, values: ColumnValues
) -> list[list[object]]:
    """Names that several of the things grouped have, and how many have it."""
    source, scope = names[0].source, names[0].scope
    shown = [name_column(source, what.column.name, scope) for what in names]
    count = count_distinct(name_column(source, key, scope))
    condition = exp.GT(this=count.copy(), expression=exp.Literal.number(1))
    sql = write_rows(
        select,
        *shown,
        count,
        group=select.args["group"],
        having=exp.Having(this=condition),
        limit=exp.Limit(expression=exp.Literal.number(_GROUPS_SHOWN)),
    )
    return [[shorten(value) for value in row] for row in values.ask(sql) or ()]


def _is_asked(question: Question, label: Resolution) -> bool:
    """Whether the question says "for each job title", as the column is called."""
    name = stem_name(label.column.name)[-1]
    words = question.words
    for place, word in enumerate(words):
        after = words[place + 1 : place + 2 + _WORDS_BETWEEN]
        if word.text in _EACH_GROUP_BY_NON_KEY and any(other.stem == name for other in after):
            return True
    return False


PROBES = (find_aggregate_of_other_rows,)
QUESTION_PROBES = (find_each_without_group, find_group_by_non_key)
