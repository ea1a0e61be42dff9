"""Files of questions and of gold SQL as texts, with the position of each row, field and line.

One of these can be replaced or removed while every other character stays the same: order, indents,
escapes and line ends. Bytes that are not UTF-8 stay the same, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from answerkey.base.errors import InputError
from answerkey.base.records import refuse_repeated_keys
from answerkey.corpus.corpora import LAYOUTS, Layout
from answerkey.corpus.import_corrections import fold_sql
from answerkey.corpus.readers import read_source_rows
from answerkey.corpus.records import SourceQuestion
from answerkey.engines.sqlite.files import check_db_id

# Layouts with files that have each question and its SQL in one row.
ROW_LAYOUTS = {name: each for name, each in LAYOUTS.items() if each.read is read_source_rows}

Span = tuple[int, int]

_BLANKS = re.compile(r"[\s\ufeff]*")
_LINE = re.compile(r"[^\n]+")
_raw_decode = json.JSONDecoder(object_pairs_hook=refuse_repeated_keys).raw_decode


def read_text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    """Return the bytes of a text from `read_text`."""
    return text.encode("utf-8", "surrogateescape")


class Member(NamedTuple):
    """A member of an array or object: its start, with its key; its end; and its value."""

    start: int
    end: int
    key: str | None
    value: Any
    value_start: int

    @property
    def span(self) -> Span:
        return self.start, self.end


def list_members(text: str) -> Iterator[Member]:
    """Yield the members of the array or object at the start of a text.

    >>> text = '{"a": [1], "b": "c"}'
    >>> [(text[each.start : each.end], each.value) for each in list_members(text)]
    [('"a": [1]', [1]), ('"b": "c"', 'c')]

    Raises:
        json.JSONDecodeError: it is no JSON.
    """
    start = _skip_blanks(text, 0)
    end = {"[": "]", "{": "}"}.get(text[start : start + 1])
    if end is None:
        raise json.JSONDecodeError("Expecting [ or {", text, start)
    position = _skip_blanks(text, start + 1)
    if text[position : position + 1] == end:
        return
    while True:
        first, key = position, None
        if end == "}":
            key, position = _raw_decode(text, position)
            position = _skip_blanks(text, _expect(":", text, _skip_blanks(text, position)))
        value, behind = _raw_decode(text, position)
        yield Member(first, behind, key, value, position)
        position = _skip_blanks(text, behind)
        if text[position : position + 1] == end:
            return
        position = _skip_blanks(text, _expect(",", text, position))


def _list_array(text: str) -> Iterator[Member]:
    """Yield the members of an array that is the whole text."""
    end = _skip_blanks(text, 0)
    if text[end : end + 1] != "[":
        raise json.JSONDecodeError("Expecting [", text, end)
    for member in list_members(text):
        yield member
        end = member.end
    if text[end:].strip().removeprefix("[").strip() != "]":
        raise json.JSONDecodeError("Expecting the end behind ]", text, end)


def _list_lines(text: str) -> Iterator[Member]:
    """Yield the values of JSON Lines; blank lines are skipped."""
    for line in _LINE.finditer(text):
        start = _skip_blanks(text, line.start())
        if start < line.end():
            value, end = _raw_decode(text, start)
            if end > line.end() or text[end : line.end()].strip():
                raise json.JSONDecodeError("Expecting one value in each line", text, start)
            yield Member(start, end, None, value, start)


def _skip_blanks(text: str, start: int) -> int:
    return cast("re.Match[str]", _BLANKS.match(text, start)).end()


def _expect(mark: str, text: str, position: int) -> int:
    if text[position : position + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark}", text, position)
    return position + 1


def rejoin(text: str, spans: Sequence[Span], pieces: Iterable[str | None]) -> str:
    """Return the text with a piece in place of each span. If a piece is None, the span is removed,
    together with its separator from the span before.

    >>> rejoin("[1, 2, 3]", [(1, 2), (4, 5), (7, 8)], [None, "two", "3"])
    '[two, 3]'
    """
    if not spans:
        return text
    parts = [text[: spans[0][0]]]
    for index, piece in enumerate(pieces):
        if piece is not None:
            gap = text[spans[index - 1][1] : spans[index][0]] if len(parts) > 1 else ""
            parts.append(gap + piece)
    return "".join([*parts, text[spans[-1][1] :]])


# Files of questions


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """A file of questions.

    name: its path from the folder.
    spans: the position of each row in `text`.
    questions: the question of each row, as in `answerkey.corpus.corpora`.
    ids: the question_id of each row, or None.
    """

    name: str
    text: str
    layout: Layout
    spans: list[Span]
    questions: list[SourceQuestion]
    ids: list[Any]

    @property
    def db_ids(self) -> list[str]:
        return [question["database_name"] for question in self.questions]

    def quote(self, text: str) -> str:
        """Return a text as JSON, escaped to ASCII if the whole file is ASCII."""
        return json.dumps(text, ensure_ascii=self.text.isascii())


def read_question_file(root: Path, name: str, layouts: Mapping[str, Layout]) -> QuestionFile | None:
    """Return a file with questions; None if its first row does not have the fields of a layout.

    Raises:
        InputError: names the place where another row lacks them, or the file is not JSON.
    """
    path = root / name
    if path.suffix not in (".json", ".jsonl"):
        return None
    text = read_text(path)
    try:
        first = next(_list_rows(path, text), None)
    except InputError:  # no file of questions
        return None
    fitting = (each for each in layouts.values() if first is not None and _fits(first.value, each))
    layout = next(fitting, None)
    if layout is None:
        return None
    file = QuestionFile(name, text, layout, [], [], [])
    for index, row in enumerate(_list_rows(path, text)):
        file.spans.append(row.span)
        file.questions.append(_make_question(row.value, layout, path, name, index))
        file.ids.append(row.value.get("question_id"))
    return file


def _list_rows(path: Path, text: str) -> Iterator[Member]:
    """Yield the rows of JSON Lines, or of a JSON array.

    Raises:
        InputError: names the place where it is neither.
    """
    count = 0
    try:
        for row in _list_array(text) if path.suffix == ".json" else _list_lines(text):
            yield row
            count += 1
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # a repeated key, or too many brackets
        raise InputError(f"{path}: row {count}: {error}") from error


def _fits(row: Any, layout: Layout) -> bool:
    if not isinstance(row, dict):
        return False
    queries = row.get(layout.gold_sql)
    texts = queries if isinstance(queries, list) and queries else [queries]
    texts = [row.get(layout.db_id), row.get(layout.question), *texts]
    return all(isinstance(text, str) for text in texts)


def _make_question(row: Any, layout: Layout, path: Path, name: str, index: int) -> SourceQuestion:
    where = f"{path}: row {index}"
    if not _fits(row, layout):
        expected = ", ".join(layout.required)
        raise InputError(f"{where}: expected text for {expected}, found {row!r:.200}")
    try:
        db_id = check_db_id(row[layout.db_id])
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    queries = row[layout.gold_sql]
    evidence = None if layout.evidence is None else row.get(layout.evidence)
    record = {
        "question_text": row[layout.question],
        "database_name": db_id,
        "gold_sql": queries[0] if isinstance(queries, list) else queries,
        **({"evidence": evidence} if isinstance(evidence, str) else {}),
        "source": {"corpus": "", "file": name, "index": index},
    }
    return cast("SourceQuestion", record)


def rewrite_row(
    file: QuestionFile,
    index: int,
    changed: Mapping[str, str],
    *,
    sql: tuple[str, str],
    stale: Collection[str],
) -> tuple[str, list[str]]:
    """Return the text of a row with other values, and the names of the removed fields.

    changed: the values by field; a field that the row lacks is added at its end.
    sql: the second query replaces the first one in every field, and in a list in a field.
    stale: fields to remove.
    """
    start, end = file.spans[index]
    row = file.text[start:end]
    members = list(list_members(row))
    pieces: list[str | None] = []
    removed = []
    for member in members:
        key, value = str(member.key), member.value
        text = row[member.value_start : member.end]
        if value == sql[0]:
            text = file.quote(sql[1])
        elif isinstance(value, list) and sql[0] in value:
            each = list(list_members(text))
            texts = [file.quote(sql[1]) if one.value == sql[0] else None for one in each]
            kept = [new or text[one.start : one.end] for new, one in zip(texts, each, strict=True)]
            text = rejoin(text, [one.span for one in each], kept)
        elif key in changed:
            text = file.quote(changed[key])
        elif key in stale:
            pieces.append(None)
            removed.append(key)
            continue
        pieces.append(row[member.start : member.value_start] + text)
    last = members[-1]
    gap = row[members[-2].end : last.start]
    before_value = row[last.start : last.value_start]
    colon = before_value[before_value.rindex(":") :]
    added = [
        f"{gap}{file.quote(key)}{colon}{file.quote(value)}"
        for key, value in changed.items()
        if all(member.key != key for member in members)
    ]
    spans = [*(member.span for member in members), (last.end, last.end)]
    return rejoin(row, spans, [*pieces, "".join(added)]), removed


# Files of gold SQL: one line per question, with SQL, a tab and the database


class GoldLine(NamedTuple):
    """A line that is not blank."""

    span: Span
    sql: str
    db_id: str


def read_gold_lines(text: str) -> list[GoldLine] | None:
    """Return the lines of a file of gold SQL; None if one of them has no tab.

    >>> [(line.sql, line.db_id) for line in read_gold_lines("SELECT 1\\tfleet\\n\\n")]
    [('SELECT 1', 'fleet')]
    """
    lines = []
    for match in _LINE.finditer(text):
        if match[0].strip():
            sql, tab, db_id = match[0].rstrip().rpartition("\t")
            if not tab:
                return None
            lines.append(GoldLine(match.span(), sql, db_id))
    return lines


def find_gold_files(
    lines: Sequence[GoldLine], files: Sequence[QuestionFile]
) -> list[QuestionFile] | None:
    """Return the file to whose questions the lines belong, or several consecutive files, as for the
    train_gold.sql of Spider; None if the databases differ. Of files with the same databases, choose
    the one whose SQL is in most lines: a set may exist in two dialects."""
    known = {file.name: [fold_sql(q["gold_sql"]) for q in file.questions] for file in files}
    queries = [fold_sql(line.sql) for line in lines]

    def count_same(run: Sequence[QuestionFile]) -> int:
        expected = (sql for file in run for sql in known[file.name])
        return sum(query == other for query, other in zip(queries, expected, strict=True))

    return max(_list_runs([line.db_id for line in lines], files), key=count_same, default=None)


def _list_runs(db_ids: list[str], files: Sequence[QuestionFile]) -> Iterator[list[QuestionFile]]:
    if not db_ids:
        yield []
    for file in files:
        count = len(file.questions)
        if db_ids[:count] == file.db_ids:
            others = [each for each in files if each is not file]
            for run in _list_runs(db_ids[count:], others):
                yield [file, *run]


_QUOTED_OR_BLANK = re.compile(
    r"""('[^']*'|"[^"]*"|`[^`]*`|\[[^]]*])|(?:--[^\n]*|/\*.*?\*/|\s)+""", re.DOTALL
)


def put_in_line(sql: str) -> str:
    """Return SQL without line breaks and tabs; if it had some, also without comments.

    >>> put_in_line("SELECT 'a  b' -- two\\n\\tFROM t")
    "SELECT 'a  b' FROM t"

    Raises:
        InputError: one of its texts has a line break or a tab.
    """
    if not re.search(r"[\n\r\t]", sql):
        return sql
    line = _QUOTED_OR_BLANK.sub(lambda match: match[1] or " ", sql).strip()
    if re.search(r"[\n\r\t]", line):
        raise InputError(
            f"expected SQL without a line break or a tab in a text, found {sql!r:.200}"
        )
    return line
