"""Read the schema of a database of SQLite, and what its declarations mean there."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from answerkey.engines.schema import Column, ForeignKey, Schema, Table, quote_name

_HIDDEN_IN_VIRTUAL_TABLE = 1  # as table_xinfo says; 2 and 3 are generated columns


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
