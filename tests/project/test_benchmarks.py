"""Every benchmark that README and docs show can be started, with the options shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

PAGES = (
    "README.md",
    "benchmarks/README.md",
    "docs/doubts.md",
    "docs/scaling.md",
    "docs/spider.md",
)
COMMANDS = [
    (found[1], set(re.findall(r"--[\w-]+", found[2])))
    for page in PAGES
    for found in re.finditer(
        r"python (benchmarks/\w+\.py)([^#`\n]*)", (ROOT / page).read_text(encoding="utf-8")
    )
]


@pytest.mark.parametrize("path", sorted({path for path, _ in COMMANDS}))
def test_benchmark_starts_and_knows_its_options(path: str) -> None:
    options = set().union(*(shown for benchmark, shown in COMMANDS if benchmark == path))
    assert options <= set(re.findall(r"--[\w-]+", run(ROOT, "python", path, "--help").stdout))


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


def write_lines(path: Path, *records: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def make_suite_run(folder: Path) -> None:
    """What the stages leave: one question, whose suite has one database."""
    ships = "CREATE TABLE ship (name, mass); INSERT INTO ship VALUES ('Sun', 5), ('Tern', 4)"
    make_database(folder / "data/databases/ships/ships.sqlite", ships)
    others = (
        "CREATE TABLE ship (name, mass); INSERT INTO ship VALUES ('Sun', 3), ('Tern', 4), (NULL, 0)"
    )
    make_database(folder / "data/test_suites/ships/ships.01.sqlite", others)
    question = {"question_id": "ships_0"}
    gold = {"gold_sql": "SELECT name FROM ship WHERE mass > 4", "database_name": "ships"}
    text = {"question_text": "Which ships weigh more than 4?"}
    write_lines(folder / "data/interim/splits.jsonl", {**question, **gold, **text})
    interim, name = folder / "data/interim", "ships.jsonl"
    write_lines(interim / "gold_answers" / name, {**question, "gold_answer": "Sun"})
    audit = {"order_matters": False, "accepted_rows": None}
    write_lines(interim / "audit" / name, {**question, **audit})
    path = "data/test_suites/ships/ships.01.sqlite"
    database = {"path": path, "gold_answer": [], "order_matters": False}
    killed = {"killed": 3, "alive": 0, "undecided": 0}
    suite = {
        "mutation_score": {"database": 0.6667, "suite": 1.0},
        "operators": {"by_heart": killed},
        "databases": [database],
    }
    write_lines(interim / "test_suites" / name, {**question, **suite})


def test_predictions_are_scored_with_and_without_suites(tmp_path: Path) -> None:
    make_suite_run(tmp_path)
    gold = "SELECT name FROM ship WHERE mass > 4"
    question = {"db_id": "ships", "question": "Which ships weigh more than 4?", "query": gold}
    predictions = {
        "right": "SELECT name FROM ship WHERE mass >= 5",
        "first": "SELECT name FROM ship WHERE name = 'Sun'",
        "wrong": "SELECT mass FROM ship",
    }
    file = write_lines(tmp_path / "predictions.jsonl", {**question, "predictions": predictions})
    pairs, rejections = tmp_path / "pairs.json", tmp_path / "rejections.jsonl"
    pair = {"db_id": "ships", "gold": gold, "prediction": "SELECT min(name) FROM ship"}
    pairs.write_text(json.dumps([pair]), encoding="utf-8")
    labels = tmp_path / "labels.json"
    label = {"question_id": "ships_0", "class": "text", "verdict": "worse"}
    labels.write_text(json.dumps([{**label, "prediction": predictions["first"]}]), encoding="utf-8")
    options = ("--predictions", str(file), "--pairs", str(pairs), "--labels", str(labels))
    options += ("--against", str(tmp_path))
    command = ("python", "benchmarks/test_suites.py", "--run", str(tmp_path), *options)
    printed = run(ROOT, *command, "--rejections", str(rejections)).stdout
    assert "66.7% by the database, 100.00% by the suite alone, of 3" in printed
    assert "and else a small guess | right on 1 of 1 questions of the product" in printed
    assert "and else a neighbor | right on 1 of 1 questions of the product" in printed
    assert "3 accepted by the database, 0 with the suite, of 0 questions" in printed
    assert "1 rejected of 2 distinct that the database accepts" in printed
    assert "1 rejected of 1 that agree on the database" in printed
    assert "| labelled predictions rejected | 1 of 1, 1 worse than gold: 1.00 |" in printed
    assert "| worse: text | 1 of 1 rejected |" in printed
    assert "| rejected by both runs | 1; by this one alone 0 |" in printed
    found = [json.loads(line) for line in rejections.read_text(encoding="utf-8").splitlines()]
    assert [each["systems"] for each in found] == [["first"], []]
    assert found[0]["database"] == "data/test_suites/ships/ships.01.sqlite"
    assert found[0]["unexpected"] == [["Sun"]]


def flag(code: str, **evidence: str) -> dict:
    return {"code": code, "evidence": evidence}


def judge(question: dict, said: str, **known: str) -> dict:
    names = ("database_name", "question_text", "gold_sql")
    asked = {name: question[name] for name in names}
    judged = {"corpus": "spider", **asked, "verdict": said, "reason": ""}
    return {**judged, "source": "person:kim", "date": "2026-03-01", **known}


def test_sign_counts_where_it_is_the_strongest(tmp_path: Path) -> None:
    """Eight questions, each on four databases: halves of them have wrong gold, and right gold."""
    crossed, tied, sure = flag("cross_join"), flag("tie_at_limit"), flag("bare_column", kind="sum")
    asked = [
        ("a", [crossed, sure], "wrong"),
        ("b", [crossed, tied], "wrong"),
        ("b", [crossed, tied], "ambiguous"),
        ("c", [tied], "right"),
        ("d", [], "right"),
    ]
    questions, verdicts, excluded = [], [], []
    for number, (name, flags, said) in enumerate(asked * 4):
        database = f"{name}{number // len(asked)}"
        known = {"question_id": f"{database}_{number}", "database_name": database}
        text = {"question_text": f"Question  {number}?", "gold_sql": f"SELECT {number}"}
        of_stages = {"answer_type": "integer", "hardness": "easy", "flags": flags, "repairs": []}
        questions.append({**known, **text, **of_stages})
        verdicts.append(judge(questions[-1], said))
        if crossed in flags or name == "c":
            reason = "cross_join" if crossed in flags else "tie_at_limit"
            excluded.append({"question_id": known["question_id"], "reason": reason})
    write_lines(tmp_path / "data/interim/joined.jsonl", *questions)
    write_lines(tmp_path / "data/questions/excluded.jsonl", *excluded)
    path, out = write_lines(tmp_path / "read.jsonl", *verdicts), tmp_path / "table.json"
    command = ("python", "benchmarks/gold_flags.py", "--corpus", "spider", tmp_path, path)
    printed = run(ROOT, *map(str, command), "--out", str(out)).stdout
    lists = [line.split(" | ") for line in printed.splitlines()[2:4]]
    for row, target in zip(lists, ("answers", "sql"), strict=True):
        assert row[:4] == ["| read", target, "8 of 16", "1.00"]
        assert row[-2:] == ["8 of 8", "0.0% |"]
    assert printed.count("| cross_join | 8 of 8 (8 of 8) |") == 2
    assert printed.count("| tie_at_limit | 4 of 8 (0 of 4) |") == 2
    by_risk = [line for line in printed.splitlines() if line.startswith("| read | sql | 0")]
    assert [line[-7:] for line in (by_risk[0], by_risk[-1])] == [" 0.00 |", " 1.00 |"]
    counted = json.loads(out.read_text(encoding="utf-8"))["spider"]
    for table in counted.values():
        assert (table["questions"], table["wrong"]) == (16, 8)
        assert table["unsigned"] == {"easy": {"questions": 4, "wrong": 0}}
        assert table["flags"]["tie_at_limit"] == {"questions": 8, "wrong": 4}
        assert table["signs"] == [
            {"code": code, "kind": kind, "answers": None, "questions": questions, "wrong": wrong}
            for code, kind, questions, wrong in (
                ("bare_column", "sum", 4, 4),  # nowhere the strongest
                ("cross_join", None, 8, 8),
                ("tie_at_limit", None, 4, 0),
            )
        ]


def test_verdicts_say_what_flags_are_worth_and_repairs_find(tmp_path: Path) -> None:
    ships = "CREATE TABLE ship (name, mass); INSERT INTO ship VALUES ('Sun', 5), ('Tern', 4)"
    make_database(tmp_path / "data/databases/ships/ships.sqlite", ships)
    repaired = flag("comparison_mismatch", answers="other", repair="comparison_mismatch")
    repair = {"rule": "comparison_mismatch", "answers": "other"}
    light, all_of_them = "SELECT name FROM ship WHERE mass < 5", "SELECT name FROM ship"
    said = [
        ({"said": "wrong", "answers": "other", "sql": light}, [repaired]),
        ({"said": "wrong", "answers": "other", "sql": all_of_them}, [repaired]),
        ({"said": "wrong", "answers": "same", "sql": light}, []),
        ({"said": "ambiguous", "answers": "other", "sql": light}, [repaired]),
        (None, [repaired]),
        *[({"said": "right"}, [])] * 3,
    ]
    questions, verdicts = [], []
    for number, (verdict, flags) in enumerate(said * 4):
        name = str(number)
        asked = {"question_text": f"Question {name}?", "gold_sql": "SELECT name FROM ship LIMIT 0"}
        repairs = [{**repair, "sql": light}] if flags else []
        known = {"question_id": name, "database_name": "ships", "split": "train", **asked}
        of_stages = {"answer_type": "list", "hardness": "easy", "flags": flags, "repairs": repairs}
        questions.append({**known, **of_stages})
        if verdict is not None:
            verdicts.append(judge(questions[-1], **verdict))
    write_lines(tmp_path / "data/interim/joined.jsonl", *questions)
    write_lines(tmp_path / "data/questions/excluded.jsonl")
    path = write_lines(tmp_path / "read.jsonl", *verdicts)
    command = ("python", "benchmarks/gold_flags.py", "--corpus", "spider", tmp_path, path)
    printed = run(ROOT, *map(str, command)).stdout
    assert "| read | answers | 8 of 24 |" in printed
    assert "| read | sql | 12 of 24 |" in printed
    assert printed.count("| comparison_mismatch | 8 of 8 (8 of 8) |") == 2
    assert "8 golds corrected to other rows: 4 among the repairs, 4 the first" in printed
    assert "| comparison_mismatch | 8 | 8 | 4 |" in printed
