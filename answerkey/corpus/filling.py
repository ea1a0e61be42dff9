"""A copy of a database with more rows, so that its queries have answers.

Corpora that a model wrote have databases with two rows a table, or none. Half of all queries find
nothing there, and wrong queries find the same nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from answerkey.errors import InputError
from answerkey.sql.canonical import NO_FORM
from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import Schema, read_schema
from answerkey.suites.constants import Conditions, list_conditions
from answerkey.suites.fuzzer import fill_rows
from answerkey.suites.row_reading import read_rows
from answerkey.suites.rows import Rows, serialize_rows

_NOT_COPIED = (
    "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type IN ('virtual', 'shadow')"
)


def fill_database(path: Path, queries: Iterable[str], *, rows: int) -> bytes | None:
    """The bytes of a database like that of a file, whose tables have so many rows at least, and
    rows that meet the conditions of the queries: the same for the same input, on any machine.

    Its own rows stay as they are, and so do keys, references and all rules of the schema; a table
    has fewer rows if these allow no more. Return None if all of its tables have so many rows
    already, or if it cannot be copied: a table of more than 1,000 rows, a row of more than 20 kB, a
    virtual table, or statements that this SQLite does not run.
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
    filled = fill_rows(source, _read_conditions(queries, schema, source), max_rows=rows)
    for name, table in source.tables.items():
        if filled.tables[name].rows[: len(table.rows)] != table.rows:
            return None  # a row that breaks a CHECK of its own table cannot be written again
    return serialize_rows(filled)


def _read_conditions(queries: Iterable[str], schema: Schema, rows: Rows) -> list[Conditions]:
    found = {}
    for sql in queries:
        with contextlib.suppress(*NO_FORM, RecursionError):
            scopes = Scopes(parse_sql(sql), schema)
            found.update(dict.fromkeys(list_conditions(scopes, rows.tables)))
    return list(found)
