"""Published lists become corrections and verdicts of the questions that they are about."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.corpus import import_corrections
from answerkey.corpus.import_corrections import read_claims
from answerkey.corpus.loading import read_corrections
from answerkey.risk.verdicts import read_verdicts
from stages import load_questions
from tests.shared.bird_world import DEV, write_bird
from tests.shared.project_world import World

HIGHEST, LIFTS = DEV
FIXED = "SELECT DISTINCT T1.`Resort Name` FROM resort AS T1, `lift list` AS T2 WHERE Seats > 5"
Import = Callable[..., str]


@pytest.fixture
def import_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Import:
    """Imports rows about BIRD, whose dev set has two questions; what the command says."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    write_bird(tmp_path / "data/bird")
    world.change("corpus", "bird")

    def run(rows: Any, *, name: str = "tried", file: str = "list.json") -> str:
        if file.endswith(".csv"):
            with Path(file).open("w", newline="") as target:
                writer = csv.DictWriter(target, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        else:
            Path(file).write_text(json.dumps(rows), encoding="utf-8")
        source = f"https://example.org/{name}"
        options = {"corpus": "bird", "name": name, "license": "mit", "day": "2026-03-01"}
        import_corrections.import_list(Path(file), source=source, **options)
        return capsys.readouterr().err

    return run


def read_written(name: str = "tried") -> tuple[dict[str, dict], dict[str, str]]:
    """The replacements of the file of corrections, and the verdicts, by question."""
    path = Path(f"data/corrections/{name}.yaml")
    corrections = read_corrections(path) if path.is_file() else []
    verdicts = [v for v in read_verdicts() if Path(v.where.split(":")[0]).stem == name]
    return (
        {each.question: each.replacement for each in corrections},
        {each.question_text: each.verdict for each in verdicts},
    )


@pytest.mark.parametrize(
    "row",
    [
        # A corrected copy of the release.
        {**LIFTS, "SQL": FIXED},
        {**LIFTS, "question_id": "1", "SQL": FIXED},
        # Original and fixed, with an id and a note, which may be no JSON.
        {
            **{"id": 1, "db_id": "ski_resorts", "question": LIFTS["question"]},
            **{"original": FIXED, "fixed": FIXED, "note": float("nan")},
        },
        # Columns of one's own: by id, by our id, and by the text of question or SQL alone.
        {"question_id": 1, "corrected_sql": FIXED, "reason": "Repeats."},
        {"question_id": "ski_resorts_eval_001", "corrected_sql": FIXED},
        {"db_id": "ski_resorts", "question": LIFTS["question"].upper(), "corrected_sql": FIXED},
        {"db_id": "ski_resorts", "gold_sql": LIFTS["SQL"] + " ;", "corrected_sql": FIXED},
    ],
)
@pytest.mark.parametrize("file", ["list.json", "list.csv"])
def test_other_sql_becomes_a_correction(import_list: Import, row: dict, file: str) -> None:
    said = import_list([row], file=file)
    corrections, verdicts = read_written()
    assert corrections == {LIFTS["question"]: {"gold_sql": FIXED}}
    assert verdicts == {}
    assert "1 rows (corrected 1); 0 disputed" in said


def test_copy_of_the_release_confirms_what_it_leaves_and_changes_words_too(
    import_list: Import,
) -> None:
    changed = {"question": "Which resorts have lifts of 6 seats?", "evidence": "large: Seats > 5"}
    import_list([HIGHEST, {**LIFTS, **changed}])
    corrections, verdicts = read_written()
    assert corrections == {
        LIFTS["question"]: {
            "question_text": changed["question"],
            "evidence": changed["evidence"],
        }
    }
    assert verdicts == {HIGHEST["question"]: "right"}


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"sql": LIFTS["SQL"], "label": False, "error_types": [{"error": "join"}]}, "wrong"),
        ({"sql": LIFTS["SQL"].replace(" ", "\n"), "label": "correct"}, "right"),
        ({"expert_wrong": True, "note": "lack distinct"}, "wrong"),
        ({"expert_wrong": False, "note": None}, "right"),
        ({"classes": ["limit 1"]}, "wrong"),
        ({"verdict": "Incorrect", "reason": "Ties."}, "wrong"),
        ({"sql": FIXED, "label": True}, None),
    ],
)
def test_label_becomes_a_verdict_about_gold_alone(
    import_list: Import, row: dict, word: str | None
) -> None:
    place = {"question_id": 1, "db_id": "ski_resorts", "question": LIFTS["question"]}
    said = import_list([place | row])
    assert read_written() == ({}, {LIFTS["question"]: word} if word else {})
    assert ("about another query 1" in said) == (word is None)
    if word == "wrong":
        (verdict,) = read_verdicts()
        assert verdict.source == "https://example.org/tried (mit)"
        assert verdict.reason != ""


