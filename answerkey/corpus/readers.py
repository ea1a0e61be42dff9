"""Files of questions, read row by row: one of gigabytes is never held as a whole."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from answerkey.errors import InputError
from answerkey.records import read_jsonl

_LOG = logging.getLogger("answerkey.corpus")

_CHARACTERS = 1 << 20  # read at once; as many again as there are, if an element is longer
_LONGEST = 1 << 26  # characters of an element: more is no question, but a bracket without its end
_SPACE = re.compile(r"[ \t\r\n]*")
_BEHIND = re.compile(r"[ \t\r\n]*[,\]]")  # an element
_HINT = "; JSON Lines are read from a file whose name ends in .jsonl"


def read_rows(path: Path) -> Iterator[Any]:
    """The rows of a file: of JSON Lines, if its name ends in .jsonl, else of a JSON array."""
    return read_jsonl(path) if path.suffix == ".jsonl" else read_array(path)


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


def read_text2sql(path: Path) -> Iterator[Any]:
    """A row for each sentence of a file of text2sql-data (Finegan-Dollak et al., 2018), whose db_id
    is the name of the file, if no sentence names another. `query` has all variants of its SQL.

    Names of variables are replaced by what the sentence has for them, else by their example.

    Raises:
        InputError: as `read_array`; if an entry has not what the format says.
    """
    for number, entry in enumerate(read_array(path)):
        try:
            examples = {each["name"]: each["example"] for each in entry.get("variables", ())}
            for sentence in entry["sentences"]:
                values = examples | sentence.get("variables", {})
                in_sql = {name: value.replace('"', '""') for name, value in values.items()}
                yield {
                    "db_id": sentence.get("database", path.stem),
                    "question": _put_values(sentence["text"], values),
                    "query": [_put_values(sql, in_sql) for sql in entry["sql"]],
                    "query-split": entry.get("query-split"),
                    "question-split": sentence.get("question-split"),
                }
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: entry {number}: expected sql, and sentences with text and variables:"
                f" {error!r}"
            ) from error


def _put_values(text: str, values: dict[str, str]) -> str:
    """A text with values for names of variables.

    >>> _put_values("name1 of name10", {"name1": "a", "name10": "b"})
    'a of b'
    """
    if not values:
        return text
    names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    return re.sub(rf"(?<!\w)({names})(?!\w)", lambda found: values[found[1]], text)


_SPIDER2_SQL = "evaluation_suite/gold/sql"
_SPIDER2_DOCUMENTS = "resource/documents"


def read_spider2(path: Path) -> Iterator[Any]:
    """The questions of Spider 2.0-lite (Lei et al., 2025) on SQLite that have gold SQL: ID.sql, or
    ID_1.sql and so on beside the file. Their answers are compared by the rule `spider2`.

    A warning counts those whose answers alone are published: there is no query to execute.
    """
    skipped = 0
    for row in read_jsonl(path):
        name = row.get("instance_id")
        if not isinstance(name, str) or not name.startswith("local"):
            continue  # on BigQuery or Snowflake
        folder = path.parent / _SPIDER2_SQL
        files = [folder / f"{name}.sql", *sorted(folder.glob(f"{name}_*.sql"))]
        queries = [file.read_text(encoding="utf-8").strip() for file in files if file.is_file()]
        if queries:
            evidence = _read_document(path.parent, row.get("external_knowledge"))
            yield row | {"query": queries, "evidence": evidence, "grading_method": "spider2"}
        skipped += not queries
    if skipped:
        _LOG.warning(f"warning: {path}: {skipped} questions have no gold SQL, and are left out")


def _read_document(root: Path, name: Any) -> str | None:
    if not isinstance(name, str) or not name.strip():
        return None
    document = root / _SPIDER2_DOCUMENTS / Path(name).name
    return document.read_text(encoding="utf-8") if document.is_file() else None
