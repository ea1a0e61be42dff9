"""Databases of PostgreSQL taken apart, and put together with other rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.engines.engine import RefusedRowsError, StoredTable, StoredTables
from answerkey.engines.postgres.dump_text import DumpReader
from answerkey.engines.postgres.guard import connect_reader, read_own_types
from answerkey.engines.postgres.loading import (
    COPY_IN,
    OWN_RELATIONS,
    PASSED_OVER,
    Connection,
    Definitions,
    build_empty,
    build_from_text,
    read_text,
)
from answerkey.engines.postgres.schema import name_table
from answerkey.engines.postgres.values import (
    Converter,
    OwnType,
    RefusedValueError,
    find_converter,
    write_text,
)
from answerkey.engines.schema import quote_name

_FLAGS = re.IGNORECASE | re.DOTALL
# What gives tables their rows, or the next numbers of sequences.
_FILLS = re.compile(
    r"(?:INSERT|UPDATE|DELETE|TRUNCATE|MERGE|COPY|WITH|VALUES|ANALYZE|VACUUM)\b"
    r"|SELECT\s+(?:pg_catalog\.)?setval\b|LOCK\b|BEGIN\b|COMMIT\b|START\s+TRANSACTION\b|END\b",
    _FLAGS,
)
_VIEWS = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:TEMP|TEMPORARY|MATERIALIZED|RECURSIVE)\s+)*VIEW\b"
    r"|(?:ALTER|COMMENT\s+ON|REFRESH)\s+(?:MATERIALIZED\s+)?VIEW\b",
    _FLAGS,
)
_MADE_VIEW = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:TEMP|TEMPORARY|MATERIALIZED|RECURSIVE)\s+)*VIEW\s+"
    r"(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>[^\s(]+)",
    _FLAGS,
)
# pg_dump fills a materialized view after it is made.
_WITHOUT_ROWS = re.compile(r"\s+WITH\s+NO\s+DATA\s*\Z", re.IGNORECASE)
_ON_VIEW = re.compile(r"(?:CREATE\s+(?:UNIQUE\s+)?INDEX|COMMENT\s+ON\s+COLUMN)\b.*", _FLAGS)
_SEARCH_PATH = re.compile(
    r"SET\s+(?:SESSION\s+)?search_path\b|SELECT\s+(?:pg_catalog\.)?set_config\s*\(\s*'search_path'",
    _FLAGS,
)
_SETS_ROLE = "SET session_replication_role = replica"  # no trigger, no foreign key
_RESETS_ROLE = "RESET session_replication_role"
_ROWS_AT_ONCE = 1000

# Tables that inherit have rows of their own.
_TABLES = f"""
SELECT r.oid::bigint, n.nspname, r.relname, r.relkind::text
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p') AND {OWN_RELATIONS} ORDER BY r.oid"""
_COLUMNS = """
WITH RECURSIVE bases AS (
    SELECT oid AS type, oid AS base FROM pg_type
    UNION ALL
    SELECT b.type, t.typbasetype FROM bases b JOIN pg_type t ON t.oid = b.base
    WHERE t.typtype = 'd')
SELECT a.attname::text, b.base::bigint, a.atttypmod, a.attgenerated <> '',
       (SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e
        WHERE e.enumtypid = b.base)
FROM pg_attribute a JOIN bases b ON b.type = a.atttypid
JOIN pg_type t ON t.oid = b.base AND t.typtype <> 'd'
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = %s ORDER BY a.attnum"""


class TableColumn(NamedTuple):
    """A column: its name, the number of its type (of a domain: its base) and its modifier, whether
    the database computes it, and the labels of its enum."""

    name: str
    type: int
    modifier: int
    is_generated: bool
    labels: tuple[str, ...]


class OpenTable(NamedTuple):
    """A table of an open database: its name as `schema.read_schema` gives it, and as SQL."""

    name: str
    sql: str
    columns: tuple[TableColumn, ...]

    @property
    def into(self) -> str:
        """Return the table as a statement that inserts names it."""
        return self.sql.removeprefix("ONLY ")

    @property
    def inserted(self) -> str:
        """Return the names of the columns that are inserted, as SQL."""
        names = (column.name for column in self.columns if not column.is_generated)
        return ", ".join(map(quote_name, names))


def list_tables(connection: Connection, search_path: str) -> list[OpenTable]:
    """Return the tables of a database, in the order of their creation."""
    connection.execute("SELECT set_config('search_path', %s, false)", [search_path])
    found = connection.execute("SELECT current_schemas(false)::text[]::text").fetchone()
    assert found is not None
    path = json.loads(_read_list(found[0]))
    rows = connection.execute(_TABLES).fetchall()
    tables = []
    for oid, schema, name, kind in rows:
        columns = tuple(
            TableColumn(column, base, modifier, bool(is_generated), tuple(labels or ()))
            for column, base, modifier, is_generated, labels in _read_columns(connection, oid)
        )
        only = "ONLY " if kind == "r" else ""
        sql = f"{only}{quote_name(schema)}.{quote_name(name)}"
        if columns:
            tables.append(OpenTable(name_table(schema, name, path, rows), sql, columns))
    return tables


