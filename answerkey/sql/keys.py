"""Keys, labels and references: columns that identify rows, columns that name them, and columns that
refer to rows of another table.

References are declared, or recognized by names: `has_pet.StuID` -> `student.StuID`, `pet.owner_id`
-> `owner.id`. This module does not look at rows: `answerkey.variants.keys` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from answerkey.engines.column_types import NUMBERS, find_kind
from answerkey.engines.schema import Column, Schema, Table, fold_name
from answerkey.sql.query_tree import spoken_engine

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
ID_WORDS = frozenset(
    {"id", "code", "key", "no", "nr", "num", "number", "uid", "uuid", "guid", "pk"}
)
# As the whole name of a key, these do not name its table: they would fit any table.
_SHARED_NAMES = ID_WORDS | {"name", "title"}


def list_key(table: Table) -> tuple[str, ...]:
    """Return the primary key of a table, or its first unique key; () if it has none."""
    return table.unique_keys[0] if table.unique_keys else ()


def find_one_key(table: Table) -> Column | None:
    """Return the column that is the whole key of a table; None without such a column."""
    key = list_key(table)
    return table.find_column(key[0]) if len(key) == 1 else None


def is_key(table: Table, column: Column) -> bool:
    """Return whether a column is the whole key of its table."""
    return find_one_key(table) is column


def list_sure_keys(table: Table) -> Iterator[frozenset[str]]:
    """Yield the folded names of each key that no two rows can share: unique keys that are NOT NULL,
    and the primary key, which is assumed to have no NULL, as authors of queries assume."""
    for key in table.unique_keys:
        columns = [table.find_column(name) for name in key]
        if all(column is not None and not is_nullable(column) for column in columns):
            yield frozenset(map(fold_name, key))


def is_nullable(column: Column) -> bool:
    """Return whether a column may hold NULL. SQLite allows it in a primary key; it is not used."""
    return not (column.is_not_null or column.primary_key)


def is_number(column: Column) -> bool:
    """Return whether a column has a declared type of numbers."""
    return find_kind(column.type, spoken_engine()) in NUMBERS


def has_id_name(name: str) -> bool:
    """Return whether the last word of a column's name shows that it identifies rows.

    >>> [has_id_name(name) for name in ("StuID", "country_code", "paid", "Number of guests")]
    [True, True, False, False]
    """
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in ID_WORDS


def join_name(name: str) -> str:
    """Return the letters and digits of a name, in lower case.

    >>> join_name("Stu_ID")
    'stuid'
    """
    return "".join(filter(str.isalnum, fold_name(name)))


def list_names(table: str, key: str) -> list[str]:
    """Return the joined names of columns that refer to the key of a table: the name of the key,
    unless any table could have it, and the same with the table's name before it.

    >>> list_names("student", "StuID"), list_names("owners", "id")
    (['stuid', 'studentstuid'], ['ownersid', 'ownerid'])
    """
    parts = join_name(table), join_name(key)
    names = [parts[1]] if parts[1] not in _SHARED_NAMES else []
    return list(dict.fromkeys([*names, "".join(parts), parts[0].removesuffix("s") + parts[1]]))


class ColumnReference(NamedTuple):
    """A column that refers to another table, and the column of that table."""

    column: Column
    parent: Table
    referred: Column


class References:
    """The columns of a schema that refer to another table, and the columns that name rows."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known: dict[str, tuple[ColumnReference, ...]] = {}
        self._parents: dict[str, list[tuple[Table, Column]]] | None = None

    def of_table(self, table: Table) -> tuple[ColumnReference, ...]:
        """Return the references of a table, declared ones first. A reference by name needs a column
        without a declared one that is not the table's own key."""
        if table.name not in self._known:
            declared = list(self._list_declared(table))
            taken = {fold_name(reference.column.name) for reference in declared}
            named = self._list_named(table, taken)
            self._known[table.name] = (*declared, *named)
        return self._known[table.name]

    def refers(self, table: Table, column: Column) -> bool:
        """Return whether a column refers to another table."""
        return any(reference.column is column for reference in self.of_table(table))

    def is_label(self, table: Table, column: Column) -> bool:
        """Return whether a column holds the names of its table's rows. Then `name` or `title` is a
        part of its name, or it is called like its table (one of many: `countries.country`). It is
        no key and no reference, which would name rows of another table."""
        name, of_table = fold_name(column.name), fold_name(table.name)
        if column.primary_key or "id" in name.split("_"):
            return False
        is_named = "name" in name or "title" in name or name in (of_table, of_table.rstrip("s"))
        return is_named and not self.refers(table, column)

    def _list_declared(self, table: Table) -> Iterator[ColumnReference]:
        for key in table.foreign_keys:
            parent = self._schema.find_table(key.table)
            if parent is None or len(key.columns) != 1 or len(key.referred) != 1:
                continue
            column, referred = (
                table.find_column(key.columns[0]),
                parent.find_column(key.referred[0]),
            )
            if column is not None and referred is not None:
                yield ColumnReference(column, parent, referred)

    def _list_named(self, table: Table, taken: set[str]) -> Iterator[ColumnReference]:
        for column in table.columns:
            if fold_name(column.name) not in taken and not is_key(table, column):
                for parent, referred in self._index_parents().get(join_name(column.name), ()):
                    if parent is not table:
                        yield ColumnReference(column, parent, referred)

    def _index_parents(self) -> dict[str, list[tuple[Table, Column]]]:
        """Return the tables with a key of one column, by the names of columns that refer to it."""
        if self._parents is None:
            self._parents = {}
            for table in self._schema.tables:
                key = find_one_key(table)
                if key is not None:
                    for name in list_names(table.name, key.name):
                        self._parents.setdefault(name, []).append((table, key))
        return self._parents
