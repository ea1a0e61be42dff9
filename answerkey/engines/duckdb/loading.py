"""Load the SQL text of a database into DuckDB, and take a database apart. It runs in the process of
DuckDB, since nobody has read the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from answerkey.engines.duckdb.refusals import (
    CLOCK_TYPES,
    MARK,
    RANDOM_FUNCTIONS,
    Refusals,
    find_clock_word,
    parse_tree,
    write_clock,
)
from answerkey.engines.duckdb.text import SETTINGS, write_inserts
from answerkey.engines.duckdb.values import (
    Converter,
    find_stored_converter,
    find_text_converter,
    is_enum,
    needs_text,
    write_text_column,
)
from answerkey.engines.names import DUCKDB
from answerkey.engines.schema import Column, ForeignKey, Schema, Table, quote_name

# DuckDB reads no file but its own, loads nothing, writes no temporary file, and uses one thread:
# with several, a sum of floats depends on which thread was faster.
CONFIG: dict[str, Any] = {
    "allow_community_extensions": False,
    "async_threads": 0,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "enable_external_access": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "threads": 1,
}
# A comment in a comment is refused: whether the first end ends both is not ours to say.
_BLANK = r"(?>\s|--[^\n\r]*(?:[\n\r]|$)|/\*(?:(?!/\*).)*?\*/)"
_ALLOWED = re.compile(
    rf"(?:{_BLANK}|;)*(?:CREATE{_BLANK}+(?:OR{_BLANK}+REPLACE{_BLANK}+)?(?:UNIQUE{_BLANK}+)?"
    r"(?P<kind>TYPE|SEQUENCE|SCHEMA|TABLE|VIEW|INDEX)\b"
    rf"|(?P<insert>INSERT)\b|(?P<comment>COMMENT{_BLANK}+ON)\b)",
    re.IGNORECASE | re.DOTALL,
)
_ALLOWED_TYPES = {
    duckdb.StatementType.CREATE,
    duckdb.StatementType.INSERT,
    duckdb.StatementType.ALTER,  # COMMENT ON
}
_FROM_QUERY = re.compile(
    rf"(?:{_BLANK}+IF{_BLANK}+NOT{_BLANK}+EXISTS)?{_BLANK}+"
    rf'(?:(?:"(?:[^"]|"")*"|[^\s."(]+){_BLANK}*\.?{_BLANK}*)+?AS\b',
    re.IGNORECASE | re.DOTALL,
)
# Names in quotes may hold any word.
_VIEW_HEAD = re.compile(r'(?:"(?:[^"]|"")*"|[^"])*?\bAS\b', re.IGNORECASE)
MAIN = "main"
_SOURCE = "answerkey_source"
# Functions that a text may use while it is loaded, and that we use.
_OF_BUILDING = {"currval", "current_database", "nextval"}
_BATCH = 10_000
_MEMORY_OF_EMPTY = 500_000_000


class RefusedTextError(ValueError):
    """The text of a database does what none may do."""


class Parts(NamedTuple):
    """The statements of a text without rows: those that make tables, and those that make views and
    comments."""

    tables: list[str]
    views: list[str]


def connect(path: str, memory_bytes: int, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Open a database file, or ':memory:'."""
    config = CONFIG | {
        "memory_limit": f"{memory_bytes}B",
        "allowed_configs": ["disabled_optimizers", "search_path", "schema"],
    }
    return duckdb.connect(path, read_only=read_only, config=config)


def prepare(
    connection: duckdb.DuckDBPyConnection, settings: Mapping[str, str], now: str | None
) -> None:
    """Set session and clock, and lock the configuration. Connections to one file share it: another
    one may have set and locked it, with the same settings, since the same text has them."""
    is_locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    for name, value in settings.items():
        if name != "search_path" and is_locked == (False,):
            connection.execute(f"SET GLOBAL {SETTINGS[name]} = {_quote(value)}")
    for statement in write_clock(now):
        connection.execute(statement)
    if is_locked == (False,):
        connection.execute("SET lock_configuration = true")


