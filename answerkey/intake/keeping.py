"""A database that stays one of its engine: its SQL text, and whether its gold runs there."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.reasons import Reason
from answerkey.base.records import replace_file
from answerkey.corpus.databases import read_text
from answerkey.engines.database import Database, QueryError
from answerkey.engines.names import DUCKDB, POSTGRES
from answerkey.engines.opening import load_engine
from answerkey.engines.schema import Schema, Table, quote_name
from answerkey.engines.settings import DEFAULTS, cut_head, write_head
from answerkey.intake.clock_words import hint_at_now
from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.duckdb_text import write_text
from answerkey.intake.engines import DatabaseText, DuckDB, EngineError, SourceTable, name_table
from answerkey.intake.postgres_text import LeftOut, leave_out, read_dump


def read_kept_text(content: Path, place: Path, engine: str) -> DatabaseText:
    """Return SQL text of an engine, with the settings that its first line has.

    place: what errors call it, if it was unpacked from another file.

    Raises:
        InputError: it is no UTF-8, or its first line is of another engine.
    """
    try:
        settings, text = cut_head(read_text(content), engine)
    except InputError as error:
        raise InputError(f"{place}: {str(error).removeprefix(f'{content}: ')}") from error
    if engine == DUCKDB:
        return DatabaseText(text, settings)
    made = read_dump(content, place)
    made.text = cut_head(made.text, engine)[1]
    made.settings |= settings
    return made


_MOST_LEFT_OUT = 100  # statements of a dump, each of which costs a build
_LINE = re.compile(r"line (\d+): ")


class KeptDatabase(NamedTuple):
    """The tables of a database, what is to be said of it, and what comments say of columns, by
    table and column."""

    tables: list[ConvertedTable]
    notes: list[str]
    comments: dict[str, dict[str, str]]


def keep_database(
    engine: str, given: DatabaseText | DuckDB, path: Path, place: str, *, now: str | None
) -> KeptDatabase:
    """Write the text of a database, and build it once. What of a dump of Postgres cannot be loaded,
    as without its extension, is left out, and told.

    place: where it comes from, for errors.

    Raises:
        InputError: no database can be built from the text.
    """
    notes: list[str] = []
    parts: Iterable[str]
    text = given.text if isinstance(given, DatabaseText) else None
    if isinstance(given, DuckDB):
        settings, parts = dict(DEFAULTS[engine]), write_text(given, notes, now=now)
        notes += given.notes
        comments = {
            name_table(table.schema, table.name, ["main"]): {
                column.name: column.comment for column in table.columns
            }
            for table in given.tables
        }
    else:
        settings, parts = {**DEFAULTS[engine], **given.settings}, [given.text]
        notes += given.notes
        comments = given.comments
    tables: list[ConvertedTable] | None = None
    while tables is None:
        try:
            _write(path, chain([write_head(engine, settings)], parts))
            tables = _build(engine, path, now=now)
        except (EngineError, InputError, sqlite3.Error) as error:
            words = str(error).removeprefix("Corrupt database: ")
            words = words.replace(f"{path}: ", "").replace(str(path), path.name)
            smaller = None
            if engine == POSTGRES and text is not None:
                smaller = _leave_out(text, words, place)
            if smaller is None or len(notes) > _MOST_LEFT_OUT:
                words = words.replace("corpora.NAME.now", "--now 2025-01-30")
                raise InputError(f"{place}: {words}") from error
            text = smaller.text
            parts = [text]
            notes.append(f"{smaller.what} is left out: {_LINE.sub('', words)}")
    if not tables:
        step = "; ".join(notes) or "expected CREATE TABLE and rows"
        raise InputError(f"{place}: makes no table: {step}")
    if isinstance(given, DuckDB):
        _take_reading(tables, given.tables)
    return KeptDatabase(tables, notes, comments)


def _write(path: Path, parts: Iterable[str]) -> None:
    with replace_file(path) as file:
        for part in parts:
            file.write(part.encode())


def _build(engine: str, path: Path, *, now: str | None) -> list[ConvertedTable]:
    with load_engine(engine).open(path, now=now) as database:
        return list(_describe_tables(load_engine(engine).read_schema(path), database))


def _leave_out(text: str, words: str, place: str) -> LeftOut | None:
    """Return a dump without what an error names; None if the error is none of a line, or if rows
    lack a clock, which somebody may name."""
    found = _LINE.match(words)
    if found is None or "corpora.NAME.now" in words:
        return None
    return leave_out(text, int(found[1]) - 1, Path(place))  # below the settings


def _describe_tables(schema: Schema, database: Database) -> Iterator[ConvertedTable]:
    for table in schema.tables:
        columns = [(column.name, column.type, column.type) for column in table.columns]
        kind = "view" if table.is_view else "table"
        described = ConvertedTable(("", table.name), table.name, columns, kind)
        described.keys = list(_describe_keys(table))
        try:
            described.rows = _count_rows(table.name, database)
        except QueryError as error:
            described.lost.append(f"its rows cannot be counted: {error.detail}")
        yield described


def _count_rows(name: str, database: Database) -> int:
    """Count the rows of a table. The part of its name before a point is a schema, or, as in that of
    a file `sales.2024.csv`, is none."""
    schema, _, rest = name.partition(".")
    if rest:
        with contextlib.suppress(QueryError):
            ((count,),) = database.execute(
                f"SELECT count(*) FROM {quote_name(schema)}.{quote_name(rest)}"
            )
            return int(count or 0)
    ((count,),) = database.execute(f"SELECT count(*) FROM {quote_name(name)}")
    return int(count or 0)


def _describe_keys(table: Table) -> Iterator[str]:
    primary = tuple(
        column.name
        for column in sorted(table.columns, key=lambda column: column.primary_key)
        if column.primary_key
    )
    for names in table.unique_keys:
        kind = "PRIMARY KEY" if names == primary else "UNIQUE"
        yield f"{kind} ({', '.join(names)})"
    for key in table.foreign_keys:
        referred = f"{key.table} ({', '.join(key.referred)})"
        yield f"FOREIGN KEY ({', '.join(key.columns)}) REFERENCES {referred}"


def _take_reading(made: Iterable[ConvertedTable], sources: Iterable[SourceTable]) -> None:
    """Say how files were read, and make sure that no row of them is missing."""
    tables = {name_table(table.schema, table.name, ["main"]): table for table in sources}
    for table in made:
        source = tables.get(table.name)
        if source is None:
            continue
        table.guessed, table.remarks, table.warnings = (
            source.guessed,
            source.remarks,
            source.warnings,
        )
        if source.rows not in (None, table.rows):
            raise RuntimeError(f"{table.name}: {source.rows} rows there, and {table.rows} here")


def find_fault(database: Database, sql: str, engine: str, *, now: str | None) -> str | None:
    """Return why a query has no answer on its database, or None."""
    try:
        database.execute(sql)
    except QueryError as error:
        reads_clock = error.reason == Reason.NONDETERMINISTIC_FUNCTION and now is None
        hint = hint_at_now(sql, engine) if reads_clock else ""
        return f"{error.reason}: {error.detail}{hint}"
    return None
