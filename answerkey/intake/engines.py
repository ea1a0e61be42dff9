"""Databases of other engines: which tables they have, their rows, and the answers of queries.

DuckDB runs in this process; it holds CSV and Parquet, too. Postgres and MySQL answer by their URL.
All is read, and nothing is ever written there. Times are text, and those with a zone are in UTC.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from answerkey.base.errors import InputError
from answerkey.base.records import list_files
from answerkey.base.secrets import hide_secrets
from answerkey.intake import delimited

Row = tuple[Any, ...]

# The names of sqlglot.
DUCKDB, MYSQL, POSTGRES, SQLITE = ("duckdb", "mysql", "postgres", "sqlite")

MAX_SECONDS = 60  # of a gold query there
_BATCH = 10_000  # rows fetched at once
TABLE_FILES = (*delimited.ENDINGS, ".parquet")
_ROWS = "/rows"  # a view of rows that are inserted; no file has a name with /
# What DuckDB calls the types of a delimited text.
_DUCKDB_TYPES = {
    **{delimited.TEXT: "VARCHAR", delimited.INTEGER: "BIGINT", delimited.REAL: "DOUBLE"},
    **{delimited.BOOLEAN: "BOOLEAN", delimited.DATE: "DATE", delimited.TIME: "TIME"},
    delimited.DATETIME: "TIMESTAMP",
}


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column, its type in the words of its engine."""

    name: str
    type: str
    is_not_null: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class SourceReference:
    """A foreign key: columns, and the columns of another table that they refer to."""

    columns: tuple[str, ...]
    schema: str
    table: str
    referred: tuple[str, ...]


@dataclass(slots=True)
class SourceTable:
    """A table, or a view, which has the SQL that defines it.

    rows: how many it has, if that is known before it is read.
    guessed: its columns whose type is a guess, and that type.
    remarks, warnings: how it was read, and what there somebody should see at once.
    """

    schema: str
    name: str
    view_sql: str | None = None
    columns: list[SourceColumn] = field(default_factory=list)
    primary_key: tuple[str, ...] = ()
    unique: list[tuple[str, ...]] = field(default_factory=list)
    references: list[SourceReference] = field(default_factory=list)
    rows: int | None = None
    guessed: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class EngineError(Exception):
    """A query fails there, in the words of its engine."""


class Engine(Protocol):
    """An open database.

    dialect: as sqlglot calls it.
    schemas: in the order in which a name without a schema is looked for.
    notes: what went wrong on the way to its tables.
    """

    dialect: str
    schemas: list[str]
    tables: list[SourceTable]
    notes: list[str]

    def read_rows(self, table: SourceTable) -> Iterator[Row]:
        """All rows of a table; by its primary key, if it has one.

        Raises:
            EngineError: the table cannot be read.
        """

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        """The rows of a query, and none beyond one more than so many.

        Raises:
            EngineError: it fails, or takes more than a minute.
        """

    def close(self) -> None:
        """End what was started for it."""


def _gather(
    columns: Sequence[Row], constraints: Sequence[Row], views: Mapping[tuple[str, str], str]
) -> list[SourceTable]:
    """Tables of rows of a catalogue.

    columns: schema, table, column, type, is_not_null, comment, in order; a table without columns
        has a row without one.
    constraints: schema, table, kind, columns, and schema, table, columns that are referred to.
    """
    tables: dict[tuple[str, str], SourceTable] = {}
    for schema, name, *of_column in columns:
        key = (schema, name)
        table = tables.setdefault(key, SourceTable(schema, name, views.get(key)))
        column, kind, is_not_null, comment = of_column
        if column is not None:
            table.columns.append(SourceColumn(column, kind, bool(is_not_null), comment or ""))
    for schema, name, kind, names, *referred in constraints:
        constrained = tables.get((schema, name))
        if constrained is None:
            continue
        if kind == "PRIMARY KEY":
            constrained.primary_key = tuple(names)
        elif kind == "UNIQUE":
            constrained.unique.append(tuple(names))
        else:
            other_schema, other, other_names = referred
            reference = SourceReference(tuple(names), other_schema, other, tuple(other_names))
            constrained.references.append(reference)
    return list(tables.values())


