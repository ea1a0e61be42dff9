"""Databases of other engines: which tables they have, their rows, and the answers of queries.

DuckDB runs in this process; it holds CSV and Parquet, too. Postgres and MySQL answer by their URL.
All is read, and nothing is ever written there. Times are text. Those with a zone are in the time
zone of the sessions of their database, which is UTC for DuckDB.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from answerkey.base.errors import InputError
from answerkey.base.records import list_files
from answerkey.base.secrets import hide_secrets
from answerkey.intake import delimited

Row = tuple[Any, ...]

# The names of sqlglot.
DUCKDB, MYSQL, POSTGRES, SQLITE = ("duckdb", "mysql", "postgres", "sqlite")

MAX_SECONDS = 60  # of a gold query there
BATCH = 10_000  # rows fetched at once
TABLE_FILES = (*delimited.ENDINGS, ".parquet")
_MAX_DECIMAL_DIGITS = 38  # of DuckDB, which reads longer decimals of Parquet as floats
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


@dataclass(slots=True)
class DatabaseText:
    """SQL text that a database is built from.

    settings: of its sessions, as far as it says them.
    comments: what comments say of columns, by table and column.
    """

    text: str
    settings: dict[str, str]
    notes: list[str] = field(default_factory=list)
    comments: dict[str, dict[str, str]] = field(default_factory=dict)


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

    def read_rows(self, table: SourceTable) -> Generator[Row]:
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


def gather_tables(
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


def name_table(schema: str, name: str, search_path: Sequence[str]) -> str:
    """Return what an engine of a corpus calls a table: its schema stands before it, unless a query
    need not say it.

    >>> name_table("public", "ship", ["public"]), name_table("sales", "ship", ["public"])
    ('ship', 'sales.ship')
    """
    return name if schema in search_path else f"{schema}.{name}"


def quote_names(*names: str, mark: str = '"') -> str:
    """
    >>> quote_names("sales", 'a"b')
    '"sales"."a""b"'
    """
    return ".".join(mark + name.replace(mark, mark * 2) + mark for name in names)


def select_all(table: SourceTable, columns: Sequence[str], mark: str = '"') -> str:
    order = ", ".join(quote_names(name, mark=mark) for name in table.primary_key)
    place = quote_names(table.schema, table.name, mark=mark)
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
    """A file of DuckDB, or one in memory with a table for each CSV or Parquet file.

    max_seconds: of a query.
    """

    dialect = DUCKDB

    def __init__(self, connection: Any, notes: list[str]) -> None:
        self.max_seconds = MAX_SECONDS
        self._connection = connection
        self.notes = notes
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_external_access = false")  # gold reads no file
        views = {
            (schema, name): _VIEW_HEAD.sub("", sql, count=1)
            for schema, name, sql in self.fetch(_DUCKDB_VIEWS)
        }
        constraints = self.fetch(_DUCKDB_CONSTRAINTS)
        self.tables = gather_tables(self.fetch(_DUCKDB_COLUMNS), constraints, views)
        others = {table.schema for table in self.tables} - {"main"}
        self.schemas = ["main", *sorted(others)]
        connection.execute(f"SET search_path = '{','.join(map(quote_names, self.schemas))}'")

    @classmethod
    def open_file(cls, path: Path) -> DuckDB:
        import duckdb

        try:
            return cls(duckdb.connect(str(path), read_only=True), [])
        except duckdb.Error as error:
            words = f"DuckDB {duckdb.__version__} cannot read it: {error}"
            raise InputError(f"{path}: {words}") from error

    @classmethod
    def open_text(cls, text: str) -> DuckDB:
        """A database in memory, which SQL text makes.

        Raises:
            EngineError: DuckDB refuses the text.
        """
        import duckdb

        connection = duckdb.connect(config={"enable_external_access": "false"})
        try:
            connection.execute(text)
        except duckdb.Error as error:
            connection.close()
            raise EngineError(first_line(error)) from error
        return cls(connection, [])

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
                raise InputError(f"{path}: expected a table: {first_line(error)}") from error
        engine = cls(connection, [])
        for table in engine.tables:
            if (text := texts.get(table.name)) is not None:
                table.rows, table.guessed = text.rows, text.guessed
                table.remarks, table.warnings = [text.describe()], text.warnings
            else:
                table.rows, table.warnings = columnar[table.name]
        return engine

    def fetch(self, sql: str) -> list[Row]:
        rows: list[Row] = self._connection.execute(sql).fetchall()
        return rows

    def read_rows(self, table: SourceTable) -> Generator[Row]:
        columns = [_read_column(column) for column in table.columns]
        return self.read_selected(select_all(table, columns))

    def read_selected(self, sql: str) -> Generator[Row]:
        """Yield the rows of a query of ours.

        Raises:
            EngineError: a table cannot be read.
        """
        import duckdb

        try:
            cursor = self._connection.execute(sql)
            while rows := cursor.fetchmany(BATCH):
                yield from rows
        except duckdb.Error as error:
            raise EngineError(first_line(error)) from error

    def execute(self, sql: str, *, max_rows: int) -> list[Row]:
        import duckdb

        timer = threading.Timer(self.max_seconds, self._connection.interrupt)
        timer.start()
        try:
            # Tables of files lie in memory, where a query that writes would change them for others.
            kinds = [each.type for each in self._connection.extract_statements(sql)]
            if kinds != [duckdb.StatementType.SELECT]:
                raise EngineError("expected one query, which changes nothing")
            rows: list[Row] = self._connection.execute(sql).fetchmany(max_rows + 1)
            return rows
        except duckdb.InterruptException as error:
            raise EngineError(f"it takes more than {self.max_seconds} seconds") from error
        except duckdb.Error as error:
            raise EngineError(first_line(error)) from error
        finally:
            timer.cancel()

    def close(self) -> None:
        self._connection.close()


def _load_text(connection: Any, name: str, text: delimited.DelimitedTable) -> None:
    import pyarrow

    columns = zip(text.names, text.types, strict=True)
    declared = ", ".join(f"{quote_names(column)} {_DUCKDB_TYPES[kind]}" for column, kind in columns)
    place = quote_names("main", name)
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
        connection.execute(f"INSERT INTO {place} FROM {quote_names(_ROWS)}")
        connection.unregister(_ROWS)


def _load_parquet(connection: Any, path: Path) -> tuple[int, list[str]]:
    """Load a table; how many rows its file says that it has, and what is to be said of it."""
    import duckdb
    import pyarrow
    from pyarrow import parquet

    name = quote_names("main", path.stem)
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
                remarks = _check_parquet(path, file)
        except (duckdb.Error, pyarrow.ArrowException) as error:
            words = first_line(error).replace(str(link), path.name)
            raise InputError(f"{path}: expected a table: {words}") from error
    names = [column for column, *_ in connection.execute(f"DESCRIBE {name}").fetchall()]
    changed = [
        f"column {there!r} is called {here}, since a name stands once in any case, and is not empty"
        for there, here in zip(written, names, strict=True)
        if there != here
    ]
    return count, [*changed, *remarks]


def _check_parquet(path: Path, file: Any) -> list[str]:
    """What is to be said of values that DuckDB cuts.

    Raises:
        InputError: a column has decimals that DuckDB reads as floats.
    """
    columns = [file.schema.column(place) for place in range(len(file.schema))]
    for column in columns:
        kind = json.loads(column.logical_type.to_json())
        if kind["Type"] == "Decimal" and kind["precision"] > _MAX_DECIMAL_DIGITS:
            raise InputError(
                f"{path}: column {column.path!r} has decimals of {kind['precision']} digits:"
                f" expected at most {_MAX_DECIMAL_DIGITS}; write the column as text, or with fewer"
            )
    cut = [column.path for column in columns if column.physical_type == "INT96"]
    words = "its times are of INT96, and have microseconds here; nanoseconds are cut"
    return [f"{name}: {words}" for name in cut]


def _read_column(column: SourceColumn) -> str:
    name, kind = quote_names(column.name), column.type
    if is_nested(kind):
        return f"CAST(to_json({name}) AS VARCHAR)"
    return f"CAST({name} AS VARCHAR)" if kind.startswith(_READ_AS_TEXT) else name


def first_line(error: Exception) -> str:
    words = error.args[-1] if error.args and isinstance(error.args[-1], str) else str(error)
    return hide_secrets(words.strip().partition("\n")[0])


def list_table_files(folder: Path) -> list[Path]:
    """The files of a folder that hold tables, sorted."""
    files = (path for path in list_files(folder, "*") if path.is_file())
    return [path for path in files if path.suffix.lower() in TABLE_FILES]
