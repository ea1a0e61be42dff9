"""A whole database of another engine as a file of SQLite: tables, views, and what comments say.

A view stays one if SQL of SQLite gives its rows; else it is a table with its rows.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path

from answerkey.engines.database import Limits
from answerkey.engines.schema import fold_name, quote_name
from answerkey.engines.sqlite.files import open_database
from answerkey.intake.conversion import ConvertedTable, Converter
from answerkey.intake.dialects import Comparer, TranslationError, read_renaming, translate
from answerkey.intake.engines import Engine, SourceTable

_OF_VIEWS = Limits(max_steps=1_000_000_000, max_rows=200_000, max_answer_bytes=200_000_000)

_MADE_VIEWS = "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY rowid"


def convert(engine: Engine, path: Path) -> list[ConvertedTable]:
    """Make a file of SQLite of all tables and views; what became of each."""
    converter = Converter(engine, path)
    try:
        converter.copy_tables()
        views = [table for table in engine.tables if table.view_sql is not None]
        while views:  # one may be made of another
            left = [view for view in views if not _make_view(converter, view, path)]
            if len(left) == len(views):
                first = next((view for view in left if not _names_any(view, left)), left[0])
                left.remove(first)
                if (made := converter.copy_table(first, kind="view")) is not None:
                    made.lost.append("its SQL: it is a table with its rows here")
            views = left
    finally:
        converter.close()
    order = [(table.schema, table.name) for table in engine.tables]
    return [converter.converted[place] for place in order if place in converter.converted]


def convert_alike(engine: Engine, path: Path, like: Path) -> None:
    """Make a file of SQLite of a database with other rows: with the very views of the file that was
    made of the original."""
    with closing(open_database(like)) as made:
        views = {fold_name(name): sql for name, sql in made.execute(_MADE_VIEWS)}
    converter = Converter(engine, path)
    try:
        converter.copy_tables()
        for table in engine.tables:
            name = converter.names[table.schema, table.name]
            if table.view_sql is not None and fold_name(name) not in views:
                converter.copy_table(table, kind="view")
    finally:
        converter.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for sql in views.values():
            connection.execute(sql)


def _names_any(view: SourceTable, others: Iterable[SourceTable]) -> bool:
    return any(other.name in (view.view_sql or "") for other in others if other is not view)


def _make_view(converter: Converter, view: SourceTable, path: Path) -> bool:
    engine = converter.engine
    renaming = read_renaming(engine, list(converter.converted.values()))
    renaming = renaming._replace(names=converter.names)
    try:
        written = translate(view.view_sql or "", engine.dialect, renaming)
    except TranslationError:
        return False
    for sql in written:
        try:
            converter.make_view(view, sql)
        except sqlite3.Error:
            continue
        if _has_rows_of(converter, view, path):
            return True
        converter.drop_view(view)
    return False


def _has_rows_of(converter: Converter, view: SourceTable, path: Path) -> bool:
    mark = "`" if converter.engine.dialect == "mysql" else '"'
    there = f"SELECT * FROM {mark}{view.schema}{mark}.{mark}{view.name}{mark}"
    here = f"SELECT * FROM {quote_name(converter.names[view.schema, view.name])}"
    with Comparer(path, converter.engine, _OF_VIEWS) as comparer:
        return comparer.are_same(here, there)


def list_comments(engine: Engine, made: Iterable[ConvertedTable]) -> dict[str, dict[str, str]]:
    """Return what comments say of columns, by the names of tables and columns in SQLite."""
    tables = {(table.schema, table.name): table for table in engine.tables}
    return {
        converted.name: {
            name: column.comment
            for (name, *_), column in zip(
                converted.columns, tables[converted.place].columns, strict=True
            )
        }
        for converted in made
    }


def write_comments(comments: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """Write what comments say of columns, as BIRD has it: a CSV file a table."""
    for table, columns in comments.items():
        if any(columns.values()):
            text = io.StringIO(newline="")
            writer = csv.writer(text)
            names = ("original_column_name", "column_name", "column_description")
            writer.writerow((*names, "value_description"))
            writer.writerows((name, "", words, "") for name, words in columns.items())
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{table.replace('/', '_')}.csv"
            file.write_text(text.getvalue(), encoding="utf-8", newline="")