def _quote(*names: str, mark: str = '"') -> str:
    """
    >>> _quote("sales", 'a"b')
    '"sales"."a""b"'
    """
    return ".".join(mark + name.replace(mark, mark * 2) + mark for name in names)


def _select_all(table: SourceTable, columns: Sequence[str], mark: str = '"') -> str:
    order = ", ".join(_quote(name, mark=mark) for name in table.primary_key)
    place = _quote(table.schema, table.name, mark=mark)
    return f"SELECT {', '.join(columns)} FROM {place}{' ORDER BY ' * bool(order)}{order}"


# --- DuckDB

_DUCKDB_COLUMNS = """
SELECT schema_name, table_name, column_name, data_type, NOT is_nullable, comment
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal
ORDER BY schema_name, table_oid, column_index"""
_DUCKDB_CONSTRAINTS = """
SELECT schema_name, table_name, constraint_type, constraint_column_names,
       schema_name, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database()
  AND constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY schema_name, table_oid, constraint_index"""
_DUCKDB_VIEWS = """
SELECT schema_name, view_name, sql FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal"""
_VIEW_HEAD = re.compile(
    r"""\s*CREATE\s+VIEW\s+(?:"(?:[^"]|"")+"|[^"(\s])+\s*(\(.*?\))?\s*AS\s""",
    re.IGNORECASE | re.DOTALL,
)
# Python's own values of these lose something: infinite dates, years beyond 9999, nanoseconds.
_READ_AS_TEXT = ("DATE", "TIME", "INTERVAL")
_NESTED = ("STRUCT", "MAP", "UNION", "VARIANT")


def is_nested(kind: str) -> bool:
    """Whether values of a type of DuckDB are read as JSON.

    >>> is_nested("DOUBLE[]"), is_nested("STRUCT(a INTEGER)"), is_nested("DOUBLE")
    (True, True, False)
    """
    return kind.endswith("]") or kind.startswith(_NESTED)


