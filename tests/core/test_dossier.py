"""dossier: the artefacts of a question are joined as streams, and none may be missing or left."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.core.dossier import read_dossiers
from answerkey.core.errors import InputError

IDS = ["a_train_000", "a_train_001", "b_eval_000"]


def write_lines(path: Path, records: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def interim(tmp_path: Path) -> Path:
    """Three questions: the first has everything, the second no answer, the third does not parse."""
    write_lines(
        tmp_path / "splits.jsonl",
        [{"question_id": i, "database_name": i[0], "source": {}} for i in IDS],
    )
    write_lines(
        tmp_path / "parsed.jsonl",
        [
            {"question_id": IDS[0], "tables_involved": ["t"]},
            {"question_id": IDS[1], "tables_involved": ["u"]},
            {"question_id": IDS[2], "reason": "unparsable_sql", "detail": "no"},
        ],
    )
    write_lines(
        tmp_path / "gold_answers/a.jsonl",
        [
            {"question_id": IDS[0], "gold_answer": 3, "answer_type": "integer"},
            {"question_id": IDS[1], "reason": "sql_error", "detail": "no such table"},
        ],
    )
    write_lines(
        tmp_path / "gold_answers/b.jsonl",
        [{"question_id": IDS[2], "gold_answer": [], "answer_type": "list"}],
    )
    flag = {"code": "boolean_answer", "evidence": {}}
    write_lines(
        tmp_path / "audit/a.jsonl",
        [{"question_id": IDS[0], "flags": [flag], "order_matters": True}],
    )
    write_lines(
        tmp_path / "audit/b.jsonl",
        [{"question_id": IDS[2], "flags": [], "order_matters": False}],
    )
    write_lines(
        tmp_path / "set_flags.jsonl",
        [{"question_id": IDS[0], "flags": [{"code": "duplicate_question", "evidence": {}}]}],
    )
    write_lines(
        tmp_path / "difficulty.jsonl",
        [
            {"question_id": IDS[0], "difficulty": "easy"},
            {"question_id": IDS[1], "difficulty": "hard"},
        ],
    )
    return tmp_path


def test_everything_known_of_a_question_is_in_its_dossier(interim):
    first, second, third = read_dossiers(interim)
    assert [dossier.question_id for dossier in (first, second, third)] == IDS
    assert first.outcome["gold_answer"] == 3
    assert first.parsed["tables_involved"] == ["t"]
    assert first.audit["order_matters"] is True
    assert first.difficulty == "easy"
    assert second.outcome["reason"] == "sql_error"
    assert second.audit is None
    assert second.difficulty == "hard"
    assert third.parsed["reason"] == "unparsable_sql"
    assert third.difficulty is None


def test_flags_of_the_question_and_of_the_set_stand_together(interim):
    first = next(iter(read_dossiers(interim)))
    assert [flag["code"] for flag in first.audit["flags"]] == [
        "boolean_answer",
        "duplicate_question",
    ]


@pytest.mark.parametrize("name", ["parsed.jsonl", "gold_answers/a.jsonl"])
def test_missing_record_is_an_error_that_names_the_question(interim, name):
    lines = (interim / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (interim / name).write_text("".join(lines[1:]), encoding="utf-8")
    with pytest.raises(InputError, match="no record of question a_train_000"):
        list(read_dossiers(interim))


@pytest.mark.parametrize(
    "name",
    [
        "parsed.jsonl",
        "gold_answers/b.jsonl",
        "audit/b.jsonl",
        "difficulty.jsonl",
        "set_flags.jsonl",
    ],
)
def test_record_of_no_question_is_an_error_that_names_it(interim, name):
    with (interim / name).open("a", encoding="utf-8") as file:
        file.write('{"question_id": "c_eval_000", "flags": [], "difficulty": "easy"}\n')
    with pytest.raises(InputError, match="c_eval_000 is no question, or out of order"):
        list(read_dossiers(interim))


@pytest.mark.parametrize("name", ["difficulty.jsonl", "gold_answers/a.jsonl", "parsed.jsonl"])
def test_records_out_of_order_are_an_error(interim, name):
    lines = (interim / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (interim / name).write_text("".join(reversed(lines)), encoding="utf-8")
    with pytest.raises(InputError):
        list(read_dossiers(interim))


@pytest.mark.parametrize("name", ["gold_answers/b.jsonl", "parsed.jsonl", "set_flags.jsonl"])
def test_missing_artefact_is_an_error_with_its_path(interim, name):
    (interim / name).unlink()
    with pytest.raises(FileNotFoundError, match=Path(name).name):
        list(read_dossiers(interim))


def test_no_questions_give_no_dossiers(tmp_path):
    for name in ("splits", "parsed", "difficulty", "set_flags"):
        write_lines(tmp_path / f"{name}.jsonl", [])
    assert list(read_dossiers(tmp_path)) == []
