"""empty_table: the query reads a table that has no row."""

from __future__ import annotations

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag

_TABLES_SHOWN = 5


def find_empty_table(inspection: Inspection) -> list[Finding]:
    """A finding where a table or view that the query names has no row."""
    reading = read_query(inspection)
    empty = [table.name for table in reading.tables if not reading.values.has_row(table.name)]
    return [Finding(Flag.EMPTY_TABLE, {"tables": empty[:_TABLES_SHOWN]})] if empty else []
