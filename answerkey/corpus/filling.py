"""Filled databases: a copy of a database with more rows, so that its queries have answers.

Corpora that a model wrote have databases with two rows a table, or none, on which half of all
queries find nothing, and wrong ones the same nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from answerkey.corpus.corpora import Corpus
from answerkey.corpus.databases import replace_database
from answerkey.corpus.hub import Limits
from answerkey.corpus.source_questions import read_source_questions
from answerkey.errors import InputError
from answerkey.records import hash_value
from answerkey.sql.canonical import NO_FORM
from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import Schema, read_schema
from answerkey.suites.constants import Conditions, list_conditions
from answerkey.suites.fuzzer import Fuzzer
from answerkey.suites.row_reading import read_rows
from answerkey.suites.rows import Rows, serialize_rows

_NOT_COPIED = (
    "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type IN ('virtual', 'shadow')"
)


def fill_database(path: Path, queries: Iterable[str], *, rows: int) -> bytes | None:
    """The bytes of a database like that of a file, whose tables have so many rows at least, and
    rows that meet the conditions of the queries: the same for the same input, on any machine.

    Its own rows stay as they are, and so do keys, references and whatever the schema demands; a
    table has fewer rows where that allows no more. None where all of its tables have so many rows
    already, or where it cannot be copied: a table of more than 1,000 rows, a row of more than
    20 kB, a virtual table, or statements that this SQLite does not run.
    """
    with contextlib.closing(open_database(path)) as connection:
        schema = read_schema(connection)
        if connection.execute(_NOT_COPIED).fetchone():
            return None
    try:
        source = read_rows(path)
    except InputError:
        return None
    tables = source.tables.values()
    is_whole = all(table.is_whole for table in tables)
    if not is_whole or all(len(table.rows) >= rows for table in tables):
        return None
    conditions = _read_conditions(queries, schema, source)
    with Fuzzer(source, conditions=conditions, max_rows=rows) as fuzzer:
        filled = fuzzer.fill()
    for name, table in source.tables.items():
        if filled.tables[name].rows[: len(table.rows)] != table.rows:
            return None  # a row that breaks a CHECK of its own table cannot be written again
    return serialize_rows(filled)


def _read_conditions(queries: Iterable[str], schema: Schema, rows: Rows) -> list[Conditions]:
    """The conditions of each query that has some and can be read."""
    found = {}
    for sql in queries:
        with contextlib.suppress(*NO_FORM, RecursionError):
            scopes = Scopes(parse_sql(sql), schema)
            found.update(dict.fromkeys(list_conditions(scopes, rows.tables)))
    return list(found)


# Filling of databases that have few rows, where the entry of a corpus asks for it.


# To be raised where other code makes other rows: then all filled databases are made again.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What a database is filled with: so many rows a table, and rows for its gold queries."""

    rows: int
    gold_sql: tuple[str, ...]

    def describe(self) -> dict[str, str]:
        """What the manifest says of it: another filling has other words."""
        return {
            "fill_empty": str(self.rows),
            "filled_for": hash_value([VERSION, self.rows, self.gold_sql]),
        }


def plan_fillings(corpus: Corpus, db_ids: Collection[str], limits: Limits) -> dict[str, Filling]:
    """The filling of each database, by its id; none where the corpus asks for none.

    Raises:
        as `read_source_questions`.
    """
    if corpus.fill_empty is None:
        return {}
    queries: dict[str, dict[str, None]] = {db_id: {} for db_id in db_ids}
    for question in read_source_questions(corpus, limits=limits):
        if question.db_id in queries:
            queries[question.db_id][question.query] = None
    return {db_id: Filling(corpus.fill_empty, tuple(found)) for db_id, found in queries.items()}


def fill_file(path: Path, filling: Filling) -> None:
    """Put the filled copy of a database in its place; it stays where it cannot be filled, or needs
    not to be."""
    pass

    content = fill_database(path, filling.gold_sql, rows=filling.rows)
    if content is not None:
        with replace_database(path) as file:
            file.write(content)
