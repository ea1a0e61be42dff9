"""JSON arrays that are read element by element: a file of gigabytes is never held as a whole."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from answerkey.corpus.corpora import (
    DIFFICULTY,
    GRADING_METHOD,
    Corpus,
    DirectoryDatabases,
    DirectoryQuestions,
    Layout,
    describe_root,
    suggest_names,
)
from answerkey.corpus.hub import HubError, Limits, fetch_file, resolve_revision
from answerkey.errors import InputError
from answerkey.params import ALL, HubQuestions
from answerkey.records import read_jsonl
from answerkey.scoring.rules import read_rule
from answerkey.sqlite.files import check_db_id, check_db_ids

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


# Questions as a corpus holds them: every row of its files, in order, checked and unaltered.


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """A row of a question file; evidence is '' where there is none; `source` says which row of
    which file of which corpus, and holds what else its layout keeps."""

    db_id: str
    query: str
    question: str
    evidence: str
    split: str
    source: dict[str, Any]


def read_source_questions(corpus: Corpus, *, limits: Limits) -> Iterator[SourceQuestion]:
    """All rows of a corpus: train, then validation, each in the order of its files.

    Rows are read when they are asked for, so that an error is raised when its row is reached.

    Raises:
        FileNotFoundError: where a directory or a file of it is missing.
        ConnectionError: "Failed to download Spider dataset: ...".
        InputError: with file and row, where a row has no text for a field of its layout, or names
            a rule of comparison that is none.
    """
    if isinstance(corpus.questions, DirectoryQuestions):
        return _read_directory(corpus, corpus.questions)
    return _read_hub(corpus, corpus.questions, limits)


def list_db_ids(corpus: Corpus, *, limits: Limits) -> list[str]:
    """The ids that db_list means, sorted. `all`: of every database that has questions.

    Raises:
        as `read_source_questions` and `choose_db_ids`, where it is `all`.
    """
    if corpus.db_list != ALL:
        return sorted(corpus.db_list)
    questions = read_source_questions(corpus, limits=limits)
    return choose_db_ids(corpus, ALL, {question.db_id for question in questions})


def choose_db_ids(
    corpus: Corpus, db_ids: str | Iterable[str], with_questions: set[str]
) -> list[str]:
    """The listed ids, sorted, or with `all` those of all databases that have questions.

    Raises:
        InputError: where there is no question at all, where a listed database has none, or where
            questions have no database.
    """
    if not with_questions:
        files = ", ".join(name for names in corpus.questions.files.values() for name in names)
        raise InputError(
            f"Corpus {corpus.name} has no question: expected some in {files or 'a file'}"
            f" (corpora.{corpus.name}.questions in params.yaml)"
        )
    if db_ids == ALL:
        if isinstance(corpus.databases, DirectoryDatabases):
            present = corpus.databases.list_ids()
            if missing := sorted(with_questions.difference(present)):
                raise InputError(
                    f"Questions of {', '.join(missing[:5])} ({len(missing)} in all) have no"
                    f" database in {corpus.databases}; {suggest_names(missing[0], present)};"
                    " expected one for each, or a db_list without them"
                )
        return sorted(check_db_ids(with_questions))
    checked = sorted(check_db_ids(db_ids))
    for db_id in checked:
        if db_id not in with_questions:
            raise InputError(
                f"Database {db_id} has no question in corpus {corpus.name}:"
                f" {suggest_names(db_id, with_questions)}"
            )
    return checked


def _read_directory(corpus: Corpus, questions: DirectoryQuestions) -> Iterator[SourceQuestion]:
    for split, names in questions.files.items():
        for name in names:
            path = questions.root / name
            if not path.is_file():
                raise FileNotFoundError(_describe_missing(corpus, questions, name))
            if not path.stat().st_size:
                raise InputError(f"{path}: the file is empty, expected questions")
            rows = read_jsonl(path) if path.suffix == ".jsonl" else read_array(path)
            place = {"corpus": corpus.name, "file": name}
            yield from _check_rows(rows, corpus.layout, split, place, str(path))


def _describe_missing(corpus: Corpus, questions: DirectoryQuestions, name: str) -> str:
    """What is wrong with a root that lacks a file of questions."""
    expected = [file for files in questions.files.values() for file in files]
    databases = corpus.databases
    if isinstance(databases, DirectoryDatabases) and corpus.owner == corpus.name:
        expected.append(" or ".join(f"{folder}/ID/ID.sqlite" for folder in databases.folders))
    words = describe_root(corpus.name, questions.root, name, expected, section="questions")
    for split, files in questions.files.items():
        if files and all((questions.root / file).is_file() for file in files):
            few = f"{{{split}: [{', '.join(files)}]}}"
            words += f"; for {split} alone set corpora.{corpus.name}.questions: {few}"
    return words


def _read_hub(corpus: Corpus, questions: HubQuestions, limits: Limits) -> Iterator[SourceQuestion]:
    try:
        revision = resolve_revision(questions.repo_id, questions.revision, limits=limits)
        paths = {
            name: fetch_file(
                questions.repo_id,
                revision,
                name,
                limits=limits,
                sha256=questions.sha256.get(name),
                check=_check_parquet,
            )
            for names in questions.files.values()
            for name in names
        }
    except HubError as error:
        raise ConnectionError(f"Failed to download Spider dataset: {error}") from error
    place = {"corpus": corpus.name, "repo_id": questions.repo_id, "revision": revision}
    for split, names in questions.files.items():
        for name in names:
            where = f"{name} of {questions.repo_id} at {revision}"
            rows = _read_parquet(paths[name], corpus.layout, where)
            yield from _check_rows(rows, corpus.layout, split, place | {"file": name}, where)


def _check_parquet(path: Path) -> None:
    """Nothing, where every row of the file can be read.

    Raises:
        ValueError: "not a whole parquet file: ...".
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches():
                pass
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"not a whole parquet file: {error}") from error