def set_search_path(connection: duckdb.DuckDBPyConnection, settings: Mapping[str, str]) -> None:
    """Let names without a schema be found in all schemas, those of `main` first."""
    path = settings.get("search_path")
    if path is None:
        schemas = [schema for schema in _list_schemas(connection) if schema != MAIN]
        if not schemas:
            return
        path = ",".join(map(quote_name, [MAIN, *schemas]))
    connection.execute(f"SET search_path = {_quote(path)}")


def build_file(
    path: str, text: str, settings: Mapping[str, str], now: str | None, memory_bytes: int
) -> None:
    """Make the file of a database.

    Raises:
        RefusedTextError: the text has another statement, or reads the clock without `now`, or reads
            more than itself.
        duckdb.Error: DuckDB refuses it.
    """
    with connect(path, memory_bytes, read_only=False) as connection:
        prepare(connection, settings, now)
        _refuse_chance(connection, now)
        connection.execute("BEGIN")
        for statement in connection.extract_statements(text):
            check_statement(statement)
            connection.execute(statement)
        connection.execute("COMMIT")
        own = connection.execute(
            "SELECT function_name FROM duckdb_functions()"
            " WHERE NOT internal AND database_name = current_database()"
        ).fetchall()
        if own:  # a query that calls it would not show what it reads
            raise RefusedTextError(f"it makes a function: {own[0][0]}")
        for refused in find_refused(connection, has_clock=now is not None):
            raise RefusedTextError(refused.words)
        connection.execute("CHECKPOINT")


def open_empty(now: str | None) -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory, as one in which the statements of a text are executed."""
    connection = connect(":memory:", _MEMORY_OF_EMPTY, read_only=False)
    prepare(connection, {}, now)
    _refuse_chance(connection, now)
    return connection


def _refuse_chance(connection: duckdb.DuckDBPyConnection, now: str | None) -> None:
    for name in sorted(RANDOM_FUNCTIONS - _OF_BUILDING):
        mark = _quote(MARK + name)
        connection.execute(f"CREATE TEMP MACRO {name}() AS error({mark})")
    if now is None:
        for name in ("now", "today", "transaction_timestamp"):
            kind = CLOCK_TYPES[name]  # so that the query around it is bound
            error = f"error({_quote(MARK + name)})::{kind}"
            connection.execute(f"CREATE TEMP MACRO {name}() AS {error}")


def check_statement(statement: duckdb.Statement) -> re.Match[str]:
    """Return the words with which a statement begins.

    Raises:
        RefusedTextError: it is another one than those that a text may have.
    """
    query = statement.query
    found = _ALLOWED.match(query)
    if found is None or statement.type not in _ALLOWED_TYPES:
        raise RefusedTextError(
            "expected CREATE TYPE, SEQUENCE, SCHEMA, TABLE, VIEW or INDEX, INSERT and COMMENT ON,"
            f" found {query.strip():.80}"
        )
    return found


class Refused(NamedTuple):
    """A table or a view that reads more than its database, and what it reads."""

    schema: str
    name: str
    is_view: bool
    words: str


def find_refused(connection: duckdb.DuckDBPyConnection, *, has_clock: bool) -> Iterator[Refused]:
    """Check what views and generated columns read: a query that reads them never shows it."""
    refusals = Refusals(lambda sql: connection.execute(sql).fetchall())
    relations = list_relations(connection)
    columns = {name.lower() for rows in list_columns(connection).values() for name, *_ in rows}
    derived = [
        (Refused(schema, name, True, f"view {name}"), _VIEW_HEAD.sub("", sql, count=1))
        for schema, name, sql in _list_views(connection)
    ]
    derived += [
        (Refused(schema, table, False, f"column {name}"), f"SELECT {expression}")
        for schema, table, name, expression in connection.execute(
            "SELECT schema_name, table_name, column_name, generation_expression"
            " FROM duckdb_columns() WHERE database_name = current_database() AND is_generated"
        ).fetchall()
    ]
    for refused, query in derived:
        if not refusals.is_suspicious(query):
            continue
        found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
        assert found is not None
        tree = parse_tree(found[0])
        refusal = refusals.explain(tree, relations=relations, has_clock=has_clock)
        if refusal is None and not has_clock:
            refusal = find_clock_word(tree, columns)
        if refusal is not None:
            yield refused._replace(words=f"{refused.words}: {refusal.detail}")


def _list_schemas(connection: duckdb.DuckDBPyConnection) -> list[str]:
    rows = connection.execute(
        "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()"
        " AND NOT internal ORDER BY schema_name"
    ).fetchall()
    return [name for (name,) in rows]


def _list_views(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute(
        "SELECT schema_name, view_name, sql FROM duckdb_views()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY view_oid"
    ).fetchall()


def _list_tables(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute(
        "SELECT schema_name, table_name, sql FROM duckdb_tables()"
        " WHERE database_name = current_database() AND NOT internal ORDER BY table_oid"
    ).fetchall()


def list_relations(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of tables, views and schemas, in lower case."""
    relations = [*_list_tables(connection), *_list_views(connection)]
    names = {name.lower() for _, name, _ in relations}
    return names | {schema.lower() for schema in _list_schemas(connection)}


