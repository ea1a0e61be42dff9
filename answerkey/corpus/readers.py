"""Files of questions, read row by row: one of gigabytes is never held as a whole."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answerkey.errors import InputError
from answerkey.records import read_jsonl

_LOG = logging.getLogger("answerkey.corpus")

_CHARACTERS = 1 << 20  # read at once; as many again as there are, if an element is longer
_LONGEST = 1 << 26  # characters of an element: more is no question, but a bracket without its end
_MARK = re.compile(r"\s*(\[\s*\]|[\[,\]])?\s*")  # what stands before an element, or at the end


def read_rows(path: Path) -> Iterator[Any]:
    """The rows of a file: of JSON Lines, if its name ends in .jsonl, else of a JSON array."""
    return read_jsonl(path) if path.suffix == ".jsonl" else read_array(path)


def read_array(path: Path) -> Iterator[Any]:
    """The objects of the JSON array in a file, each as soon as it is read.

    Raises:
        InputError: with the path and the line, if the file is no JSON array of objects.
    """
    decode = json.JSONDecoder().raw_decode
    line, place, allowed = 1, 0, "["
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(_CHARACTERS)
            while True:
                mark = _MARK.match(text, place)
                words = f"expected {' or '.join(allowed)}"
                if mark[1] and mark[1][0] in allowed:
                    if mark[1][-1] == "]":
                        break
                    try:
                        value, place = decode(text, mark.end())
                    except json.JSONDecodeError as error:
                        words = error.msg
                    else:
                        yield value
                        allowed = ",]"
                        continue
                line, text, place = line + text.count("\n", 0, place), text[place:], 0
                more = file.read(max(_CHARACTERS, len(text)))
                if not more or len(text) > _LONGEST:
                    raise InputError(f"{path}: not a JSON array: after line {line}: {words}")
                text += more
            if text[mark.end() :] or file.read(_CHARACTERS).strip():
                raise InputError(f"{path}: not a JSON array: expected the end behind ]")
    except (UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: not a JSON array: {error}") from error


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
