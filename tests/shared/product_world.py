"""A product of some small databases, written without a run: to widen, to export and to score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answerkey.base.records import SPLITS, hash_file, write_json, write_jsonl, write_manifest
from answerkey.engines.answers import classify_answer_type, shape_answer
from answerkey.engines.names import SQLITE, SUFFIXES, name_engine
from answerkey.engines.opening import open_database
from answerkey.engines.settings import HEAD
from answerkey.exports.product import write_questions
from tests.shared.databases import make_database

FLEET = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tons REAL, port_id INT REFERENCES port (id));
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
CREATE INDEX heavy ON ship (tons);
CREATE VIEW old_ship AS SELECT name FROM ship WHERE id < 2;
INSERT INTO port VALUES (1, 'Oslo'), (2, 'Cape Town');
INSERT INTO ship VALUES (1, 'Tern', 40.5, 1), (2, 'Sun', 55, 2), (3, 'Ruby', 12, 2);
"""
BAKERY = """
CREATE TABLE bread (id INTEGER PRIMARY KEY, kind TEXT, grams INT);
CREATE TABLE baker (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE shift (day TEXT, baker_id INT REFERENCES baker (id));
INSERT INTO bread VALUES (1, 'rye', 500), (2, 'wheat', 750);
INSERT INTO baker VALUES (1, 'Ada'), (2, 'Max');
INSERT INTO shift VALUES ('Monday', 1), ('Friday', 2);
"""
ZOO = """
CREATE TABLE animal (id INTEGER PRIMARY KEY, name TEXT, keeper_id INT REFERENCES keeper (id));
CREATE TABLE keeper (id INTEGER PRIMARY KEY, name TEXT, age INT);
INSERT INTO keeper VALUES (1, 'Iva', 41);
INSERT INTO animal VALUES (1, 'Fox', 1), (2, 'Owl', 1);
"""
MARINA = "CREATE TABLE Ships (name TEXT); CREATE TABLE captain (name TEXT);"
LIBRARY = "CREATE TABLE book (title TEXT); INSERT INTO book VALUES ('Dunes'), ('Ice');"
MUSEUM = "CREATE TABLE painting (name TEXT); INSERT INTO painting VALUES ('Sea');"

# By split and database: its statements, and its questions with their gold SQL and the tables of it.
Asked = dict[str, dict[str, tuple[str, list[tuple[str, str, list[str]]]]]]
ASKED: Asked = {
    "train": {
        "bakery": (BAKERY, [("Which breads are there?", "SELECT kind FROM bread", ["bread"])]),
        "fleet": (
            FLEET,
            [
                ("How many ships are there?", "SELECT count(*) FROM ship", ["ship"]),
                (
                    "Which vessels lie in cape town?",
                    "SELECT ship.name FROM ship JOIN port ON port.id = port_id"
                    " WHERE port.name = 'Cape Town' ORDER BY tons",
                    ["port", "ship"],
                ),
            ],
        ),
        "marina": (MARINA, [("How many captains?", "SELECT count(*) FROM captain", ["captain"])]),
        "zoo": (ZOO, [("Which animals are there?", "SELECT name FROM animal", ["animal"])]),
    },
    "eval": {
        "library": (LIBRARY, [("Which books?", "SELECT title FROM book", ["book"])]),
        "museum": (MUSEUM, [("Which paintings?", "SELECT name FROM painting", ["painting"])]),
    },
}


def write_product(folder: Path, asked: Asked = ASKED, **of_each: Any) -> Path:
    """The folder of a project with data/databases, data/questions and data/test_suites. Statements
    whose first line names an engine are the text of a database of it.

    of_each: what the sidecar says of each question, beside the usual.
    """
    data = folder / "data"
    audits, suites, entries = [], [], {}
    for split in SPLITS:
        records = []
        for name, (statements, questions) in asked.get(split, {}).items():
            path = _make_database(data / f"databases/{name}", statements)
            engine = name_engine(path)
            entries[name] = {
                "sha256": hash_file(path),
                "size_bytes": path.stat().st_size,
                "origin": {"corpus": "local", "kind": "sql"},
            }
            if engine != SQLITE:
                entries[name] |= {"path": f"{name}/{path.name}", "engine": engine}
            for index, (text, sql, tables) in enumerate(questions):
                with open_database(path, now=of_each.get("now")) as database:
                    answer = shape_answer(database.execute(sql))
                question_id = {"question_id": f"{name}_{split}_{index:03d}"}
                records.append(
                    {
                        **question_id,
                        "question_text": text,
                        "database_name": name,
                        "gold_sql": sql,
                        "gold_answer": answer,
                        "answer_type": classify_answer_type(answer),
                        "difficulty": "easy",
                        "tables_involved": tables,
                        "split": split,
                    }
                )
                audits.append(
                    {
                        **question_id,
                        "flags": [],
                        "order_matters": "ORDER BY" in sql,
                        "engine": engine,
                        "max_steps": 1_000_000 if engine == SQLITE else None,
                        "max_cpu_s": None if engine == SQLITE else 10,
                        "rule": "strict",
                        "hardness": "easy",
                        "source": {"corpus": "local", "file": "asked.json", "index": index},
                        "database_sha256": entries[name]["sha256"],
                        **of_each,
                    }
                )
                suites.append({**question_id, "mutation_score": {"suite": 1.0}, "databases": []})
        write_questions(data / f"questions/questions_{split}.json", records)
    write_manifest(data / "databases/manifest.json", entries)
    for name, lines in (("audit", audits), ("test_suites", suites), ("pass_rates", [])):
        write_jsonl(data / f"questions/{name}.jsonl", lines)
    write_jsonl(data / "questions/excluded.jsonl", [])
    (data / "test_suites").mkdir()
    write_json(data / "test_suites/manifest.json", {})
    return folder


def _make_database(folder: Path, statements: str) -> Path:
    if not statements.startswith(HEAD):
        return make_database(folder / f"{folder.name}.sqlite", statements)
    engine = json.loads(statements.splitlines()[0].removeprefix(HEAD))["engine"]
    path = folder / f"{folder.name}{SUFFIXES[engine]}"
    path.parent.mkdir(parents=True)
    path.write_text(statements, encoding="utf-8")
    return path
