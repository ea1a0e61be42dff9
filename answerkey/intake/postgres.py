"""Databases of Postgres: their tables, rows, and the answers of queries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from answerkey.base.errors import InputError
from answerkey.base.secrets import hide_secrets
from answerkey.intake.engines import (
    BATCH,
    MAX_SECONDS,
    POSTGRES,
    EngineError,
    Row,
    SourceTable,
    first_line,
    gather_tables,
    quote_names,
    select_all,
)

_POSTGRES_RELATIONS = """
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT r.relispartition
  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"""
_POSTGRES_COLUMNS = f"""
SELECT s.nspname, s.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       col_description(a.attrelid, a.attnum)
FROM (SELECT r.oid, n.nspname, r.relname {_POSTGRES_RELATIONS}) s
LEFT JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY s.nspname, s.oid, a.attnum"""
_POSTGRES_NAMES = """
(SELECT array_agg(a.attname::text ORDER BY k.place)
 FROM unnest({keys}) WITH ORDINALITY k(number, place)
 JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number)"""
_POSTGRES_CONSTRAINTS = f"""
SELECT n.nspname, r.relname,
       CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'FOREIGN KEY' END,
       {_POSTGRES_NAMES.format(keys="c.conkey", table="c.conrelid")},
       n2.nspname, r2.relname, {_POSTGRES_NAMES.format(keys="c.confkey", table="c.confrelid")}
FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_class r2 ON r2.oid = c.confrelid LEFT JOIN pg_namespace n2 ON n2.oid = r2.relnamespace
WHERE c.contype IN ('p', 'u', 'f') AND c.conparentid = 0 ORDER BY n.nspname, r.relname, c.conname"""
_POSTGRES_VIEWS = f"""
SELECT n.nspname, r.relname, pg_get_viewdef(r.oid) {_POSTGRES_RELATIONS}
  AND r.relkind IN ('v', 'm')"""
# psycopg makes values of Python of these, which has no infinite date, and no year after 9999.
_POSTGRES_TEXTS = ["date", "time", "timetz", "timestamp", "timestamptz", "interval"]
_POSTGRES_TEXTS += ["json", "jsonb", "uuid", "inet", "cidr", "bit", "varbit"]
_POSTGRES_TEXTS += [
    f"{name}{kind}"
    for name in ("int4", "int8", "num", "ts", "tstz", "date")
    for kind in ("range", "multirange")
]


class Postgres:
    """A database of a server, in one transaction that only reads."""

    dialect = POSTGRES

    def __init__(self, url: str, *, notes: Sequence[str] = ()) -> None:
        import psycopg
        from psycopg.types.string import TextLoader

        self.notes = list(notes)
        try:
            self._connection = psycopg.connect(url, connect_timeout=10)
        except (psycopg.Error, UnicodeError) as error:
            raise InputError(f"{hide_secrets(url)}: {first_line(error)}") from None
        for name in _POSTGRES_TEXTS:
            self._connection.adapters.register_loader(name, TextLoader)
        self._connection.read_only = True
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        (path,) = self._fetch("SELECT current_schemas(false)::text[]")[0]
        views = {(schema, name): sql for schema, name, sql in self._fetch(_POSTGRES_VIEWS)}
        constraints = self._fetch(_POSTGRES_CONSTRAINTS)
        tables = gather_tables(self._fetch(_POSTGRES_COLUMNS), constraints, views)
        self.tables = [table for table in tables if table.columns]
        bare = [f"{table.schema}.{table.name}" for table in tables if not table.columns]
        self.notes += [f"{name} is left out: it has no column" for name in bare]
        others = {table.schema for table in self.tables} - {*path}
        self.schemas = [*path, *sorted(others)]
        names = ", ".join(map(quote_names, self.schemas)) or "public"
        for setting in (
            f"search_path = {names}",
            "timezone = 'UTC'",
            "datestyle = 'ISO'",
            "intervalstyle = 'postgres'",
            f"statement_timeout = '{MAX_SECONDS}s'",
        ):
            self._fetch(f"SET {setting}")
        self._fetch("SAVEPOINT start")

    def _fetch(self, sql: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def read_rows(self, table: SourceTable) -> Iterator[Row]:
        import psycopg

        columns = [quote_names(column.name) for column in table.columns]
        self._fetch("SET statement_timeout = 0")
        try:
            with self._connection.cursor(name="rows") as cursor:
                cursor.itersize = BATCH
                cursor.execute(select_all(table, columns).encode())
                yield from cursor
            self._fetch(f"SET statement_timeout = '{MAX_SECONDS}s'")
        except psycopg.Error as error:
            raise self._recover(error) from error

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        import psycopg

        try:
            with self._connection.cursor(name="gold") as cursor:
                cursor.execute(sql.strip().rstrip(";").encode())
                return cursor.fetchmany(max_rows + 1)
        except psycopg.Error as error:
            raise self._recover(error) from error

    def _recover(self, error: Exception) -> EngineError:
        """Go on after a fault, where the transaction stood before it."""
        import psycopg

        with contextlib.suppress(psycopg.Error):
            self._fetch("ROLLBACK TO start")
        return EngineError(first_line(error))

    def close(self) -> None:
        self._connection.close()