class DuckDB:
    """A file of DuckDB, or one in memory with a table for each CSV or Parquet file."""

    dialect = DUCKDB

    def __init__(self, connection: Any, notes: list[str]) -> None:
        self._connection = connection
        self.notes = notes
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_external_access = false")  # gold reads no file
        views = {
            (schema, name): _VIEW_HEAD.sub("", sql, count=1)
            for schema, name, sql in self._fetch(_DUCKDB_VIEWS)
        }
        constraints = self._fetch(_DUCKDB_CONSTRAINTS)
        self.tables = _gather(self._fetch(_DUCKDB_COLUMNS), constraints, views)
        others = {table.schema for table in self.tables} - {"main"}
        self.schemas = ["main", *sorted(others)]
        connection.execute(f"SET search_path = '{','.join(map(_quote, self.schemas))}'")

    @classmethod
    def open_file(cls, path: Path) -> DuckDB:
        import duckdb

        try:
            return cls(duckdb.connect(str(path), read_only=True), [])
        except duckdb.Error as error:
            words = f"DuckDB {duckdb.__version__} cannot read it: {error}"
            raise InputError(f"{path}: {words}") from error

    @classmethod
    def open_tables(
        cls, paths: Sequence[Path], choices: delimited.TypeChoices | None = None
    ) -> DuckDB:
        """A database with a table for each file, by its name.

        choices: the types that somebody said of columns of CSV and TSV.

        Raises:
            InputError: a file cannot be read, with its name.
        """
        import duckdb

        connection = duckdb.connect()
        texts = {}
        columnar = {}
        for path in paths:
            if path.suffix.lower() not in delimited.ENDINGS:
                columnar[path.stem] = _load_parquet(connection, path)
                continue
            texts[path.stem] = delimited.read_table(path, path.stem, choices)
            try:
                _load_text(connection, path.stem, texts[path.stem])
            except duckdb.Error as error:
                raise InputError(f"{path}: expected a table: {_first_line(error)}") from error
        engine = cls(connection, [])
        for table in engine.tables:
            if (text := texts.get(table.name)) is not None:
                table.rows, table.guessed = text.rows, text.guessed
                table.remarks, table.warnings = [text.describe()], text.warnings
            else:
                table.rows, table.warnings = columnar[table.name]
        return engine

    def _fetch(self, sql: str) -> list[Row]:
        rows: list[Row] = self._connection.execute(sql).fetchall()
        return rows

    def read_rows(self, table: SourceTable) -> Iterator[Row]:
        import duckdb

        columns = [_read_column(column) for column in table.columns]
        try:
            cursor = self._connection.execute(_select_all(table, columns))
            while rows := cursor.fetchmany(_BATCH):
                yield from rows
        except duckdb.Error as error:
            raise EngineError(_first_line(error)) from error

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        import duckdb

        timer = threading.Timer(MAX_SECONDS, self._connection.interrupt)
        timer.start()
        try:
            # Tables of files lie in memory, where a query that writes would change them for others.
            kinds = [each.type for each in self._connection.extract_statements(sql)]
            if kinds != [duckdb.StatementType.SELECT]:
                raise EngineError("expected one query, which changes nothing")
            rows: list[Row] = self._connection.execute(sql).fetchmany(max_rows + 1)
            return rows
        except duckdb.InterruptException as error:
            raise EngineError(f"it takes more than {MAX_SECONDS} seconds") from error
        except duckdb.Error as error:
            raise EngineError(_first_line(error)) from error
        finally:
            timer.cancel()

    def close(self) -> None:
        self._connection.close()


def _load_text(connection: Any, name: str, text: delimited.DelimitedTable) -> None:
    import pyarrow

    columns = zip(text.names, text.types, strict=True)
    declared = ", ".join(f"{_quote(column)} {_DUCKDB_TYPES[kind]}" for column, kind in columns)
    place = _quote("main", name)
    connection.execute(f"CREATE TABLE {place} ({declared})")
    of_values = {
        **{delimited.INTEGER: pyarrow.int64(), delimited.REAL: pyarrow.float64()},
        delimited.BOOLEAN: pyarrow.bool_(),
    }
    kinds = [of_values.get(kind, pyarrow.large_string()) for kind in text.types]
    for chunk in text.read_chunks():
        arrays = [pyarrow.array(*column) for column in zip(chunk, kinds, strict=True)]
        rows = pyarrow.table(arrays, names=[f"c{place}" for place in range(len(arrays))])
        connection.register(_ROWS, rows)
        connection.execute(f"INSERT INTO {place} FROM {_quote(_ROWS)}")
        connection.unregister(_ROWS)


def _load_parquet(connection: Any, path: Path) -> tuple[int, list[str]]:
    """Load a table; how many rows its file says that it has, and what is to be said of it."""
    import duckdb
    import pyarrow
    from pyarrow import parquet

    name = _quote("main", path.stem)
    # DuckDB takes [, * and a=1 in a path for more than a name.
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        link = Path(folder) / "table.parquet"
        link.symlink_to(path.resolve())
        place = str(link).replace("'", "''")
        rows = f"read_parquet('{place}', hive_partitioning = false)"
        try:
            connection.execute(f"CREATE TABLE {name} AS FROM {rows}")
            with parquet.ParquetFile(link) as file:
                count, written = file.metadata.num_rows, file.schema_arrow.names
        except (duckdb.Error, pyarrow.ArrowException) as error:
            words = _first_line(error).replace(str(link), path.name)
            raise InputError(f"{path}: expected a table: {words}") from error
    names = [column for column, *_ in connection.execute(f"DESCRIBE {name}").fetchall()]
    changed = [
        f"column {there!r} is called {here}, since names are the same in any case"
        for there, here in zip(written, names, strict=True)
        if there != here
    ]
    return count, changed


