"""What environments share: questions are read, replies scored, and rows shown in few words."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.environments.questions import (
    explain_query,
    explain_reply,
    list_terms,
    load_questions,
    run_sql,
)
from answerkey.reward import RewardPool, score_completions
from tests.shared.export_world import ExportWorld
from tests.shared.question_world import COUNT, HOSTILE, QuestionWorld


def test_questions_are_read_in_their_order(fifty: QuestionWorld) -> None:
    found, folders = load_questions("data/exports", "train")
    assert (len(found), folders) == (COUNT, {})
    assert [question.prompt for question in found] == [made.prompt for made in fifty.examples]
    with pytest.raises(FileNotFoundError, match=r"eval\.parquet: run `dvc repro export_trainers`"):
        load_questions("data/exports", "eval")


def test_explained_rewards_are_those_of_the_reward_function(fifty: QuestionWorld) -> None:
    questions, _ = load_questions("data/exports", "train")
    terms = list(map(list_terms, questions))
    columns = {name: [one[name] for one in terms] for name in terms[0]}
    rewards = score_completions(fifty.replies, workers=1, **columns)
    assert {0.0, 1.0} == set(rewards)
    with RewardPool(workers=1) as pool:
        explained = [
            explain_reply(pool, reply, list_terms(found))
            for reply, found in zip(fifty.replies, questions, strict=True)
        ]
        assert explain_reply(pool, None, terms[0]).reason == "no_query"
    assert [found.reward for found in explained] == rewards
    assert {"no_query", "sql_error"} < {found.reason for found in explained}
    assert {found.database for found in explained} == {None, "harbour/harbour.00.sqlite"}


def test_rows_are_shown_in_few_words(fifty: QuestionWorld) -> None:
    with RewardPool(workers=1) as pool:
        shown = {sql: run_sql(pool, sql, "harbour") for sql in HOSTILE}
        assert run_sql(pool, "SELECT name FROM ship LIMIT 2", "harbour") == '[["Tern"], ["Sun"]]'
        many = run_sql(pool, "SELECT 1 FROM ship, ship AS s", "harbour")
    assert shown["SELECT wage FROM ship"] == "sql_error: no such column: wage"
    assert shown["SELECT x'00', 9e999, NULL"].startswith("blob: ")
    assert many.endswith("(the first of 36 rows)")
    assert all(len(text) < 5000 for text in shown.values())


def test_a_published_dataset_brings_its_prompts_and_its_databases(
    exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)  # no data/databases
    found, folders = load_questions(str(exported.exports / "huggingface"), "train")
    local, _ = load_questions(str(exported.exports), "train")
    assert [(one.question_id, one.prompt) for one in found] == [
        (one.question_id, one.prompt) for one in local
    ]
    with RewardPool(workers=1, **folders) as pool:
        for question in found[:5]:
            assert explain_query(pool, question.gold_sql, list_terms(question)).reward == 1.0
