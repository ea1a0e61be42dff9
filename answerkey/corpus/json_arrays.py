"""JSON arrays that are read element by element: a file of gigabytes is never held as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from answerkey.core.errors import InputError

_CHARACTERS = 1 << 20  # read at once; twice as many each time where an element is longer
_SPACE = re.compile(r"[ \t\r\n]*")
# Of a text that is cut, the error is at its end, or where a string starts that does not end.
_LONGEST_TOKEN = 16
_DELIMITERS = tuple(" \t\r\n,]}")
_CUT_STRING = "Unterminated string"


def read_array(path: Path) -> Iterator[Any]:
    """The elements of the JSON array in a file, in whichever encoding `json.loads` knows.

    Elements are read when they are asked for, so that an error is raised when its place is reached.

    Raises:
        InputError: with the path, where the file is no JSON, or holds something else.
    """
    with path.open("rb") as file:
        encoding = json.detect_encoding(file.read(4))
    try:
        with path.open(encoding=encoding, errors="surrogatepass", newline="") as file:
            yield from _read_elements(_Text(file), path)
    except RecursionError as error:
        raise InputError(
            f"{path}: not JSON of questions: brackets in brackets, deeper than Python reads"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not JSON in UTF-8: {error}") from error
    except json.JSONDecodeError as error:
        is_jsonl = error.msg == "Extra data"
        hint = "; JSON Lines are read from a file whose name ends in .jsonl" if is_jsonl else ""
        raise InputError(f"{path}: not JSON: {error}{hint}") from error


def _read_elements(text: _Text, path: Path) -> Iterator[Any]:
    if text.peek() == "[":
        text.skip()
        if text.peek() == "]":
            text.skip()
        else:
            yield text.decode()
            while (mark := text.peek()) == ",":
                text.skip()
                yield text.decode()
            if mark != "]":
                text.fail("Expecting ',' delimiter")
            text.skip()
        value: Any = []
    else:
        value = text.decode()
    if text.peek():
        text.fail("Extra data")
    if not isinstance(value, list):
        raise InputError(f"{path}: expected a JSON array, found {type(value).__name__}")


class _Text:
    """A file's text, of which a part is in memory: that from the place where it is read."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._part = ""
        self._place = 0
        self._characters = _CHARACTERS
        self._is_read = False
        self._decoder = json.JSONDecoder()
        # of the text before the part: characters, lines, and where its last line starts
        self._before = self._lines = self._line_start = 0

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        self._place = _SPACE.match(self._part, self._place).end()
        while self._place == len(self._part) and not self._is_read:
            self._read()
            self._place = _SPACE.match(self._part, self._place).end()
        return self._part[self._place : self._place + 1]

    def skip(self) -> None:
        """Pass over the character that `peek` gave."""
        self._place += 1

    def decode(self) -> Any:
        """The next value.

        Raises:
            json.JSONDecodeError: with its line and column in the file, where it is none.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._part, self._place)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith(_CUT_STRING)
                is_cut |= error.pos >= len(self._part) - _LONGEST_TOKEN
                if self._is_read or not is_cut:
                    self._place = error.pos
                    self.fail(error.msg)
            else:
                rest = self._part[end : end + _LONGEST_TOKEN]
                is_whole = len(rest) == _LONGEST_TOKEN or rest[:1] in _DELIMITERS
                if is_whole or self._is_read:  # of 1.5 a part that ends early has 1 or 1.
                    self._place = end
                    self._characters = _CHARACTERS
                    return value
            self._read()
            self._characters *= 2

    def fail(self, message: str) -> None:
        """Raise an error at the place that is read.

        Raises:
            json.JSONDecodeError: always.
        """
        error = json.JSONDecodeError(message, self._part, self._place)
        line_start = self._part.rfind("\n", 0, self._place)
        first = self._line_start - self._before if line_start < 0 else line_start + 1
        line, column = self._lines + error.lineno, self._place - first + 1
        place = self._before + self._place
        error.args = (f"{message}: line {line} column {column} (char {place})",)
        raise error

    def _read(self) -> None:
        passed = self._part[: self._place]
        if "\n" in passed:
            self._lines += passed.count("\n")
            self._line_start = self._before + passed.rfind("\n") + 1
        self._before += self._place
        new = self._file.read(self._characters)
        self._part = self._part[self._place :] + new
        self._place = 0
        self._is_read = not new
