"""choice: what is said of a selection, in numbers and in words, and what other rules would give."""

from __future__ import annotations

import pandas as pd
import pytest

from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import SelectQuestions, Targets
from answerkey.selection.choice import (
    describe,
    explain_choice,
    find_lifts,
    list_neighbours,
    summarize,
)
from answerkey.selection.program import CELLS, Group, find_largest
from tests.shared.joined_questions import make_joined

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}
LEVELS = {"easy": "easy", "medium": "medium", "hard": "hard", "extra": "hard"}
WORDS = {"simple": "easy", "moderate": "medium", "challenging": "hard"}


def make_supply(*counts: int, corpus: str = "bird") -> dict[Group, int]:
    return {
        Group(split, level, split, "list", corpus): count
        for (split, level), count in zip(CELLS, counts, strict=True)
    }


@pytest.mark.parametrize(
    ("targets", "lifts"),
    [
        (Targets(), []),
        (Targets(eval_share=0.5), []),
        (Targets(max_questions=30), ["max_questions"]),
        (
            Targets(**OF_SPLITS, eval_share=0.3, max_per_database=20, max_answer_type_share=1),
            ["eval_share", "max_per_database"],
        ),
        (Targets(corpus_shares={"bird": 0.5, "spider": 0.5}), ["corpus_shares"]),
    ],
)
def test_fewest_targets_to_lift_for_all_usable_questions_are_named(targets, lifts):
    assert find_lifts(make_supply(40, 40, 20, 40, 40, 20), targets) == lifts


def test_summary_tells_what_is_taken_of_what_there_is_also_of_corpora():
    supply = make_supply(4, 4, 1234, 4, 4, 2) | make_supply(4, 4, 2, 4, 4, 2, corpus="spider")
    targets = Targets(**OF_SPLITS, corpus_shares={"bird": 0.5, "spider": 0.5})
    summary = summarize(supply, find_largest(supply, targets), targets)
    assert summary["cells"]["train"]["hard"] == {"usable": 1236, "selected": 4}
    assert summary["corpora"]["train"]["bird"] == {"usable": 1242, "selected": 10}
    assert describe(summary) == (
        "largest selection: 40 of 1272 usable questions\n"
        "all 1272 without difficulty_shares, corpus_shares\n"
        "split  easy    medium  hard       corpus bird  corpus spider\n"
        "train  8 of 8  8 of 8  4 of 1236  10 of 1242   10 of 10\n"
        "eval   8 of 8  8 of 8  4 of 4     10 of 10     10 of 10"
    )
    summary = summarize(supply, find_largest(supply, Targets()), Targets())
    assert summary["lifts"] == []
    assert "corpora" not in summary


def make_rule(method: str, easy: int = 2, medium: int = 3) -> DifficultyRule:
    return DifficultyRule(method, easy, medium, LEVELS, WORDS)


@pytest.mark.parametrize(
    ("rule", "word", "neighbours"),
    [
        (
            make_rule("tables"),
            None,
            [
                make_rule("tables", 1, 3),
                make_rule("tables", 3, 3),
                make_rule("tables", 2, 2),
                make_rule("tables", 2, 4),
                make_rule("spider"),
            ],
        ),
        (
            make_rule("tables", 0, 0),
            "simple",
            [make_rule("tables", 0, 1), make_rule("spider", 0, 0), make_rule("source", 0, 0)],
        ),
        (make_rule("source"), "simple", [make_rule("tables"), make_rule("spider")]),
    ],
)
def test_neighbours_are_one_step_away_and_possible(rule, word, neighbours):
    usable = pd.DataFrame({"source_difficulty": [None, word], "solved_share": [None, None]})
    assert list(list_neighbours(rule, usable, Targets())) == neighbours


def test_explanation_tells_the_selection_of_the_rule_and_of_its_neighbours():
    questions = [
        make_joined(
            f"a_train_{number:03d}",
            split="train",
            database_name="a",
            answer_type="list",
            tables_involved=list("abc")[:tables],
            hardness=hardness,
            canonical_sql="SELECT 1",
        )
        for number, (tables, hardness) in enumerate(
            [(1, "easy")] * 4 + [(2, "medium")] * 4 + [(3, "extra")] * 2
        )
    ]
    settings = SelectQuestions(targets=Targets(difficulty_shares=SHARES))
    assert explain_choice(questions, settings, make_rule("spider", 2, 2)) == (
        "method: spider\n"
        "largest selection: 10 of 10 usable questions\n"
        "split  easy    medium  hard\n"
        "train  4 of 4  4 of 4  2 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0\n"
        "\n"
        "easy_max_tables: 2, medium_max_tables: 2\n"
        "largest selection: 0 of 10 usable questions\n"
        "all 10 without difficulty_shares\n"
        "split  easy    medium  hard\n"
        "train  0 of 8  0 of 0  0 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0\n"
        "\n"
        "method: rank\n"
        "largest selection: 10 of 10 usable questions\n"
        "split  easy    medium  hard\n"
        "train  4 of 4  4 of 4  2 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0"
    )
