"""facts: a record is what its gold SQL makes it, or it is told in which field it is not."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.validation.facts import Facts, check_facts


def make_question(answer: Any, kind: str) -> dict[str, Any]:
    return {
        "gold_answer": answer,
        "answer_type": kind,
        "tables_involved": ["ship"],
        "difficulty": "easy",
    }


def make_facts(answer: Any, *, order_matters: bool = False, **changes: Any) -> Facts:
    return Facts(answer, order_matters, ["ship"], "easy", "")._replace(**changes)


@pytest.mark.parametrize(
    ("stored", "kind", "executed", "ordered", "is_same"),
    [
        (3, "integer", 3, False, True),
        (3, "integer", 4, False, False),
        (3, "integer", 3.0, False, False),
        (3, "integer", "3", False, False),
        (0.1 + 0.2, "float", 0.3, False, True),
        (0.3, "float", 0.30001, False, False),
        (["a", "b"], "list", ["b", "a"], False, True),
        (["a", "b"], "list", ["b", "a"], True, False),
        (["a"], "list", "a", False, False),
        ([["a"], ["b"]], "table", ["a", "b"], False, False),
        ([[3]], "table", 3, False, False),
        ([["a", 1]], "table", [["a", 1]], False, True),
        ([], "list", [], False, True),
        ([], "list", None, False, False),
    ],
)
def test_answer_must_be_what_sql_returns(stored, kind, executed, ordered, is_same):
    facts = make_facts(executed, order_matters=ordered)
    errors = check_facts(make_question(stored, kind), facts, rel_tol=1e-6)
    expected = f"gold_answer: expected what gold SQL returns, {executed!r}, found {stored!r}"
    assert errors == ([] if is_same else [expected])


def test_long_answers_are_told_in_short():
    question = make_question(["x" * 50] * 50, "list")
    (error,) = check_facts(question, make_facts([]), rel_tol=1e-6)
    assert error.endswith("...")
    assert len(error) < 500


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"tables_involved": ["port", "ship"]},
            "tables_involved: expected what gold SQL reads, ['port', 'ship'], found ['ship']",
        ),
        (
            {"difficulty": "medium"},
            "difficulty: expected medium, by the rule of difficulty, found easy",
        ),
    ],
)
def test_tables_and_difficulty_must_be_what_sql_makes_them(changes, message):
    assert check_facts(make_question(3, "integer"), make_facts(3, **changes), rel_tol=0) == [
        message
    ]
