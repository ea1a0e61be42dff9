"""Databases of Postgres: their tables, rows, and the answers of queries.

Gold is executed as in an ordinary session of the database: what ALTER DATABASE and ALTER ROLE set
holds. Rows are read with all of their digits, and dates in ISO 8601. Both have times with a zone as
the session shows them: in its time zone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.secrets import hide_secrets
from answerkey.engines.postgres.variables import without_variables
from answerkey.intake.conversion import write_time
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

_RELATIONS = """
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT r.relispartition
  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"""
_COLUMNS = f"""
SELECT s.nspname, s.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       col_description(a.attrelid, a.attnum), a.atttypid::bigint
FROM (SELECT r.oid, n.nspname, r.relname {_RELATIONS}) s
LEFT JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY s.nspname, s.oid, a.attnum"""
_NAMES = """
(SELECT array_agg(a.attname::text ORDER BY k.place)
 FROM unnest({keys}) WITH ORDINALITY k(number, place)
 JOIN pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number)"""
_CONSTRAINTS = f"""
SELECT n.nspname, r.relname,
       CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'FOREIGN KEY' END,
       {_NAMES.format(keys="c.conkey", table="c.conrelid")},
       n2.nspname, r2.relname, {_NAMES.format(keys="c.confkey", table="c.confrelid")}
FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_class r2 ON r2.oid = c.confrelid LEFT JOIN pg_namespace n2 ON n2.oid = r2.relnamespace
WHERE c.contype IN ('p', 'u', 'f') AND c.conparentid = 0 ORDER BY n.nspname, r.relname, c.conname"""
_VIEWS = f"""
SELECT n.nspname, r.relname, pg_get_viewdef(r.oid) {_RELATIONS}
  AND r.relkind IN ('v', 'm')"""
# A domain and its base type, which may be a domain itself.
_DOMAINS = """
SELECT oid::bigint, typbasetype::bigint, format_type(typbasetype, typtypmod), typnotnull
FROM pg_type WHERE typtype = 'd'"""
_OWN_TYPES = """
SELECT oid::bigint, typarray::bigint, format_type(oid, NULL) FROM pg_type
WHERE typarray <> 0 AND (oid >= 16384 OR typtype = 'r' OR typname IN ('money', 'bit', 'varbit'))"""
# Values are text, since those of Python have no infinite date, and no year after 9999.
_TEXTS = ["date", "time", "timestamp", "interval"]
_TEXTS += ["json", "jsonb", "uuid", "inet", "cidr", "bit", "varbit"]
_TEXTS += [
    f"{name}{kind}"
    for name in ("int4", "int8", "num", "ts", "tstz", "date")
    for kind in ("range", "multirange")
]
_OFFSET = re.compile(r"(?<=\d)[+-]\d\d(:\d\d){0,2}(?=\Z| BC\Z)")
# Which end a session that waits, or a long read, and change no answer.
_TIMEOUTS = """
SELECT set_config(name, '0', false) FROM pg_settings WHERE name IN (
    'lock_timeout', 'statement_timeout',
    'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout')"""
_READING = """
SELECT set_config('DateStyle', 'ISO', false), set_config('extra_float_digits', '1', false),
       set_config('statement_timeout', '0', false)"""
_SETTINGS = """
SELECT name, setting, source FROM pg_settings
WHERE name IN ('TimeZone', 'DateStyle', 'search_path')
   OR source IN ('database', 'user', 'database user')"""
_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu", "Universal")
_OF_DATABASE = ("database", "user", "database user")  # who has made a setting
_DEFAULT = "default"  # a setting that nobody has made
_NO_SYNTAX = "42601"  # of several statements, too, and of others than queries
# By the number of their type: a date, and times without and with a zone.
_DATES, _INSTANT = (1082, 1114), 1184


class Postgres:
    """A database of a server, in one transaction that only reads."""

    dialect = POSTGRES

    def __init__(
        self,
        url: str,
        *,
        notes: Sequence[str] = (),
        is_dump: bool = False,
        max_seconds: int = MAX_SECONDS,
    ) -> None:
        """is_dump: it was loaded of a dump, which may not say what its sessions have.

        max_seconds: of a query.
        """
        import psycopg

        self.notes = list(notes)
        self._max_seconds = max_seconds
        self._url = url
        self._place = hide_secrets(url)
        try:
            with without_variables() if is_dump else contextlib.nullcontext():
                self._connection = psycopg.connect(url, connect_timeout=10, client_encoding="utf8")
            self._connection.read_only = True
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._prepare(is_dump=is_dump)
        except (psycopg.Error, UnicodeError) as error:
            raise InputError(f"{self._place}: {first_line(error)}") from None

    def _prepare(self, *, is_dump: bool) -> None:
        self.fetch(_TIMEOUTS)
        domains = {oid: (base, kind, bool(no)) for oid, base, kind, no in self.fetch(_DOMAINS)}
        self._register_values({oid: base for oid, (base, *_) in domains.items()})
        columns = [_name_base(row, domains) for row in self.fetch(_COLUMNS)]
        views = {(schema, name): sql for schema, name, sql in self.fetch(_VIEWS)}
        tables = gather_tables(columns, self.fetch(_CONSTRAINTS), views)
        self.tables = [table for table in tables if table.columns]
        bare = [f"{table.schema}.{table.name}" for table in tables if not table.columns]
        self.notes += [f"{name} is left out: it has no column" for name in bare]
        (path,) = self.fetch("SELECT current_schemas(false)::text[]")[0]
        self.search_path: list[str] = path
        others = {table.schema for table in self.tables} - {*path}
        self.schemas = [*path, *sorted(others)]
        settings = {name: (setting, source) for name, setting, source in self.fetch(_SETTINGS)}
        self._is_iso = settings["DateStyle"][0].startswith("ISO")
        if settings["search_path"][1] == _DEFAULT:
            names = ", ".join(map(quote_names, self.schemas)) or "public"
            self.fetch(f"SET search_path = {names}")
        self._describe_session(settings, is_dump=is_dump)
        self.fetch(f"SET statement_timeout = '{self._max_seconds}s'")
        self.fetch("SAVEPOINT start")

    def _register_values(self, bases: dict[int, int]) -> None:
        from psycopg.adapt import Loader
        from psycopg.pq import Format
        from psycopg.types import TypeInfo

        class Text(Loader):
            def load(self, data: Any) -> str:
                return bytes(data).decode()

        class Instant(Text):
            """A time with a zone as its session shows it, without the zone."""

            def load(self, data: Any) -> str:
                return _OFFSET.sub("", super().load(data))

        class TimeOfDay(Text):
            """A time of day that has a zone of its own, in UTC."""

            def load(self, data: Any) -> str:
                return write_time(super().load(data))

        class Padded(Text):
            """Text of char(n) without the blanks at its end, which mean nothing there."""

            def load(self, data: Any) -> str:
                return super().load(data).rstrip(" ")

        adapters = self._connection.adapters
        for name in _TEXTS:
            adapters.register_loader(name, Text)
        adapters.register_loader("timestamptz", Instant)
        adapters.register_loader("timetz", TimeOfDay)
        adapters.register_loader("bpchar", Padded)
        for oid, array_oid, name in self.fetch(_OWN_TYPES):
            base = oid
            while base in bases:
                base = bases[base]
            if (loader := adapters.get_loader(base, Format.TEXT)) is not None:
                adapters.register_loader(oid, loader)
            TypeInfo(name, oid, array_oid).register(self._connection)

    def _describe_session(self, settings: dict[str, tuple[str, str]], *, is_dump: bool) -> None:
        """Note what a session of the database has that another one has not."""
        zone, source = settings["TimeZone"]
        has_zone = any(
            "with time zone" in column.type for table in self.tables for column in table.columns
        )
        if has_zone and zone not in _UTC:
            self.notes.append(f"times with a zone are in {zone}, the time zone of its sessions")
        elif has_zone and is_dump and source not in _OF_DATABASE:
            self.notes.append(
                "times with a zone are in UTC: the dump does not say the time zone of its sessions,"
                " as pg_dump --create does if the database has one"
            )
        others = [
            f"{name} = {setting}"
            for name, (setting, source) in sorted(settings.items())
            if source in _OF_DATABASE and name != "TimeZone" and not name.endswith("_timeout")
        ]
        if others:
            self.notes.append(f"gold is executed with what its sessions have: {'; '.join(others)}")

    def fetch(self, sql: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def _undo(self) -> Iterator[None]:
        """Take back what the block sets, and its fault."""
        import psycopg

        try:
            yield
        except UnicodeError as error:
            raise EngineError(f"its text is no UTF-8: {error}") from error
        except psycopg.Error as error:
            if self._connection.closed:
                words = f"the connection has ended: {first_line(error)}"
                raise InputError(f"{self._place}: {words}: run the command again") from error
            raise EngineError(first_line(error)) from error
        finally:
            with contextlib.suppress(psycopg.Error):
                self.fetch("ROLLBACK TO start")

    def read_rows(self, table: SourceTable) -> Generator[Row]:
        columns = [quote_names(column.name) for column in table.columns]
        with self._undo():
            self.fetch(_READING)
            with self._connection.cursor(name="rows") as cursor:
                cursor.itersize = BATCH
                cursor.execute(select_all(table, columns).encode())
                yield from cursor

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        sql = sql.strip().rstrip(";")
        with self._undo():
            self._check_query(sql)
            if not self._is_iso:
                sql = self._write_iso(sql)
            with self._connection.cursor(name="gold") as cursor:
                cursor.execute(sql.encode())
                return cursor.fetchmany(max_rows + 1)

    def _check_query(self, sql: str) -> None:
        """Refuse all but one query: only one has a cursor, and what is prepared is one statement.
        Several could end the transaction, which only reads, and begin another."""
        from psycopg.pq import DiagnosticField, ExecStatus

        prepared = self._connection.pgconn.prepare(b"", f"DECLARE c CURSOR FOR {sql}".encode())
        if prepared.status != ExecStatus.COMMAND_OK:
            state, message = (
                (prepared.error_field(each) or b"").decode(errors="replace")
                for each in (DiagnosticField.SQLSTATE, DiagnosticField.MESSAGE_PRIMARY)
            )
            words = "expected one query, which changes nothing: " * (state == _NO_SYNTAX)
            raise EngineError(hide_secrets(f"{words}{message}"))

    def _write_iso(self, sql: str) -> str:
        """A query that gives the dates of another as ISO 8601 has them, whatever the session has:
        JSON has no other."""
        with self._connection.cursor(name="described") as cursor:
            cursor.execute(sql.encode())
            kinds = [column.type_code for column in cursor.description or ()]
        if not {*_DATES, _INSTANT} & {*kinds}:
            return sql
        names = [f"c{number}" for number in range(len(kinds))]
        instant = "to_json({}::timestamp) #>> '{{}}'"
        forms = {**dict.fromkeys(_DATES, "to_json({}) #>> '{{}}'"), _INSTANT: instant}
        columns = (forms.get(kind, "{}").format(n) for kind, n in zip(kinds, names, strict=True))
        return f"SELECT {', '.join(columns)} FROM (\n{sql}\n) AS answer ({', '.join(names)})"

    def split_url(self) -> tuple[str, dict[str, str]]:
        """Return how a program of Postgres is told of the database: what others may see, and the
        variables of its environment, which have the password."""
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        parts = {key: str(value) for key, value in conninfo_to_dict(self._url).items()}
        password = parts.pop("password", None) or os.environ.get("PGPASSWORD")
        return make_conninfo("", **parts), {"PGPASSWORD": password} if password else {}

    def close(self) -> None:
        self._connection.close()


def _name_base(row: Row, domains: dict[int, tuple[int, str, bool]]) -> Row:
    """A row of columns, of which a domain is its base type."""
    *place, kind, is_not_null, comment, oid = row
    while oid in domains:
        oid, kind, is_checked = domains[oid]
        is_not_null = is_not_null or is_checked
    return (*place, kind, is_not_null, comment)
