"""A database of DuckDB as SQL text: what makes its types, sequences and tables; their rows; and
what makes its views. Macros are left out, since their text could do anything when it is called, and
so are tables and views that cannot be made without them, or that read more than the database.

The same database gives the same text. Rows stand in the order of their primary key, or as they are
stored. A value that is no number is text that DuckDB casts to the type of its column, and DuckDB
says, for each value, whether that gives the value again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import NamedTuple

from answerkey.base.log import spell_count
from answerkey.intake.clock_words import hint_at_now
from answerkey.intake.engines import (
    DUCKDB,
    DuckDB,
    Row,
    SourceTable,
    first_line,
    name_table,
    quote_names,
    select_all,
)

_ROWS = 1000  # of one INSERT
_NUMBERS = re.compile(r"U?(TINY|SMALL|BIG)?INT(EGER)?|BOOLEAN|DECIMAL\(.*\)")
_OWN = "database_name = current_database() AND NOT internal"
_SCHEMAS = f"""
SELECT schema_name FROM duckdb_schemas() WHERE {_OWN} AND schema_name <> 'main' ORDER BY oid"""
_TYPES = f"""
SELECT schema_name, type_name, labels FROM duckdb_types() WHERE {_OWN} ORDER BY type_oid"""
_SEQUENCES = (
    "SELECT sql FROM duckdb_sequences() WHERE database_name = current_database() ORDER BY 1"
)
_TABLES = f"SELECT schema_name, table_name, sql, comment FROM duckdb_tables() WHERE {_OWN}"
_INDEXES = """
SELECT sql, schema_name, table_name FROM duckdb_indexes()
WHERE database_name = current_database() AND sql IS NOT NULL
ORDER BY 1"""
_GENERATED = f"""
SELECT schema_name, table_name, column_name FROM duckdb_columns() WHERE {_OWN} AND is_generated"""
_VIEWS = f"""
SELECT sql, schema_name, view_name, comment FROM duckdb_views() WHERE {_OWN} ORDER BY view_oid"""
_MACROS = f"""
SELECT DISTINCT function_name FROM duckdb_functions()
WHERE {_OWN} AND macro_definition IS NOT NULL ORDER BY 1"""


class _Statement(NamedTuple):
    """What makes a schema, a type, a sequence, a table, an index, a view or a comment.

    place: schema and name of the table or view that it makes, or that it is about.
    """

    sql: str
    place: tuple[str, str] | None = None
    is_view: bool = False


def write_text(engine: DuckDB, lose: list[str], *, now: str | None = None) -> Iterator[str]:
    """Yield the statements of a database. lose: takes what of it the text does not have.

    Raises:
        EngineError: a table cannot be read.
    """
    statements = [*_list_statements(engine)]
    without = _find_left_out(statements, now)
    lose += [
        f"{kind} {name_table(*place, ['main'])} is left out: {words}"
        for place, (kind, words) in without.items()
    ]
    kept = [statement for statement in statements if statement.place not in without]
    yield from (statement.sql for statement in kept if not statement.is_view)
    generated = set(engine.fetch(_GENERATED))
    made = {statement.place for statement in kept if not statement.is_view}
    for table in engine.tables:
        if (table.schema, table.name) in made:
            yield from _write_rows(engine, table, generated, lose)
    yield from (statement.sql for statement in kept if statement.is_view)
    lose += [f"macro {name} is left out" for (name,) in engine.fetch(_MACROS)]


def _list_statements(engine: DuckDB) -> Iterator[_Statement]:
    for (name,) in engine.fetch(_SCHEMAS):
        yield _Statement(f"CREATE SCHEMA {quote_names(name)};\n")
    for schema, name, labels in engine.fetch(_TYPES):
        quoted = quote_names(schema, name)
        yield _Statement(f"CREATE TYPE {quoted} AS {_describe_type(engine, quoted, labels)};\n")
    for (sql,) in engine.fetch(_SEQUENCES):
        yield _Statement(f"{sql}\n")
    made = {(schema, name): (sql, words) for schema, name, sql, words in engine.fetch(_TABLES)}
    for table in engine.tables:
        place: tuple[str, str] = (table.schema, table.name)
        if place not in made:
            continue
        sql, words = made[place]
        yield _Statement(f"{sql}\n", place)
        if words:
            about = f"COMMENT ON TABLE {quote_names(*place)} IS {_quote(words)};\n"
            yield _Statement(about, place)
        for column in table.columns:
            if column.comment:
                where = quote_names(*place, column.name)
                about = f"COMMENT ON COLUMN {where} IS {_quote(column.comment)};\n"
                yield _Statement(about, place)
    for sql, schema, name in engine.fetch(_INDEXES):
        yield _Statement(f"{sql}\n", (schema, name))
    for sql, schema, name, words in engine.fetch(_VIEWS):  # one may use those before it
        yield _Statement(f"{sql}\n", (schema, name), is_view=True)
        if words:
            about = f"COMMENT ON VIEW {quote_names(schema, name)} IS {_quote(words)};\n"
            yield _Statement(about, (schema, name), is_view=True)


def _find_left_out(
    statements: Sequence[_Statement], now: str | None
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what an empty database without macros and files cannot have, by schema and name: what
    it is, and why. A view of such a table is left out, too."""
    import duckdb

    from answerkey.engines.duckdb.loading import find_refused, open_empty

    without: dict[tuple[str, str], tuple[str, str]] = {}
    while True:
        with open_empty(now) as connection:
            for sql, place, is_view in statements:
                if place in without:
                    continue
                try:
                    connection.execute(sql)
                except duckdb.Error as error:
                    if place is None:  # whoever builds the text is told
                        continue
                    without[place] = ("view" if is_view else "table", first_line(error))
            refused = [*find_refused(connection, has_clock=now is not None)]
        if not refused:
            return without
        made = {place: sql for sql, place, _ in reversed(statements)}
        for schema, name, is_view, words in refused:
            hint = hint_at_now(made[schema, name], DUCKDB) if now is None else ""
            reason = words.removeprefix(f"view {name}: ") + hint
            without[schema, name] = ("view" if is_view else "table", reason)


