"""A file of questions of a user: JSON, JSON Lines, CSV or Excel, whatever its fields are called."""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import list_files, read_json, read_lines
from answerkey.corpus.corpora import PAGE
from answerkey.intake.delimited import DelimitedText, explain_encoding, find_encoding
from answerkey.sections.corpora import TRAIN, VALIDATION

ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".xlsx")

QUESTION, SQL, DB_ID, SPLIT = ("question", "gold_sql", "db_id", "split")
EVIDENCE, DIFFICULTY, OTHERS, RULE = ("evidence", "difficulty", "other_sql", "grading_method")
# What a field may be called, in small letters with _ between words; the first that has text counts.
ALIASES = {
    QUESTION: "question question_text text utterance nl nl_question nlq natural_language"
    " natural_language_question user_question",
    SQL: "gold_sql sql query gold_query sql_query gold golden_sql answer_sql",
    DB_ID: "db_id database database_name database_id db db_name",
    SPLIT: "split partition subset",
    EVIDENCE: "evidence external_knowledge knowledge hint hints",
    DIFFICULTY: "difficulty hardness level sql_complexity",
    OTHERS: "other_sql other_queries alternative_sql alternatives",
    RULE: "grading_method",
}
# A source split, by what people call it.
SPLITS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(
        ("validation", "valid", "val", "dev", "eval", "evaluation", "test"), VALIDATION
    ),
}
_MAX_NAMED = 5  # rows that an error names
# What openpyxl raises for a workbook that is damaged; a SyntaxError is one of XML.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, SyntaxError, RuntimeError),
    *(ValueError, TypeError, AttributeError, LookupError, AssertionError, OverflowError),
)


class GivenQuestion(NamedTuple):
    """A question as its file has it; sql: gold first, then others that are right, too."""

    text: str
    sql: tuple[str, ...]
    db_id: str | None
    split: str
    kept: dict[str, Any]


@dataclass(frozen=True, slots=True)
class GivenQuestions:
    """fields: what the file calls each field that is read, by our name for it.

    notes: what of the file is not read.
    """

    path: Path
    fields: dict[str, str]
    questions: list[GivenQuestion]
    notes: list[str] = field(default_factory=list)


def read_questions(path: Path) -> GivenQuestions:
    """Read all questions of a file; rows without anything are passed over.

    Raises:
        InputError: the file cannot be read, has no field for questions or for SQL, or rows without
            one of them; with what was found.
    """
    notes: list[str] = []
    rows = _read_rows(path, notes)
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    fields = {role: found for role in ALIASES if (found := _find_field(role, rows))}
    if missing := [role for role in (QUESTION, SQL) if role not in fields]:
        words = "; ".join(f"{role}, as {', '.join(ALIASES[role].split())}" for role in missing)
        found = ", ".join(columns) or "none"
        raise InputError(f"{path}: found the fields {found}: expected {words} ({PAGE})")
    bare: dict[str, list[str]] = {}
    questions = []
    for where, row in rows:
        given = {role: _read_field(path, where, role, row, name) for role, name in fields.items()}
        sql = _list_queries(given[SQL], given.get(OTHERS))
        for role, is_there in ((QUESTION, _is_text(given[QUESTION])), (SQL, bool(sql))):
            if not is_there:
                bare.setdefault(role, []).append(where)
        split = str(given.get(SPLIT) or TRAIN).strip().lower()
        if split not in SPLITS:
            known = ", ".join(SPLITS)
            words = f"{where}: {fields[SPLIT]} is {split!r}: expected one of {known}"
            raise InputError(f"{path}: {words}")
        db_id = given.get(DB_ID)
        kept = {role: given[role] for role in (EVIDENCE, DIFFICULTY, RULE) if given.get(role)}
        questions.append(
            GivenQuestion(
                str(given[QUESTION]), sql, str(db_id) if db_id else None, SPLITS[split], kept
            )
        )
    if bare:
        words = "; ".join(
            f"no {fields[role]} in {', '.join(places[:_MAX_NAMED])}"
            + (f" and {len(places) - _MAX_NAMED} more" if len(places) > _MAX_NAMED else "")
            for role, places in bare.items()
        )
        raise InputError(f"{path}: {words}: expected text for each question")
    notes += _list_unread(columns, fields, rows)
    return GivenQuestions(path, fields, questions, notes)


def _read_field(path: Path, where: str, role: str, row: dict[str, Any], name: str) -> Any:
    """What a row has in a field: for SQL perhaps a list, otherwise a text or None.

    Raises:
        InputError: it is neither, or has half of a character, which no file can hold.
    """
    value = row.get(name)
    queries = value if isinstance(value, list) else [value]
    for text in queries:
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            words = (
                f"{where}: {name} has {error.object[error.start]!a}, which is half of a character"
            )
            raise InputError(f"{path}: {words}: remove it, or write both halves") from error
    if role in (QUESTION, SQL, OTHERS) or isinstance(value, str):
        return value
    if value in (None, [], {}) or value != value:  # NaN is what pandas writes for nothing
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{path}: {where}: {name} is {value!r:.80}: expected text")


def _list_unread(
    columns: Iterable[str], fields: dict[str, str], rows: list[tuple[str, dict[str, Any]]]
) -> list[str]:
    """A note on each field that has a name of ours, and text, and gives way to another one."""
    names = {alias: role for role, aliases in ALIASES.items() for alias in aliases.split()}
    return [
        f"{column} is not read, since {role} is {fields[role]}"
        for column in columns
        if (role := names.get(_spell_name(column))) and fields.get(role, column) != column
        if any(_is_text(row.get(column)) for _, row in rows)
    ]


