"""How SQLite is told to read a file that nobody changes."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def immutable_uri(path: Path) -> str:
    """The URI under which SQLite reads a file without a lock, and without a file beside it.

    >>> immutable_uri(Path("/data/car 1.sqlite"))
    'file:///data/car%201.sqlite?mode=ro&immutable=1'
    """
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


def open_database(path: Path) -> sqlite3.Connection:
    """A read-only connection to a file that nobody changes; no lock, no file beside it.

    For looking at schemas: foreign SQL needs more than this.
    """
    return sqlite3.connect(immutable_uri(path), uri=True)
