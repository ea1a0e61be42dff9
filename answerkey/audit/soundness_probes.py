"""Soundness: what in a query, its data or its answer makes the gold answer doubtful."""

from __future__ import annotations

from collections.abc import Callable

from answerkey.audit.comparisons import read_query
from answerkey.audit.conditions import find_vacuous_condition
from answerkey.audit.inspection import Inspection
from answerkey.audit.joins import find_join_not_on_key
from answerkey.audit.literals import find_double_quoted_literal
from answerkey.audit.mismatches import find_type_mismatch
from answerkey.audit.products import find_cross_join
from answerkey.audit.repeated_columns import find_repeated_column
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag

_TABLES_SHOWN = 5


def find_empty_table(inspection: Inspection) -> Finding | None:
    """A finding where a table or view that the query names has no row."""
    reading = read_query(inspection)
    empty = [table.name for table in reading.tables if not reading.values.has_row(table.name)]
    return Finding(Flag.EMPTY_TABLE, {"tables": empty[:_TABLES_SHOWN]}) if empty else None


def find_duplicate_rows(inspection: Inspection) -> Finding | None:
    """A finding where rows of the answer are equal, value by value: 1 and 1.0 are, and so are two
    NULLs, as for DISTINCT."""
    rows = inspection.rows
    distinct = len(set(rows))
    if distinct == len(rows):
        return None
    return Finding(Flag.DUPLICATE_ROWS, {"rows": len(rows), "distinct": distinct})


def find_empty_answer(inspection: Inspection) -> Finding | None:
    """A finding where the answer has no row."""
    return None if inspection.rows else Finding(Flag.EMPTY_ANSWER, {"rows": 0})


def find_all_null(inspection: Inspection) -> Finding | None:
    """A finding where the answer has rows, and every value in them is NULL."""
    rows = inspection.rows
    if not rows or any(value is not None for row in rows for value in row):
        return None
    return Finding(Flag.ALL_NULL, {"rows": len(rows), "columns": len(rows[0])})


SOUNDNESS_PROBES: dict[Flag, Callable[[Inspection], Finding | None]] = {
    Flag.DOUBLE_QUOTED_LITERAL: find_double_quoted_literal,
    Flag.TYPE_MISMATCH: find_type_mismatch,
    Flag.CROSS_JOIN: find_cross_join,
    Flag.JOIN_NOT_ON_KEY: find_join_not_on_key,
    Flag.REPEATED_COLUMN: find_repeated_column,
    Flag.VACUOUS_CONDITION: find_vacuous_condition,
    Flag.EMPTY_TABLE: find_empty_table,
    Flag.DUPLICATE_ROWS: find_duplicate_rows,
    Flag.EMPTY_ANSWER: find_empty_answer,
    Flag.ALL_NULL: find_all_null,
}
