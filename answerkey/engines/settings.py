"""The settings of sessions on a database that is SQL text: the first line of the text.

-- answerkey: {"engine": "duckdb", "settings": {"now": "2025-01-30 00:00:00", "timezone": "UTC"}}

`now` is the instant at which the text is executed, if its corpus has a clock. So whoever has the
text builds the same database.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from answerkey.base.errors import InputError
from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE, name_engine

HEAD = "-- answerkey: "
NOW = "now"
_TIMEZONE, _SEARCH_PATH, _COLLATION = ("timezone", "search_path", "collation")
# The settings that an engine has, and what they are if nobody says.
DEFAULTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        SQLITE: {},
        DUCKDB: {_TIMEZONE: "UTC"},
        POSTGRES: {_TIMEZONE: "UTC", _SEARCH_PATH: "public", _COLLATION: "C.UTF-8"},
    }
)
# Settings that a text may have, and a corpus does not.
_OF_TEXTS = {DUCKDB: (NOW, _SEARCH_PATH, _COLLATION, "null_order"), POSTGRES: (NOW,)}


def write_head(engine: str, settings: Mapping[str, str]) -> str:
    """Return the first line of the text of a database.

    >>> write_head("duckdb", {})
    '-- answerkey: {"engine": "duckdb", "settings": {"timezone": "UTC"}}\\n'
    """
    head = {"engine": engine, "settings": {**DEFAULTS[engine], **settings}}
    return f"{HEAD}{json.dumps(head, sort_keys=True)}\n"


def read_head(path: Path) -> dict[str, str]:
    """Return the settings of a database by its text.

    Raises:
        InputError: its first line is not as `write_head` writes it.
    """
    with path.open(encoding="utf-8") as file:
        return cut_head(file.readline(), name_engine(path))[0]


def cut_head(text: str, engine: str) -> tuple[dict[str, str], str]:
    """Return the settings that the first line of a text has, and the other lines.

    >>> cut_head('-- answerkey: {"engine": "duckdb", "settings": {}}\\nSELECT 1', "duckdb")
    ({}, 'SELECT 1')
    >>> cut_head("SELECT 1", "duckdb")
    ({}, 'SELECT 1')

    Raises:
        InputError: the line is not as `write_head` writes it, or of another engine.
    """
    if not text.startswith(HEAD):
        return {}, text
    line, _, rest = text.partition("\n")
    try:
        head = json.loads(line.removeprefix(HEAD))
    except ValueError:
        head = None
    if not isinstance(head, dict) or not {"engine"} <= head.keys() <= {"engine", "settings"}:
        expected = write_head(engine, {}).strip()
        raise InputError(f"line 1: expected a line such as {expected}, found {line:.200}")
    if head["engine"] != engine:
        raise InputError(f"line 1: expected the text of a database of {engine}, found {line:.200}")
    settings = head.get("settings", {})
    known = (*DEFAULTS[engine], *_OF_TEXTS.get(engine, ()))
    if not isinstance(settings, dict) or not all(
        name in known and isinstance(value, str) for name, value in settings.items()
    ):
        words = ", ".join(known) or "no settings"
        raise InputError(f"line 1: expected {words} as texts, found {line:.200}")
    return settings, rest
