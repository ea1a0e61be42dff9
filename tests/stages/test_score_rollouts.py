"""score_rollouts: answers of models become pass rates, flags, difficulties and a sidecar."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import write_jsonl
from answerkey.evaluation.scoring import Score, find_agreement
from tests.shared.project_world import World

RATES = "data/interim/pass_rates.json"
FIRST, SECOND, THIRD = (f"harbour_train_00{place}" for place in range(3))
FAILED = "harbour_train_025"  # its gold SQL has an error


@pytest.fixture
def world(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("score_rollouts.min_rollouts", 2)
    return world


def write_rollouts(world: World, name: str, *records: dict) -> None:
    write_jsonl(world.folder / "data/rollouts" / name, records)


def write_mixed(world: World) -> None:
    """Of the first question one rollout of four is right, of the second all, of the third none."""
    gold = {r["question_id"]: r["gold_sql"] for r in world.lines("data/interim/splits.jsonl")}
    fenced = f"So:\n```sql\n{gold[FIRST]}\n```"
    write_rollouts(
        world,
        "small.jsonl",
        {"question_id": FIRST, "completions": [fenced, "I do not know.", "I do not know."]},
        {"question_id": SECOND, "prediction": gold[SECOND], "model": "other"},
        {"question_id": THIRD, "predictions": ["SELECT 77", "SELECT nothing FROM nowhere"]},
    )
    write_rollouts(
        world,
        "two.jsonl",
        {"question_id": FIRST, "model": "other", "prediction": "SELECT 'Tern'"},
        {"question_id": SECOND, "completion": [{"content": f"```\n{gold[SECOND]}\n```"}]},
        {"question_id": "library_eval_000", "prediction": "SELECT 1"},
        {"question_id": FAILED, "predictions": ["SELECT 1", "SELECT 2"]},
        {"question_id": "elsewhere_train_000", "predictions": ["SELECT 1", "SELECT 2"]},
    )


def count(total: int, right: int) -> dict[str, int]:
    return {"total": total, "database": right, "suite": right}


@pytest.mark.slow
def test_without_rollouts_there_are_no_pass_rates(world, capsys):
    world.run("score_rollouts")
    assert world.json(RATES) == []
    assert capsys.readouterr().err == "score_rollouts: no rollouts in data/rollouts\n"


def test_rollouts_become_counts_by_question_and_model(world, capsys):
    write_mixed(world)
    world.run("score_rollouts")
    assert world.json(RATES) == [
        {
            "question_id": FIRST,
            **count(4, 1),
            "models": {"other": count(1, 0), "small": count(3, 1)},
        },
        {
            "question_id": SECOND,
            **count(2, 2),
            "models": {"other": count(1, 1), "two": count(1, 1)},
        },
        {"question_id": THIRD, **count(2, 0), "models": {"small": count(2, 0)}},
    ]
    assert capsys.readouterr().err.splitlines() == [
        "score_rollouts: 8 rollouts of 3 questions scored, 13 rollouts of 6 questions read",
        "score_rollouts: not scored: 1 rollout of 1 question with fewer than 2 rollouts each",
        "score_rollouts: not scored: 4 rollouts of 2 questions not here, or without an answer",
    ]


def test_models_that_agree_on_the_suite_as_well_are_a_doubt_about_gold(world):
    """Three of five models want the same other names, the fourth one name, the last is right."""
    gold = {r["question_id"]: r["gold_sql"] for r in world.lines("data/interim/splits.jsonl")}
    shards = world.lines("data/interim/gold_answers/harbour.jsonl")
    answer = {r["question_id"]: r for r in shards}[FIRST]["gold_answer"]
    others = (
        "SELECT name FROM ship WHERE name > 'F'",
        "SELECT name FROM ship WHERE name > 'F' ORDER BY name DESC",
        "SELECT name FROM ship WHERE NOT name <= 'F'",
        f"SELECT name FROM ship WHERE name = '{answer[0]}'",
        gold[FIRST],
    )
    for place, sql in enumerate(others):
        record = {"question_id": FIRST, "model": f"m{place}", "predictions": [sql, sql]}
        write_rollouts(world, f"{place}.jsonl", record)
    world.run("score_rollouts")
    (rate,) = world.json(RATES)
    found = rate["agreement"]
    assert (found["kind"], found["models"], found["of"]) == ("half", 3, 5)
    assert found["sql"] == others[0]
    assert found["row_count"] >= len(found["rows"]) > 0
    world.run("compare_questions")
    joined = {r["question_id"]: r for r in world.lines("data/interim/joined.jsonl")}
    flags = {flag["code"]: flag["evidence"] for flag in joined[FIRST]["flags"]}
    assert flags["models_agree_otherwise"] == found
    assert "agreement" not in joined[FIRST]["pass_rate"]


WRONG = [
    Score(FIRST, place, sql, False, False, rows=[[sql]], row_count=1, meaning=meaning)
    for place, (sql, meaning) in enumerate([("SELECT 10", "x"), ("SELECT 7", "x"), ("SELECT", "y")])
]


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ([{"a": 1}, {"b": 1}, {}, {}], None),  # two models
        ([{"a": 1}, {"b": 1}, {}, {"c": 1}], "most"),
        ([{"a": 1}, {"b": 1}, {}, dict.fromkeys("cd", 1)], "half"),
        ([{"a": 1}, {}, {}, dict.fromkeys("bcdef", 1)], "some"),
        ([{"a": 1}, {}, {}, dict.fromkeys("bcdefg", 1)], None),
        ([{"a": 1}, {"b": 1}, dict.fromkeys("cdef", 1), {}], "most"),
        ([{"a": 1, "b": 1}, {}, {}, {"a": 1, "b": 2, "c": 1}], "third"),  # b mostly says otherwise
    ],
)
def test_kind_of_agreement_is_the_share_of_models(counts, kind):
    queries = ("SELECT 10", "SELECT 7", "SELECT", None)
    samples = {sql: Counter(of_sql) for sql, of_sql in zip(queries, counts, strict=True)}
    scores = [score for score in WRONG if samples[score.sql]]
    found = find_agreement(samples, scores, 5)
    assert (found and found["kind"]) == kind


def test_what_was_scored_is_not_executed_again(world):
    write_mixed(world)
    world.run("score_rollouts")
    rates = world.json(RATES)
    journal = world.folder / ".answerkey/rollouts/harbour.jsonl"
    before = journal.read_bytes()
    world.run("score_rollouts")
    assert (world.json(RATES), journal.read_bytes()) == (rates, before)
    write_rollouts(world, "more.jsonl", {"question_id": FIRST, "prediction": "SELECT 5"})
    world.run("score_rollouts")
    assert journal.read_bytes().startswith(before)
    assert world.json(RATES)[0]["total"] == 5


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ({"prediction": "SELECT 1"}, "question_id: expected a text, found None"),
        ({"question_id": FIRST}, "expected one of prediction"),
        ({"question_id": FIRST, "prediction": "SELECT 1", "model": 3}, "model: expected a text"),
        ([], "expected a JSON object, found"),
    ],
)
def test_line_that_is_no_rollout_is_named(world, record, error):
    write_rollouts(world, "m.jsonl", {"question_id": FIRST, "prediction": "SELECT 1"}, record)
    with pytest.raises(InputError, match=rf"data/rollouts/m\.jsonl:2: .*{error}"):
        world.run("score_rollouts")


def test_pass_rates_make_flags_difficulties_and_a_sidecar(world, capsys):
    write_mixed(world)
    world.drop_targets()
    world.change("classify_difficulty.method", "pass_rate")
    world.run_from("score_rollouts")
    told = capsys.readouterr().err
    assert "by rollouts (always_solved 1, never_solved 1)" in told
    joined = {r["question_id"]: r for r in world.lines("data/interim/joined.jsonl")}
    flags = {name: joined[name]["flags"][-1:] for name in (SECOND, THIRD)}
    assert flags[SECOND] == [{"code": "always_solved", "evidence": count(2, 2)}]
    risk = joined[THIRD]["answer_risk"]
    evidence = {**count(2, 0), "answer_risk": risk}
    assert flags[THIRD] == [{"code": "never_solved", "evidence": evidence}]
    levels = {
        r["question_id"]: r["difficulty"] for r in world.lines("data/interim/difficulty.jsonl")
    }
    assert [levels[name] for name in (FIRST, SECOND, THIRD)] == ["medium", "easy", "hard"]
    assert world.lines("data/questions/pass_rates.jsonl") == world.json(RATES)


def test_policy_leaves_out_what_is_always_and_what_is_never_solved(world):
    write_mixed(world)
    world.drop_targets()
    for flag in ("always_solved", "never_solved"):
        world.change(f"select_questions.policies.{flag}", "exclude")
    world.run_from("score_rollouts")
    excluded = {r["question_id"]: r["reason"] for r in world.lines("data/questions/excluded.jsonl")}
    assert (excluded[SECOND], excluded[THIRD]) == ("always_solved", "never_solved")
    (rate,) = world.lines("data/questions/pass_rates.jsonl")
    assert rate["question_id"] == FIRST
