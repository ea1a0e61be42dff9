"""Every benchmark that README and docs show can be started, with the options shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

PAGES = ("README.md", "benchmarks/README.md", "docs/scaling.md")
COMMANDS = sorted(
    {
        (found[1], option)
        for page in PAGES
        for found in re.finditer(
            r"python (benchmarks/\w+\.py)([^#`\n]*)", (ROOT / page).read_text(encoding="utf-8")
        )
        for option in re.findall(r"--[\w-]+", found[2])
    }
)


def test_there_are_commands() -> None:
    assert len({path for path, _ in COMMANDS}) >= 3


@pytest.mark.parametrize(("path", "option"), COMMANDS)
def test_benchmark_starts_and_knows_its_option(path: str, option: str) -> None:
    assert option in run(ROOT, "python", path, "--help").stdout


def test_verdicts_by_each_rule_are_printed_and_written(tmp_path: Path) -> None:
    ships = "CREATE TABLE ship (name, mass); INSERT INTO ship VALUES ('Sun', 5), ('Tern', 4)"
    make_database(tmp_path / "ships" / "ships.sqlite", ships)
    gold = {"ships_0": "SELECT name, mass FROM ship", "ships_1": "SELECT nothing FROM ship"}
    predictions = {
        "same": "SELECT name, mass FROM ship",
        "same again": "SELECT name, mass FROM ship",
        "swapped": "SELECT mass, name FROM ship",
        "wider": "SELECT name, mass, 1 FROM ship",
        "broken": "SELECT nam FROM ship",
    }
    questions = [
        {"question_id": name, "db_id": "ships", "query": sql, "predictions": predictions}
        for name, sql in gold.items()
    ]
    path, rows = tmp_path / "predictions.jsonl", tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    files = ("--predictions", str(path), "--databases", str(tmp_path), "--rows", str(rows))
    printed = run(ROOT, "python", "benchmarks/rules.py", *files).stdout
    verdicts = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    accepted = {
        verdict["system"]: [rule for rule, is_right in verdict["accepted"].items() if is_right]
        for verdict in verdicts
    }
    assert accepted["same"] == accepted["same again"] == list(verdicts[0]["accepted"])
    assert {"spider", "spider2"} <= set(accepted["swapped"]).difference(["strict", "bird"])
    assert accepted["wider"] == ["spider2"]
    assert accepted["broken"] == []
    assert [verdict["reason"] for verdict in verdicts] == [None] * 4 + ["sql_error"]
    assert [verdict["row_count"] for verdict in verdicts] == [2] * 4 + [None]
    assert "1 questions, 1 left out" in printed
    assert "- ships_1: " in printed
    assert "| strict | 2 | 40.00% | 1 | 25.00% |" in printed
    assert "| spider2 | 4 | 80.00% | 3 | 75.00% |" in printed
