"""Coverage: how much of the schemas the selected questions touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from answerkey.sqlite.schema import Schema


class Coverage:
    """Tables and columns that some question touches; views are left out.

    Questions come one database after another: what is held is what those of one touch.
    """

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas
        self._name: str | None = None
        self._touched: set[str] = set()
        self._counts = dict.fromkeys(("tables", "tables_touched", "columns", "columns_touched"), 0)

    def add(self, database_name: str, tables: Iterable[str], columns: Iterable[str]) -> None:
        """Count a question: the tables that it reads, and the columns, as `table.column`."""
        if database_name != self._name:
            self._finish_database()
            self._name = database_name
        self._touched.update(tables)
        self._touched.update(columns)

    def measure(self) -> dict[str, int]:
        """How many tables and columns the databases of the questions have, and how many of them
        are touched."""
        self._finish_database()
        return dict(self._counts)

    def _finish_database(self) -> None:
        if self._name is None:
            return
        counts, touched = self._counts, self._touched
        for table in self._schemas[self._name].tables:
            if table.is_view:
                continue
            counts["tables"] += 1
            counts["tables_touched"] += table.name in touched
            counts["columns"] += len(table.columns)
            counts["columns_touched"] += sum(
                f"{table.name}.{column.name}" in touched for column in table.columns
            )
        self._name, self._touched = None, set()
