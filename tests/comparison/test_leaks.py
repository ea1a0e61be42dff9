"""A database in both splits: what its eval repeats of its train, and what it does not."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.records import Finding
from answerkey.comparison.compare import (
    Fingerprint,
    compare,
    find_nearest,
    find_similar,
    make_fingerprint,
)
from answerkey.comparison.leaks import find_seen_in_train
from answerkey.dataset import Question

HEAVY = 'SELECT "ship"."name" FROM "ship" WHERE "ship"."weight" > 40'
PORTS = 'SELECT COUNT(*) FROM "port"'
TOWNS = 'SELECT COUNT(*) FROM "town"'


def ask(split: str, number: int, text: str, sql: str, **others: Any) -> Fingerprint:
    known = {
        "database_name": "fleet",
        "template": sql.replace('"ship"', "t1").replace('"port"', "t1"),
        "gold_answer": number,
        "answer_type": "integer",
        **others,
    }
    return make_fingerprint(
        Question(
            question_id=f"{known['database_name']}_{split}_{number:03d}",
            split=split,
            question_text=text,
            gold_sql="",
            source={},
            flags=[],
            canonical_sql=sql,
            order_matters=False,
            **known,
        )
    )


def find(*fingerprints: Fingerprint) -> dict[str, list[Finding]]:
    return compare(fingerprints, [], min_similarity=0.9)


TRAIN_ANSWER = 0
TRAIN = ask("train", 0, "Which ships weigh more than 40 tons?", HEAVY)
CASES = {
    "the same text": (TRAIN.text, PORTS, {"kind": "question"}),
    "the same text but for case": (
        "which ships WEIGH more than 40 tons",
        PORTS,
        {"kind": "question"},
    ),
    "the same SQL": ("Name the heavy ones.", HEAVY, {"kind": "sql"}),
    "other constants": (
        "Name what is above 9.",
        HEAVY.replace("40", "-9.5"),
        {"kind": "constants"},
    ),
    "nearly the same text": (
        "Which ships weigh more than 4 tons?",
        HEAVY.replace("weight", "tonnage"),
        {"kind": "wording"},
    ),
    "nearly the same text, and the same answer": (
        "Which ships weigh more than 41 tons?",
        PORTS,
        {"kind": "wording"},
    ),
    "nearly the same text alone": ("Which ships weigh more than 4 tons?", TOWNS, None),
    "another question": ("How many ports are there?", PORTS, None),
    "another column": ("Name the long ones.", HEAVY.replace("weight", "length"), None),
    "a comparison the other way": ("Name the light ones.", HEAVY.replace(">", "<"), None),
}


@pytest.mark.parametrize(("text", "sql", "expected"), CASES.values(), ids=CASES)
def test_question_of_eval_is_seen_in_train(text, sql, expected):
    template = {"template": TRAIN.template} if sql not in (PORTS, TOWNS) else {}
    answer = 7 if sql == TOWNS else TRAIN_ANSWER
    found = find(TRAIN, ask("eval", 0, text, sql, gold_answer=answer, **template))
    seen = {
        question_id: finding.evidence
        for question_id, of_question in found.items()
        for finding in of_question
        if finding.code == "seen_in_train"
    }
    evidence = expected and {**expected, "example": "fleet_train_000", "count": 1}
    assert seen == ({"fleet_eval_000": evidence} if expected else {})
    # Only that of eval goes, and the one of train stays.
    excluding = {"question_in_both_splits", "duplicate_question", "conflicting_gold"}
    codes = {finding.code for of_question in found.values() for finding in of_question}
    assert not codes & excluding


def test_all_of_train_that_say_the_same_are_counted():
    repeated = ask("train", 1, "Heavy ones?", HEAVY.replace("40", "41"))
    found = find(TRAIN, repeated, ask("eval", 0, "Name some.", HEAVY.replace("40", "9")))
    (finding,) = [item for item in found["fleet_eval_000"] if item.code == "seen_in_train"]
    assert finding.evidence == {"kind": "constants", "example": "fleet_train_000", "count": 2}


def test_repeats_are_told_in_each_split_by_itself():
    twice = [
        ask(split, number, "Which?", HEAVY) for split in ("train", "eval") for number in (0, 1)
    ]
    found = find(*twice)
    repeats = [id for id, items in found.items() if "duplicate_question" in [i.code for i in items]]
    assert sorted(repeats) == ["fleet_eval_001", "fleet_train_001"]


def test_question_without_an_answer_is_seen_by_nobody():
    failed = ask("train", 0, TRAIN.text, HEAVY, answer_type=None)
    assert find(failed, ask("eval", 0, "Which ships weigh more than 40 tons?", HEAVY)) == {}


def test_other_databases_are_told_as_ever():
    zoo = ask("eval", 0, "Which ships weigh more than 40 tons?", HEAVY, database_name="zoo")
    found = find(TRAIN, zoo)
    assert [finding.code for finding in found["zoo_eval_000"]] == [
        "question_in_both_splits",
        "template_in_both_splits",
    ]
    assert "question_in_both_splits" in [finding.code for finding in found["fleet_train_000"]]


SEEN = st.lists(
    st.tuples(
        st.sampled_from(["train", "eval"]),
        st.builds("how many {} ships in {}".format, *[st.sampled_from(["red", "rod", "9"])] * 2),
        st.sampled_from(["", "T", "U"]),
        st.sampled_from(["", "7", "8"]),
    ),
    max_size=16,
)


@given(SEEN)
def test_nearest_of_train_is_that_of_all_pairs(drawn):
    """Also where a template and an answer are shared, which count once."""
    fingerprints = [
        Fingerprint(f"fleet_{split}_{place:03d}", "fleet", split, text, "", "", *shared, "")
        for place, (split, text, *shared) in enumerate(drawn)
    ]
    train = [one for one in fingerprints if one.split == "train"]
    known = {one.text for one in train}
    expected = {}
    for asked in fingerprints:
        if asked.split == "train" or asked.text in known:
            continue
        by_template = [one for one in train if one.template == asked.template != ""]
        by_answer = [one for one in train if one.answer == asked.answer != ""]
        others = [*by_template, *(one for one in by_answer if one not in by_template)]
        if near := find_similar(asked.text, [one.text for one in others], 0.9):
            place, _ = min(near, key=lambda pair: (-pair[1], pair[0]))
            expected[asked.question_id] = others[place].question_id, len(near)
    found = find_seen_in_train(fingerprints, partial(find_nearest, min_similarity=0.9))
    nearest = {
        question_id: (finding.evidence["example"], finding.evidence["count"])
        for question_id, finding in found
        if finding.evidence["kind"] == "wording"
    }
    assert nearest == expected
