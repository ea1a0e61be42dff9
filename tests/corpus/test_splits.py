"""splits: what follows from a source split, and ids that nothing else changes."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.splits import assign_splits


def ask(database, split, **others):
    return {"database_name": database, "spider_split": split} | others


def test_source_split_decides_and_position_numbers():
    questions = [
        ask("a", "train"),
        ask("b", "validation"),
        ask("a", "train"),
        ask("a", "validation"),
        ask("b", "validation"),
    ]
    assigned = assign_splits(questions)
    assert [(question["question_id"], question["split"]) for question in assigned] == [
        ("a_train_000", "train"),
        ("b_eval_000", "eval"),
        ("a_train_001", "train"),
        ("a_eval_000", "eval"),
        ("b_eval_001", "eval"),
    ]


def test_record_is_new_with_id_first_and_split_last():
    question = ask("a", "train", gold_sql="SELECT 1", source={"index": 4})
    before = copy.deepcopy(question)
    assigned = assign_splits([question])[0]
    assert question == before
    assert list(assigned) == [
        "question_id",
        "database_name",
        "spider_split",
        "gold_sql",
        "source",
        "split",
    ]
    assert assigned | before == assigned


def test_stale_id_and_split_are_replaced():
    stale = ask("a", "validation") | {"question_id": "x", "split": "train"}
    assert assign_splits([stale])[0] == stale | {"question_id": "a_eval_000", "split": "eval"}


def test_number_grows_past_three_digits():
    ids = [question["question_id"] for question in assign_splits([ask("a", "train")] * 1001)]
    assert (ids[7], ids[999], ids[1000]) == ("a_train_007", "a_train_999", "a_train_1000")


@pytest.mark.parametrize("split", ["test", "dev", "eval", "Train", "", None])
def test_unknown_split_is_named(split):
    with pytest.raises(ValueError, match=f"spider_split is {split!r} for a question of a"):
        assign_splits([ask("a", "train"), ask("a", split)])


names = st.sampled_from(["a", "a_train", "a_train_000", "a_eval", "train", "a_train_train", "0"])


@given(st.lists(st.tuples(names, st.sampled_from(["train", "validation"])), max_size=60))
def test_no_two_questions_ever_share_an_id(pairs):
    assigned = assign_splits([ask(*pair) for pair in pairs])
    assert len({question["question_id"] for question in assigned}) == len(pairs)


def test_no_question_gives_none():
    assert assign_splits([]) == []


def test_questions_with_a_prefix_are_counted_for_themselves():
    questions = [
        ask("dock", "validation"),
        ask("dock", "validation", id_prefix="syn_"),
        ask("dock", "validation"),
        ask("dock", "validation", id_prefix="syn_"),
    ]
    assigned = assign_splits(questions)
    assert [question["question_id"] for question in assigned] == [
        "dock_eval_000",
        "syn_dock_eval_000",
        "dock_eval_001",
        "syn_dock_eval_001",
    ]
    assert all("id_prefix" not in question for question in assigned)
    assert questions[1]["id_prefix"] == "syn_"
