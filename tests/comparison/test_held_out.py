"""Overlap with held-out sets: which question is named, and what is no overlap."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.comparison.compare import HeldOut, normalize_sql
from tests.shared.joined_questions import make_joined

COUNT = "SELECT count(*) FROM ship"


def find(text: str, sql: str, *held_out: tuple[str, str], corpus: str = "mine") -> Any:
    records = [
        {"question_text": a, "gold_sql": b, "source": {"corpus": "dev", "file": "f", "index": n}}
        for n, (a, b) in enumerate(held_out)
    ]
    question = make_joined("a_train_000", question_text=text, gold_sql=sql, answer_type="list")
    question = question._replace(source={"corpus": corpus})
    found = HeldOut(records, min_similarity=0.9).find_overlap(question)
    if found is None:
        return None
    evidence = found.evidence
    return evidence["index"], evidence["text_similarity"], evidence["sql_similarity"]


def test_exact_comes_before_near_and_two_before_one() -> None:
    near = ("How many ships were there?", "SELECT count(*) FROM shop")
    text = ("how many ships are there", "SELECT 1")
    both = ("How many  ships are there?", "select COUNT(*) from SHIP;")
    assert find("How many ships are there?", COUNT, near, text, both) == (2, 1.0, 1.0)
    assert find("How many ships are there?", COUNT, near, text)[:2] == (1, 1.0)
    assert find("How many ships are there?", COUNT, near) == (0, 0.939, 0.964)
    assert find("Count the ships.", COUNT, near, text, both)[0::2] == (2, 1.0)


@pytest.mark.parametrize(
    "other",
    [
        ("How many shops are there?", "SELECT name FROM shop WHERE id > 5"),  # the text alone
        ("Is there any ship that sails?", "SELECT count(*) FROM shop"),  # the SQL alone
        ("", "SELECT 'ship'"),
    ],
)
def test_nearness_of_one_is_no_overlap(other: tuple[str, str]) -> None:
    assert find("How many ships are there?", COUNT, other) is None


def test_nothing_is_like_nothing_and_no_set_like_itself() -> None:
    assert find("", "", ("", "")) is None
    assert find("?", "x", ("?", "x"), corpus="dev") is None
    assert find("How many?", "x") is None


def test_texts_of_any_length_are_compared() -> None:
    long = "Which of the ships that sail under the flag of Peru have been to Porto in May"
    sql = "SELECT name FROM ship WHERE flag = 'Peru' AND port = 'Porto' AND month = 5"
    held_out = [("Which?", "y"), (long + " or June?", sql), ("z" * 900, "y")]
    assert find(long, sql + "0", *held_out) == (1, 0.951, 0.993)


def test_sql_is_told_apart_by_what_changes_it() -> None:
    same = ["SELECT a FROM t WHERE b = 'X'", 'select A\nfrom `t` where [b]="X" -- c\n;;']
    assert len(set(map(normalize_sql, same))) == 1
    assert normalize_sql(same[0]) != normalize_sql(same[0].replace("X", "x"))
