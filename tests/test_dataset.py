"""The readers of questions: the joined table, and the product with its sidecars."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import SPLITS
from answerkey.dataset import (
    DIFFICULTY,
    FIELDS,
    JOINED,
    Question,
    add_terms,
    decode_columns,
    list_reward_terms,
    read_classified,
    read_joined,
    read_product,
)
from answerkey.scoring.rules import read_rule
from answerkey.sections.score_rollouts import Reward
from tests.shared.joined_questions import make_joined, write_joined

IDS = ["a_train_000", "a_train_001", "b_eval_000"]


def write_lines(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def make_question(question_id: str, hardness: str | None) -> Question:
    source = {"corpus": "bird", "difficulty": "simple"}
    return make_joined(question_id, hardness=hardness, source=source)


@pytest.fixture
def interim(tmp_path: Path) -> Path:
    """Three questions, of which the second was not parsed."""
    questions = [make_question(IDS[0], "easy"), make_question(IDS[1], None)]
    questions.append(make_question(IDS[2], "hard"))
    write_joined(tmp_path, questions)
    levels = zip((IDS[0], IDS[2]), ("easy", "hard"), strict=True)
    write_lines(tmp_path / DIFFICULTY, [{"question_id": i, "difficulty": d} for i, d in levels])
    return tmp_path


def test_table_reads_back_as_it_was(interim):
    first, *_ = read_joined(interim)
    assert first == make_question(IDS[0], "easy")
    assert (first.corpus, first.source_difficulty) == ("bird", "simple")


def test_each_parsed_question_has_its_difficulty(interim):
    assert [question.difficulty for question in read_classified(interim)] == ["easy", None, "hard"]


def test_question_without_difficulty_is_an_error(interim):
    path = interim / DIFFICULTY
    path.write_text(path.read_text(encoding="utf-8").splitlines(keepends=True)[1])
    with pytest.raises(InputError, match="no difficulty of a_train_000"):
        list(read_classified(interim))


def test_difficulty_of_no_question_is_an_error(interim):
    with (interim / DIFFICULTY).open("a", encoding="utf-8") as file:
        file.write('{"question_id": "c_eval_000", "difficulty": "easy"}\n')
    with pytest.raises(InputError, match="c_eval_000 is in no other file, or out of step"):
        list(read_classified(interim))


@pytest.mark.parametrize("name", [JOINED, DIFFICULTY])
def test_missing_file_is_an_error_with_its_path(interim, name):
    (interim / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        list(read_classified(interim))


TERMS = {
    "flags": [],
    "answer_risk": 0.1,
    "sql_risk": 0.2,
    "repairs": [],
    "order_matters": True,
    "max_steps": 1_000_000,
    "rule": "strict",
    "accepted_rows": None,
    "hardness": "easy",
    "features": ["where"],
    "evidence": "Heavy means 9.",
    "source": {"corpus": "local"},
    "database_sha256": "11",
}
RATE = {"total": 2, "database": 1, "suite": 1, "models": {}}


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """Two questions of train around one of eval; the first has rollouts."""
    for split in SPLITS:
        records = [
            {**dict.fromkeys(FIELDS, "x"), "question_id": name, "split": split}
            for name in IDS
            if split in name
        ]
        lines = ",\n".join(map(json.dumps, records))
        (tmp_path / f"questions_{split}.json").write_text(f"[\n{lines}\n]\n")
    order = [IDS[0], IDS[2], IDS[1]]
    suite = {"mutation_score": None, "operators": {}, "alive": [], "databases": [{"path": "p"}]}
    write_lines(tmp_path / "audit.jsonl", [{"question_id": name, **TERMS} for name in order])
    write_lines(tmp_path / "test_suites.jsonl", [{"question_id": name, **suite} for name in order])
    write_lines(tmp_path / "pass_rates.jsonl", [{"question_id": IDS[0], **RATE}])
    return tmp_path


def test_product_is_read_by_split_with_all_that_its_sidecars_say(product):
    first, second = read_product(product, "train")
    assert (first.question_id, second.question_id) == (IDS[0], IDS[1])
    assert (first.pass_rate, first.solved_share, second.pass_rate) == (RATE, 0.5, None)
    assert (first.evidence, first.corpus, first.rule) == ("Heavy means 9.", "local", "strict")
    assert first.test_suite == [{"path": "p"}]
    assert list(first.product_record) == list(FIELDS)
    assert [question.question_id for question in read_product(product, "eval")] == [IDS[2]]


@pytest.mark.parametrize("name", ["audit.jsonl", "test_suites.jsonl", "questions_train.json"])
def test_product_without_a_file_or_a_record_is_an_error_that_names_it(product, name):
    path = product / name
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(lines[1:]), encoding="utf-8")
        with pytest.raises(InputError, match=IDS[0]):
            list(read_product(product, "train"))
    path.unlink()
    with pytest.raises(FileNotFoundError, match=name):
        list(read_product(product, "train"))


def test_columns_of_an_export_hold_what_a_reward_must_know(product):
    (question,) = read_product(product, "eval")
    database = {"path": "p", "sha256": "2", "gold_answer": [], "order_matters": True}
    database |= {"accepted_rows": None}
    question = question._replace(accepted_rows=[1], test_suite=[{**database, "kill": None}])
    columns = list_reward_terms(question)
    assert json.loads(columns["test_suite"]) == [database]
    decoded = decode_columns(columns)
    assert (decoded["accepted_rows"], decoded["test_suite"]) == ([1], [database])
    assert list_reward_terms(question._replace(test_suite=[]))["test_suite"] is None


@pytest.mark.parametrize(
    ("rule", "own", "abs_tol", "expected"),
    [
        ("strict", None, None, "strict"),
        ("strict", None, 2e-8, "strict,abs_tol=2e-08"),
        ("bird,rel_tol=0.01", None, 0.5, "bird,rel_tol=0.01,abs_tol=0.5"),
        ("strict,abs_tol=0", None, 2e-8, "strict,abs_tol=0"),
        ("spider2", None, 2e-8, "spider2"),
        ("strict", "set", 2e-8, "set"),
    ],
)
def test_rule_of_all_questions_has_the_tolerance_of_each(rule, own, abs_tol, expected):
    source = {"corpus": "x", **({"grading_method": own} if own else {})}
    question = make_joined(IDS[0], source=source, steps=1, abs_tol=abs_tol)
    named = add_terms(question, "0" * 64, Reward(rule=rule), engine="sqlite").rule
    assert named == expected
    read_rule(named)
