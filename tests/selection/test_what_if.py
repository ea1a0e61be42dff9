"""what_if: the rules one step away, and what each of them would select."""

from __future__ import annotations

from collections import Counter

import pytest

from answerkey.records import HARDNESS_LEVELS
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import Targets
from answerkey.selection.supply import Usable, explain, list_neighbours

LEVELS = {"easy": "easy", "medium": "medium", "hard": "hard", "extra": "hard"}
WORDS = {"simple": "easy", "moderate": "medium", "challenging": "hard"}


def make_rule(method: str, easy: int = 2, medium: int = 3) -> DifficultyRule:
    return DifficultyRule(method, easy, medium, LEVELS, WORDS)


def ask(split: str, tables: int, *, hardness: str = "easy", word: str | None = None) -> Usable:
    complexity = tables + HARDNESS_LEVELS.index(hardness) + 0.004
    return Usable(split, f"harbour_{split}", "list", tables, hardness, complexity, "local", word)


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
            [
                make_rule("tables", 0, 1),
                make_rule("spider", 0, 0),
                make_rule("source", 0, 0),
            ],
        ),
        (make_rule("spider"), None, [make_rule("tables")]),
        (make_rule("spider"), "simple", [make_rule("tables"), make_rule("source")]),
        (make_rule("source"), "simple", [make_rule("tables"), make_rule("spider")]),
    ],
)
def test_neighbours_are_one_step_away_and_possible(rule, word, neighbours):
    questions = Counter([ask("train", 1), ask("train", 2, word=word)])
    assert list(list_neighbours(rule, questions, Targets())) == neighbours


def test_explanation_tells_the_selection_of_the_rule_and_of_its_neighbours():
    questions = Counter(
        {
            ask("train", 1, hardness="easy"): 4,
            ask("train", 2, hardness="medium"): 4,
            ask("train", 3, hardness="extra"): 2,
        }
    )
    targets = Targets(difficulty_shares={"easy": 0.4, "medium": 0.4, "hard": 0.2})
    assert explain(questions, make_rule("spider", 2, 2), targets) == (
        "method: spider\n"
        "largest selection: 10 of 10 usable questions\n"
        "Limited by no cell alone\n"
        "difficulty_shares of each split: 10\n"
        "without difficulty_shares: 10\n"
        "\n"
        "split  easy    medium  hard\n"
        "train  4 of 4  4 of 4  2 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0\n"
        "\n"
        "easy_max_tables: 2, medium_max_tables: 2\n"
        "largest selection: 0\n"
        "split  easy    medium  hard\n"
        "train  0 of 8  0 of 0  0 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0\n"
        "\n"
        "method: rank\n"
        "largest selection: 10\n"
        "split  easy    medium  hard\n"
        "train  4 of 4  4 of 4  2 of 2\n"
        "eval   0 of 0  0 of 0  0 of 0"
    )


def test_explanation_tells_what_other_targets_would_give():
    questions = Counter({ask("train", tables): 80 for tables in (1, 2, 3)})
    questions |= {ask("eval", tables): count for tables, count in ((1, 40), (2, 40), (3, 1))}
    shares = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
    targets = Targets(difficulty_shares=shares, eval_share=0.4, tolerance=0.1, max_per_database=120)
    told = explain(questions, make_rule("tables", 1, 2), targets).splitlines()
    assert told[1:11] == [
        "largest selection: 201 of 321 usable questions",
        "Limited by eval/easy: lifting it gives 240 instead of 201",
        "Limited by eval/medium: lifting it gives 240 instead of 201",
        "Limited by eval/hard: lifting it gives 240 instead of 201",
        "difficulty_shares of each split: 33",
        "without difficulty_shares: 201",
        "without eval_share: 201",
        "without max_per_database: 270",
        "without eval_share, max_per_database: 321",
        "",
    ]
    targets = Targets(difficulty_shares=shares, difficulty_shares_of="split", tolerance=0.1)
    told = explain(questions, make_rule("tables", 1, 2), targets).splitlines()
    assert "difficulty_shares of the whole dataset: 321" in told
