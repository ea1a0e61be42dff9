"""Write the dataset as an SQLite file to browse: selected questions, and excluded ones with
reasons.

Full-text search covers question and SQL. The indexes are declared in the way in which sqlite-utils
and datasette detect them. The same questions give the same bytes, in most versions of SQLite.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from answerkey.base.records import encode_json, replace_file
from answerkey.exports.prompts import PromptExample

_PAGE_BYTES = 4096
_LAYOUT = f"""
PRAGMA page_size = {_PAGE_BYTES};
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA secure_delete = ON;
CREATE TABLE questions (
    question_id TEXT PRIMARY KEY,
    question_text TEXT NOT NULL,
    evidence TEXT,
    database_name TEXT NOT NULL,
    split TEXT NOT NULL,
    difficulty TEXT NOT NULL,
    hardness TEXT NOT NULL,
    answer_type TEXT NOT NULL,
    gold_sql TEXT NOT NULL,
    gold_answer TEXT NOT NULL, -- JSON
    engine TEXT NOT NULL,
    order_matters INTEGER NOT NULL,
    max_steps INTEGER, -- NULL if the engine counts none
    max_cpu_s INTEGER, -- else NULL
    rule TEXT NOT NULL,
    accepted_rows TEXT, -- JSON
    other_answers TEXT, -- JSON
    test_suite TEXT, -- JSON
    database_sha256 TEXT NOT NULL,
    tables_involved TEXT NOT NULL, -- JSON array
    flags TEXT NOT NULL, -- JSON array
    answer_risk REAL,
    sql_risk REAL
);
CREATE TABLE excluded (
    question_id TEXT PRIMARY KEY,
    question_text TEXT NOT NULL,
    database_name TEXT NOT NULL,
    stage TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    gold_sql TEXT NOT NULL,
    flags TEXT NOT NULL, -- JSON array
    answer_risk REAL,
    sql_risk REAL
);
"""
_ADD_CLOCK = "ALTER TABLE questions ADD COLUMN now TEXT"  # if the corpus of a question has one
_INDEXES = """
CREATE INDEX questions_database_name ON questions (database_name);
CREATE VIRTUAL TABLE questions_fts USING fts5 (
    question_text, gold_sql, tokenize='porter', content=[questions]);
CREATE VIRTUAL TABLE excluded_fts USING fts5 (
    question_text, gold_sql, tokenize='porter', content=[excluded]);
INSERT INTO questions_fts (questions_fts) VALUES ('rebuild');
INSERT INTO excluded_fts (excluded_fts) VALUES ('rebuild');
INSERT INTO questions_fts (questions_fts) VALUES ('optimize');
INSERT INTO excluded_fts (excluded_fts) VALUES ('optimize');
"""
_OF_QUESTION = (
    "question_id",
    "question_text",
    "evidence",
    "database_name",
    "split",
    "difficulty",
    "hardness",
    "answer_type",
    "gold_sql",
)
_OF_EXCLUDED = (
    "question_id",
    "question_text",
    "database_name",
    "stage",
    "reason",
    "detail",
    "gold_sql",
)
# From https://sqlite.org/fileformat2.html: the end of the file's header, and the kinds of b-tree
# pages with the lengths of their headers.
_FILE_HEADER_BYTES = 100
_PAGE_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}


def _make_question_row(example: PromptExample) -> tuple[Any, ...]:
    question = example.question
    terms = [value for name, value in example.reward_terms.items() if name != "now"]
    return (
        *(getattr(question, name) for name in _OF_QUESTION),
        example.ground_truth,
        *terms,
        encode_json(question.tables_involved).decode(),
        _list_codes(question.flags),
        question.answer_risk,
        question.sql_risk,
    )


def _make_excluded_row(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return the row of an excluded question; lone surrogates, which SQLite cannot hold, are
    escaped."""
    texts = (record[name].encode("utf-8", "backslashreplace").decode() for name in _OF_EXCLUDED)
    return *texts, _list_codes(record["flags"]), record["answer_risk"], record["sql_risk"]


def _list_codes(flags: list[dict[str, Any]]) -> str:
    return encode_json(sorted({flag["code"] for flag in flags})).decode()


@contextmanager
def write_questions_db(
    path: Path, excluded: Iterable[dict[str, Any]], *, has_clock: bool = False
) -> Iterator[Callable[[PromptExample], object]]:
    """Yield a function that adds a question; the file replaces `path` when the block ends."""

    def insert(table: str, row: tuple[Any, ...]) -> None:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def add_question(example: PromptExample) -> None:
        clock = (example.question.now,) if has_clock else ()
        insert("questions", _make_question_row(example) + clock)

    with replace_file(path) as file:
        with closing(sqlite3.connect(file.name)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")  # an incomplete file is thrown away
            connection.executescript(_LAYOUT)
            if has_clock:
                connection.execute(_ADD_CLOCK)
            with connection:
                yield add_question
                for record in excluded:
                    insert("excluded", _make_excluded_row(record))
            connection.executescript(_INDEXES)
            connection.execute("VACUUM")
        with open(file.name, "r+b") as written:
            _drop_traces(written)


def _drop_traces(file: BinaryIO) -> None:
    """Clear bytes that depend on how the file was written, and not on its content."""
    # The change counter, the version that it is valid for, and SQLite's version number.
    for offset, value in ((24, 1), (92, 1), (96, 0)):
        file.seek(offset)
        file.write(value.to_bytes(4, "big"))
    # Remains of earlier cells, between the list of a page's cells and the first cell.
    for page_start in range(0, file.seek(0, os.SEEK_END), _PAGE_BYTES):
        file.seek(page_start)
        page = file.read(_PAGE_BYTES)
        header = _FILE_HEADER_BYTES if page_start == 0 else 0
        if page[header] in _PAGE_HEADER_BYTES:
            cells = int.from_bytes(page[header + 3 : header + 5], "big")
            unused = header + _PAGE_HEADER_BYTES[page[header]] + 2 * cells
            first_cell = int.from_bytes(page[header + 5 : header + 7], "big")
            file.seek(page_start + unused)
            file.write(bytes(first_cell - unused))
