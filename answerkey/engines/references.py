"""References: the columns of a table by which a row belongs to a row of another table.

Declared references are the foreign keys of the schema. SQLite takes a foreign key whatever it
names: one whose table or columns are missing refers to nothing, and is left out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from answerkey.engines.schema import ForeignKey, Table, fold_name


class Reference(NamedTuple):
    """Columns of a table, and those of the table that they refer to, by their positions."""

    table: str
    columns: tuple[int, ...]
    parent: str
    referred: tuple[int, ...]


class Family(NamedTuple):
    """How many rows refer to others, to how many, and how many of these there are."""

    children: int
    referred: int
    parents: int


def list_declared(tables: Sequence[Table]) -> list[Reference]:
    """Return the foreign keys that name columns which are there, each once."""
    by_name = {fold_name(table.name): table for table in tables}
    references = {
        reference: None
        for table in tables
        for key in table.foreign_keys
        if (reference := _resolve(key, table, by_name.get(fold_name(key.table)))) is not None
    }
    return list(references)


def _resolve(key: ForeignKey, table: Table, parent: Table | None) -> Reference | None:
    if parent is None or len(key.columns) != len(key.referred):
        return None
    columns = find_positions(table, key.columns)
    referred = find_positions(parent, key.referred)
    if columns is None or referred is None or (table, columns) == (parent, referred):
        return None
    return Reference(table.name, columns, parent.name, referred)


def find_positions(table: Table, names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the positions of columns in a table; None if one is missing."""
    indexes = {fold_name(column.name): index for index, column in enumerate(table.columns)}
    positions = tuple(indexes.get(fold_name(name), -1) for name in names)
    return None if -1 in positions else positions
