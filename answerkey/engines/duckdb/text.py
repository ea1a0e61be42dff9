"""The SQL text of a database: its first line, and how values are written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from answerkey.engines.schema import quote_name

_HEAD = "-- answerkey: "
_NAME = "duckdb"
# Settings of a session that decide answers: as the text calls them, and as DuckDB does.
SETTINGS = {
    "timezone": "TimeZone",
    "search_path": "search_path",
    "collation": "default_collation",
    "null_order": "default_null_order",
}
_DEFAULTS = {"timezone": "UTC"}
_ROWS_AT_ONCE = 1000


def read_settings(text: str, path: object) -> dict[str, str]:
    """Return the settings that the first line of a text has, and those that hold without it.

    >>> read_settings('-- answerkey: {"engine": "duckdb", "settings": {"timezone": "Asia/Tokyo"}}',
    ...               "shop.duckdb.sql")
    {'timezone': 'Asia/Tokyo'}

    Raises:
        sqlite3.DatabaseError: the line is not what it should be, or is of another engine.
    """
    line = text.partition("\n")[0].strip()
    if not line.startswith(_HEAD):
        return dict(_DEFAULTS)
    try:
        head = json.loads(line.removeprefix(_HEAD))
        settings = {
            str(name).lower(): str(value) for name, value in head.get("settings", {}).items()
        }
        engine = head["engine"]
    except (ValueError, KeyError, AttributeError) as error:
        raise sqlite3.DatabaseError(
            f"Corrupt database: {path}: expected a first line such as"
            f' {_HEAD}{{"engine": "duckdb"}}, found {line:.80}'
        ) from error
    if engine != _NAME or not settings.keys() <= SETTINGS.keys():
        raise sqlite3.DatabaseError(
            f"Corrupt database: {path}: expected the engine {_NAME} and settings among"
            f" {', '.join(SETTINGS)}, found {line:.80}"
        )
    return _DEFAULTS | settings


def drop_head(text: str) -> str:
    """Return a text without its first line, if that has its settings."""
    return text.partition("\n")[2] if text.startswith(_HEAD) else text


def write_head(settings: Mapping[str, str]) -> str:
    """Return the first line of a text.

    >>> write_head({"timezone": "UTC"})
    '-- answerkey: {"engine": "duckdb", "settings": {"timezone": "UTC"}}'
    """
    head = {"engine": _NAME, "settings": dict(sorted(settings.items()))}
    return _HEAD + json.dumps(head, ensure_ascii=True)


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
