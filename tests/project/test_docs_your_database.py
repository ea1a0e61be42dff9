"""docs/your-database.md tells the truth: its example runs, and so does each kind of database."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from answerkey.command import make_parser
from answerkey.intake import servers
from answerkey.intake.questions import ALIASES
from tests.shared.checkout import make_checkout, run
from tests.shared.paths import ROOT
from tests.shared.project_world import HARBOUR
from tests.shared.transcripts import Scene, read_blocks, read_section, read_steps

PAGE = ROOT / "docs/your-database.md"


def test_page_has_all_names_of_fields() -> None:
    rows = re.findall(r"^\| [\w ]+ \| (`.+?`) \|", read_section(PAGE, "Questions"), re.MULTILINE)
    names = [re.findall(r"`(\w+)`", row) for row in rows]
    assert sorted(names) == sorted(words.split() for words in ALIASES.values())


def test_commands_are_read() -> None:
    lines = [line for block in read_blocks(PAGE, "") for line in block.splitlines()]
    assert lines
    for line in lines:
        options = make_parser().parse_args(shlex.split(line)[1:])
        assert options.verb == "new"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh checkout in which the example was played."""
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    root = tmp_path_factory.mktemp("example")
    folder = make_checkout(root / "answerkey")
    Scene(root, {}, folders={"me": folder}).play(read_steps(read_section(PAGE, "An example")))
    return folder


@pytest.mark.slow
def test_example_goes_from_files_to_a_rewarded_rollout(example: Path) -> None:
    run(example, "answerkey", "validate")


@pytest.mark.slow
def test_example_goes_on_to_a_trained_policy(example: Path, tmp_path: Path) -> None:
    python, script = ROOT / ".venv/trl/bin/python", "examples/train_grpo.py"
    assert f".venv/trl/bin/python {script}" in read_section(PAGE, "An example")
    if not python.exists():
        pytest.skip("needs .venv/trl: docs/exports.md")
    options = ("--sft-steps", "10", "--grpo-steps", "2", "--out", str(tmp_path))
    printed = run(example, str(python), script, *options).stdout
    assert "GRPO, reward: " in printed


QUERIES = [
    "SELECT name FROM port WHERE country IS NOT NULL",
    "SELECT ship.name, port.name FROM ship JOIN port ON ship.port_id = port.id WHERE weight > 50",
    "SELECT country, count(*) FROM port GROUP BY country",
    "SELECT name, length / 2 FROM ship WHERE weight < 70",
    "SELECT array_agg(name) FROM ship",  # in the order in which rows are stored
]
# Postgres and DuckDB know no affinity.
TABLES = HARBOUR.replace("REAL", "DOUBLE PRECISION")


def write_duckdb(folder: Path) -> str:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    connection = duckdb.connect(str(folder / "harbour.duckdb"))
    connection.execute(TABLES)
    connection.close()
    return "harbour.duckdb"


def write_dump(folder: Path) -> str:
    pytest.importorskip("psycopg", reason="needs the extra `convert`")
    programs = servers.find_programs()
    if programs is None:
        pytest.skip("needs Postgres: apt-get install postgresql")
    (folder / "tables.sql").write_text(TABLES, encoding="utf-8")
    with servers.load_dump(folder / "tables.sql", is_text=True) as loaded:
        dump = [
            Path(programs["postgres"]).with_name("pg_dump"),
            "-f",
            folder / "harbour.sql",
            loaded.url,
        ]
        subprocess.run(dump, check=True, timeout=120)
    return "harbour.sql"


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_duckdb, write_dump])
def test_database_of_another_engine_stays_one_and_becomes_a_dataset(write, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    database = theirs / write(theirs)
    folder = make_checkout(tmp_path / "answerkey")
    questions = [{"utterance": f"Question {sql}?", "query": sql} for sql in QUERIES]
    (theirs / "asked.json").write_text(json.dumps(questions), encoding="utf-8")
    options = ("--database", str(database), "--questions", str(theirs / "asked.json"))
    told = run(folder, "answerkey", "new", "data/local/harbour", *options).stdout
    assert "as it was written: 5 of 5 queries run" in told
    run(folder, "dvc", "repro")
    product = json.loads((folder / "data/questions/questions_train.json").read_text("utf-8"))
    assert [question["gold_sql"] for question in product] == QUERIES[:4]
    lines = (folder / "data/questions/excluded.jsonl").read_text("utf-8").splitlines()
    (excluded,) = map(json.loads, lines)
    assert excluded["reason"] == "row_order_dependent"
    assert excluded["gold_sql"] == QUERIES[4]
    run(folder, "answerkey", "validate")
