"""supply: what is said where targets cannot be met, and the numbers that metrics hold."""

from __future__ import annotations

import re

import pytest

from answerkey.dataset import CELLS, Group
from answerkey.sections.select_questions import Targets
from answerkey.selection.program import find_largest
from answerkey.selection.supply import (
    TargetsNotMetError,
    check_size,
    describe_binding,
    describe_supply,
    summarize,
)

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}
TARGETS = Targets(**OF_SPLITS, eval_share=0.5, min_questions=60)


def make_supply(*counts: int) -> dict[Group, int]:
    return {
        Group(split, level, split, "list"): count
        for (split, level), count in zip(CELLS, counts, strict=True)
    }


def explain(supply: dict[Group, int], targets: Targets) -> str:
    with pytest.raises(TargetsNotMetError) as caught:
        check_size(supply, targets, find_largest(supply, targets))
    return str(caught.value)


def test_large_enough_selection_passes():
    supply = make_supply(40, 40, 20, 12, 12, 6)
    check_size(supply, TARGETS, find_largest(supply, TARGETS))


def test_message_names_what_is_asked_what_there_is_and_what_would_do():
    text = explain(make_supply(40, 40, 20, 10, 12, 4), TARGETS)
    assert "select_questions.targets cannot be met: min_questions asks for 60" in text
    assert "has 40" in text
    assert "min_questions: 40 would be met" in text
    assert "Limited by eval/hard: lifting it gives 50 instead of 40" in text
    assert "train  8 of 40  8 of 40  4 of 20" in text
    assert "eval   8 of 10  8 of 12  4 of 4" in text


def test_tolerance_of_the_message_would_do_and_less_would_not():
    supply = make_supply(40, 40, 20, 20, 24, 4)
    text = explain(supply, TARGETS)
    tolerance = float(re.search(r"tolerance: ([\d.]+) would reach 60", text)[1])
    for offset, is_enough in ((0, True), (-0.005, False)):
        loosened = Targets(**OF_SPLITS, eval_share=0.5, tolerance=round(tolerance + offset, 3))
        assert (find_largest(supply, loosened).size >= 60) is is_enough


def test_message_says_where_no_tolerance_would_do():
    text = explain(make_supply(10, 10, 5, 10, 10, 5), TARGETS)
    assert "no tolerance reaches 60: add databases" in text
    assert "Limited by no cell alone" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_questions": 40}, "without max_questions: 200 instead of 40"),
        (
            {"max_per_database": 20},
            "without max_per_database: 200 instead of 40",
        ),
    ],
)
def test_cap_that_holds_the_selection_back_is_named(change, words):
    targets = Targets(**OF_SPLITS, eval_share=0.5, min_questions=60, **change)
    assert words in explain(make_supply(40, 40, 20, 40, 40, 20), targets)


def test_share_that_holds_the_selection_back_is_named():
    targets = Targets(eval_share=0.5, min_questions=60)
    text = explain(make_supply(40, 40, 20, 9, 9, 2), targets)
    assert "without eval_share: 120 instead of 40" in text


def test_questions_without_any_selection_are_not_met_targets_even_if_none_is_asked_for():
    targets = Targets(**OF_SPLITS, eval_share=0.3)
    text = explain(make_supply(40, 40, 20, 0, 0, 0), targets)
    assert "there are questions, and the largest selection" in text
    assert "min_questions:" not in text


def test_no_question_at_all_is_no_failure():
    check_size({}, Targets(eval_share=0.3), find_largest({}, Targets(eval_share=0.3)))


def test_supply_is_told_as_a_table():
    supply = make_supply(7, 1234, 0, 1, 2, 3)
    assert describe_supply(supply, {("train", "medium"): 12}) == (
        "split  easy    medium      hard\n"
        "train  0 of 7  12 of 1234  0 of 0\n"
        "eval   0 of 1  0 of 2      0 of 3"
    )


def test_no_binding_cell_is_said():
    assert describe_binding({}, 7) == "Limited by no cell alone"


def test_summary_has_the_same_keys_whatever_there_is():
    def list_keys(value: object, prefix: str = "") -> list[str]:
        if not isinstance(value, dict):
            return [prefix]
        return [k for key, inner in value.items() for k in list_keys(inner, f"{prefix}.{key}")]

    full = make_supply(40, 40, 20, 10, 12, 4)
    summary = summarize(full, TARGETS, find_largest(full, TARGETS))
    empty = summarize({}, Targets(), find_largest({}, Targets()))
    assert list_keys(summary) == list_keys(empty)
    assert summary["size"] == 40
    assert summary["binding_cells"] == ["eval hard"]
    assert summary["cells"]["eval"]["hard"] == {
        "usable": 4,
        "selected": 4,
        "slack": 0,
        "size_without_limit": 50,
    }
    assert summary["cells"]["train"]["easy"]["slack"] == 32
