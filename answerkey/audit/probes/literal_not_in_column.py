"""literal_not_in_column: the query asks a column for a text that it does not hold.

Such a condition is met by no row, or by all: what the question asks about is not in the answer.
"""

from __future__ import annotations

from typing import Any

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.literals import ComparedLiteral, list_compared_literals
from answerkey.audit.value_lookup import find_holder, list_text_values
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.support import squeeze
from answerkey.sqlite.schema import Column, Table, quote_name

_OPERATORS = frozenset({"=", "!=", "IS", "IS NOT"})
_NULLS = frozenset({"null", "none", "nil", ""})
_KINDS = ("null", "pattern", "spelling", "other_column", "nowhere")


def find_literal_not_in_column(inspection: Inspection) -> list[Finding]:
    """A finding where a column that has values is compared for equality with a text that is none
    of them; of several such texts, the first by these kinds:

    null: the text is 'null' or empty, where NULL was meant;
    pattern: it starts or ends with %, which only LIKE understands;
    spelling: the column holds it in other letters, spaces or signs;
    other_column: another column of the same table holds it;
    nowhere: none of them does.
    """
    reading = read_query(inspection)
    found = []
    for literal in list_compared_literals(inspection):
        base = reading.base_column(literal.comparison.left)
        if base is None or not literal.is_text or literal.comparison.operator not in _OPERATORS:
            continue
        if not _is_held(literal, *base, reading):
            found.append(_describe(literal, *base, reading))
    if not found:
        return []
    first = min(found, key=lambda evidence: _KINDS.index(evidence["kind"]))
    return [Finding(Flag.LITERAL_NOT_IN_COLUMN, first)]


def _is_held(literal: ComparedLiteral, table: Table, column: Column, reading: Reading) -> bool:
    """Whether a column holds a text, or nothing at all, or cannot be asked."""
    name, source = quote_name(column.name), quote_name(table.name)
    value = reading.literal_sql(literal.comparison.right)
    ask = reading.values.ask
    if ask(f"SELECT 1 FROM {source} WHERE {name} = {value} LIMIT 1") != []:
        return True
    return not ask(f"SELECT 1 FROM {source} WHERE {name} IS NOT NULL LIMIT 1")


def _describe(
    literal: ComparedLiteral, table: Table, column: Column, reading: Reading
) -> dict[str, Any]:
    def describe(kind: str, **details: object) -> dict[str, Any]:
        condition, place = literal.comparison.text, [table.name, column.name]
        return {"kind": kind, "sql": condition, "column": place, **details}

    if literal.text.strip().lower() in _NULLS:
        return describe("null")
    if literal.text.startswith("%") or literal.text.endswith("%"):
        return describe("pattern")
    small = squeeze(literal.text)
    for value in list_text_values(reading.values, table.name, column.name):
        if small and squeeze(value) == small:
            return describe("spelling", stored=value)
    holder = find_holder(reading.values, [table], literal.text)
    if holder == [table.name, column.name]:
        return describe("spelling")
    if holder is not None:
        return describe("other_column", held_by=holder)
    return describe("nowhere")
