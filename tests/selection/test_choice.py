"""choice and complexity: what is said of a selection, in numbers and in words, what other rules
would give, and the difficulty of a question."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.base.records import DIFFICULTIES
from answerkey.sections.classify_difficulty import DifficultyRule, classify_difficulty
from answerkey.sections.select_questions import SelectQuestions, Targets
from answerkey.selection.choice import (
    describe,
    explain_choice,
    find_lifts,
    list_neighbours,
    summarize,
)
from answerkey.selection.complexity import cut, measure_complexity
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
            mutation_score={"suite": number / 10} if number else None,
            sql_risk=number / 10 + 0.05,
        )
        for number, (tables, hardness) in enumerate(
            [(1, "easy")] * 4 + [(2, "medium")] * 4 + [(3, "extra")] * 2
        )
    ]
    settings = SelectQuestions(targets=Targets(difficulty_shares=SHARES))
    rule = make_rule("spider", 2, 2)
    known = {"min_mutation_score": 0.7, "max_sql_risk": None}
    with pytest.raises(InputError, match=r"of corpus x \(10 questions\).* names bird, spider"):
        explain_choice(questions, settings, rule, **known, corpora=["spider", "bird"])
    assert explain_choice(questions, settings, rule, **known, corpora=["x"]) == (
        "corpus x: 10 questions\n"
        "\n"
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
        "eval   0 of 0  0 of 0  0 of 0\n"
        "\n"
        "min_mutation_score 0.7: 7 of 10 usable questions to train on stay out of what rewards"
        " read\n"
        "0.0: 0, 0.5: 5, 0.8: 8, 0.9: 9, 0.95: 10, 1.0: 10\n"
        "\n"
        "max_sql_risk null: 0 of 10 usable questions to train on stay out of files with gold SQL to"
        " learn\n"
        "0.1: 9, 0.2: 8, 0.3: 7, 0.5: 5, 0.7: 3, 0.9: 1"
    )


@pytest.mark.parametrize(
    ("tables", "expected"),
    [("", "easy"), ("ab", "easy"), ("aabb", "easy"), ("abc", "medium"), ("abcd", "hard")],
)
def test_default_thresholds_are_two_and_three_different_tables(tables, expected):
    assert classify_difficulty(list(tables)) == expected


@pytest.mark.parametrize(
    ("easy", "medium"), [(3, 2), (-1, 2), (None, 3), (2, "3"), (1.5, 3), (True, 3), (2, None)]
)
def test_bad_thresholds_are_named(easy, medium):
    with pytest.raises(ValueError, match="easy_max_tables <= medium_max_tables"):
        classify_difficulty(["a"], easy_max_tables=easy, medium_max_tables=medium)


@pytest.mark.parametrize(
    ("solved", "expected"),
    [(4, "easy"), (3, "easy"), (2, "medium"), (1, "medium"), (0, "hard"), (None, "hard")],
)
def test_method_pass_rate_classifies_by_the_share_of_right_rollouts(solved, expected):
    rule = DifficultyRule("pass_rate", 1, 3, LEVELS, {}, 0.75, 0.25)
    share = None if solved is None else solved / 4
    assert rule.classify(4, "easy", "simple", share) == expected


def test_longer_and_nested_queries_are_more_complex():
    queries = [
        (1, "easy", 'SELECT "name" FROM "ship"'),
        (1, "easy", 'SELECT "name" FROM "ship" WHERE "name" <> \'SELECT JOIN\''),
        (1, "easy", 'SELECT COUNT(*) FROM "ship"'),
        (2, "medium", 'SELECT COUNT(*) FROM "ship" JOIN "port" ON "port"."id" = "ship"."port_id"'),
        (2, "extra", 'SELECT MAX("x") FROM "a" WHERE "y" IN (SELECT "id" FROM "b")'),
    ]
    found = [measure_complexity(*query) for query in queries]
    assert found == [1.004, 1.007, 2.004, 5.011, 8.012]


@given(
    counts=st.dictionaries(st.sampled_from([1.003, 1.004, 2.005, 3.01, 7.02]), st.integers(1, 9)),
    shares=st.sampled_from([(0.4, 0.4, 0.2), (0, 0.5, 0.5), (1, 0, 0), (0.2, 0, 0.8)]),
)
def test_cuts_lose_no_question_and_are_nearest_to_the_shares(counts, shares):
    cuts = cut(counts, dict(zip(DIFFICULTIES, shares, strict=True)))
    found = Counter()
    for complexity, count in counts.items():
        found[cuts.classify(complexity)] += count
    total = sum(counts.values())
    assert found.total() == total
    assert cuts.easy <= cuts.medium
    easiest = [sum(n for c, n in counts.items() if c <= most) for most in [0, *counts]]
    assert abs(found["easy"] - shares[0] * total) == pytest.approx(
        min(abs(count - shares[0] * total) for count in easiest)
    )
