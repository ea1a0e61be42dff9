"""Records in the order of a key, sorted on the disk where they are many.

SQLite does the work: a database without a name is a temporary file, which it removes, and which it
does not write while everything fits into its cache.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from stages.records import encode_json


class DiskSort:
    """Takes records, then gives them in order of their keys; those of one key as they came.

    >>> with_numbers = DiskSort()
    >>> for number, name in enumerate("bab"):
    ...     with_numbers.add(name.encode(), {"number": number})
    >>> [record["number"] for record in with_numbers]
    [1, 0, 2]

    The temporary file lives as long as the object.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("CREATE TABLE record (key BLOB, value BLOB)")
        self._connection.execute("BEGIN")

    def add(self, key: bytes, record: dict[str, Any]) -> None:
        """Take one record."""
        self._connection.execute("INSERT INTO record VALUES (?, ?)", (key, encode_json(record)))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for (value,) in self._connection.execute("SELECT value FROM record ORDER BY key, rowid"):
            yield json.loads(value)
