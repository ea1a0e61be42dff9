"""The SQL text of a database: its first line, and how values are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from answerkey.base.errors import InputError
from answerkey.engines.names import DUCKDB
from answerkey.engines.schema import quote_name
from answerkey.engines.settings import DEFAULTS, cut_head

# Settings of a session that decide answers: as the text calls them, and as DuckDB does.
SETTINGS = {
    "timezone": "TimeZone",
    "search_path": "search_path",
    "collation": "default_collation",
    "null_order": "default_null_order",
}
_ROWS_AT_ONCE = 1000


def split_text(text: str, path: object) -> tuple[dict[str, str], str]:
    """Return the settings of a text, and its statements.

    >>> split_text("SELECT 1", "shop.duckdb.sql")
    ({'timezone': 'UTC'}, 'SELECT 1')

    Raises:
        sqlite3.DatabaseError: its first line is not what it should be, or is of another engine.
    """
    try:
        settings, statements = cut_head(text, DUCKDB)
    except InputError as error:
        raise sqlite3.DatabaseError(f"Corrupt database: {path}: {error}") from error
    return {**DEFAULTS[DUCKDB], **settings}, statements


def write_literal(value: Any) -> str:
    """Return a value as SQL; a text is cast by the type of its column.

    >>> write_literal(None), write_literal(1.5), write_literal("it's")
    ('NULL', '1.5', "'it''s'")
    """
    if value is None:
        return "NULL"
    if isinstance(value, (int, float)):
        return repr(int(value) if isinstance(value, bool) else value)
    text = str(value)
    if "\0" in text:  # the text of a statement ends there
        parts = ("'" + part.replace("'", "''") + "'" for part in text.split("\0"))
        return "(" + " || chr(0) || ".join(parts) + ")"
    return "'" + text.replace("'", "''") + "'"


def write_inserts(
    table: str, columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[Any]]
) -> Iterable[str]:
    """Yield INSERT statements for the rows of a table.

    table: its name, quoted.
    columns: of the rows: name, and whether its values are JSON text of a list or a struct.
    """
    names = ", ".join(quote_name(name) for name, _ in columns)
    head = f"INSERT INTO {table} ({names}) VALUES\n"
    nested = {index for index, (_, is_nested) in enumerate(columns) if is_nested}
    lines: list[str] = []
    for row in rows:
        texts = [
            f"{write_literal(value)}::JSON"
            if index in nested and value is not None
            else write_literal(value)
            for index, value in enumerate(row)
        ]
        lines.append(f"({', '.join(texts)})")
        if len(lines) == _ROWS_AT_ONCE:
            yield head + ",\n".join(lines) + ";\n"
            lines = []
    if lines:
        yield head + ",\n".join(lines) + ";\n"
