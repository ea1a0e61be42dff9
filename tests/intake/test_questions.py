"""Files of questions: whatever their fields are called, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.intake.questions import find_questions, read_questions

SQL = "SELECT count(*) FROM ship"


def write(path: Path, rows: Any) -> Path:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("question", "sql", "db_id"),
    [
        ("question", "query", "db_id"),
        ("utterance", "gold_sql", "database"),
        ("NL Question", "SQL", "Database Name"),
        ("text", "gold-query", "db"),
    ],
)
def test_fields_are_found_by_any_of_their_names(
    tmp_path: Path, question: str, sql: str, db_id: str
) -> None:
    row = {question: "How many?", sql: SQL, db_id: "fleet", "other": 1}
    given = read_questions(write(tmp_path / "q.json", [row]))
    assert set(given.fields.values()) == {question, sql, db_id}
    assert given.questions == [("How many?", (SQL,), "fleet", "train", {})]


def test_same_questions_are_read_from_each_kind_of_file(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra `convert`")
    rows = [
        {"question": "Größte?", "sql": 'SELECT "a;b",\n1', "split": "dev", "hint": "x, y"},
        {"question": "Two", "sql": SQL, "split": "train", "hint": ""},
    ]
    write(tmp_path / "a.json", rows)
    write(tmp_path / "b.json", {"version": 1, "questions": rows})
    lines = "\n\n".join(json.dumps(row) for row in rows)
    (tmp_path / "c.jsonl").write_text(f"﻿{lines}\n", encoding="utf-8")
    for name, mark in (("d.csv", ","), ("e.csv", ";"), ("f.tsv", "\t")):
        cells = [[*rows[0]], *([*row.values()] for row in rows), [""] * 4]
        text = "".join(
            mark.join('"' + cell.replace('"', '""') + '"' for cell in line) + "\r\n"
            for line in cells
        )
        (tmp_path / name).write_bytes(f"﻿{text}".encode())
    book = openpyxl.Workbook()
    for line in ([*rows[0]], *([*row.values()] for row in rows), [None]):
        book.active.append(line)
    book.save(tmp_path / "g.xlsx")
    first, *others = (read_questions(path).questions for path in sorted(tmp_path.iterdir()))
    assert [question.split for question in first] == ["validation", "train"]
    assert first[0].kept == {"evidence": "x, y"}
    assert [other == first for other in others] == [True] * 6


def test_parsed_sql_beside_its_text_is_passed_over(tmp_path: Path) -> None:
    row = {"question": "How many?", "query": SQL, "sql": {"select": [False, []]}}
    assert read_questions(write(tmp_path / "q.json", [row])).fields["gold_sql"] == "query"


def test_several_right_queries_are_kept_in_their_order(tmp_path: Path) -> None:
    row = {"question": "How many?", "sql": [SQL, "SELECT 2", SQL], "other_sql": "SELECT 3"}
    (question,) = read_questions(write(tmp_path / "q.json", [row])).questions
    assert question.sql == (SQL, "SELECT 2", "SELECT 3")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "q.json",
            '[{"ask": "How many?", "answer": "3"}]',
            "found the fields ask, answer: ",
        ),
        ("q.json", "[]", "found the fields none"),
        ("q.json", '{"a": 1}', "expected an array of objects"),
        ("q.json", "[", "not JSON"),
        ("q.json", '[{"question": "a", "sql": "b"}, {"question": "a"}]', r"no sql in row 1"),
        ("q.jsonl", '{"question": "a", "sql": "b"}\n{"sql": "b"}\n', r"no question in line 2"),
        ("q.csv", "question,sql\na,b\n,b\nc,\n", r"no question in line 3; no sql in line 4"),
        ("q.csv", "question,sql\na,b,c\n", r"line 2: 3 values, expected 2: question, sql"),
        ("q.csv", 'question,sql\n"a,b\n', r"line 2: expected CSV"),
        ("q.csv", "question,sql,split\na,b,fold1\n", r"split is 'fold1': expected one of train"),
        ("q.xlsx", "no workbook", "expected a workbook of Excel"),
        ("q.txt", "question", r"expected a file of questions: \.json"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl", reason="needs the extra `convert`")
    with pytest.raises(InputError, match=f"{name}.*{words}"):
        read_questions(path)


def test_file_of_questions_is_found_among_tables(tmp_path: Path) -> None:
    (tmp_path / "ship.csv").write_text("name\nSun\n", encoding="utf-8")
    with pytest.raises(InputError, match="has none: expected one file of questions"):
        find_questions(tmp_path)
    asked = write(tmp_path / "asked.json", [{"question": "How many?", "sql": SQL}])
    assert find_questions(tmp_path) == asked
    write(tmp_path / "more.json", [{"question": "How many?", "sql": SQL}])
    with pytest.raises(InputError, match=r"has asked\.json, more\.json"):
        find_questions(tmp_path)
    named = write(tmp_path / "questions.json", [{"question": "How many?", "sql": SQL}])
    assert find_questions(tmp_path) == named