def _read_column(column: SourceColumn) -> str:
    name, kind = _quote(column.name), column.type
    if is_nested(kind):
        return f"CAST(to_json({name}) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)" if kind.startswith(_READ_AS_TEXT) else name


# --- Postgres and MySQL

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
            raise InputError(f"{hide_secrets(url)}: {_first_line(error)}") from None
        for name in _POSTGRES_TEXTS:
            self._connection.adapters.register_loader(name, TextLoader)
        self._connection.read_only = True
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        (path,) = self._fetch("SELECT current_schemas(false)::text[]")[0]
        views = {(schema, name): sql for schema, name, sql in self._fetch(_POSTGRES_VIEWS)}
        constraints = self._fetch(_POSTGRES_CONSTRAINTS)
        tables = _gather(self._fetch(_POSTGRES_COLUMNS), constraints, views)
        self.tables = [table for table in tables if table.columns]
        bare = [f"{table.schema}.{table.name}" for table in tables if not table.columns]
        self.notes += [f"{name} is left out: it has no column" for name in bare]
        others = {table.schema for table in self.tables} - {*path}
        self.schemas = [*path, *sorted(others)]
        names = ", ".join(map(_quote, self.schemas)) or "public"
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

        columns = [_quote(column.name) for column in table.columns]
        self._fetch("SET statement_timeout = 0")
        try:
            with self._connection.cursor(name="rows") as cursor:
                cursor.itersize = _BATCH
                cursor.execute(_select_all(table, columns).encode())
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
        return EngineError(_first_line(error))

    def close(self) -> None:
        self._connection.close()


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
            raise InputError(f"{hide_secrets(url)}: {_first_line(error)}") from None
        self._fetch("SET time_zone = '+00:00'")
        self._fetch("START TRANSACTION READ ONLY")
        views = {(schema, name): sql for schema, name, sql in self._fetch(_MYSQL_VIEWS)}
        keys: dict[Row, list[Row]] = {}
        for *place, column, schema, name, referred, key in self._fetch(_MYSQL_CONSTRAINTS):
            keys.setdefault((*place, schema, name, key), []).append((column, referred))
        constraints = []
        for (*place, schema, name, _), pairs in keys.items():
            names, referred_names = zip(*pairs, strict=True)
            constraints.append((*place, names, schema, name, referred_names))
        self.tables = _gather(self._fetch(_MYSQL_COLUMNS), constraints, views)
        self.schemas = sorted({table.schema for table in self.tables})

    def _fetch(self, sql: str) -> list[Row]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def read_rows(self, table: SourceTable) -> Iterator[Row]:
        import pymysql
        from pymysql.cursors import SSCursor

        columns = [_quote(column.name, mark="`") for column in table.columns]
        try:
            with self._connection.cursor(SSCursor) as cursor:
                cursor.execute(_select_all(table, columns, mark="`"))
                while rows := cursor.fetchmany(_BATCH):
                    yield from rows
        except pymysql.Error as error:
            raise EngineError(_first_line(error)) from error

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        import pymysql

        try:
            self._bound(MAX_SECONDS)
            return self._fetch(sql)[: max_rows + 1]
        except pymysql.Error as error:
            raise EngineError(_first_line(error)) from error
        finally:
            self._bound(0)

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


def _first_line(error: Exception) -> str:
    words = error.args[-1] if error.args and isinstance(error.args[-1], str) else str(error)
    return hide_secrets(words.strip().partition("\n")[0])


def list_table_files(folder: Path) -> list[Path]:
    """The files of a folder that hold tables, sorted."""
    files = (path for path in list_files(folder, "*") if path.is_file())
    return [path for path in files if path.suffix.lower() in TABLE_FILES]
