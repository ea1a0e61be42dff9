"""How SQLite is told to read a file that nobody changes."""

from __future__ import annotations

from pathlib import Path


def immutable_uri(path: Path) -> str:
    """The URI under which SQLite reads a file without a lock, and without a file beside it.

    >>> immutable_uri(Path("/data/car 1.sqlite"))
    'file:///data/car%201.sqlite?mode=ro&immutable=1'
    """
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"
