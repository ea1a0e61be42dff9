"""The join: every record of every stage is taken, none may be missing or left, and flags follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import Finding, write_json
from answerkey.comparison.join import (
    find_correction,
    find_in_dialect,
    find_in_rollouts,
    join_questions,
)
from answerkey.dataset import Question, find_failure
from tests.shared.joined_questions import make_joined

SEGMENTS = [{"rows": [[3], [4]], "take": 1}]
RATE = {"total": 4, "database": 3, "suite": 1, "models": {}}
IDS = ["a_train_000", "a_train_001", "b_eval_000"]


def write_lines(path: Path, records: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def make_suite(question_id: str) -> dict:
    scores = {"database": 0.5, "suite": 0.9}
    return {"question_id": question_id, "mutation_score": scores, "latent_ambiguity": None}


def make_source(question_id: str, text: str = "How many?", **more: object) -> dict:
    return {
        "question_id": question_id,
        "database_name": question_id[0],
        "split": question_id.split("_")[1],
        "question_text": text,
        "gold_sql": "SELECT 3",
        "source": {"corpus": "local"},
        **more,
    }


def join(interim: Path) -> list[Question]:
    return list(join_questions(interim, min_mutation_score=0.5))


@pytest.fixture
def interim(tmp_path: Path) -> Path:
    """Three questions: the first has everything, the second no answer, the third does not parse."""
    parsed = {"features": ["where"], "hardness": "easy", "canonical_sql": "SELECT 3"}
    parsed["template"] = "SELECT ?"
    flags = [{"code": "boolean_answer", "evidence": {}}]
    of_stages = {
        "parsed": [
            {"tables_involved": ["t"], **parsed},
            {"tables_involved": ["u"], **parsed},
            {"reason": "unparsable_sql", "detail": "no"},
        ],
        "gold_answers": [
            {"gold_answer": 3, "answer_type": "integer", "steps": 50_000},
            {"reason": "sql_error", "detail": "no such table"},
            {"gold_answer": [], "answer_type": "list"},
        ],
        "audit": [
            {"flags": flags, "order_matters": True, "accepted_rows": SEGMENTS},
            None,
            {"flags": [], "order_matters": False},
        ],
        "test_suites": [make_suite(IDS[0]), None, None],
    }
    write_lines(tmp_path / "splits.jsonl", [make_source(question_id) for question_id in IDS])
    for stage, records in of_stages.items():
        known = [
            {"question_id": name, **record}
            for name, record in zip(IDS, records, strict=True)
            if record
        ]
        for database in "ab":
            own = [record for record in known if record["question_id"][0] == database]
            write_lines(tmp_path / f"{stage}/{database}.jsonl", own)
    write_json(tmp_path / "pass_rates.json", [{"question_id": IDS[0], **RATE}])
    return tmp_path


def test_everything_that_is_known_of_a_question_is_joined(interim):
    first, second, third = join(interim)
    assert [question.question_id for question in (first, second, third)] == IDS
    assert (first.gold_answer, first.answer_type, first.order_matters) == (3, "integer", True)
    assert (first.steps, first.accepted_rows) == (50_000, SEGMENTS)
    assert first.mutation_score == {"database": 0.5, "suite": 0.9}
    assert (first.pass_rate, first.solved_share) == (RATE, 0.25)
    assert (second.pass_rate, second.solved_share) == (None, None)
    assert (first.tables_involved, first.hardness, first.corpus) == (["t"], "easy", "local")
    assert [flag["code"] for flag in first.flags] == ["boolean_answer"]
    assert (first.stage, first.reason, first.detail) == (None, None, None)
    assert (second.stage, second.reason) == ("compute_gold_answers", "sql_error")
    assert (second.answer_type, second.tables_involved) == (None, ["u"])
    assert (third.stage, third.reason) == ("parse_gold_sql", "unparsable_sql")
    assert (third.gold_answer, third.order_matters, third.tables_involved) == ([], False, None)


def test_failed_answer_goes_before_a_failed_parse():
    outcome, parsed = ({"reason": name, "detail": "no"} for name in ("sql_error", "unparsable_sql"))
    found = find_failure(make_source(IDS[0]), outcome, parsed)
    assert found == ("compute_gold_answers", "sql_error", "no")


KILLED = {"killed": 1, "alive": 0, "undecided": 0}
UNDECIDED = {"killed": 0, "alive": 0, "undecided": 1}
AMBIGUITY = {"reading": "distinct", "sql": "SELECT 4", "gold_rows": [[3]], "reading_rows": [[4]]}


@pytest.mark.parametrize(
    ("suite", "flags"),
    [
        ({}, []),
        ({"mutation_score": None}, []),
        ({"mutation_score": {"database": 0.1, "suite": 0.5}}, []),
        ({"mutation_score": {"database": 0.1, "suite": 0.49}}, ["weak_answer"]),
        ({"latent_ambiguity": AMBIGUITY}, ["latent_ambiguity"]),
        (
            {"latent_ambiguity": AMBIGUITY, "mutation_score": {"database": 0, "suite": 0}},
            ["latent_ambiguity", "weak_answer"],
        ),
        ({"operators": {"by_heart": KILLED}}, []),
        ({"operators": {"by_heart": UNDECIDED}, "mutation_score": None}, ["weak_answer"]),
        ({"no_suite": "ties", "mutation_score": None}, ["weak_answer"]),
        ({"alive": [{"operator": "guess", "sql": "VALUES (1)", "killed_by_database": False}]}, []),
        ({"no_suite": None, "operators": {"by_heart": KILLED}}, []),
    ],
)
def test_suite_raises_flags_after_those_of_the_audit(interim, suite, flags):
    write_lines(interim / "test_suites/a.jsonl", [make_suite(IDS[0]) | suite])
    found = join(interim)[0].flags
    assert [flag["code"] for flag in found] == ["boolean_answer", *flags]
    weak = suite.get("operators") or suite.get("mutation_score") or {"no_suite": "ties"}
    evidence = {"latent_ambiguity": AMBIGUITY, "weak_answer": weak}
    assert [flag["evidence"] for flag in found[1:]] == [evidence[flag] for flag in flags]


def test_query_that_only_the_database_tells_is_the_evidence(interim):
    pool, real = (
        {"operator": "order_dropped", "sql": "SELECT 3", "killed_by_database": by_database}
        for by_database in (False, True)
    )
    write_lines(interim / "test_suites/a.jsonl", [make_suite(IDS[0]) | {"alive": [pool, real]}])
    guarded = {"operator": "order_dropped", "sql": "SELECT 3"}
    assert join(interim)[0].flags[-1] == {
        "code": "weak_answer",
        "evidence": {"database": 0.5, "suite": 0.9, "guarded": guarded},
    }


@pytest.mark.parametrize("operator", ["count_by_heart", "code_by_heart", "value_by_heart"])
def test_query_by_heart_that_lives_is_the_evidence(interim, operator):
    """It is right on the real database and on the suite, without a guard."""
    alive = {"operator": operator, "sql": "SELECT 3", "killed_by_database": False}
    write_lines(interim / "test_suites/a.jsonl", [make_suite(IDS[0]) | {"alive": [alive]}])
    flag = join(interim)[0].flags[-1]
    assert flag["code"] == "weak_answer"
    assert flag["evidence"]["guarded"] == {"operator": operator, "sql": "SELECT 3"}


CORRECTION = {"action": "exclude", "reason": "Wrong.", "link": "https://example.org/1"}


@pytest.mark.parametrize(
    ("source", "reason", "detail"),
    [
        ({"text": " "}, "empty_question", "question_text: expected text, found none"),
        ({"text": "\ud800"}, "undecodable_text", "question_text: surrogates not allowed"),
        ({"evidence": "\udfff"}, "undecodable_text", "evidence: surrogates not allowed"),
        (
            {"source": {"corpus": "local", "correction": CORRECTION}},
            "excluded_by_curator",
            "Wrong. https://example.org/1",
        ),
    ],
)
def test_first_stage_that_set_a_question_aside_says_why(interim, source, reason, detail):
    sources = [make_source(IDS[0], **source), make_source(IDS[1], **source), make_source(IDS[2])]
    write_lines(interim / "splits.jsonl", sources)
    first, second, _ = join(interim)
    for question in (first, second):
        found = question.stage, question.reason, question.detail
        assert found == ("load_questions", reason, detail)


@pytest.mark.parametrize("name", ["parsed/a.jsonl", "gold_answers/a.jsonl"])
def test_missing_record_is_an_error_that_names_the_question(interim, name):
    lines = (interim / name).read_text(encoding="utf-8").splitlines(keepends=True)
    (interim / name).write_text("".join(lines[1:]), encoding="utf-8")
    with pytest.raises(InputError, match="no answer or parse of question a_train_000"):
        join(interim)


@pytest.mark.parametrize("name", ["parsed/b.jsonl", "test_suites/b.jsonl"])
def test_record_of_no_question_is_an_error_that_names_it(interim, name):
    with (interim / name).open("a", encoding="utf-8") as file:
        file.write('{"question_id": "c_eval_000", "flags": []}\n')
    with pytest.raises(InputError, match="c_eval_000 is in no other file"):
        join(interim)


def test_pass_rate_of_no_question_is_an_error_that_names_it(interim):
    write_json(interim / "pass_rates.json", [{"question_id": "c_eval_000", **RATE}])
    with pytest.raises(InputError, match="c_eval_000 is no question"):
        join(interim)


@pytest.mark.parametrize(
    ("counts", "flag", "more"),
    [
        ((4, 4, 4), "always_solved", {}),
        ((4, 4, 3), None, {}),
        ((4, 1, 1), None, {}),
        ((4, 4, 0), "never_solved", {"answer_risk": 0.6}),
    ],
)
def test_all_rollouts_or_none_raise_a_flag(counts, flag, more):
    evidence = dict(zip(("total", "database", "suite"), counts, strict=True))
    found = find_in_rollouts({**evidence, "models": {}}, answer_risk=0.6)
    assert found == ([] if flag is None else [Finding(flag, evidence | more)])
    assert find_in_rollouts(None, answer_risk=0.6) == []


def test_agreement_of_models_is_a_flag_and_no_pass_rate(interim):
    agreement = {"kind": "half", "models": 2, "of": 4, "sql": "SELECT 4"}
    rate = {"question_id": IDS[0], **RATE, "agreement": agreement}
    write_json(interim / "pass_rates.json", [rate])
    question = join(interim)[0]
    assert question.flags[-1] == {"code": "models_agree_otherwise", "evidence": agreement}
    assert question.pass_rate == RATE


DIFFERS = {"dialect": "postgres", "source_sql": "SELECT age(born) FROM ship", "error": "fails"}


@pytest.mark.parametrize(
    ("original", "codes"),
    [
        (None, ["dialect_differs"]),
        ({"question_text": "Which?"}, ["dialect_differs"]),
        ({"gold_sql": "SELECT 1"}, []),  # a curator has other SQL for it
    ],
)
def test_what_another_engine_says_counts_until_the_sql_is_another(
    original: dict[str, str] | None, codes: list[str]
) -> None:
    source: dict[str, Any] = {"corpus": "x", "file": "f", "index": 0, "dialect_differs": DIFFERS}
    if original is not None:
        source["correction"] = {"action": "replace", "reason": "So.", "original": original}
    found = find_in_dialect(make_joined("ship_train_000", source=source))
    assert [finding.code for finding in found] == codes


def test_corrected_question_has_a_flag_with_what_it_was_and_who_corrected_it() -> None:
    source: dict[str, Any] = {"corpus": "x", "file": "f", "index": 0}
    assert find_correction(make_joined("ship_train_000", source=source)) == []
    note = {"action": "exclude", "reason": "So.", "link": None}
    excluded = make_joined("ship_train_000", source=source | {"correction": note})
    assert find_correction(excluded) == []
    note |= {"action": "replace", "original": {"gold_sql": "SELECT 1"}, "source": "person:kim"}
    (found,) = find_correction(make_joined("ship_train_000", source=source | {"correction": note}))
    evidence = {"gold_sql_before": "SELECT 1", "reason": "So.", "source": "person:kim"}
    assert found == Finding("corrected", evidence)
