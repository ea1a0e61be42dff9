"""A corpus with a clock, from its entry to a reward: every stage reads the same instant."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import write_jsonl
from answerkey.dataset import make_questions, read_product, read_rows
from answerkey.engines.gold_answers import compute_gold_answer
from answerkey.environments.questions import explain_query, list_terms
from answerkey.evaluate import score_file
from answerkey.loading import load
from answerkey.reward import RewardPool
from stages import validate_dataset
from tests.shared.paths import ROOT
from tests.shared.project_world import World

NOW = "2025-01-30"
# Rows of the last weeks, made by the clock.
STAFF = """
CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT, team TEXT, joined TEXT, pay INTEGER);
INSERT INTO {name} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
SELECT i, 'Name ' || i, char(65 + i % 4), date('now', '-' || (5 * i) || ' days'), 7 * i % 50 FROM n;
CREATE VIEW tenure AS SELECT name, julianday('now') - julianday(joined) AS days FROM {name};
"""
QUESTIONS = [
    ("Who joined in the last 30 days?", "joined >= date('now', '-30 days')"),
    ("Who joined in the last week of those in team B?", "joined > date('now', '-8 days')"),
    ("Who joined before this month?", "joined < date('now', 'start of month')"),
    ("Who joined this year?", "strftime('%Y', joined) = strftime('%Y', 'n' || 'ow')"),
    ("Who joined more than 60 days ago?", "julianday(CURRENT_DATE) - julianday(joined) > 60"),
    ("Who has a pay above 20?", "pay > 20"),
]
DAYS = "How many days has Name 2 been there?"
TENURE = "SELECT days FROM tenure WHERE name = 'Name 2'"


class Clocked(World):
    """Two databases whose questions ask for the last days, and one that has no right answer."""

    def __init__(self, folder: Path, now: str | None) -> None:
        super().__init__(folder)
        self.drop_targets()
        self.change("corpora.local.now", now)
        self.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        for file, db_id in (("train_spider.json", "crew"), ("dev.json", "staff")):
            self.write_database(db_id, STAFF.format(name=db_id))
            asked = [
                (f"Of the {db_id}: {text}", f"SELECT name FROM {db_id} WHERE {condition}")
                for text, condition in QUESTIONS
            ]
            self.write_questions(
                file,
                db_id,
                [*asked, (f"Of the {db_id}: {DAYS}", TENURE), ("Who?", "SELECT random()")],
            )

    def read_product(self) -> list[Any]:
        folder = self.folder / "data/questions"
        return [*read_product(folder, "train"), *read_product(folder, "eval")]


@pytest.mark.slow  # all stages run
def test_every_stage_reads_the_clock_of_the_corpus(here: Path, caplog: Any) -> None:
    world = Clocked(here, NOW)
    world.run_to("export_dataset")
    world.run("export_trainers", "export_huggingface", "report_dataset")
    questions = world.read_product()
    assert [record["reason"] for record in world.lines("data/questions/excluded.jsonl")] == [
        "nondeterministic_function"
    ] * 2
    assert len(questions) == 14
    assert {question.now for question in questions} == {NOW}
    # Gold: what SQLite gives where its clock stands there.
    assert [len(question.gold_answer) for question in questions[:5:2]] == [6, 25, 18]
    assert questions[1].gold_answer == "Name 1"
    assert questions[3].gold_answer == [f"Name {number}" for number in range(1, 6)]
    assert questions[6].gold_answer == 10.0
    # Suites: gold's answers on them are those of that instant, and rows lie on both sides of it.
    for question in questions:
        for database in question.test_suite:
            given = compute_gold_answer(question.gold_sql, database["path"], now=NOW)
            assert given == database["gold_answer"]
    dates = set()
    for database in questions[0].test_suite:
        with closing(sqlite3.connect(database["path"])) as connection:
            dates.update(row[0] for row in connection.execute("SELECT joined FROM crew"))
    assert dates >= {"2024-12-30", "2024-12-31"}
    assert all(question.mutation_score["suite"] > 0.9 for question in questions[:3])
    # Who pulls the product validates it, and evaluates by it.
    validate_dataset.main("--validate")
    predictions = [
        {"question_id": question.question_id, "prediction": question.gold_sql}
        for question in questions
    ]
    write_jsonl(here / "gold.jsonl", predictions)
    assert {score["score"] for score in score_file("gold.jsonl", workers=1)} == {1.0}
    # Exports and prompts tell it.
    for split in ("train", "eval"):
        for folder in ("trl/prompt_completion", "huggingface"):
            table = read_rows(here / f"data/exports/{folder}/{split}.parquet")
            assert [row["now"] for row in table] == [NOW] * len(table)
            assert "\nThe current date is 2025-01-30.\n" in table[0]["prompt"][0]["content"]
        verl = read_rows(here / f"data/exports/verl/{split}.parquet")
        assert {row["extra_info"]["now"] for row in verl} == {NOW}
        lines = world.lines(f"data/exports/openenv/{split}.jsonl")
        assert {line["now"] for line in lines} == {NOW}
    with closing(sqlite3.connect(here / "data/exports/questions.db")) as connection:
        assert connection.execute("SELECT DISTINCT now FROM questions").fetchall() == [(NOW,)]
    page = (here / "reports/dataset.html").read_text(encoding="utf-8")
    assert page.count("\\nThe current date is 2025-01-30.") == 16
    card = (here / "data/exports/huggingface/README.md").read_text(encoding="utf-8")
    assert "| now | " in card
    # The reward takes it from a row, of the product, of an export and of what `load` returns.
    loaded = load(here / "data/exports/huggingface", split="train", cache=here / "cache")
    rows = list(make_questions(loaded.questions, split="train"))
    with RewardPool(workers=1) as pool:
        for question in [*rows, *questions]:
            terms = list_terms(question)
            assert explain_query(pool, question.gold_sql, terms).reward == 1.0
            assert explain_query(pool, question.gold_sql.replace("-30", "-31"), terms).reward == (
                0.0 if "-30" in question.gold_sql else 1.0
            )


@pytest.mark.slow  # all stages run
def test_corpus_without_a_clock_loses_what_reads_it_and_has_no_field_of_it(
    here: Path, capsys: Any
) -> None:
    world = Clocked(here, None)
    for db_id in ("crew", "staff"):
        text = STAFF.format(name=db_id).replace("date('now',", "date('2025-01-30',")
        world.write_database(db_id, text)
    world.run_to("export_dataset")
    assert (
        "read a clock, which their corpus has not: 12; set corpora.NAME.now"
        in capsys.readouterr().err
    )
    world.run("export_trainers", "export_huggingface")
    excluded = world.lines("data/questions/excluded.jsonl")
    assert [record["reason"] for record in excluded] == ["nondeterministic_function"] * 14
    assert [question.gold_sql[-8:] for question in world.read_product()] == ["pay > 20"] * 2
    for path in [*here.glob("data/questions/*"), *here.glob("data/interim/*.jsonl")]:
        assert '"now"' not in path.read_text(encoding="utf-8")
    (row,) = read_rows(here / "data/exports/trl/prompt_completion/train.parquet")
    assert "now" not in row
    assert "current date" not in row["prompt"][0]["content"]
