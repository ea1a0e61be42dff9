"""Database files from SQL text."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path


def make_database(path: Path, sql: str) -> Path:
    """A new database file, in place of any that lies there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return path
