"""group_by_non_key: rows are grouped by a name, where several things may have one name.

`SELECT T1.name, count(*) FROM singer AS T1 JOIN song AS T2 ON T1.id = T2.singer_id GROUP BY
T1.name` -> the songs of two singers of one name are counted together.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues, shorten
from answerkey.audit.entities import (
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
from answerkey.audit.groupings import read_grouping
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.counted_things import stem_name
from answerkey.english.question import Question
from answerkey.sql.query_parts import find_with
from answerkey.sql.resolutions import Resolution
from answerkey.sqlite.schema import fold_name, quote_name

_GROUPS_SHOWN = 3
_FEWEST_NAMES = 0.5  # of the rows of a table: with fewer, a name is one of a class
_EACH = {"each", "every", "per", "by"}
_WORDS_BETWEEN = 2


def find_group_by_non_key(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where a SELECT aggregates, groups by names of a table whose key it joins to other
    rows, and not by that key.

    Kinds: `in_data` where some of the things that are grouped have one name; `possible` where none
    have; `name_asked` where the question says "for each NAME" itself.
    """
    found = inspection.once(_find_first)
    if found is None:
        return []
    label, evidence = found
    if _is_asked(question, label):
        evidence = evidence | {"kind": "name_asked"}
    return [Finding(Flag.GROUP_BY_NON_KEY, evidence)]


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
        if word.text in _EACH and any(other.stem == name for other in after):
            return True
    return False