def _read_columns(connection: Connection, oid: int) -> list[tuple[Any, ...]]:
    rows = connection.execute(_COLUMNS, [oid]).fetchall()
    return [
        (name, base, modifier, is_generated in (True, "t"), _parse_labels(labels))
        for name, base, modifier, is_generated, labels in rows
    ]


def _parse_labels(labels: Any) -> list[str]:
    if isinstance(labels, str):
        labels = json.loads(_read_list(labels))
    return list(labels or ())


def _read_list(text: str) -> str:
    convert = find_converter(_TEXT_ARRAY)
    assert convert is not None
    return str(convert(text))


_TEXT_ARRAY = 1009


def read_tables(path: Path, now: str | None) -> StoredTables:
    """Take a database apart."""
    name, settings = build_from_text(path, now)
    statements, views = split_statements(path)
    with connect_reader(name) as connection:
        own_types = read_own_types(connection)
        tables = []
        for table in list_tables(connection, settings.search_path):
            names = ", ".join(quote_name(column.name) for column in table.columns)
            rows = connection.execute(f"SELECT {names} FROM {table.sql}")
            converters = [find_converter(c.type, c.modifier, own_types) for c in table.columns]
            tables.append(
                StoredTable(
                    table.name,
                    [
                        tuple(
                            value if value is None or convert is None else _store(value, convert)
                            for value, convert in zip(row, converters, strict=True)
                        )
                        for row in rows
                    ],
                    frozenset(c.name for c in table.columns if c.is_generated),
                    {c.name: c.labels for c in table.columns if c.labels},
                )
            )
    return StoredTables(statements, views, tuple(tables))


def _store(value: str, convert: Converter) -> Any:
    """Return a value as JSON; one that no answer may have, such as NaN or bytes, stays a text."""
    try:
        return convert(value)
    except RefusedValueError:
        return value


def split_statements(path: Path) -> Definitions:
    """Return the statements of a text that make tables, types and indexes, and those that make
    views. A view knows its tables by the search path that holds where it is made."""
    statements: list[str] = []
    views: list[str] = []
    made: set[str] = set()
    search_path = ""
    with path.open("rb") as file:
        reader = DumpReader(file, path, has_escapes=lambda: False)
        for statement in reader.read_statements():
            if statement.command is not None:
                continue
            text = statement.text.decode()
            if COPY_IN.match(text):
                for _ in reader.read_rows():
                    pass
                continue
            if _SEARCH_PATH.match(text):
                search_path = text
                statements.append(text)
                continue
            if PASSED_OVER.match(text) or _FILLS.match(text):
                continue
            is_view = _VIEWS.match(text) is not None or (
                _ON_VIEW.match(text) is not None and any(name in text for name in made)
            )
            if (found := _MADE_VIEW.match(text)) is not None:
                made.add(found["name"])
            if is_view and search_path and search_path not in views[-1:]:
                last = next((view for view in reversed(views) if _SEARCH_PATH.match(view)), None)
                if last != search_path:
                    views.append(search_path)
            (views if is_view else statements).append(text)
    return Definitions(tuple(statements), tuple(views))


def write_tables(
    path: Path,
    stored: StoredTables,
    rows: Mapping[str, Iterable[Sequence[Any]]],
    *,
    now: str | None,
) -> bytes:
    """Return the text of a database with the same tables and views, and other rows, sorted.

    path: the text that was taken apart.

    Raises:
        RefusedRowsError: the database refuses a row.
    """
    settings = read_text(path).settings
    name = build_empty(path, Definitions(stored.statements, stored.views), settings, now)
    with connect_reader(name) as connection:
        own_types = read_own_types(connection)
        tables = list_tables(connection, settings.search_path)
    parts = [settings.write()]
    parts += [f"{statement};\n" for statement in stored.statements]
    parts += [f"{_SETS_ROLE};\n"]
    for table in tables:
        parts += _write_inserts(table, rows.get(table.name, ()), own_types)
    parts += [f"{_RESETS_ROLE};\n"]
    parts += [f"{_WITHOUT_ROWS.sub('', view)};\n" for view in stored.views]
    return "".join(parts).encode()


def _write_inserts(
    table: OpenTable, rows: Iterable[Sequence[Any]], own_types: Mapping[int, OwnType]
) -> Iterator[str]:
    head = f"INSERT INTO {table.into} ({table.inserted}) OVERRIDING SYSTEM VALUE VALUES\n"
    lines = sorted(
        f"({', '.join(map(_write_literal, texts))})" for texts in write_rows(table, rows, own_types)
    )
    for start in range(0, len(lines), _ROWS_AT_ONCE):
        yield head + ",\n".join(lines[start : start + _ROWS_AT_ONCE]) + ";\n"


def write_rows(
    table: OpenTable, rows: Iterable[Sequence[Any]], own_types: Mapping[int, OwnType]
) -> Iterator[list[str | None]]:
    """Yield the values of rows as Postgres reads them, those of generated columns left out.

    Raises:
        RefusedRowsError: a row has another number of values than the table has columns.
    """
    for row in rows:
        if len(row) != len(table.columns):
            found = f"expected {len(table.columns)} values, found {len(row)}"
            raise RefusedRowsError(f"{table.name}: {found}")
        yield [
            None if value is None else write_text(value, column.type, own_types)
            for value, column in zip(row, table.columns, strict=True)
            if not column.is_generated
        ]


def _write_literal(text: str | None) -> str:
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"
