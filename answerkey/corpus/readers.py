"""Files of questions, read row by row: one of gigabytes is never held as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from answerkey.errors import InputError

_CHARACTERS = 1 << 20  # read at once; as many again as there are, if an element is longer
_LONGEST = 1 << 26  # characters of an element: more is no question, but a bracket without its end
_SPACE = re.compile(r"[ \t\r\n]*")
_BEHIND = re.compile(r"[ \t\r\n]*[,\]]")  # an element
_HINT = "; JSON Lines are read from a file whose name ends in .jsonl"


def read_array(path: Path) -> Iterator[Any]:
    """The elements of the JSON array in a file, in any encoding that `json.loads` knows.

    An error is raised when its place is reached.

    Raises:
        InputError: with the path and the line, if the file is not JSON, or holds another value.
    """
    with path.open("rb") as file:
        encoding = json.detect_encoding(file.read(4))
    try:
        with path.open(encoding=encoding, errors="surrogatepass", newline="") as file:
            yield from _read_elements(_Text(file, path))
    except RecursionError as error:
        raise InputError(
            f"{path}: not JSON of questions: brackets in brackets, deeper than Python reads"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not JSON in UTF-8: {error}") from error


def _read_elements(text: _Text) -> Iterator[Any]:
    mark = text.take()
    if mark != "[":
        raise text.refuse(f"expected [, found {mark!r}{_HINT}")
    if text.peek() == "]":
        mark = text.take()
    while mark != "]":
        yield text.decode()
        mark = text.take()
    if mark := text.peek():
        raise text.refuse(f"expected the end, found {mark!r}{_HINT}")


class _Text:
    """The text of a file, of which one part is in memory."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._part = ""
        self._place = 0  # of the part: where it is read
        self._line = 1  # of the file: in which the part starts
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            self._place = _SPACE.match(self._part, self._place).end()
            if self._place < len(self._part) or not self._read_more():
                return self._part[self._place : self._place + 1]

    def take(self) -> str:
        """As `peek`, and pass over it."""
        character = self.peek()
        self._place += len(character)
        return character

    def decode(self) -> Any:
        """The next element, behind which stands a comma or the bracket that closes the array.

        What ends with the part may go on in the file, so more is read until the element is whole.

        Raises:
            InputError: if it is no JSON, however much is read.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._part, self._place)
                words = "expected , or ] behind an element"
            except json.JSONDecodeError as error:
                words, end = error.msg, error.pos
            else:
                if _BEHIND.match(self._part, end):
                    self._place = end
                    return value
            if len(self._part) - self._place > _LONGEST or not self._read_more(end):
                raise self.refuse(words)

    def refuse(self, words: str) -> InputError:
        """The error at the place that is read."""
        line = self._line + self._part.count("\n", 0, self._place)
        return InputError(f"{self._path}: not a JSON array: line {line}: {words}")

    def _read_more(self, end: int | None = None) -> bool:
        """Read on; at the end of the file stand at `end`, and say that there is no more."""
        new = self._file.read(max(_CHARACTERS, len(self._part) - self._place))
        if not new:
            self._place = self._place if end is None else end
            return False
        self._line += self._part.count("\n", 0, self._place)
        self._part = self._part[self._place :] + new
        self._place = 0
        return True
