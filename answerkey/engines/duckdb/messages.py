"""Messages between a process and that of DuckDB: numbers, texts, lists and dicts, and the names of
replies."""

from __future__ import annotations

import marshal
import struct
from collections.abc import Iterable
from typing import Any, NamedTuple

LENGTH = struct.Struct("<Q")

# The first value of a reply.
OK = "ok"
REFUSED = "refused"  # reason, detail
CORRUPT = "corrupt"  # words: the text of the database is at fault
REFUSED_ROWS = "refused_rows"  # words
LOST = "lost"  # the rows of a database in memory are not here
FAILED = "failed"  # words: what nobody expects


class Bounds(NamedTuple):
    """The bounds of one query."""

    max_rows: int
    max_value_bytes: int
    max_answer_bytes: int
    max_heap_bytes: int
    max_cpu_s: int


class Spec(NamedTuple):
    """How a database is opened.

    path: its file; "" for one in memory, whose rows are exchanged.
    memory_bytes: of DuckDB's buffers.
    statements, views: what makes the tables and views of one in memory.
    """

    path: str
    settings: dict[str, str]
    now: str | None
    memory_bytes: int
    statements: tuple[str, ...] = ()
    views: tuple[str, ...] = ()


def pack_message(message: Iterable[Any]) -> bytes:
    """Return the bytes of a message, with their number before them. marshal calls nothing that a
    message names, as pickle does."""
    plain = [tuple(part) if isinstance(part, (Bounds, Spec)) else part for part in message]
    content = marshal.dumps(plain)
    return LENGTH.pack(len(content)) + content


def unpack_message(content: bytes) -> Any:
    return marshal.loads(content)
