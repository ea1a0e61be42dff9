"""Schema of a SQLite database: tables, views, columns, types and keys, as SQLite knows them."""

from __future__ import annotations

import json
import re
import sqlite3
import string
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_HIDDEN_IN_VIRTUAL_TABLE = 1  # as table_xinfo says; 2 and 3 are generated columns
ROWID_NAMES = ("rowid", "_rowid_", "oid")
_WITHOUT_ROWID = re.compile(r"\bWITHOUT\s+ROWID\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as the schema spells it, its declared type ('' if none), NOT NULL, and its
    position in the primary key (1, 2, ...; 0: not part of it)."""

    name: str
    type: str
    is_not_null: bool
    primary_key: int


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that refer to columns of another; names as the schema spells them."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view. `unique_keys` holds the primary key first, then unique indexes (those
    without a WHERE and on plain columns only)."""

    name: str
    is_view: bool
    columns: tuple[Column, ...]
    unique_keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    sql: str = ""

    def find_column(self, name: str) -> Column | None:
        """Return the column of that name, in any case, or None."""
        folded = fold_name(name)
        return next((column for column in self.columns if fold_name(column.name) == folded), None)

    @property
    def has_rowid(self) -> bool:
        """Return whether the table has a rowid; that of a view is always NULL."""
        options = self.sql[self.sql.rfind(")") :]
        return self.is_view or not _WITHOUT_ROWID.search(options)

    @property
    def rowid_name(self) -> str | None:
        """Return a name of the rowid that no column has; None if columns have all of them."""
        return next((name for name in ROWID_NAMES if self.find_column(name) is None), None)

    @property
    def rowid_column(self) -> Column | None:
        """Return the column that is an alias of the rowid, a single INTEGER PRIMARY KEY, or None.

        Source: the SQLite manual, "ROWIDs and the INTEGER PRIMARY KEY". A DESC key is no alias, for
        historical reasons; it is not distinguished here.
        """
        keys = [column for column in self.columns if column.primary_key]
        if len(keys) == 1 and keys[0].type.upper() == "INTEGER" and self.has_rowid:
            return keys[0]
        return None


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables and views of a database, in the order of their creation."""

    tables: tuple[Table, ...]
    by_name: dict[str, Table] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {fold_name(table.name): table for table in self.tables})

    def find_table(self, name: str) -> Table | None:
        """Return the table or view of that name, in any case, or None."""
        return self.by_name.get(fold_name(name))


def affinity(declared_type: str) -> str:
    """Return INTEGER, TEXT, BLOB, REAL or NUMERIC, as SQLite reads a declared type.

    >>> affinity("varchar(20)"), affinity("bigint"), affinity("DATE"), affinity("")
    ('TEXT', 'INTEGER', 'NUMERIC', 'BLOB')

    Source: section 3.1 of the SQLite manual's page on datatypes.
    """
    name = declared_type.upper()
    if "INT" in name:
        return "INTEGER"
    if any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not name or "BLOB" in name:
        return "BLOB"
    if any(part in name for part in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def fold_case(text: str) -> str:
    """Return a text in lower case as SQLite folds names, and texts under NOCASE: only ASCII
    letters.

    >>> fold_case("Name"), fold_case("ÉTÉ")
    ('name', 'ÉtÉ')
    """
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


@lru_cache(maxsize=65_536)  # a schema's names are folded again and again
def fold_name(name: str) -> str:
    """Return a name of a table or column as SQLite compares it: `fold_case`, cached."""
    return fold_case(name)


def quote_name(name: str) -> str:
    """Return an identifier in double quotes, safe in SQL.

    >>> quote_name('weight "net"')
    '"weight ""net\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Return the schema of an open database, without SQLite's own tables (sqlite_...)."""
    rows = connection.execute(
        "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')"
        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    return Schema(tuple(_read_table(connection, name, kind, sql or "") for name, kind, sql in rows))


def _read_table(connection: sqlite3.Connection, name: str, kind: str, sql: str) -> Table:
    quoted = quote_name(name)
    columns = _read_columns(connection, quoted)
    if kind == "view":
        return Table(name, True, columns, sql=sql)
    primary_key = _list_primary_key(columns)
    keys = [primary_key] if primary_key else []
    for _, index, is_unique, _, is_partial in connection.execute(f"PRAGMA index_list({quoted})"):
        names = tuple(
            row[2] for row in connection.execute(f"PRAGMA index_info({quote_name(index)})")
        )
        if is_unique and not is_partial and names and None not in names and names not in keys:
            keys.append(names)
    return Table(name, False, columns, tuple(keys), _read_foreign_keys(connection, quoted), sql)


def _read_columns(connection: sqlite3.Connection, quoted: str) -> tuple[Column, ...]:
    """Return the columns of a table; none if no query can read it, such as a view of a missing
    table or a virtual table whose module SQLite does not have."""
    try:
        rows = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_ERROR:
            raise
        return ()
    return tuple(
        Column(column, declared or "", bool(not_null), rank_in_key)
        for _, column, declared, not_null, _, rank_in_key, hidden in rows
        if hidden != _HIDDEN_IN_VIRTUAL_TABLE
    )


def _list_primary_key(columns: tuple[Column, ...]) -> tuple[str, ...]:
    keys = (column for column in columns if column.primary_key)
    return tuple(column.name for column in sorted(keys, key=lambda column: column.primary_key))


def _read_foreign_keys(connection: sqlite3.Connection, quoted: str) -> tuple[ForeignKey, ...]:
    rows = sorted(connection.execute(f"PRAGMA foreign_key_list({quoted})"))
    keys = []
    for _, parts in groupby(rows, key=itemgetter(0)):
        _, _, (table, *_), columns, referred, *_ = zip(*parts, strict=True)
        if None in referred:
            referred = _list_primary_key(_read_columns(connection, quote_name(table)))
        keys.append(ForeignKey(columns, table, referred))
    return tuple(keys)


@lru_cache(maxsize=4096)
def has_collation(table_sql: str) -> bool:
    """Return whether the statement that created a table mentions a collation."""
    return "collate" in table_sql.lower()


def encode_schema(schema: Schema) -> list[dict[str, Any]]:
    return [asdict(table) for table in schema.tables]


def decode_schema(tables: list[dict[str, Any]]) -> Schema:
    return Schema(
        tuple(
            Table(
                **table
                | {
                    "columns": tuple(Column(**column) for column in table["columns"]),
                    "unique_keys": tuple(map(tuple, table["unique_keys"])),
                    "foreign_keys": tuple(
                        ForeignKey(tuple(key["columns"]), key["table"], tuple(key["referred"]))
                        for key in table["foreign_keys"]
                    ),
                }
            )
            for table in tables
        )
    )


class SchemaFile:
    """The schemas of all databases in `schemas.jsonl`. Each is decoded when it is needed."""

    def __init__(self, path: Path) -> None:
        lines = path.read_bytes().splitlines()
        self._lines = {json.loads(line)["database_name"]: line for line in lines}

    def __len__(self) -> int:
        return len(self._lines)

    def read_tables(self, name: str) -> list[dict[str, Any]]:
        """Return the tables of a database as `encode_schema` wrote them."""
        tables: list[dict[str, Any]] = json.loads(self._lines[name])["tables"]
        return tables

    def __getitem__(self, name: str) -> Schema:
        return decode_schema(self.read_tables(name))
