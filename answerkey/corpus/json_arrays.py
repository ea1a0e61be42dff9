"""A JSON array is read one element at a time: a release of a million questions fits in no memory.

Elements are decoded by the standard library; only the brackets and commas between them are read
here. Whatever encoding `json.loads` knows is known.

Not ijson: its parser in C turns half of a surrogate pair into "?", gives no place with an error and
takes gigabytes for a few kilobytes of brackets; the one in Python takes six times as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from answerkey.core.errors import InputError

_CHUNK_CHARACTERS = 1 << 16
_DECODER = json.JSONDecoder()
_WHITESPACE = " \t\n\r"
# What the held text may end with, after a value, where that is the start of a longer number.
_CUT_NUMBERS = ("", ".", "e", "E", "e+", "e-", "E+", "E-")


def read_array(path: Path, *, chunk_characters: int = _CHUNK_CHARACTERS) -> Iterator[Any]:
    """The elements of the JSON array in a file, in order.

    Raises:
        InputError: with the path, where the file is no JSON, or holds something else. Elements
            before the place of an error have been given by then.
    """
    try:
        with path.open("rb") as file:
            encoding = json.detect_encoding(file.read(4))
        with path.open(encoding=encoding, errors="surrogatepass", newline="") as file:
            text = _Text(file, chunk_characters)
            if text.peek() == "[":
                yield from _read_elements(text)
                return
        value = json.loads(path.read_bytes())
    except RecursionError as error:
        raise InputError(
            f"{path}: not JSON of questions: brackets in brackets, deeper than Python reads"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not JSON in UTF-8: {error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {_explain(error)}") from error
    raise InputError(f"{path}: expected a JSON array, found {type(value).__name__}")


def _explain(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data":
        return f"{error}; JSON Lines are read from a file whose name ends in .jsonl"
    return str(error)


def _read_elements(text: _Text) -> Iterator[Any]:
    text.skip()
    if text.peek() == "]":
        text.skip()
    else:
        while True:
            yield text.decode()
            mark = text.peek()
            if mark not in (",", "]"):
                raise InputError(f"expected ',' or ']' at character {text.place()}")
            text.skip()
            if mark == "]":
                break
            text.peek()
    if text.peek():
        raise InputError(f"expected nothing after the array, at character {text.place()}")


class _Text:
    """The text of a file, of which no more is held than the element that is being read."""

    def __init__(self, file: TextIO, chunk_characters: int) -> None:
        self._file = file
        self._chunk_characters = chunk_characters
        self._held = ""
        self._next = 0  # what of the held text is not yet taken
        self._dropped = 0

    def place(self) -> int:
        """How many characters were taken."""
        return self._dropped + self._next

    def peek(self) -> str:
        """The next character that is no white space, with which it goes on; '' at the end."""
        while True:
            while self._next < len(self._held) and self._held[self._next] in _WHITESPACE:
                self._next += 1
            if self._next < len(self._held):
                return self._held[self._next]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Take one character."""
        self._next += 1

    def decode(self) -> Any:
        """Take one value, which starts at the next character."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._held, self._next)
            except json.JSONDecodeError as error:
                if self._read_more():  # the value may only be cut
                    continue
                place = self._dropped + error.pos
                raise InputError(f"{error.msg.removesuffix(' at')} at character {place}") from error
            if self._held[end : end + 3] in _CUT_NUMBERS and self._read_more():
                continue
            self._next = end
            return value

    def _read_more(self) -> bool:
        """Hold more text, twice as much as there was or more; False at the end of the file, where
        nothing changes."""
        rest = self._held[self._next :]
        more = self._file.read(max(self._chunk_characters, len(rest)))
        if not more:
            return False
        self._dropped += self._next
        self._held, self._next = rest + more, 0
        return True
