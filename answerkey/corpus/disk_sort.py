"""Records in the order of a key, sorted on the disk where they are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from answerkey.core.records import decode_json, encode_json
from answerkey.core.scratch import open_scratch


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
        self._connection = open_scratch("CREATE TABLE record (key BLOB, value BLOB)")

    def add(self, key: bytes, record: dict[str, Any]) -> None:
        """Take one record."""
        self._connection.execute("INSERT INTO record VALUES (?, ?)", (key, encode_json(record)))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for (value,) in self._connection.execute("SELECT value FROM record ORDER BY key, rowid"):
            yield decode_json(value)
