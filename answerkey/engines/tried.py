"""Try the rows of variants where columns have types: values are read as their types say, and the
database has the last word.

A database is asked about all rows at once, since that takes a while, and again about fewer only if
it refuses some.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answerkey.engines.database import Limits
from answerkey.engines.engine import (
    Engine,
    RefilledDatabase,
    RefusedRowsError,
    Row,
    StoredTables,
)
from answerkey.engines.references import Reference, list_declared
from answerkey.engines.schema import Table
from answerkey.engines.typed_values import ColumnType, RefusedValueError, read_types


class TypedRows(contextlib.ExitStack):
    """The rows of tables whose columns have types; use it as a context manager.

    database: of the tables, which is closed with it.
    types: of the columns of each table, and `generated` the names of those that it computes.
    """

    def __init__(
        self,
        database: RefilledDatabase,
        tables: Sequence[Table],
        types: Mapping[str, Sequence[ColumnType]],
        generated: Mapping[str, frozenset[str]],
        *,
        now: str | None,
    ) -> None:
        super().__init__()
        self._database = self.enter_context(database)
        self._tables = {table.name: table for table in tables}
        self._types = types
        self._generated = generated
        self._now = now
        self._references = list_declared(tables)

    def clear(self) -> None:
        """Do nothing: the database has rows only while it is asked."""

    def store_rows(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Row | None]:
        """Return each row with its values as their types store them, None for one that has a value
        of no such type, or NULL where there must be none."""
        return [self._read(table, row) for row in rows]

    def _read(self, table: str, row: Sequence[Any]) -> Row | None:
        generated, columns = self._generated[table], self._tables[table].columns
        values = []
        for column, column_type, value in zip(columns, self._types[table], row, strict=True):
            if column.name in generated:
                values.append(value)
                continue
            if value is None and (column.is_not_null or column.primary_key):
                return None
            try:
                values.append(column_type.read(value))
            except RefusedValueError:
                return None
        return tuple(values)

    def list_refused(
        self, rows: Mapping[str, Sequence[Sequence[Any]]]
    ) -> Mapping[str, Sequence[int]]:
        """Return by table the indexes of the rows that the database refuses together with those
        before them: a CHECK does not hold, or a unique index that nobody knows of."""
        if self._is_taken(rows):
            return {}
        taken: dict[str, list[Sequence[Any]]] = {}
        refused: dict[str, list[int]] = {}
        for name in self._sort_parents_first():
            taken[name] = []
            refused[name] = []
            order = self._sort_own_parents_first(name, rows.get(name, ()))
            self._take(name, rows.get(name, ()), order, taken, refused[name])
        return {name: sorted(indexes) for name, indexes in refused.items() if indexes}

    def _is_taken(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> bool:
        try:
            self._database.fill_tables(rows, self._now)
        except RefusedRowsError:
            return False
        return True

    def _take(
        self,
        name: str,
        rows: Sequence[Sequence[Any]],
        indexes: Sequence[int],
        taken: dict[str, list[Sequence[Any]]],
        refused: list[int],
    ) -> None:
        """Add the rows at some indexes to those that are taken, as far as the database does: all,
        or each half as far as it does."""
        before = taken[name]
        taken[name] = [*before, *(rows[index] for index in indexes)]
        if self._is_taken(taken):
            return
        taken[name] = before
        if len(indexes) == 1:
            refused.extend(indexes)
            return
        half = len(indexes) // 2
        self._take(name, rows, indexes[:half], taken, refused)
        self._take(name, rows, indexes[half:], taken, refused)

    def _sort_parents_first(self) -> list[str]:
        """Return the tables so that each stands behind those it refers to, as far as no circle
        forbids it."""
        parents = {
            name: {
                reference.parent
                for reference in self._references
                if reference.table == name != reference.parent
            }
            for name in self._tables
        }
        order: list[str] = []
        while len(order) < len(parents):
            waiting = [name for name in parents if name not in order]
            free = [name for name in waiting if parents[name] <= {*order}]
            order += free or waiting[:1]
        return order

    def _sort_own_parents_first(self, name: str, rows: Sequence[Sequence[Any]]) -> list[int]:
        """Return the indexes of rows so that each stands behind those of its table that it refers
        to, as far as no circle forbids it."""
        own = [
            reference
            for reference in self._references
            if reference.table == name == reference.parent
        ]
        order = list(range(len(rows)))
        for reference in own:
            order = _sort_by_reference(rows, order, reference)
        return order


def open_typed(engine: Engine, path: Path, stored: StoredTables, *, now: str | None) -> TypedRows:
    """Open the tables of a database to try rows of variants, if its columns have types."""
    schema = engine.read_schema(path)
    known = {table.name: table for table in schema.tables}
    database = engine.open_refilled(path, stored, Limits(), now=now)
    return TypedRows(
        database,
        [known[own.name] for own in stored.tables],
        {own.name: read_types(known[own.name], engine.name, own.allowed) for own in stored.tables},
        {own.name: own.generated for own in stored.tables},
        now=now,
    )


def _sort_by_reference(
    rows: Sequence[Sequence[Any]], order: Sequence[int], reference: Reference
) -> list[int]:
    known = {tuple(rows[index][at] for at in reference.referred): index for index in order}
    depths: dict[int, int] = {}
    for index in order:
        chain: list[int] = []
        at: int | None = index
        while at is not None and at not in depths and at not in chain:
            chain.append(at)
            at = known.get(tuple(rows[at][column] for column in reference.columns))
        depth = depths.get(at, -1) if at is not None else -1
        for number, member in enumerate(reversed(chain), start=depth + 1):
            depths[member] = number
    return sorted(order, key=lambda index: depths[index])
