"""Files of questions: whatever their fields are called, and what is wrong with them."""

from __future__ import annotations

import datetime
import io
import json
import zipfile
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
        ("q.csv", "question,sql,sql \na,b,c\n", r"several columns are called sql: keep one"),
        ("q.csv", "question,sql\na,b\rc,d\n", r"line 2: a row ends with CR, and others with LF"),
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


@pytest.mark.parametrize(
    "end", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"]
)
def test_only_line_feeds_and_carriage_returns_end_a_line(tmp_path: Path, end: str) -> None:
    text = f'question,sql\nHow{end}many?,"{SQL}{end}"\nTwo{end}, SELECT 2\n'
    (tmp_path / "q.csv").write_text(text, encoding="utf-8")
    rows = [{"question": f"How{end}many?", "sql": f"{SQL}{end}"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "q.jsonl").write_text(lines, encoding="utf-8")
    first, second = read_questions(tmp_path / "q.csv").questions
    assert (first.text, first.sql) == (f"How{end}many?", (f"{SQL}{end}",))
    assert (second.text, second.sql) == (f"Two{end}", (" SELECT 2",))
    assert read_questions(tmp_path / "q.jsonl").questions == [first]


CAFES = {"question": "Wie viele Cafés?", "sql": SQL, "hint": "größer"}


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.json", "q.jsonl"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_other_encodings_are_read_or_told_in_one_line(
    tmp_path: Path, name: str, encoding: str
) -> None:
    mark = {"q.csv": ",", "q.tsv": "\t"}.get(name)
    text = "\n".join([mark.join(CAFES), mark.join(CAFES.values())]) if mark else ""
    text = text or json.dumps([CAFES] if name == "q.json" else CAFES, ensure_ascii=False)
    (tmp_path / name).write_bytes(f"{text}\n".encode(encoding))
    if encoding == "cp1252":
        line = 2 if mark else 1
        with pytest.raises(InputError, match=rf"{name}: line {line}: byte 0xE9 is not UTF-8: save"):
            read_questions(tmp_path / name)
    elif (encoding, name) == ("utf-16", "q.jsonl"):
        with pytest.raises(InputError, match=r"q\.jsonl: the text is UTF-16: save it as UTF-8"):
            read_questions(tmp_path / name)
    else:
        (question,) = read_questions(tmp_path / name).questions
        assert question == (CAFES["question"], (SQL,), None, "train", {"evidence": "größer"})


def test_workbook_is_read_as_excel_shows_it(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra `convert`")
    book = openpyxl.Workbook()
    rows: list[list[Any]] = [
        ["question", "sql", "hint"],
        ["How many?", "SELECT 1_x000D_\n_x005F_x000D_", datetime.date(2024, 2, 29)],
        [],
        ["Two?", "SELECT 2", 5],
    ]
    for row in rows:
        book.active.append(row)
    book.create_sheet("more").append(["Three?", "SELECT 3"])
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'<dimension ref="A1:C4" />', b'<dimension ref="A1" />')
    assert b'ref="A1"' in parts[sheet]
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    given = read_questions(tmp_path / "a.xlsx")
    assert [question.sql for question in given.questions] == [
        ("SELECT 1\r\n_x000D_",),
        ("SELECT 2",),
    ]
    assert [question.kept["evidence"] for question in given.questions] == [
        "2024-02-29 00:00:00",
        "5",
    ]
    assert given.notes == ["sheets that are not read: more"]
    book.active.append(["Four?"])
    book.save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="no sql in row 5"):
        read_questions(tmp_path / "b.xlsx")


def test_damaged_workbook_is_an_error_in_a_line(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra `convert`")
    book = openpyxl.Workbook()
    book.active.append(["question", "sql"])
    book.active.append(["How many?", SQL])
    book.save(tmp_path / "a.xlsx")
    whole = (tmp_path / "a.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.xlsx") as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    damaged = [whole[: len(whole) * part // 8] for part in range(8)]
    for name in parts:
        for content in (parts[name][: len(parts[name]) // 2], b"<a>", b"", None):
            target = io.BytesIO()
            with zipfile.ZipFile(target, "w") as packed:
                for other, kept in (parts | {name: content}).items():
                    if kept is not None:
                        packed.writestr(other, kept)
            damaged.append(target.getvalue())
    refused = 0
    for content in damaged:
        (tmp_path / "b.xlsx").write_bytes(content)
        try:
            given = read_questions(tmp_path / "b.xlsx")
        except InputError:
            refused += 1
        else:
            assert given.questions == [("How many?", (SQL,), None, "train", {})]
    assert refused > len(damaged) // 2


def test_file_of_questions_is_found_among_tables(tmp_path: Path) -> None:
    (tmp_path / "ship.csv").write_text("name\nSun\n", encoding="utf-8")
    words = r"has none: expected one file of questions .*ship\.csv: found the fields name: expected"
    with pytest.raises(InputError, match=words):
        find_questions(tmp_path)
    asked = write(tmp_path / "asked.json", [{"question": "How many?", "sql": SQL}])
    assert find_questions(tmp_path) == asked
    write(tmp_path / "more.json", [{"question": "How many?", "sql": SQL}])
    with pytest.raises(InputError, match=r"has asked\.json, more\.json"):
        find_questions(tmp_path)
    named = write(tmp_path / "questions.json", [{"question": "How many?", "sql": SQL}])
    assert find_questions(tmp_path) == named


@pytest.mark.parametrize("field", ["evidence", "difficulty", "grading_method", "db_id", "split"])
@pytest.mark.parametrize("value", [["x", "y"], {"a": 1}, True])
def test_field_that_holds_no_text_is_an_error(tmp_path: Path, field: str, value: Any) -> None:
    rows = [
        {"question": "a", "sql": "SELECT 1"},
        {"question": "b", "sql": "SELECT 2", field: value},
    ]
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(InputError, match=rf"row 1: {field} is .*: expected text"):
        read_questions(path)


@pytest.mark.parametrize(("value", "kept"), [(3, "3"), (1.5, "1.5"), ([], None), (None, None)])
def test_number_is_text_and_nothing_is_none(tmp_path: Path, value: Any, kept: str | None) -> None:
    row = {"question": "a", "sql": "SELECT 1", "difficulty": value}
    path = tmp_path / "q.json"
    path.write_text(json.dumps([row, {**row, "difficulty": float("nan")}]), encoding="utf-8")
    first, second = read_questions(path).questions
    assert first.kept.get("difficulty") == kept
    assert second.kept == {}


def test_field_that_gives_way_to_another_is_told(tmp_path: Path) -> None:
    rows = [
        {"question": "a", "sql": "SELECT 1", "evidence": "x", "tags": "y"},
        {"question": "b", "sql": "SELECT 2", "hint": "z", "query": {"parsed": 1}, "text": ""},
    ]
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert read_questions(path).notes == ["hint is not read, since evidence is evidence"]


@pytest.mark.parametrize("field", ["question", "sql", "evidence", "db_id", "other_sql"])
def test_half_of_a_character_is_an_error(tmp_path: Path, field: str) -> None:
    row = {"question": "a", "sql": "SELECT 1", field: "SELECT '\ud800'"}
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"line 1: {field} has '\\ud800', which is half"):
        read_questions(path)
