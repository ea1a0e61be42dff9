"""How far two readers agree, and where not: `answerkey verdicts`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.paths import INTERIM
from answerkey.base.records import hash_question, write_jsonl
from answerkey.command import main
from answerkey.dataset import JOINED
from answerkey.risk.agreement import describe_agreement, find_agreement, find_kappa
from tests.shared.joined_questions import make_joined


@pytest.mark.parametrize(
    ("both", "left", "right", "neither", "kappa"),
    [
        (20, 5, 10, 15, 0.4),  # the grants of which textbooks tell
        (45, 15, 25, 15, 0.1304),
        (25, 35, 5, 35, 0.2593),
        (0, 10, 10, 0, -1.0),
        (10, 0, 0, 0, None),
        (0, 0, 0, 0, None),
    ],
)
def test_kappa_is_that_of_published_tables(both, left, right, neither, kappa):
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    counts = zip(pairs, (both, left, right, neither), strict=True)
    assert find_kappa([pair for pair, count in counts for _ in range(count)]) == kappa


def test_readers_who_part_on_what_is_ambiguous_agree_on_wrong_or_not():
    pairs = [("right", "ambiguous"), ("ambiguous", "right"), ("wrong", "wrong"), ("right", "right")]
    agreement = find_agreement(pairs)
    assert agreement.same == 2
    assert agreement.kappa is not None
    assert agreement.kappa < 0.3
    assert agreement.kappa_of_wrong == 1.0
    assert describe_agreement(agreement).endswith("of wrong or not 1.00")


# --- the verb

TEXTS = {"a": "How many ships?", "b": "Which ships?", "c": "Where are ships?"}
GOLD = "SELECT count(*) FROM ship"


def judge(name: str, verdict: str, **fields: Any) -> dict[str, Any]:
    texts = {"question_text": TEXTS[name], "gold_sql": GOLD}
    given = {"corpus": "local", "database_name": "fleet", "verdict": verdict, "date": "2026-03-01"}
    return {**given, "reason": "", "source": "person:kim", **texts, **fields}


def hashed(name: str, verdict: str) -> dict[str, Any]:
    record = judge(name, verdict)
    sha256 = hash_question(record.pop("question_text"), record.pop("gold_sql"))
    return record | {"file": "dev.json", "index": 0, "sha256": sha256, "source": "model:qwen"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Verdicts of a person, who quotes, and of a model, which does not."""
    monkeypatch.chdir(tmp_path)
    wrong = judge("b", "wrong", reason="Names are asked.", sql="SELECT name FROM ship")
    write_jsonl(Path("kim.jsonl"), [judge("a", "wrong"), judge("a", "right"), wrong])
    write_jsonl(Path("qwen.jsonl"), [hashed(name, "right") for name in TEXTS])
    return ["kim.jsonl", "qwen.jsonl"]


def write_run(database: str) -> None:
    """A question that a correction has replaced since; its corpus calls the database fleet."""
    (INTERIM / JOINED).parent.mkdir(parents=True)
    Path("params.yaml").touch()
    original = {"question_text": TEXTS["b"], "gold_sql": GOLD}
    note = {"action": "replace", "reason": "x", "link": None, "original": original}
    source = {"corpus": "local", "file": "dev.json", "index": 0, "correction": note}
    if database != "fleet":
        source["db_id"] = "fleet"
    names = {"database_name": database, "question_text": TEXTS["b"]}
    question = make_joined("fleet_train_001", **names, gold_sql="SELECT 1", source=source)
    write_jsonl(INTERIM / JOINED, [question._asdict()])


@pytest.mark.parametrize("database", ["fleet", "local_fleet"])
def test_readers_are_compared_on_what_both_have_read(files, capsys, database):
    write_run(database)
    assert main(["verdicts", *files, "--ids", "third.ids"]) == 0
    assert capsys.readouterr().out == (
        "2 questions read twice, 1 alike: kappa 0.00, of wrong or not 0.00\n"
        "read once: 0 in kim.jsonl and 1 in qwen.jsonl\n"
        "\n"
        "kim.jsonl  qwen.jsonl  questions\n"
        "right      right       1\n"
        "wrong      right       1\n"
        "\n"
        "fleet_train_001\n"
        "  question    Which ships?\n"
        "  gold        SELECT count(*) FROM ship\n"
        "  wrong       Names are asked.\n"
        "              SELECT name FROM ship\n"
        "  right       no reason\n"
    )
    assert Path("third.ids").read_text("utf-8") == "fleet_train_001\n"


def test_readers_are_compared_without_a_run(files, capsys):
    assert main(["verdicts", *files[::-1], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["questions"], found["same"], found["kappa"]) == (2, 1, 0.0)
    (each,) = found["differ"]
    assert (each["question_id"], each["question_text"]) == (None, TEXTS["b"])
    assert [said["source"] for said in each["readers"]] == ["model:qwen", "person:kim"]
    with pytest.raises(SystemExit):
        main(["verdicts", *files, "--ids", "third.ids"])
    assert "1 question that no run here has" in capsys.readouterr().err
    assert not Path("third.ids").exists()


def test_file_without_verdicts_is_told(files, capsys):
    Path("none.jsonl").touch()
    with pytest.raises(SystemExit):
        main(["verdicts", files[0], "none.jsonl"])
    assert "none.jsonl: expected verdicts" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["verdicts", files[0], "away.jsonl"])
    assert "No file away.jsonl: expected verdicts" in capsys.readouterr().err


def test_ids_that_cannot_be_written_are_no_fault_of_the_run(files, capsys):
    write_run("fleet")
    with pytest.raises(SystemExit):
        main(["verdicts", *files, "--ids", "away/third.ids"])
    assert (
        capsys.readouterr().err == "answerkey verdicts: away/third.ids: No such file or directory\n"
    )