def _read_parquet(path: Path, layout: Layout, where: str) -> Iterator[dict[str, Any]]:
    import datasets
    from pyarrow import parquet

    columns = parquet.read_schema(path).names
    if missing := [column for column in layout.required if column not in columns]:
        raise InputError(
            f"{where}: no column {missing[0]!r} among {columns}, expected {layout.required}"
        )
    wanted = [*layout.required, *(column for column in layout.optional if column in columns)]
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(prefix="answerkey-") as cache_dir:
        yield from datasets.Dataset.from_parquet(
            str(path), columns=wanted, cache_dir=cache_dir, keep_in_memory=True
        )


def _check_rows(
    rows: Iterable[Any], layout: Layout, split: str, source: dict[str, Any], where: str
) -> Iterator[SourceQuestion]:
    for index, row in enumerate(rows):
        values = [row.get(name) for name in layout.required] if isinstance(row, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            raise InputError(
                f"{where}: row {index}: expected text for {layout.required}, found {row!r:.200}"
                f" (corpora.{source['corpus']}.layout in params.yaml names the fields)"
            )
        try:
            check_db_id(values[0])
            evidence = _read_evidence(row, layout)
            kept = {name: row[name] for name in layout.kept if row.get(name) is not None}
            if row.get(layout.difficulty) is not None:
                kept[DIFFICULTY] = row[layout.difficulty]
            _check_rule(kept.get(GRADING_METHOD))
        except ValueError as error:
            raise InputError(f"{where}: row {index}: {error}") from error
        yield SourceQuestion(*values, evidence, split, source | {"index": index} | kept)


def _check_rule(rule: Any) -> None:
    """Make sure that a row names a rule of comparison, or none.

    Raises:
        ValueError: with what was expected.
    """
    if rule is None:
        return
    if not isinstance(rule, str):
        raise InputError(f"expected text for {GRADING_METHOD!r}, found {rule!r:.200}")
    try:
        read_rule(rule)
    except ValueError as error:
        raise InputError(f"{GRADING_METHOD}: {error}") from error


def _read_evidence(row: dict[str, Any], layout: Layout) -> str:
    """The evidence of a row as it stands there; '' where it is missing, null or blank."""
    evidence = None if layout.evidence is None else row.get(layout.evidence)
    if evidence is not None and not isinstance(evidence, str):
        raise InputError(f"expected text for {layout.evidence!r}, found {evidence!r:.200}")
    return evidence if evidence and evidence.strip() else ""
