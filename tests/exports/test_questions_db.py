"""questions.db: sqlite-utils gives back what went in, and finds it by its words."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.dataset import Question
from answerkey.exports.questions_db import make_question_row, write_questions_db
from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT

METADATA = ROOT / "docs/datasette.yaml"
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


def make_audited(number: int, text: str, **fields: Any) -> Question:
    question = {
        "question_id": f"a_train_{number:03d}",
        "question_text": text,
        "database_name": "a",
        "gold_sql": "SELECT name FROM ship",
        "gold_answer": ["Sun", None, 2.5],
        "answer_type": "list",
        "difficulty": "easy",
        "tables_involved": ["ship"],
        "split": "train",
        **fields,
    }
    flags = [{"code": "latent_tie"}, {"code": "cross_join"}]
    terms = {"order_matters": True, "max_steps": 10**6, "rule": "strict", "accepted_rows": None}
    terms |= {"database_sha256": "e3b0"}
    audit = {"hardness": "hard", "flags": flags, "evidence": None, "test_suite": None} | terms
    return Question(**question, **audit, source={})


def make_excluded(number: int, text: str) -> dict[str, Any]:
    return {
        "question_id": f"a_train_{number:03d}",
        "question_text": text,
        "database_name": "a",
        "stage": "compute_gold_answers",
        "reason": "sql_error",
        "detail": "no such column: wage",
        "gold_sql": "SELECT wage FROM ship",
        "flags": [],
    }


@pytest.fixture(scope="module")
def path(exported: ExportWorld) -> Path:
    return exported.exports / "questions.db"


def test_every_question_is_in_it_unaltered(exported, path):
    with closing(sqlite3.connect(path)) as connection:
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
    assert any(row["flags"].startswith('["boolean_answer"') for row in excluded)


def test_sqlite_utils_finds_questions_by_words(path):
    sqlite_utils = pytest.importorskip("sqlite_utils", reason="needs the extra `browse`")
    database = sqlite_utils.Database(path)
    table = database["questions"]
    assert table.detect_fts() == "questions_fts"
    assert database["excluded"].detect_fts() == "excluded_fts"
    found = table.search("captains voyage")  # only in SQL, and there in the singular
    with_voyage = {row["question_id"] for row in table.rows if "voyage" in row["gold_sql"]}
    assert {row["question_id"] for row in found} == with_voyage != set()
    assert [row["reason"] for row in database["excluded"].search("sailors")] == ["sql_error"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("ship", ["a_train_000", "a_train_001", "a_train_002"]),  # all: it is in the SQL
        ("captains", ["a_train_001"]),
        ("captain", ["a_train_001"]),
        ("goteborg", ["a_train_002"]),
        ('"heavy ship"', ["a_train_000"]),
        ("nothing", []),
    ],
)
def test_search_looks_at_question_and_sql(tmp_path, words, found):
    texts = ("A heavy ship?", "Whose captain?", "Göteborg?")
    questions = [make_audited(number, text) for number, text in enumerate(texts)]
    write_questions_db(tmp_path / "q.db", questions, [])
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        rows = connection.execute(
            "SELECT question_id FROM questions WHERE rowid IN"
            " (SELECT rowid FROM questions_fts WHERE questions_fts MATCH ?) ORDER BY rowid",
            [words],
        ).fetchall()
    assert [question_id for (question_id,) in rows] == found


def test_half_of_a_surrogate_pair_is_spelt_out(tmp_path):
    write_questions_db(tmp_path / "q.db", [], [make_excluded(0, "Half: \ud800")])
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        text = connection.execute("SELECT question_text FROM excluded").fetchone()
    assert text == ("Half: \\ud800",)


def test_same_questions_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        questions = (make_audited(number, f"Question {number}?") for number in range(3000))
        write_questions_db(tmp_path / name, questions, [make_excluded(1, "Pay?")])
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["first", "second"]


def test_flags_are_sorted_and_each_stands_once():
    codes = [*"gcafbde", *"cab"]
    flags = [{"code": code} for code in codes]
    row = make_question_row(make_audited(1, "Pay?")._replace(flags=flags))
    assert json.loads(row[-1]) == [*"abcdefg"]


def test_header_says_neither_how_often_nor_by_which_sqlite_the_file_was_written(tmp_path):
    write_questions_db(tmp_path / "one", [make_audited(1, "Pay?")], [])
    header = (tmp_path / "one").read_bytes()[:100]
    # The page size, the change counter, what it is valid for, SQLite's version number.
    fields = ((16, 18), (24, 28), (92, 96), (96, 100))
    assert [int.from_bytes(header[a:b], "big") for a, b in fields] == [4096, 1, 1, 0]


def test_pages_hold_nothing_that_is_no_cell(tmp_path):
    words = [f"word{number * number % 7919}" for number in range(9000)]
    questions = (make_audited(n, " ".join(words[3 * n : 3 * n + 3])) for n in range(3000))
    write_questions_db(tmp_path / "q.db", questions, [])
    file = (tmp_path / "q.db").read_bytes()
    trees = 0
    for start in range(0, len(file), 4096):
        page, header = file[start : start + 4096], 100 if start == 0 else 0
        kind, _, cells, first_cell = struct.unpack_from(">BHHH", page, header)
        if length := {2: 12, 5: 12, 10: 8, 13: 8}.get(kind):
            trees += 1
            assert not any(page[header + length + 2 * cells : first_cell]), start
    assert trees > 100


def test_file_is_sound(path):
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for name in ("questions", "excluded"):
            statement = f"INSERT INTO {name}_fts ({name}_fts, rank) VALUES ('integrity-check', 1)"
            connection.execute(statement)


def test_two_questions_of_one_id_are_an_error_and_leave_what_was(tmp_path):
    path = tmp_path / "q.db"
    path.write_text("before")
    with pytest.raises(sqlite3.IntegrityError):
        write_questions_db(path, [make_audited(0, "One?"), make_audited(0, "Two?")], [])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_facets_name_columns_that_there_are(path):
    tables = yaml.safe_load(METADATA.read_text(encoding="utf-8"))["databases"]["questions"][
        "tables"
    ]
    with closing(sqlite3.connect(path)) as connection:
        for name, settings in tables.items():
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
            facets = set(settings["facets"])
            assert facets <= columns
            assert settings["label_column"] in columns


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


def read_json(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


def test_datasette_counts_facets_and_searches(address):
    page = read_json(f"{address}/questions/questions.json?_shape=objects&_size=max")
    assert page["filtered_table_rows_count"] == 35
    facets = page["facet_results"]
    assert {facet["value"]: facet["count"] for facet in facets["split"]["results"]} == {
        "train": 25,
        "eval": 10,
    }
    assert set(facets) == {"split", "difficulty", "answer_type"}
    page = read_json(f"{address}/questions/questions.json?_search=voyages&_shape=objects")
    assert page["filtered_table_rows_count"] == 5
    assert all("voyage" in row["gold_sql"] for row in page["rows"])
    page = read_json(f"{address}/questions/excluded.json?_shape=objects")
    assert page["filtered_table_rows_count"] == 7
    answers = read_json(f"{address}/questions/answers.json?_shape=objects")["rows"]
    assert sum(row["questions"] for row in answers) == 35


@pytest.mark.browser
def test_person_facets_and_searches_in_a_browser(address, exported):
    loans = sum("loan" in question["gold_sql"] for question in exported.questions("eval"))
    assert 1 < loans < 10
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"needs chromium: no {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{address}/questions/questions")
        assert "35 rows" in page.inner_text("h3")
        suggested = page.locator(".suggested-facets").inner_text()
        assert {"database_name", "hardness", "tables_involved"} <= set(
            re.findall(r"\w+", suggested)
        )
        page.set_viewport_size({"width": 1280, "height": 800})
        for table in ("excluded", "questions"):
            page.goto(f"{address}/questions/{table}")
            row = page.locator("table.rows-and-columns tbody tr").first
            assert row.bounding_box()["y"] < 700, table  # seen without scrolling
        page.get_by_role("link", name="eval", exact=True).first.click()
        page.wait_for_url("**split=eval**")
        assert "10 rows" in page.inner_text("h3")
        page.get_by_label("Search:").fill("loan")
        page.get_by_role("button", name="Apply").click()
        page.wait_for_url("**_search=loan**")
        assert f"{loans} rows" in page.inner_text("h3")
        assert page.locator("table.rows-and-columns tbody tr").count() == loans
        browser.close()
    assert requests
    assert all(request.startswith((address, "data:")) for request in requests)