def _describe_type(engine: DuckDB, place: str, labels: Sequence[str] | None) -> str:
    if labels is not None:
        return f"ENUM ({', '.join(map(_quote, labels))})"
    ((kind,),) = engine.fetch(f"SELECT typeof(NULL::{place})")
    return str(kind)


def _write_rows(
    engine: DuckDB, table: SourceTable, generated: set[Row], lose: list[str]
) -> Iterator[str]:
    stored = [
        column
        for column in table.columns
        if (table.schema, table.name, column.name) not in generated
    ]
    place = quote_names(table.schema, table.name)
    names = ", ".join(quote_names(column.name) for column in stored)
    head = f"INSERT INTO {place}{f' ({names})' * (len(stored) < len(table.columns))} VALUES"
    is_number = [_NUMBERS.fullmatch(column.type) is not None for column in stored]
    texts = [f"CAST({quote_names(column.name)} AS VARCHAR)" for column in stored]
    for column, text, is_plain in zip(stored, texts, is_number, strict=True):
        if not is_plain and column.type != "VARCHAR":
            again = f"CAST({text} AS {column.type}) IS DISTINCT FROM {quote_names(column.name)}"
            query = f"SELECT count(*) FROM {place} WHERE {text} IS NOT NULL AND {again}"
            ((count,),) = engine.fetch(query)
            if count:
                words = f"{spell_count(count, 'value')} of {column.name} are not as they were"
                lose.append(f"{table.name}: {words}, since text does not say all of {column.type}")
    rows: Iterator[Row] = engine.read_selected(select_all(table, texts))
    if own := [reference for reference in table.references if _is_own(table, reference.table)]:
        # A row must stand behind the rows that it refers to, in a statement of its own.
        columns = [column.name for column in stored]
        keys = [(reference.columns, reference.referred) for reference in own]
        rows = iter(_sort_rows([*rows], columns, keys))
    size = 1 if own else _ROWS
    while chunk := [*islice(rows, size)]:
        lines = [f"({', '.join(map(_write_value, row, is_number))})" for row in chunk]
        yield f"{head}\n" + ",\n".join(lines) + ";\n"


def _is_own(table: SourceTable, name: str) -> bool:
    return table.name.lower() == name.lower()


def _sort_rows(
    rows: Sequence[Row],
    columns: Sequence[str],
    keys: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> list[Row]:
    """Return rows so that each stands behind those that it refers to; as they are, if some refer to
    each other.

    >>> _sort_rows([(1, 2), (2, None)], ["id", "boss"], [(["boss"], ["id"])])
    [(2, None), (1, 2)]
    """
    needed: dict[int, set[int]] = {number: set() for number in range(len(rows))}
    for names, referred in keys:
        own, others = ([columns.index(name) for name in each] for each in (names, referred))
        places = {tuple(row[at] for at in others): number for number, row in enumerate(rows)}
        for number, row in enumerate(rows):
            other = places.get(tuple(row[at] for at in own))
            if other is not None:
                needed[number].add(other)
    sorter = TopologicalSorter(needed)
    try:
        return [rows[number] for number in sorter.static_order()]
    except CycleError:
        return list(rows)


def _write_value(value: str | None, is_number: bool) -> str:
    """Return a value of SQL, given the text that DuckDB casts it to.

    >>> _write_value("1.50", True), _write_value("it's", False), _write_value(None, False)
    ('1.50', "'it''s'", 'NULL')
    """
    if value is None:
        return "NULL"
    return value if is_number else _quote(value)


def _quote(text: str) -> str:
    """Return a text in quotes. No text of SQL can hold a NUL byte.

    >>> _quote("it's"), _quote("a\\0b")
    ("'it''s'", "('a' || chr(0) || 'b')")
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else f"({' || chr(0) || '.join(parts)})"