def name_table(schema: str, name: str) -> str:
    """Return the name that a table has for us: that of its schema stands before it, unless that is
    `main`."""
    return name if schema == MAIN else f"{schema}.{name}"


def quote_table(schema: str, name: str) -> str:
    return f"{quote_name(schema)}.{quote_name(name)}"


def split_text(connection: duckdb.DuckDBPyConnection, text: str) -> Parts:
    """Return the statements of a text that make tables and views. They are executed, on an empty
    database: a table that is made of a query is described by its columns.

    Raises:
        RefusedTextError, duckdb.Error: as `build_file`.
    """
    parts = Parts([], [])
    comments: list[str] = []
    for statement in connection.extract_statements(text):
        start = check_statement(statement)
        query = statement.query.strip().rstrip(";").rstrip()
        if start["insert"]:
            continue
        connection.execute(statement)
        if start["comment"]:
            comments.append(query)
        elif start["kind"].upper() == "VIEW":
            parts.views.append(query)
        elif start["kind"].upper() == "TABLE" and _FROM_QUERY.match(statement.query, start.end()):
            *_, (_, _, made) = _list_tables(connection)
            parts.tables.append(made.rstrip(";"))
        else:
            parts.tables.append(query)
    return Parts(parts.tables, [*parts.views, *comments])


def list_columns(
    connection: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], list[tuple[str, str, bool, bool]]]:
    """Return the columns by schema and table: name, type, whether it is not null, generated."""
    columns: dict[tuple[str, str], list[tuple[str, str, bool, bool]]] = {}
    for schema, table, *column in connection.execute(
        "SELECT schema_name, table_name, column_name, data_type, NOT is_nullable,"
        " coalesce(is_generated, false) FROM duckdb_columns()"
        " WHERE database_name = current_database() AND NOT internal"
        " ORDER BY table_oid, column_index"
    ).fetchall():
        name, kind, is_not_null, is_generated = column
        columns.setdefault((schema, table), []).append(
            (name, kind, bool(is_not_null), bool(is_generated))
        )
    return columns


def read_schema(connection: duckdb.DuckDBPyConnection) -> Schema:
    """Return the schema of an open database, in the order of creation."""
    columns = list_columns(connection)
    keys: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    primary: dict[tuple[str, str], tuple[str, ...]] = {}
    references: dict[tuple[str, str], list[ForeignKey]] = {}
    for schema, table, kind, names, other, referred in connection.execute(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names,"
        " referenced_table, referenced_column_names FROM duckdb_constraints()"
        " WHERE database_name = current_database() ORDER BY table_oid, constraint_index"
    ).fetchall():
        place = (schema, table)
        if kind == "PRIMARY KEY":
            primary[place] = tuple(names)
        elif kind == "UNIQUE":
            keys.setdefault(place, []).append(tuple(names))
        elif kind == "FOREIGN KEY":
            key = ForeignKey(tuple(names), name_table(schema, other), tuple(referred))
            references.setdefault(place, []).append(key)
    for schema, table, expressions in connection.execute(
        "SELECT schema_name, table_name, expressions FROM duckdb_indexes()"
        " WHERE database_name = current_database() AND is_unique AND NOT is_primary"
        " ORDER BY table_oid, index_oid"
    ).fetchall():
        known = {quote: name for name, *_ in columns[schema, table] for quote in _spell(name)}
        parts = expressions.removeprefix("[").removesuffix("]").split(", ")
        if all(part in known for part in parts):
            keys.setdefault((schema, table), []).append(tuple(known[part] for part in parts))
    relations = [(row, False) for row in _list_tables(connection)]
    relations += [(row, True) for row in _list_views(connection)]
    tables = []
    for (schema, name, sql), is_view in relations:
        place = (schema, name)
        first = primary.get(place, ())
        others = [key for key in keys.get(place, ()) if key != first]
        tables.append(
            Table(
                name_table(schema, name),
                is_view,
                tuple(
                    Column(
                        column,
                        kind,
                        is_not_null,
                        first.index(column) + 1 if column in first else 0,
                    )
                    for column, kind, is_not_null, _ in columns.get(place, ())
                ),
                tuple(dict.fromkeys([first, *others] if first else others)),
                tuple(references.get(place, ())),
                sql.rstrip(";"),
            )
        )
    return Schema(tuple(tables), DUCKDB)


