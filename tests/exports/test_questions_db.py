"""questions.db: sqlite-utils and datasette give back what went in, and find it by its words."""

from __future__ import annotations

import importlib.util
import json
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.dataset import Question
from answerkey.exports.prompts import PromptExample
from answerkey.exports.questions_db import write_questions_db
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT

METADATA = ROOT / "docs/datasette.yaml"


def write_db(
    path: Path, texts: Iterable[tuple[int, str]], excluded: Iterable[dict[str, Any]] = ()
) -> None:
    with write_questions_db(path, excluded) as add_question:
        for number, text in texts:
            add_question(PromptExample(make_question(number, text), "", number))


def make_question(number: int, text: str) -> Question:
    return Question(
        question_id=f"a_train_{number:03d}",
        database_name="a",
        split="train",
        question_text=text,
        gold_sql="SELECT name FROM ship",
        source={},
        flags=[{"code": code} for code in "gcafbdecab"],
        gold_answer=["Sun", None, 2.5],
        answer_type="list",
        order_matters=True,
        tables_involved=["ship"],
        hardness="hard",
        difficulty="easy",
        max_steps=10**6,
        rule="strict",
        database_sha256="e3b0",
    )


@pytest.fixture(scope="module")
def path(exported: ExportWorld) -> Path:
    return exported.exports / "questions.db"


def test_every_question_is_in_it_unaltered(exported, path):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM questions")]
        excluded = [dict(row) for row in connection.execute("SELECT * FROM excluded")]
    questions = exported.questions("train") + exported.questions("eval")
    assert len(rows) == len(questions) == 35
    for row, question in zip(rows, questions, strict=True):
        decoded = {
            name: json.loads(row[name]) if name in ("gold_answer", "tables_involved") else row[name]
            for name in question
        }
        assert decoded == question
    records = exported.world.lines("data/questions/excluded.jsonl")
    for row, record in zip(excluded, records, strict=True):
        codes = sorted(flag["code"] for flag in record["flags"])
        assert row == {**{name: record[name] for name in row}, "flags": json.dumps(codes)}


def test_sqlite_utils_finds_questions_by_words(path):
    sqlite_utils = pytest.importorskip("sqlite_utils", reason="needs the extra `browse`")
    database = sqlite_utils.Database(path)
    table = database["questions"]
    found = table.search("captains voyage")  # only in SQL, and there in the singular
    with_voyage = {row["question_id"] for row in table.rows if "voyage" in row["gold_sql"]}
    assert {row["question_id"] for row in found} == with_voyage != set()
    assert [row["reason"] for row in database["excluded"].search("sailors")] == ["sql_error"]


def test_half_of_a_surrogate_pair_is_spelt_out_and_flags_are_sorted(tmp_path):
    names = ("question_id", "database_name", "stage", "reason", "detail", "gold_sql")
    excluded = dict.fromkeys(names, "x") | {"question_text": "Half: \ud800", "flags": []}
    excluded |= {"answer_risk": None, "sql_risk": None}
    write_db(tmp_path / "q.db", [(0, "Pay?")], [excluded])
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        assert connection.execute("SELECT question_text FROM excluded").fetchone() == (
            "Half: \\ud800",
        )
        ((flags,),) = connection.execute("SELECT flags FROM questions")
    assert json.loads(flags) == [*"abcdefg"]


def test_file_tells_nothing_of_how_it_was_written(tmp_path):
    words = [f"word{number * number % 7919}" for number in range(9000)]
    for name in ("first", "second"):
        texts = (" ".join(words[3 * n : 3 * n + 3]) for n in range(3000))
        write_db(tmp_path / name, enumerate(texts))
    file = (tmp_path / "first").read_bytes()
    assert (tmp_path / "second").read_bytes() == file
    # The page size, the change counter, what it is valid for, SQLite's version number.
    fields = ((16, 18), (24, 28), (92, 96), (96, 100))
    assert [int.from_bytes(file[a:b], "big") for a, b in fields] == [4096, 1, 1, 0]
    for start in range(0, len(file), 4096):
        page, header = file[start : start + 4096], 100 if start == 0 else 0
        kind, _, cells, first_cell = struct.unpack_from(">BHHH", page, header)
        if length := {2: 12, 5: 12, 10: 8, 13: 8}.get(kind):
            assert not any(page[header + length + 2 * cells : first_cell]), start


def test_two_questions_of_one_id_are_an_error_and_leave_what_was(tmp_path):
    path = tmp_path / "q.db"
    path.write_text("before")
    with pytest.raises(sqlite3.IntegrityError):
        write_db(path, [(0, "One?"), (0, "Two?")])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(scope="module")
def address(path: Path) -> Iterator[str]:
    """Datasette on this machine, serving the file."""
    if importlib.util.find_spec("datasette") is None:  # its import changes what sqlite3 prints
        pytest.skip("needs the extra `browse`")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "datasette", str(path), "-m", str(METADATA)]
    server = subprocess.Popen(
        [*command, "-h", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/-/versions.json", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "datasette ended"
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=10)


def test_datasette_counts_facets_and_searches(address):
    def read_page(path: str) -> Any:
        with urllib.request.urlopen(f"{address}/questions/{path}", timeout=30) as answer:
            return json.load(answer)

    page = read_page("questions.json?_shape=objects&_size=max")
    assert page["filtered_table_rows_count"] == 35
    facets = page["facet_results"]
    assert {facet["value"]: facet["count"] for facet in facets["split"]["results"]} == {
        "train": 25,
        "eval": 10,
    }
    assert set(facets) == {"split", "difficulty", "answer_type"}
    page = read_page("questions.json?_search=voyages&_shape=objects")
    assert page["filtered_table_rows_count"] == 5
    assert read_page("excluded.json?_shape=objects")["filtered_table_rows_count"] == 7
    answers = read_page("answers.json?_shape=objects")["rows"]
    assert sum(row["questions"] for row in answers) == 35
