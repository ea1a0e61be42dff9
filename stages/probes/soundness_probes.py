"""Soundness: what in a query, its data or its answer makes the gold answer doubtful."""

from __future__ import annotations

from collections.abc import Callable

from stages.probes.comparisons import read_query
from stages.probes.conditions import find_vacuous_condition
from stages.probes.findings import Finding
from stages.probes.inspection import Inspection
from stages.probes.joins import find_join_not_on_key
from stages.probes.literals import find_double_quoted_literal
from stages.probes.mismatches import find_type_mismatch
from stages.probes.products import find_cross_join
from stages.probes.repeated_columns import find_repeated_column
from stages.reasons import Flag

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
