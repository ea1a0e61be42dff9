"""Coverage: how much of the schemas the selected questions touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stages.schema import Schema


class Coverage:
    """Tables and columns that some question touches, by database; views are left out."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._touched: dict[str, set[str]] = {}

    def add(self, database_name: str, tables: Iterable[str], columns: Iterable[str]) -> None:
        """Count a question: the tables that it reads, and the columns, as `table.column`."""
        touched = self._touched.setdefault(database_name, set())
        touched.update(tables)
        touched.update(columns)

    def measure(self) -> dict[str, int]:
        """How many tables and columns the databases of the questions have, and how many of them
        are touched."""
        tables = {"tables": 0, "tables_touched": 0}
        columns = {"columns": 0, "columns_touched": 0}
        for name, touched in self._touched.items():
            for table in self._schemas[name].tables:
                if table.is_view:
                    continue
                tables["tables"] += 1
                tables["tables_touched"] += table.name in touched
                columns["columns"] += len(table.columns)
                columns["columns_touched"] += sum(
                    f"{table.name}.{column.name}" in touched for column in table.columns
                )
        return tables | columns
