"""Splits within a corpus: what stays together, what stays where it is, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.corpus.records import SourceQuestion
from answerkey.corpus.split_rules import choose_held_out, choose_splits
from answerkey.corpus.splits import assign_splits
from answerkey.engines.schema import Column, Schema, Table
from answerkey.sections.corpora import SplitRule

COLUMNS = tuple(Column(name, "", False, 0) for name in ("id", "name", "weight"))
SHIP = Schema((Table("ship", False, COLUMNS),))
QUERIES = {
    "by weight": [
        "SELECT name FROM ship WHERE weight > 40",
        "select T1.Name from SHIP as T1 where 55.5 < T1.weight;",
        "SELECT name FROM ship WHERE (weight > -1)",
    ],
    "by name": [
        "SELECT id FROM ship WHERE name = 'Sun'",
        "SELECT id FROM ship WHERE 'O''Neill' = name",
    ],
    "some": [
        "SELECT id FROM ship WHERE name IN ('Sun', 'Tern')",
        "SELECT id FROM ship WHERE name IN ('a')",
    ],
    "count": ["SELECT count(*) FROM ship", "SELECT COUNT( * ) FROM ship"],
    "of no form": ["SELECT FROM ship 1", "SELECT  FROM ship 2"],
    "heaviest": ["SELECT max(weight) FROM ship"],
    "lightest": ["SELECT min(weight) FROM ship"],
}


class Schemas:
    """The same schema for every database."""

    def __getitem__(self, name: str) -> Schema:
        return SHIP


def ask(database: str, sql: str, split: str = "train", corpus: str = "mine") -> SourceQuestion:
    return {
        "question_text": f"{sql}?",
        "database_name": database,
        "gold_sql": sql,
        "spider_split": split,
        "source": {"corpus": corpus, "file": "train.json", "index": 7},
    }


def split(questions: list[SourceQuestion], **rule: Any) -> list[str]:
    return choose_splits(questions, {"mine": SplitRule(**rule)} if rule else {}, Schemas)


@pytest.mark.parametrize("seed", range(5))
def test_queries_that_differ_in_constants_alone_stay_together(seed):
    questions = [ask("fleet", sql) for of_form in QUERIES.values() for sql in of_form]
    found = iter(split(questions, by="query", seed=seed))
    by_form = {form: {next(found) for _ in of_form} for form, of_form in QUERIES.items()}
    assert all(len(splits) == 1 for splits in by_form.values()), by_form
    assert set.union(*by_form.values()) == {"train", "eval"}


def test_question_without_sql_is_divided_by_its_text():
    questions = [ask("fleet", "") | {"question_text": f"{number}?"} for number in range(40)]
    assert set(split(questions, by="query")) == {"train", "eval"}


def test_nothing_moves_when_questions_come_or_change_places():
    questions = [ask("fleet", sql) for of_form in QUERIES.values() for sql in of_form]
    more = [ask("fleet", f"SELECT {'id, ' * number} name FROM ship") for number in range(20)]
    first = split(questions, by="query")
    assert split(questions + more, by="query")[: len(questions)] == first
    assert split(questions[::-1], by="query")[::-1] == first
    ids = [record["question_id"] for record in assign_splits(questions, splits=first)]
    both = assign_splits(questions + more, splits=split(questions + more, by="query"))
    assert [record["question_id"] for record in both][: len(ids)] == ids


def test_correction_moves_no_question():
    questions = [ask("fleet", sql) for of_form in QUERIES.values() for sql in of_form]
    first = split(questions, by="query")
    for question in questions:
        original = {"gold_sql": question["gold_sql"], "question_text": question["question_text"]}
        question["source"]["correction"] = {"original": original}
        question["gold_sql"] = "SELECT max(weight) FROM ship"
    assert split(questions, by="query") == first


def test_three_databases_are_divided_whole_whatever_their_files_say():
    names = ["bay", "fleet", "yard"] * 4
    questions = [
        ask(name, "SELECT 1", split)
        for name, split in zip(names, ["train", "validation"] * 6, strict=True)
    ]
    for seed in range(8):
        splits = split(questions, by="database", seed=seed)
        pairs = set(zip(names, splits, strict=True))
        assert len(pairs) == 3
        assert {found for _, found in pairs} == {"train", "eval"}


def test_source_keeps_its_split_of_one_database_and_counts_each():
    questions = [ask("fleet", "SELECT 1", name) for name in ("train", "train", "validation")]
    assigned = assign_splits(questions, splits=split(questions, by="source"))
    ids = [record["question_id"] for record in assigned]
    assert ids == ["fleet_train_000", "fleet_train_001", "fleet_eval_000"]


BOTH = ("train", "validation")
KEYS = r"corpora.mine.split: {by: source}, .* or corpora.mine.split: {by: query}"


@pytest.mark.parametrize(
    ("questions", "rule", "words"),
    [
        (
            [ask("fleet", "SELECT 1"), ask("fleet", "SELECT 1", "validation")],
            {},
            rf"fleet has questions in both eval and train \(see row 7 of train.json .*{KEYS}",
        ),
        (
            [ask(name, "SELECT 1") for name in ("bay", "fleet", "bay")]
            + [
                ask(name, "SELECT 1", split, "other")
                for name in ("bay", "fleet")
                for split in ("train", "validation")
            ],
            {"by": "database"},
            "has questions in both .* of corpus other.*corpora.other.split: {by: source}",
        ),
        (
            [ask("fleet", "SELECT 1")] * 2,
            {"by": "database"},
            "split.by: database: .* found one in 2 q",
        ),
        (
            [ask("fleet", "SELECT 1"), ask("fleet", "SELECT 2")],
            {"by": "query"},
            "split.by: query: .*",
        ),
    ],
)
def test_split_that_cannot_be_is_refused_with_the_key_to_set(questions, rule, words):
    with pytest.raises(InputError, match=words):
        split(questions, **rule)


@given(st.sets(st.text(max_size=4), min_size=2), st.sets(st.text(max_size=4)), st.integers())
def test_name_is_drawn_whatever_others_there_are(names, others, seed):
    """But for the one that a split would lack."""
    drawn = choose_held_out(names, eval_share=0.5, seed=seed)
    assert 0 < len(drawn) < len(names)
    of_all = choose_held_out(names | others, eval_share=0.5, seed=seed)
    assert len(drawn ^ (of_all & names)) <= 1