def _find_field(role: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> str | None:
    """What the file calls a field: the first alias with a text, or for SQL a list of texts. Spider
    has its queries as `query`, and as `sql` what its parser made of them."""
    spelled: dict[str, str] = {}
    for _, row in rows:
        for name, value in row.items():
            if _is_given(role, value):
                spelled.setdefault(_spell_name(name), name)
    return next((spelled[alias] for alias in ALIASES[role].split() if alias in spelled), None)


def _is_given(role: str, value: Any) -> bool:
    if role in (SQL, OTHERS):
        return bool(_list_queries(value))
    # A number or a list in another field is read, or is an error; it is not passed over.
    is_other = role != QUESTION and value not in (None, "", [], {}) and value == value
    return _is_text(value) or (is_other and not isinstance(value, str))


def _spell_name(name: str) -> str:
    return "_".join(name.lower().replace("-", " ").split())


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _list_queries(*values: Any) -> tuple[str, ...]:
    """The queries of fields that each hold one, or a list."""
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return tuple(dict.fromkeys(part for part in parts if _is_text(part)))


def _read_rows(path: Path, notes: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """The rows of a file, each with its place. notes: take what of it is not read."""
    ending = path.suffix.lower()
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: expected a file of questions")
    if ending in (".json", ".jsonl"):
        _check_encoding(path)
    if ending == ".jsonl":
        rows = [(f"line {where.rpartition(':')[2]}", row) for where, row in read_lines(path)]
    elif ending == ".json":
        rows = [(f"row {number}", row) for number, row in enumerate(_read_array(path))]
    elif ending in (".csv", ".tsv"):
        rows = _read_csv(path)
    elif ending == ".xlsx":
        rows = _read_excel(path, notes)
    else:
        raise InputError(f"{path}: expected a file of questions: {', '.join(ENDINGS)}")
    return [(where, row) for where, row in rows if any(v not in (None, "") for v in row.values())]


def _check_encoding(path: Path) -> None:
    encoding = find_encoding(path)
    if (fault := explain_encoding(path, encoding)) is not None:
        raise fault
    if path.suffix.lower() == ".jsonl" and not encoding.startswith("utf-8"):
        raise InputError(f"{path}: the text is {encoding.upper()}: save it as UTF-8")


def _read_array(path: Path) -> list[dict[str, Any]]:
    """The objects of an array, or of the one array that an object holds."""
    value = read_json(path, is_own=False)
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if len(lists) == 1 else value
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise InputError(f"{path}: expected an array of objects, one a question")
    return value


def _read_csv(path: Path) -> list[tuple[str, dict[str, Any]]]:
    text = DelimitedText(path)
    names = _check_names(path, text.header)
    return [
        (f"line {lines[0]}", dict(zip(names, cells, strict=False)))
        for lines, cells in text.read_rows()
    ]


def _check_names(path: Path, header: Iterable[str]) -> list[str]:
    names = [name.strip() for name in header]
    repeated = [name for name, count in Counter(filter(None, names)).items() if count > 1]
    if repeated:
        raise InputError(f"{path}: several columns are called {', '.join(repeated)}: keep one")
    return names


def _read_excel(path: Path, notes: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """The rows of the first sheet, whose first row has the names."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # some programs write that a sheet is one cell, or none
        lines = [[*map(_read_cell, line)] for line in sheet.iter_rows(values_only=True)]
        others = [other.title for other in book.worksheets[1:]]
        book.close()
    except (InvalidFileException, *_DAMAGE) as error:
        words = f"expected a workbook of Excel, which is whole and has no password: {error}"
        raise InputError(f"{path}: {words}") from error
    if others:
        notes.append(f"sheets that are not read: {', '.join(others)}")
    names = _check_names(path, ["" if name is None else name for name in next(iter(lines), [])])
    return [
        (f"row {number}", {name: v for name, v in zip(names, values, strict=False) if name})
        for number, values in enumerate(lines[1:], start=2)
    ]


def _read_cell(value: Any) -> str | None:
    """The text of a cell of Excel, which writes a carriage return as `_x000D_`."""
    from openpyxl.utils.escape import unescape

    text: str = unescape(value) if isinstance(value, str) else str(value)
    return None if value is None else text


def find_questions(folder: Path) -> Path:
    """The file of a folder that holds questions: `questions` with an ending, or the only one that
    has the fields.

    Raises:
        InputError: there is none, or several; with what is wrong with the first files.
    """
    files = [path for path in list_files(folder, "*") if path.suffix.lower() in ENDINGS]
    named = [path for path in files if path.stem.lower() == "questions"]
    faults = {} if named else {path: _find_fault(path) for path in files}
    chosen = named or [path for path in files if faults[path] is None]
    if len(chosen) != 1:
        words = f"has {', '.join(path.name for path in chosen)}" if chosen else "has none"
        shown = [] if chosen else [fault for fault in faults.values() if fault][:_MAX_NAMED]
        raise InputError(
            f"{folder}: {words}: expected one file of questions ({', '.join(ENDINGS)}), or"
            f" --questions FILE{''.join(f'; {fault}' for fault in shown)}"
        )
    return chosen[0]


def _find_fault(path: Path) -> str | None:
    """Why a file is none of questions; None: it is one."""
    try:
        read_questions(path)
    except InputError as error:
        return str(error)
    return None
