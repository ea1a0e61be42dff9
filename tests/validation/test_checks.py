"""Each way in which a record or a dataset is wrong has its own message."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.dataset import FIELDS
from answerkey.sections.select_questions import Targets
from answerkey.validation.checks import check_record, check_set

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
DEEPER = "gold_answer: expected rows of numbers, text and null, nothing deeper"
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}


def make_record(**changes: Any) -> dict[str, Any]:
    record = {
        "question_id": "harbour_train_000",
        "question_text": "How many ships?",
        "database_name": "harbour",
        "gold_sql": "SELECT count(*) FROM ship",
        "gold_answer": 3,
        "answer_type": "integer",
        "difficulty": "easy",
        "tables_involved": ["ship"],
        "split": "train",
    }
    assert set(changes) <= set(record)
    return record | changes


def make_many(**counts: int) -> list[dict[str, Any]]:
    """So many records of each cell: `train_easy=3`."""
    records = []
    for cell, count in counts.items():
        split, difficulty = cell.split("_")
        for number in range(count):
            database = "harbour" if split == "train" else "library"
            records.append(
                make_record(
                    question_id=f"{database}_{split}_{len(records):03d}",
                    database_name=database,
                    split=split,
                    difficulty=difficulty,
                    gold_answer=number,
                )
            )
    return records


def check(records: list[dict[str, Any]], targets: Targets | None = None, **known: Any) -> list[str]:
    return check_set(records, targets=targets, **{"corpora": {}} | known)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"question_id": "harbour_train_1234"},
        {"question_id": "realistic_harbour_train_000"},
        {"question_id": "spider-syn_harbour_train_000"},
        {"gold_answer": 2.5, "answer_type": "float"},
        {"gold_answer": "", "answer_type": "string"},
        {"gold_answer": [], "answer_type": "list"},
        {"gold_answer": ["a", None, 1, 2.5], "answer_type": "list"},
        {"gold_answer": [["a", None], [1, 2.5]], "answer_type": "table"},
        {"tables_involved": []},
        {"tables_involved": ["Port", "ship"]},
        {
            "database_name": "a.b(c)",
            "question_id": "a.b(c)_eval_007",
            "split": "eval",
            "difficulty": "hard",
        },
    ],
)
def test_good_record_has_no_errors(changes):
    assert check_record(make_record(**changes)) == []


@pytest.mark.parametrize("fields", [FIELDS[:-1], FIELDS[1:], (*FIELDS, "hardness"), FIELDS[::-1]])
def test_other_fields_are_told_with_those_expected(fields):
    record = {name: make_record().get(name) for name in fields}
    expected = f"fields: expected {', '.join(FIELDS)}, found {', '.join(fields)}"
    assert check_record(record) == [expected]


@pytest.mark.parametrize("record", [[], "text", None, 3])
def test_what_is_no_record_is_told(record):
    assert check_record(record) == [f"expected an object with 9 fields, found {record!r}"]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("question_text", 3, "text"),
        ("question_text", " \n", "text"),
        ("gold_sql", None, "text"),
        ("question_id", 7, "text"),
        ("database_name", ["a"], "text"),
        ("difficulty", "extra", "one of easy, medium, hard"),
        ("difficulty", ["easy"], "one of easy, medium, hard"),
        ("split", "validation", "one of train, eval"),
        ("tables_involved", ["ship", "Port"], "sorted, unique names"),
        ("tables_involved", ["ship", "ship"], "sorted, unique names"),
        ("tables_involved", "ship", "sorted, unique names"),
        ("tables_involved", [1], "sorted, unique names"),
        ("answer_type", "float", "integer for this answer"),
    ],
)
def test_wrong_field_has_its_one_message(field, value, expected):
    found = check_record(make_record(**{field: value}))
    assert found == [f"{field}: expected {expected}, found {value!r}"]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ([["a", 1]], "list", "answer_type: expected table for this answer, found 'list'"),
        (["a", True], "list", DEEPER),
        ([["a", {"b": 1}]], "table", DEEPER),
        ([1.0, float("nan")], "list", DEEPER),
    ],
)
def test_answer_of_another_shape_is_told(answer, kind, message):
    assert check_record(make_record(gold_answer=answer, answer_type=kind)) == [message]


@pytest.mark.parametrize(
    "changes",
    [
        {"question_id": "a/harbour_train_000"},
        {"question_id": "harbour_eval_000"},
        {"question_id": "harbour_train_00"},
        {"question_id": "harbour_train_000\n"},
        {"database_name": "h.rbour"},
    ],
)
def test_id_of_another_form_is_told(changes):
    (error,) = check_record(record := make_record(**changes))
    stem = f"{record['database_name']}_train_"
    assert error == f"question_id: expected {stem} and three digits or more"


@pytest.mark.parametrize("answer", [None, True, {"a": 1}])
def test_answer_that_sqlite_never_gives_has_no_type(answer):
    (error,) = check_record(make_record(gold_answer=answer))
    assert error.startswith(f"gold_answer: No answer type for {answer!r}")


def test_answer_type_out_of_the_vocabulary_is_told():
    assert (
        "answer_type: expected one of integer, float, string, list, table, found 'bool'"
        in check_record(make_record(answer_type="bool"))
    )


def test_every_wrong_field_of_a_record_is_told():
    assert len(check_record(make_record(split="dev", difficulty="x", gold_sql=""))) == 3


def test_repeated_id_is_told_once():
    records = [make_record(), make_record(), make_record(question_id="harbour_train_001")]
    assert check(records) == ["harbour_train_000: question_id: expected once, found 2 times"]


def test_database_in_both_splits_is_told():
    records = [make_record(), make_record(split="eval", question_id="harbour_eval_000")]
    assert check(records) == ["harbour: split: expected one split a database, found eval, train"]


def test_database_may_be_in_both_splits_if_its_corpus_lets_it():
    records = [make_record(), make_record(split="eval", question_id="harbour_eval_000")]
    corpora = {record["question_id"]: "local" for record in records}
    assert check_set(records, targets=None, corpora=corpora, crossing={"local"}) == []
    assert len(check_set(records, targets=None, corpora=corpora, crossing={"bird"})) == 1


def test_shares_within_the_tolerance_pass():
    targets = Targets(**OF_SPLITS, eval_share=0.3, tolerance=0.02)
    records = make_many(
        train_easy=28, train_medium=28, train_hard=14, eval_easy=12, eval_medium=12, eval_hard=6
    )
    assert check(records, targets) == []
    assert check([], targets) == []


def test_shares_of_the_dataset_pass_whatever_those_of_a_split_are():
    targets = Targets(difficulty_shares=SHARES, eval_share=0.5)
    records = make_many(train_easy=5, eval_easy=3, eval_medium=8, train_hard=4)
    assert check(records, Targets(difficulty_shares=SHARES)) == []
    assert check(records, targets) != []
    assert len(check(records, Targets(**OF_SPLITS))) == 6


@pytest.mark.parametrize(
    "targets",
    [
        Targets(min_questions=4),
        Targets(max_questions=4),
        Targets(max_per_database=3),
        Targets(max_answer_type_share=0.5),
    ],
)
def test_size_and_caps_that_are_just_met_pass(targets):
    records = make_many(train_easy=3, eval_easy=1)
    for record in records[:2]:
        record["answer_type"] = "list"
    assert check(records, targets) == []


@pytest.mark.parametrize(
    ("counts", "targets", "messages"),
    [
        (
            {"train_easy": 6, "eval_easy": 4},
            Targets(eval_share=0.3, tolerance=0.02),
            ["share of eval: expected 0.3 within 0.02, found 0.4000 (4 of 10)"],
        ),
        (
            {"train_easy": 5, "train_medium": 4, "train_hard": 1},
            Targets(**OF_SPLITS, tolerance=0.02),
            [
                "share of train easy: expected 0.4 within 0.02, found 0.5000 (5 of 10)",
                "share of train hard: expected 0.2 within 0.02, found 0.1000 (1 of 10)",
            ],
        ),
        (
            {"train_easy": 5, "eval_medium": 4, "eval_hard": 1},
            Targets(difficulty_shares=SHARES, tolerance=0.02),
            [
                "share of easy: expected 0.4 within 0.02, found 0.5000 (5 of 10)",
                "share of hard: expected 0.2 within 0.02, found 0.1000 (1 of 10)",
            ],
        ),
        ({"train_easy": 3}, Targets(min_questions=4), ["size: expected at least 4, found 3"]),
        ({"train_easy": 3}, Targets(max_questions=2), ["size: expected at most 2, found 3"]),
        (
            {"train_easy": 3},
            Targets(max_per_database=2),
            ["database_name harbour: expected at most 2, found 3"],
        ),
        (
            {"train_easy": 3},
            Targets(max_answer_type_share=0.5),
            ["answer_type integer: expected at most 1, found 3"],
        ),
    ],
)
def test_target_that_is_missed_is_told_with_the_numbers(counts, targets, messages):
    assert check(make_many(**counts), targets) == messages


@pytest.mark.parametrize(
    ("corpora", "messages"),
    [
        ("bbss", []),
        (
            "bbbs",
            [
                "share of train b: expected 0.5 within 0.1, found 0.7500 (3 of 4)",
                "share of train s: expected 0.5 within 0.1, found 0.2500 (1 of 4)",
            ],
        ),
    ],
)
def test_shares_of_corpora_are_checked(corpora, messages):
    records = make_many(train_easy=4)
    known = dict(zip((record["question_id"] for record in records), corpora, strict=True))
    targets = Targets(corpus_shares={"b": 0.5, "s": 0.5}, tolerance=0.1)
    assert check(records, targets, corpora=known) == messages
