"""Read files of questions row by row: a file of gigabytes is never in memory as a whole."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.records import ACCEPTED_ANSWERS, list_files, read_lines, refuse_repeated_keys
from answerkey.engines.sqlite.files import find_inside

_CHARACTERS = 1 << 20  # read at once; twice as many each time while an element is incomplete
_LONGEST = 1 << 26  # characters of an element: a longer one is an unclosed bracket
_MARK = re.compile(r"\s*(\[\s*\]|[\[,\]])?\s*")


def read_source_rows(path: Path) -> Iterator[Any]:
    """Yield the rows of a file: of JSON Lines if its name ends in .jsonl, else of a JSON array."""
    return _read_objects(path) if path.suffix == ".jsonl" else read_array(path)


def _read_objects(path: Path) -> Iterator[dict[str, Any]]:
    return (record for _, record in read_lines(path))


def read_array(path: Path) -> Iterator[Any]:
    """Yield the objects of the JSON array in a file, each as soon as it is read.

    Raises:
        InputError: names the path and the line, if the file is no JSON array of objects, or if an
            object has a key twice.
    """
    decode = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys).raw_decode
    line, start, allowed = 1, 0, "["
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(_CHARACTERS)
            while True:
                mark, end = _read_mark(text, start)
                words = f"expected {' or '.join(allowed)}"
                if mark and mark[0] in allowed:
                    if mark[-1] == "]":
                        break
                    try:
                        value, start = decode(text, end)
                    except json.JSONDecodeError as error:
                        words = error.msg
                    except ValueError as error:  # a repeated key, a number of 5,000 digits
                        line += text.count("\n", 0, end)
                        raise InputError(
                            f"{path}: not a JSON array: line {line}: {error}"
                        ) from error
                    else:
                        yield value
                        allowed = ",]"
                        continue
                line, text, start = line + text.count("\n", 0, start), text[start:], 0
                more = file.read(max(_CHARACTERS, len(text)))
                if not more or len(text) > _LONGEST:
                    raise InputError(f"{path}: not a JSON array: after line {line}: {words}")
                text += more
            if text[end:] or file.read(_CHARACTERS).strip():
                raise InputError(f"{path}: not a JSON array: expected the end behind ]")
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # invalid UTF-8
        raise InputError(f"{path}: not a JSON array: {error}") from error


def _read_mark(text: str, start: int) -> tuple[str, int]:
    """Return the mark before an element or at the end ("" if neither), and the position after
    it."""
    mark = _MARK.match(text, start)
    return (mark[1] or "", mark.end()) if mark is not None else ("", start)


def read_text2sql(path: Path) -> Iterator[Any]:
    """Yield a row for each sentence of a file of text2sql-data (Finegan-Dollak et al., 2018). Its
    db_id is the name of the file, unless a sentence names another one. `query` has all variants of
    its SQL. Variables have the values of the sentence, or else those of their examples.
    """
    for number, entry in enumerate(read_array(path)):
        try:
            examples = {each["name"]: each["example"] for each in entry.get("variables", ())}
            if not isinstance(entry["sql"], list):
                raise TypeError("sql is no list")
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
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"{path}: entry {number}: expected sql, and sentences with text and variables:"
                f" {error!r}"
            ) from error


def _put_values(text: str, values: dict[str, str]) -> str:
    """
    >>> _put_values("name1 of name10", {"name1": "a", "name10": "b"})
    'a of b'
    """
    if not values:
        return text
    names = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    return re.sub(rf"(?<!\w)({names})(?!\w)", lambda match: values[match[1]], text)


_SPIDER2_GOLD = "evaluation_suite/gold"
_SPIDER2_DOCUMENTS = "resource/documents"
_INSTANCE = re.compile(r"\w{1,100}", re.ASCII)


def read_spider2(path: Path) -> Iterator[Any]:
    """Yield the questions of Spider 2.0-lite (Lei et al., 2025) on SQLite. Gold SQL is in ID.sql,
    or ID_1.sql and so on; the rule `spider2` compares its answers. Without gold SQL it is "", and
    the row has the published answers: ID.csv, or ID_a.csv and so on.
    """
    gold = path.parent / _SPIDER2_GOLD
    settings = gold / "spider2lite_eval.jsonl"
    terms = {}
    if settings.is_file():
        terms = {str(entry.get("instance_id")): entry for _, entry in read_lines(settings)}
    for where, row in read_lines(path):
        name = row.get("instance_id")
        if not isinstance(name, str) or not name.startswith("local"):
            continue  # on BigQuery or Snowflake
        if not _INSTANCE.fullmatch(name):  # it names files
            words = "expected letters, digits and _, at most 100"
            raise InputError(f"{where}: instance_id is {name!r:.120}: {words}")
        files = [gold / f"sql/{name}.sql", *list_files(gold / "sql", f"{name}_*.sql")]
        queries = [_read_text(file).strip() for file in files if file.is_file()]
        evidence = _read_document(path.parent, row.get("external_knowledge"), where)
        known = {"query": queries or "", "evidence": evidence, "grading_method": "spider2"}
        yield row | known | ({} if queries else _read_answers(gold, name, terms.get(name, {})))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected text as UTF-8: {error}") from error


def _read_answers(gold: Path, name: str, terms: dict[str, Any]) -> dict[str, Any]:
    """Return the accepted answers of a question, cut to the columns that count, and the rule:
    further columns are allowed, and a CSV file does not distinguish numbers from text."""
    results = gold / "exec_result"
    files = [results / f"{name}.csv", *list_files(results, f"{name}_[a-z].csv")]
    files = [file for file in files if file.is_file()]
    counting = terms.get("condition_cols") or []
    if isinstance(counting, list) and not all(isinstance(wanted, list) for wanted in counting):
        # One list for all files; a None in it is ignored.
        counting = [[index for index in counting if index is not None]] * len(files)
    if not isinstance(counting, list) or not all(
        _is_place(index) for wanted in counting for index in wanted
    ):
        words = f"condition_cols of {name}: expected places of columns, found {counting!r:.80}"
        raise InputError(f"{gold}/spider2lite_eval.jsonl: {words}")
    answers, extra_columns = [], 1
    for file, wanted in zip(files, chain(counting, repeat(())), strict=False):
        try:
            with file.open(encoding="utf-8-sig", newline="") as text:
                lines = [line for line in csv.reader(text, strict=True) if line]
            columns = list(zip(*lines, strict=True))
            chosen = [columns[index] for index in wanted] or columns
        except (ValueError, TypeError, IndexError, csv.Error) as error:
            words = f"{file}: expected a table, and in it columns {wanted}: {error}"
            raise InputError(words) from error
        rows = list(zip(*chosen, strict=True))[1:]
        answers.append([[cell or None for cell in row] for row in rows])
        extra_columns = max(extra_columns, 1 + len(columns) - len(chosen))
    option = f",extra_columns={extra_columns}" if extra_columns > 1 else ""
    return {
        ACCEPTED_ANSWERS: answers,
        "order_matters": not terms.get("ignore_order"),
        "grading_method": f"spider2,numeric_text{option}",
    }


def _is_place(value: Any) -> bool:
    return type(value) is int and value >= 0


def _read_document(root: Path, name: Any, where: str) -> str | None:
    if not isinstance(name, str) or not name.strip():
        return None
    try:
        document = find_inside(root / _SPIDER2_DOCUMENTS, Path(name).name)
        return _read_text(document) if document.is_file() else None
    except (InputError, OSError, UnicodeEncodeError) as error:
        raise InputError(f"{where}: external_knowledge is {name!r:.120}: {error}") from error
