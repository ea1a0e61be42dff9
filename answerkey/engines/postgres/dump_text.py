"""SQL text as pg_dump writes it, one statement after the other, and the rows of COPY between them.

A dump is data. `psql` would run a line such as `\\! rm -r .` or `SELECT 1 \\g |sh`, so no dump is
given to `psql`: the text is read here, and a backslash outside of rows and quotes ends the reading.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from answerkey.base.errors import InputError

# Commands of psql that pg_dump writes. \encoding is a SET; \restrict only forbids others.
_COMMAND = re.compile(
    rb"\s*\\(connect|c|encoding|restrict|unrestrict|\.)(?:\s+(.*?))?\s*;?\s*\Z", re.DOTALL
)
_MAX_STATEMENT_BYTES = 1 << 30  # Postgres takes none above
_CHUNK_BYTES = 1 << 20  # of rows, which may be as long as a statement

# Text in which nothing begins or ends: a quote counts as such if it ends in its line, and has no
# backslash, which may be an escape.
_PLAIN = re.compile(rb"""(?:[^'"\\;$/-]+|'[^'\\]*'|"[^"]*"|/(?!\*)|-(?!-))*+""")
_TOKEN = re.compile(rb"--[^\n]*|/\*|\$(?:[A-Za-z_\x80-\xff][\w\x80-\xff]*)?\$|.", re.DOTALL)
_ENDS = {b"'": re.compile(rb"'"), b'"': re.compile(rb'"'), b"/*": re.compile(rb"/\*|\*/")}
_ESCAPED_END = re.compile(rb"\\.|'", re.DOTALL)
_ESCAPED = re.compile(rb"(?<![\w$\x80-\xff])[eE]\Z")  # before a quote
_IN_NAME = re.compile(rb"[\w$\x80-\xff]\Z")  # before a $, which is a part of it
# Statements that may have others in them, and how these begin and end.
_NESTING = re.compile(rb"CREATE\s+(OR\s+REPLACE\s+)?(FUNCTION|PROCEDURE|RULE)\b", re.IGNORECASE)
_NESTED = re.compile(
    rb"""'[^']*'|"[^"]*"|\$(\w*)\$.*?\$\1\$|[()]|\b(?:BEGIN\s+ATOMIC|CASE|END)\b""",
    re.IGNORECASE | re.DOTALL,
)


class Statement(NamedTuple):
    """A statement without what stands before it, and the number of its first line.

    command: connect, if it is this command of psql; the text is the name of a database then.
    """

    text: bytes
    line: int
    command: str | None = None


class DumpReader:
    """The statements of a dump; after COPY ... FROM stdin, `read_rows` must be called."""

    def __init__(self, file: BinaryIO, dump: Path, *, has_escapes: Callable[[], bool]) -> None:
        """dump: is named in errors. has_escapes: whether a backslash in '...' is an escape now, as
        `standard_conforming_strings` says."""
        self._file = file
        self._dump = dump
        self._has_escapes = has_escapes
        self.is_headed = self.is_complete = False  # as a comment says
        self.commands: list[int] = []  # the lines that are one of psql
        self._line = b""
        self._at = 0  # in the line
        self._number = 0

    def read_statements(self) -> Iterator[Statement]:
        """Yield statements up to the end.

        Raises:
            InputError: a command of psql, which a dump has not; a statement above a gigabyte.
        """
        while (statement := self._read_statement()) is not None:
            yield statement

    @property
    def number(self) -> int:
        """Return the number of the line that was read last."""
        return self._number

    def read_rows(self) -> Iterator[bytes]:
        """Yield the text of the rows that follow, up to the line that ends them."""
        self._at = len(self._line)
        is_start = True
        while chunk := self._file.readline(_CHUNK_BYTES):
            if is_start and chunk.rstrip(b"\r\n") == rb"\.":
                self._number += 1
                return
            is_start = chunk.endswith(b"\n")
            self._number += is_start
            yield chunk
        raise InputError(f"{self._dump}: it ends within rows, so that it was cut off")

    def _next_line(self) -> bool:
        self._line = self._file.readline(_MAX_STATEMENT_BYTES)
        self._at = 0
        self._number += 1
        if self._number == 1:
            self._line = self._line.removeprefix(BOM_UTF8)
        return bool(self._line)

    def _read_statement(self) -> Statement | None:
        parts: list[bytes] = []
        size = start = 0
        while self._at < len(self._line) or self._next_line():
            begin = self._at
            if not start:  # blanks are no part of it
                begin += len(self._line) - begin - len(self._line[begin:].lstrip())
            plain = _PLAIN.match(self._line, begin)
            stop = self._at = plain.end() if plain else begin
            found = _TOKEN.match(self._line, stop)
            token = found[0] if found else b""
            if not start and (stop > begin or token[:1] in (b"'", b'"', b"$")):
                start = self._number
            self._at += len(token)
            text = self._line[begin:stop]
            if token == b"\\":
                if start:
                    raise self._refuse()
                command = self._read_command()
                if command is not None:
                    return command
                continue
            if token == b";":
                text = b"".join((*parts, text))
                if not start or not _is_open(text):
                    if start:
                        return Statement(text.strip(), start)
                    continue
                parts = [text]
                text = token
            elif token.startswith((b"--", b"/*")):
                self._read_quoted(token)
                self.is_headed |= b"PostgreSQL database dump" in token
                self.is_complete |= b"dump complete" in token
                text += b" "
            elif token:
                if token == b"'" and _ESCAPED.search(self._line[max(begin, stop - 2) : stop]):
                    token = b"E'"
                elif token[:1] == b"$" and _IN_NAME.search(self._line[max(begin, stop - 1) : stop]):
                    self._at = stop + 1
                    token = b"$"
                text = self._line[begin : self._at] + self._read_quoted(token)
            if start:
                parts.append(text)
                size += len(text)
            if size > _MAX_STATEMENT_BYTES:
                raise InputError(f"{self._dump}: line {start}: a statement of over a gigabyte")
        return Statement(b"".join(parts).strip(), start) if start else None

    def _read_quoted(self, token: bytes) -> bytes:
        """What stands up to the end of a quote or comment that a token begins, over its lines."""
        if token == b"E'" or (token == b"'" and self._has_escapes()):
            end = _ESCAPED_END
        elif token in _ENDS:
            end = _ENDS[token]
        elif len(token) > 1 and token.startswith(b"$"):
            end = re.compile(re.escape(token))
        else:
            return b""
        first, parts, depth, size = self._number, [], 1, 0
        while depth:
            found = end.search(self._line, self._at)
            stop = found.end() if found else len(self._line)
            parts.append(self._line[self._at : stop])
            size += stop - self._at
            self._at = stop
            if found is None:
                if size > _MAX_STATEMENT_BYTES or not self._next_line():
                    shown = token.decode(errors="replace")
                    words = f"line {first}: what begins with {shown} does not end"
                    raise InputError(f"{self._dump}: {words}: it was cut off, or is no dump")
            elif not found[0].startswith(b"\\"):
                depth += 1 if found[0] == b"/*" else -1
        return b"".join(parts)

    def _read_command(self) -> Statement | None:
        """A \\connect or \\encoding; nothing for another line that a dump may have."""
        found = _COMMAND.match(self._line)
        if found is None:
            raise self._refuse()
        self._at = len(self._line)
        self.commands.append(self._number)
        if found[1] == b"encoding":
            name = re.sub(rb"[^\w-]", b"", found[2] or b"")
            return Statement(b"SET client_encoding = '" + name + b"'", self._number)
        if found[1] not in (b"connect", b"c"):
            return None
        words = found[2] or b""
        named = re.search(rb"dbname='((?:[^'\\]|\\.)*)'", words)
        if named:
            name = re.sub(rb"\\(.)", rb"\1", named[1])
        else:
            first = re.match(rb'"((?:[^"]|"")*)"|([^\s;]*)', words)
            name = (first[1] or first[2] or b"").replace(b'""', b'"') if first else b""
        return Statement(name, self._number, "connect")

    def _refuse(self) -> InputError:
        line = self._line.decode(errors="replace").strip()
        return InputError(
            f"{self._dump}: line {self._number}: {line[:100]!r} has a command of psql, which may do"
            " anything on this machine: expected SQL and rows of COPY alone, as pg_dump writes"
            " them; remove the line, or load the dump yourself, and give the URL of the server"
        )


def _is_open(text: bytes) -> bool:
    """Whether a statement goes on behind a semicolon: in BEGIN ATOMIC ... END, or parentheses.

    >>> _is_open(b"CREATE FUNCTION f() BEGIN ATOMIC SELECT 1"), _is_open(b"SELECT (1")
    (True, False)
    """
    if not _NESTING.match(text):
        return False
    parentheses = blocks = 0
    for found in _NESTED.finditer(text):
        token = found[0].upper()
        parentheses += (token == b"(") - (token == b")")
        blocks += token.startswith(b"BEGIN") or (token == b"CASE" and blocks > 0)
        blocks -= token == b"END" and blocks > 0
    return parentheses > 0 or blocks > 0
