"""statistics: counts with stable keys, and tables in which every pair stands."""

from __future__ import annotations

import pytest

from answerkey.base.reasons import Reason
from answerkey.exports.product import make_counts, make_metrics, make_plots, tabulate_questions
from answerkey.flags import FLAGS
from tests.shared.joined_questions import make_joined

GROUP = ("corpus", "split", "difficulty", "hardness", "answer_type", "tables", "reason")


def describe(database_name, template, *group):
    return {
        "database_name": database_name,
        "template": template,
        **dict(zip(GROUP, group, strict=True)),
    }


ROWS = [
    describe("a", "t1", "x", "train", "easy", "easy", "integer", 1, None),
    describe("a", "t1", "x", "train", "easy", "medium", "list", 2, None),
    describe("b", "t2", "x", "train", "hard", "extra", "table", 4, "not_selected"),
    describe("c", "t3", "y", "eval", "medium", "hard", "list", 3, None),
    describe("c", "t4", "y", "eval", "easy", "easy", None, 1, "sql_error"),
    describe("c", None, "y", "eval", None, None, "list", 0, "unparsable_sql"),
]
SCORES = {"questions": 2, "database": 0.75, "suite": 0.95}
SUMMARY = {
    "size": 3,
    "cells": {"train": {"easy": {"usable": 3, "selected": 2}}},
}


def test_table_has_what_is_known_of_each_question():
    known = {"database_name": "a", "split": "train"}
    parsed = {"hardness": "easy", "tables_involved": ["t", "u"], "template": "f"}
    questions = [
        make_joined("1", **known, **parsed, answer_type="list", difficulty="easy"),
        make_joined("2", **known),
    ]
    rows = tabulate_questions(questions, {"2": "sql_error"})
    assert rows == [
        describe("a", "f", "x", "train", "easy", "easy", "list", 2, None),
        describe("a", None, "x", "train", None, None, None, 0, "sql_error"),
    ]


@pytest.mark.parametrize("rows", [ROWS, ROWS[::-1]])
def test_counts_are_of_the_selected_questions_and_in_order(rows):
    counts = make_counts(rows, {"date_text_order": 2}, SUMMARY, SCORES)
    assert (counts["loaded"], counts["usable"], counts["selected"]) == (6, 4, 3)
    assert list(counts["excluded"]) == sorted({*Reason, *FLAGS})
    assert {name: n for name, n in counts["excluded"].items() if n} == {
        "not_selected": 1,
        "sql_error": 1,
        "unparsable_sql": 1,
    }
    assert [*counts["corpus"].items()] == [
        ("x", {"loaded": 3, "usable": 3, "selected": 2}),
        ("y", {"loaded": 3, "usable": 1, "selected": 1}),
    ]
    assert counts["split"] == {"train": 2, "eval": 1}
    assert [*counts["difficulty"].items()] == [("easy", 2), ("medium", 1), ("hard", 0)]
    assert counts["hardness"] == {"easy": 1, "medium": 1, "hard": 1, "extra": 0}
    assert counts["answer_type"] == {"integer": 1, "float": 0, "string": 0, "list": 2, "table": 0}
    assert [*counts["database"].items()] == [("a", 2), ("b", 0), ("c", 1)]
    assert counts["templates"] == 2
    assert (counts["flags"], counts["selection"]) == ({"date_text_order": 2}, SUMMARY)
    assert counts["mutation_score"] == SCORES


def test_metrics_are_the_counts_that_one_tunes_by():
    assert make_metrics(make_counts(ROWS, {"answer_risk": 2}, SUMMARY, SCORES)) == {
        "loaded": 6,
        "usable": 4,
        "selected": 3,
        "split": {"train": 2, "eval": 1},
        "difficulty": {"easy": 2, "medium": 1, "hard": 0},
        "cell": {"train": {"easy": 2}},
        "excluded": {
            "total": 3,
            "not_selected": 1,
            "sql_error": 1,
            "tie_at_limit": 0,
            "empty_answer": 0,
            "conflicting_gold": 0,
            "duplicate_question": 0,
            "other_reasons": 1,
        },
        "templates": 2,
        "mutation_score": {"database": 0.75, "suite": 0.95},
        "at_risk": 2,
    }


@pytest.mark.parametrize("rows", [[], ROWS[4:], ROWS])
def test_plots_have_the_same_columns_whatever_there_is(rows):
    plots = make_plots(rows)
    assert {name: table[0] for name, table in plots.items()} == {
        "difficulty_usable": ["split", "difficulty", "cell", "questions"],
        "difficulty_selected": ["split", "difficulty", "cell", "questions"],
        "exclusions": ["reason", "questions"],
        "answer_types": ["answer_type", "questions"],
        "databases": ["database_name", "questions"],
        "tables": ["tables", "questions"],
        "hardness_by_difficulty": ["difficulty", "hardness", "cell", "questions"],
    }
    assert len(plots["difficulty_usable"]) == 1 + 6
    assert len(plots["hardness_by_difficulty"]) == 1 + 12