def _spell(name: str) -> tuple[str, ...]:
    """Return how DuckDB may write a column in the expressions of an index."""
    return name, quote_name(name), _quote(quote_name(name)), _quote(name)


def list_allowed(
    connection: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], dict[str, tuple[str, ...]]]:
    """Return, by schema and table, the texts that each column of an enum type allows."""
    allowed: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for place, columns in list_columns(connection).items():
        for name, kind, *_ in columns:
            if is_enum(kind):
                found = connection.execute(f"SELECT enum_range(NULL::{kind})").fetchone()
                assert found is not None
                allowed.setdefault(place, {})[name] = tuple(found[0])
    return allowed


def read_rows(connection: duckdb.DuckDBPyConnection, schema: str, name: str) -> list[Any]:
    """Return the rows of a table in their order, as JSON values: without the limits of a query.
    Blobs and NaN are texts, from which DuckDB reads them again."""
    columns = list_columns(connection)[schema, name]
    expressions = []
    converters: list[Converter | None] = []
    for column, kind, *_ in columns:
        is_text = kind == "BLOB" or needs_text(kind)
        quoted = quote_name(column)
        expressions.append(write_text_column(quoted, kind) if is_text else quoted)
        converters.append(find_stored_converter(kind))
    table = quote_table(schema, name)
    cursor = connection.execute(f"SELECT {', '.join(expressions)} FROM {table}")
    rows: list[Any] = []
    while batch := cursor.fetchmany(_BATCH):
        converted = [
            values if converter is None else converter(values)
            for values, converter in zip(zip(*batch, strict=True), converters, strict=True)
        ]
        rows.extend(zip(*converted, strict=True))
    return rows


class TableLayout(NamedTuple):
    """A table to which rows are written.

    name: for us; `quoted` in SQL.
    columns: those that are stored: index, name, and whether it is a list or a struct.
    own_references: indexes of columns that refer to others of the same table, and those of these.
    """

    name: str
    quoted: str
    columns: list[tuple[int, str, bool]]
    own_references: list[tuple[list[int], list[int]]]


def read_layout(connection: duckdb.DuckDBPyConnection) -> list[TableLayout]:
    """Return the tables of a database, in the order in which they were created."""
    own_references = _list_own_references(connection)
    views = list_views(connection)
    layout = []
    for place, columns in list_columns(connection).items():
        if place in views:
            continue
        schema, name = place
        names = [column for column, *_ in columns]
        references = [
            ([names.index(part) for part in parts], [names.index(part) for part in referred])
            for parts, referred in own_references.get(place, ())
        ]
        stored = [
            (index, column, _is_nested(kind))
            for index, (column, kind, _, is_generated) in enumerate(columns)
            if not is_generated
        ]
        quoted = quote_name(name) if schema == MAIN else quote_table(schema, name)
        layout.append(TableLayout(name_table(schema, name), quoted, stored, references))
    return layout


def write_tables(
    layout: Iterable[TableLayout], rows: Mapping[str, Sequence[Sequence[Any]]]
) -> Iterable[str]:
    """Yield the INSERT statements for the rows of tables. A row has values for all columns; those
    that DuckDB computes are left out."""
    for table in layout:
        given = rows.get(table.name, ())
        columns = [(name, is_nested) for _, name, is_nested in table.columns]
        indexes = [index for index, *_ in table.columns]
        batches: Iterable[Sequence[Sequence[Any]]] = [given]
        if table.own_references:
            batches = split_references(given, table.own_references)
        for batch in batches:
            values = ([row[index] for index in indexes] for row in batch)
            yield from write_inserts(table.quoted, columns, values)


