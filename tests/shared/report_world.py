"""A small corpus with hostile questions, taken through every stage to its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from answerkey.flags import FLAGS
from tests.shared.paths import FLAG_PRECISION, ROOT

REPORT = Path("reports/dataset.html")
PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
_NOT_READ = ("export_huggingface", "report_dataset")
STAGES = (*(name for name in PIPELINE if name not in _NOT_READ), "report_dataset")
_RUN_STAGES = """
import sys
from tests.shared.stages import call_stage
stages, sys.argv = sys.argv[1:], ["stage"]
for stage in stages:
    call_stage(stage)
"""
HOSTILE = "</script><img src=x onerror=alert(1)> & &lt;b&gt; \u2028 {{ 7 * 7 }} <!--"

_SHIPS = """
CREATE TABLE harbour (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, weight INTEGER, built TEXT,
  harbour_id INTEGER REFERENCES harbour (id));
INSERT INTO harbour VALUES (1, 'Göteborg'), (2, 'Porto');
INSERT INTO ship VALUES (1, 'Tern', 40, '1999-04-01', 1), (2, 'Sun', 40, NULL, 1),
  (3, 'Ruby', 75, '2004-09-30', 2), (4, '<b onclick=alert(2)>Kite</b>', 12, '2011-01-15', 2);
"""
_BOOKS = """
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, pages INTEGER, price REAL);
INSERT INTO book VALUES (1, 'Dunes', 210, 12.5), (2, 'Ice', 96, 8.0), (3, 'Salt', 96, 1e16);
"""
_COUNT_TO_400 = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)"
    " SELECT i, 'line ' || i FROM n ORDER BY i"
)
TRAIN = [
    (HOSTILE, "SELECT name FROM ship WHERE weight > 30 ORDER BY name"),
    ("Which ships weigh 12 tons?", "SELECT name, built FROM ship WHERE weight = 12"),
    ("Name and year of every ship.", "SELECT name, built FROM ship ORDER BY id"),
    (
        "What is the lightest ship of Göteborg?",
        "SELECT name FROM ship WHERE harbour_id = 1 ORDER BY weight LIMIT 1",
    ),
    ("How heavy is the fleet?", "SELECT sum(weight) FROM ship"),
    ("What does the crew earn?", 'SELECT "pay</script>", wage FROM ship'),
    (
        "Which harbours hold ships?",
        "SELECT DISTINCT harbour.name FROM harbour JOIN ship ON ship.harbour_id = harbour.id",
    ),
    ("Count to four hundred.", _COUNT_TO_400),
    ("A number beyond doubles.", "SELECT 9007199254740993"),
    ("Half a pair: \ud800", "SELECT 5"),
    ("Which ship is called Nobody?", "SELECT weight FROM ship WHERE name = 'Nobody'"),
]
EVAL = [
    ("Which books cost what?", "SELECT title, price FROM book ORDER BY id"),
    ("How many pages has Ice?", "SELECT pages FROM book WHERE title = 'Ice'"),
    ("Is any book called Dunes?", "SELECT count(*) FROM book WHERE title = 'Dunes'"),
]


def write_corpus(root: Path, repeat: int = 1) -> None:
    """Two databases and their questions, in the layout of a Spider release. With `repeat`, each
    training question comes so many times, worded otherwise."""
    for db_id, sql in (("ships", _SHIPS), ("books", _BOOKS)):
        (root / "database" / db_id).mkdir(parents=True)
        (root / "database" / db_id / "schema.sql").write_text(sql, encoding="utf-8")
    train = [
        (text if number == 0 else f"{text} Take {number}, {word}.", sql)
        for number in range(repeat)
        for word, (text, sql) in zip("abcdefghijklm", TRAIN, strict=False)
    ]
    for name, db_id, questions in (
        ("train_spider.json", "ships", train),
        ("dev.json", "books", EVAL),
    ):
        records = [{"db_id": db_id, "question": text, "query": sql} for text, sql in questions]
        (root / name).write_text(json.dumps(records), encoding="utf-8")


def find_policy(flag: str) -> str:
    """What a flag means in this corpus, which repeats itself on purpose."""
    if flag in ("tie_at_limit", "empty_answer", "boolean_answer"):
        return "exclude"
    is_about_sameness = flag.startswith(("duplicate", "near_duplicate", "paraphrase"))
    return "off" if is_about_sameness else "flag"


def write_params(folder: Path, report: Mapping[str, Any]) -> None:
    """The project's params, for this corpus and without targets."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["corpus"] = "local"
    params["corpora"]["local"] |= {"root": "corpus", "corrections": None}
    params["execution"]["workers"] = 1
    params["generate_test_suites"]["pool"] = 4
    params["compare_questions"]["flag_precision"] = str(FLAG_PRECISION)
    select = params["select_questions"]
    select["targets"] = dict.fromkeys(select["targets"]) | {
        "difficulty_shares_of": "dataset",
        "tolerance": 0.02,
    }
    select["policies"] = {flag: find_policy(flag) for flag in FLAGS}
    params["export_trainers"]["prompt_template"] = str(ROOT / "templates/prompt.j2")
    params["report_dataset"].update(report)
    text = yaml.safe_dump(params, sort_keys=False, allow_unicode=True)
    (folder / "params.yaml").write_text(text, encoding="utf-8")


def run_stages(folder: Path, *stages: str, hash_seed: str = "0") -> str:
    """Run stages one after another in a folder; what they printed."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN_STAGES, *stages],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def build_report(folder: Path, *, repeat: int = 1, **report: Any) -> Path:
    """The page of the small corpus; `report` overrides params of report_dataset."""
    write_corpus(folder / "corpus", repeat)
    write_params(folder, report)
    run_stages(folder, *STAGES)
    return folder / REPORT
