"""docs/spider.md has the numbers that its command finds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import hash_question, read_jsonl
from tests.shared.checkout import run
from tests.shared.paths import ROOT

COMMAND = "benchmarks/spider_readings.py"
NUMBERS, PAGE = "docs/spider.json", "docs/spider.md"


def test_page_of_spider_counts_the_verdicts_that_ship(
    tmp_path: Path, expect_page: Callable[[str, str], None]
) -> None:
    """Whatever needs a run keeps its numbers, and must be of the same verdicts."""
    numbers, page = tmp_path / "spider.json", tmp_path / "spider.md"
    numbers.write_bytes((ROOT / NUMBERS).read_bytes())
    run(ROOT, sys.executable, COMMAND, "--numbers", str(numbers), "--page", str(page))
    expect_page(NUMBERS, numbers.read_text(encoding="utf-8"))
    expect_page(PAGE, page.read_text(encoding="utf-8"))
    found = json.loads(numbers.read_text(encoding="utf-8"))
    every, missed = found["faults"]["all"], found["rules"]["missed"]
    assert {name: sum(level[name] for level in found["hardness"]) for name in every} == every, (
        "run the command with --before"
    )
    people = found["lists"]["beside_ours"][-1]
    looked_at = 16  # of which the page has a table, made by hand
    assert people["first_alone"] + people["second_alone"] == looked_at
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "one query in five says" in readme
    assert "one answer in eleven is" in readme
    shares = (every["questions"] / every[name] for name in ("wrong", "wrong_answer"))
    assert [*map(round, shares)] == [5, 11]
    assert "one question in nine is left out" in readme
    left_out = every["questions"] - found["product"]["usable"][1]
    assert round(every["questions"] / left_out) == 9
    kinds = {each["kind"]: each for each in found["faults"]["kinds"]}
    assert sum(found["rules"]["questions"].values()) == every["questions"]
    for name in ("wrong", "wrong_answer"):
        for kind, each in kinds.items():
            assert each[name] == sum(half.get(kind, {}).get(name, 0) for half in missed.values())


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")
    return path


@pytest.mark.slow
def test_readings_are_measured_on_a_run_of_the_sample(finished: Path, tmp_path: Path) -> None:
    """Of ten questions one is wrong in SQL alone, one in the answer, and one is ambiguous."""
    questions = list(read_jsonl(finished / "data/interim/joined.jsonl"))
    verdicts = []
    for number, question in enumerate(questions):
        fault = {"sql": "SELECT 'x'", "answers": "other", "kind": "column"}
        said, extra = {
            0: ("wrong", {**fault, "sql": question["gold_sql"], "answers": "same"}),
            1: ("wrong", fault),
            2: ("ambiguous", fault),
        }.get(number % 10, ("right", {}))
        source = {name: question["source"][name] for name in ("file", "index")}
        verdicts.append(
            {
                "corpus": "sample",
                "database_name": question["database_name"],
                **source,
                "sha256": hash_question(question["question_text"], question["gold_sql"]),
                "verdict": said,
                "reason": "",
                "source": "model:none",
                "date": "2026-03-01",
                "readings": ["right", said, said] if said == "ambiguous" else [said, said],
                **extra,
            }
        )
    evaluated = [each for each in questions if each["split"] == "eval"]
    predictions = [
        {
            "question_id": each["question_id"],
            "predictions": {"gold": each["gold_sql"], "nothing": "SELECT 'x'"},
        }
        for each in evaluated
    ]
    listed = [
        {"question_id": each["question_id"], "edition": "spider1.0"} for each in evaluated[:9]
    ]
    numbers, page, known = (tmp_path / name for name in ("spider.json", "spider.md", "list.json"))
    known.write_text(json.dumps(listed), encoding="utf-8")
    options = {
        "--verdicts": write_lines(tmp_path / "verdicts.jsonl", verdicts),
        "--before": finished,
        "--after": finished,
        "--predictions": write_lines(tmp_path / "predictions.jsonl", predictions),
        "--numbers": numbers,
        "--page": page,
    }
    pairs = [str(each) for option in options.items() for each in option]
    run(ROOT, sys.executable, COMMAND, *pairs, "--list", "experts", str(known))
    found = json.loads(numbers.read_text(encoding="utf-8"))
    every = found["faults"]["all"]
    assert every["questions"] == len(questions)
    assert every["wrong"] == 2 * every["wrong_answer"] == 2 * every["ambiguous"]
    assert sum(level["wrong"] for level in found["hardness"]) == every["wrong"]
    assert found["readings"]["thirds"] == every["ambiguous"]
    assert found["rules"]["questions"] == {"seen": 0, "unseen": 0}  # it is no Spider
    systems = {each["name"]: each for each in found["systems"]["systems"]}
    assert [side["accuracy"] for side in systems["gold"]["suite"]] == [1, 1]
    assert [side["rank"] for side in systems["nothing"]["database"]] == [2, 2]
    assert found["systems"]["pairs"]["suite"]["told_after"] == 1
    assert found["lists"]["beside_ours"][0]["questions"] == len(evaluated)
    # A run that has seen the verdicts would find what it was told.
    judged = {"code": "judged_right", "evidence": {}}
    seen = tmp_path / "seen/data/interim/joined.jsonl"
    seen.parent.mkdir(parents=True)
    write_lines(seen, [{**each, "flags": [judged]} for each in questions])
    command = [COMMAND, *pairs, "--before", str(tmp_path / "seen")]
    with pytest.raises(AssertionError, match="is judged by a verdict"):
        run(ROOT, sys.executable, *command)
    # A verdict about another query is told: the run is not that which was read.
    verdicts[0]["sha256"] = "0" * 64
    write_lines(tmp_path / "verdicts.jsonl", verdicts)
    with pytest.raises(AssertionError, match="1 verdicts are about none of its questions"):
        run(ROOT, sys.executable, COMMAND, *pairs)