def _list_own_references(
    connection: duckdb.DuckDBPyConnection,
) -> dict[tuple[str, str], list[tuple[list[str], list[str]]]]:
    """Return, by schema and table, columns that refer to columns of the same table."""
    references: dict[tuple[str, str], list[tuple[list[str], list[str]]]] = {}
    for schema, table, *parts in connection.execute(
        "SELECT schema_name, table_name, constraint_column_names, referenced_column_names"
        " FROM duckdb_constraints() WHERE database_name = current_database()"
        " AND constraint_type = 'FOREIGN KEY' AND referenced_table = table_name"
        " ORDER BY constraint_index"
    ).fetchall():
        references.setdefault((schema, table), []).append((parts[0], parts[1]))
    return references


def split_references(
    rows: Sequence[Sequence[Any]], references: Sequence[tuple[list[int], list[int]]]
) -> Iterable[list[Sequence[Any]]]:
    """Yield rows in batches, each of which refers to those before it: DuckDB does not find a row
    that the same statement inserts. Their order changes only where a row refers to a later one.

    references: the indexes of columns, and those of the columns to which they refer.

    >>> [*split_references([(1, None), (2, 1), (3, 1), (4, 3)], [([1], [0])])]
    [[(1, None)], [(2, 1), (3, 1)], [(4, 3)]]
    """
    waiting = [*rows]
    inserted: set[tuple[int, tuple[Any, ...]]] = set()
    while waiting:
        left: list[Sequence[Any]] = []
        batch: list[Sequence[Any]] = []
        fresh: set[tuple[int, tuple[Any, ...]]] = set()
        progress = 0
        for row in waiting:
            needed = {
                (number, key)
                for number, (columns, _) in enumerate(references)
                if None not in (key := tuple(row[index] for index in columns))
            }
            if needed & fresh:
                yield batch
                inserted |= fresh
                batch, fresh = [], set()
            if not needed <= inserted:
                left.append(row)
                continue
            progress += 1
            batch.append(row)
            for number, (_, referred) in enumerate(references):
                fresh.add((number, tuple(row[index] for index in referred)))
        if batch:
            yield batch
        inserted |= fresh
        if not progress:  # DuckDB will say what it lacks
            yield left
            return
        waiting = left


def _is_nested(kind: str) -> bool:
    return find_text_converter(kind) is not None


def build_reordered(path: str, source: str, text: str, now: str | None, memory_bytes: int) -> None:
    """Make a copy of a database, with the rows of each table in the reverse order. Constraints are
    left out: queries read rows, and a row may refer to one that follows it now.

    source: the file of the database that was built of the text.
    """
    # The only statements here are ours, and those that have made the source.
    config = CONFIG | {"enable_external_access": True, "memory_limit": f"{memory_bytes}B"}
    with duckdb.connect(path, config=config) as connection:
        for macro in write_clock(now):
            connection.execute(macro)
        connection.execute(f"ATTACH {_quote(source)} AS {_SOURCE} (READ_ONLY)")
        connection.execute("SET enable_external_access = false")
        made = connection.extract_statements(text)
        starts = [(check_statement(statement)["kind"] or "").upper() for statement in made]
        for kind, statement in zip(starts, made, strict=True):
            if kind in {"TYPE", "SCHEMA", "SEQUENCE"}:
                connection.execute(statement)
        for schema, name in connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ?"
            " ORDER BY table_oid",
            [_SOURCE],
        ).fetchall():
            table = quote_table(schema, name)
            connection.execute(
                f"CREATE TABLE {table} AS FROM {_SOURCE}.{table} ORDER BY rowid DESC"
            )
        connection.execute(f"DETACH {_SOURCE}")
        for kind, statement in zip(starts, made, strict=True):
            if kind == "VIEW":
                connection.execute(statement)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def list_views(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """Return schema and name of all views."""
    return {(schema, name) for schema, name, _ in _list_views(connection)}