@pytest.mark.parametrize("form", ["list", "by database", "by id"])
def test_number_that_counts_something_else_is_no_id(import_list: Import, form: str) -> None:
    row = {"db_id": "ski_resorts", "question": LIFTS["question"], "label": 0}
    rows: Any = [{"id": 0, **row}, {**row, "db_id": "other", "question": "?"}]
    rows = {"list": rows, "by database": {"ski_resorts": rows}, "by id": {"0": row}}[form]
    import_list(rows)
    assert read_written() == ({}, {LIFTS["question"]: "wrong"})


def test_lists_that_disagree_are_named_in_log_and_file(import_list: Import) -> None:
    import_list([{"question_id": 1, "verdict": "right"}], name="first")
    import_list([{"question_id": 0, "corrected_sql": "SELECT 1"}], name="second")
    rows = [
        {"question_id": 1, "corrected_sql": FIXED, "reason": "Repeats."},
        {"question_id": 0, "verdict": "right"},
        {"question_id": 0, "verdict": "wrong"},
        {"question_id": 7, "verdict": "wrong"},
    ]
    said = import_list(rows)
    assert said.splitlines()[-3:] == [
        "import-corrections: disputed: ski_resorts_eval_001: wrong, but not by first",
        "import-corrections: disputed: ski_resorts_eval_000: right, but not by second",
        "import-corrections: 4 rows (corrected 1, not found 1, repeated 1, right 1); 2 disputed",
    ]
    (entry,) = yaml.safe_load(Path("data/corrections/tried.yaml").read_text())
    assert entry["reason"] == "Repeats. Disputed: first says otherwise."
    assert entry["link"] == "https://example.org/tried"
    assert import_list(rows) == said  # a list does not dispute itself


def test_corrections_are_applied_and_the_header_has_source_and_licence(
    import_list: Import, tmp_path: Path
) -> None:
    import_list([{"question_id": 1, "corrected_sql": FIXED, "evidence": "Seats."}])
    text = Path("data/corrections/tried.yaml").read_text()
    assert text.startswith(
        "# Made by `answerkey import-corrections` of https://example.org/tried (mit).\n- "
    )
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["corpora"]["bird"]["corrections"] = "tried"
    Path("params.yaml").write_text(yaml.safe_dump(params))
    load_questions.main()
    lines = Path("data/interim/questions.jsonl").read_text().splitlines()
    (found,) = [q for q in map(json.loads, lines) if "correction" in q["source"]]
    assert (found["gold_sql"], found["evidence"]) == (FIXED, "Seats.")
    assert found["source"]["correction"]["original"]["gold_sql"] == LIFTS["SQL"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (7, "expected a list of rows, found int"),
        ([7], "row 0: expected fields with values, found 7"),
        (
            [{"question_id": 1}],
            r"row 0: expected another SQL .* or a verdict .*, found question_id",
        ),
        ([{"question_id": 1, "label": "maybe"}], "row 0: label is 'maybe', expected right or wro"),
    ],
)
def test_list_that_cannot_be_read_is_named(tmp_path: Path, rows: Any, words: str) -> None:
    (tmp_path / "list.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=words):
        list(read_claims(tmp_path / "list.json"))
