"""Databases of MySQL and MariaDB: their tables, rows, and the answers of queries."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Generator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from answerkey.base.errors import InputError
from answerkey.base.secrets import hide_secrets
from answerkey.intake.engines import (
    BATCH,
    MAX_SECONDS,
    MYSQL,
    EngineError,
    Row,
    SourceColumn,
    SourceTable,
    first_line,
    gather_tables,
    quote_names,
    select_all,
)

_MYSQL_COLUMNS = """
SELECT table_schema, table_name, column_name, column_type, is_nullable = 'NO', column_comment
FROM information_schema.columns WHERE table_schema = database()
ORDER BY table_name, ordinal_position"""
_MYSQL_CONSTRAINTS = """
SELECT k.table_schema, k.table_name, c.constraint_type, k.column_name,
       k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name,
       k.constraint_name
FROM information_schema.key_column_usage k JOIN information_schema.table_constraints c
  ON (c.table_schema, c.table_name, c.constraint_name)
   = (k.table_schema, k.table_name, k.constraint_name)
WHERE k.table_schema = database() ORDER BY k.table_name, k.constraint_name, k.ordinal_position"""
_MYSQL_VIEWS = """
SELECT table_schema, table_name, view_definition
FROM information_schema.views WHERE table_schema = database()"""


_UTC = ("+00:00", "UTC", "GMT")


class MySQL:
    """A database of a server, in one transaction that only reads; MariaDB is the same here."""

    dialect = MYSQL

    def __init__(self, url: str) -> None:
        import pymysql
        from pymysql.constants import FIELD_TYPE
        from pymysql.converters import conversions

        self.notes: list[str] = []
        as_text = (FIELD_TYPE.DATE, FIELD_TYPE.TIME, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP)
        converters: dict[Any, Any] = {**conversions, **dict.fromkeys(as_text, str)}
        converters[FIELD_TYPE.BIT] = _read_bits
        parts = urlsplit(url)
        try:
            self._connection = pymysql.connect(
                host=parts.hostname or "127.0.0.1",
                port=parts.port or 3306,
                user=unquote(parts.username or ""),
                password=unquote(parts.password or ""),
                database=unquote(parts.path.strip("/")),
                charset="utf8mb4",
                conv=converters,
                connect_timeout=10,
            )
        except (pymysql.Error, ValueError) as error:
            raise InputError(f"{hide_secrets(url)}: {first_line(error)}") from None
        self._place = hide_secrets(url)
        self._fetch("START TRANSACTION READ ONLY")
        views = {(schema, name): sql for schema, name, sql in self._fetch(_MYSQL_VIEWS)}
        keys: dict[Row, list[Row]] = {}
        for *place, column, schema, name, referred, key in self._fetch(_MYSQL_CONSTRAINTS):
            keys.setdefault((*place, schema, name, key), []).append((column, referred))
        constraints = []
        for (*place, schema, name, _), pairs in keys.items():
            names, referred_names = zip(*pairs, strict=True)
            constraints.append((*place, names, schema, name, referred_names))
        self.tables = gather_tables(self._fetch(_MYSQL_COLUMNS), constraints, views)
        self.schemas = sorted({table.schema for table in self.tables})
        ((zone, of_system),) = self._fetch("SELECT @@time_zone, @@system_time_zone")
        zone = of_system if zone == "SYSTEM" else zone
        kinds = {column.type.partition("(")[0] for table in self.tables for column in table.columns}
        if "timestamp" in kinds and zone not in _UTC:
            self.notes.append(f"columns of the type timestamp are in {zone}, as its sessions have")

    def _fetch(self, sql: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def read_rows(self, table: SourceTable) -> Generator[Row]:
        import pymysql
        from pymysql.cursors import SSCursor

        columns = [_select_column(column) for column in table.columns]
        floats = [place for place, column in enumerate(table.columns) if _is_single(column)]
        try:
            with self._connection.cursor(SSCursor) as cursor:
                cursor.execute(select_all(table, columns, mark="`"))
                while rows := cursor.fetchmany(BATCH):
                    yield from (_shorten_floats(row, floats) for row in rows) if floats else rows
        except pymysql.Error as error:
            raise self._explain(error) from error

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        import pymysql

        try:
            self._bound(MAX_SECONDS)
            return self._fetch(sql)[: max_rows + 1]
        except pymysql.Error as error:
            raise self._explain(error) from error
        finally:
            self._bound(0)

    def _explain(self, error: Exception) -> EngineError:
        """The fault of a query; that of a connection that has ended concerns no query."""
        if not self._connection.open:
            words = f"the connection has ended: {first_line(error)}"
            raise InputError(f"{self._place}: {words}: run the command again") from error
        return EngineError(first_line(error))

    def _bound(self, seconds: int) -> None:
        """Let a statement take so many seconds, 0: any."""
        import pymysql

        for setting in (f"max_statement_time = {seconds}", f"max_execution_time = {seconds}000"):
            with contextlib.suppress(pymysql.Error):  # MariaDB has the first, MySQL the second
                self._fetch(f"SET {setting}")

    def close(self) -> None:
        self._connection.close()


def _read_bits(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _is_single(column: SourceColumn) -> bool:
    return column.type.startswith("float")


def _select_column(column: SourceColumn) -> str:
    """A column; a float as one of double precision, since MySQL writes but six of its digits."""
    name = quote_names(column.name, mark="`")
    return f"{name} + 0e0" if _is_single(column) else name


def _shorten_floats(row: Row, places: Sequence[int]) -> Row:
    values = list(row)
    for place in places:
        if values[place] is not None:
            values[place] = _shorten_float(values[place])
    return tuple(values)


def _shorten_float(value: float) -> float:
    """The number with the fewest digits that is the same in single precision.

    >>> _shorten_float(0.10000000149011612), _shorten_float(16777215.0)
    (0.1, 16777215.0)
    """
    single = struct.pack("f", value)
    shorter = (float(f"{value:.{digits}g}") for digits in range(6, 9))
    return next((each for each in shorter if _is_packed(each, single)), value)


def _is_packed(value: float, single: bytes) -> bool:
    try:
        return struct.pack("f", value) == single
    except OverflowError:
        return False
