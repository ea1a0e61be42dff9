"""What no selection can meet is told before anything runs, all at once, and nothing else is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.sections.select_questions import SelectQuestions, Targets
from answerkey.selection.obstacles import Origin, explain_obstacles
from answerkey.selection.program import Group, find_size

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
DEFAULTS = Targets(SHARES, eval_share=0.3, tolerance=0.02, min_questions=100)
LEVELS = "difficulty_shares: 40/40/20 are asked for, and difficulties are known later: set it to"


def supply(train: int, held_out: int) -> dict[Origin, int]:
    counts = {Origin("train", "mine", "shop"): train, Origin("eval", "mine", "yard"): held_out}
    return {origin: count for origin, count in counts.items() if count}


@pytest.mark.parametrize(
    ("found", "targets", "lines"),
    [
        (supply(70, 30), DEFAULTS, []),
        (supply(25, 0), SelectQuestions(preset="small", targets=DEFAULTS).targets, []),
        (
            supply(25, 0),
            DEFAULTS,
            [
                "min_questions: 100 are asked for: set it to 25 or less, or to null",
                "eval_share: 0.3 is asked for, and 0 of 25 are eval: set it to null, or"
                " corpora.mine.split to {by: query}",
                LEVELS,
            ],
        ),
        (
            supply(0, 25),
            Targets(eval_share=0.3),
            ["eval_share: 0.3 is asked for, and 25 of 25 are eval: set it to null"],
        ),
        (
            supply(200, 10),
            Targets(eval_share=0.3, tolerance=0.02, min_questions=100),
            [
                "eval_share: 0.3 is asked for, and 10 of 210 are eval: set it to 0.05 or null, or"
                " min_questions to 35 or less"
            ],
        ),
        (
            supply(200, 10),
            Targets(min_questions=60, max_per_database=40),
            [
                "max_per_database: 40 of each of 2 databases are 50 at most: set it to 50 or more,"
                " or to null"
            ],
        ),
        (
            {Origin("train", "a", "shop"): 50, Origin("eval", "b", "yard"): 50},
            Targets(corpus_shares={"a": 0.5, "b": 0.5}),
            [
                "corpus_shares: {'a': 0.5, 'b': 0.5} are asked for, and train has 50 of a, 0 of b;"
                " eval has 0 of a, 50 of b: set it to null"
            ],
        ),
        (
            supply(70, 30),
            Targets(eval_share=0.3, min_questions=60, max_per_database=30),
            [
                "min_questions: 60 are asked for, and max_per_database and eval_share together"
                " leave 42 at most: set it to 42 or less, or one of them to null"
            ],
        ),
    ],
)
def test_each_obstacle_has_its_key_and_a_value_that_would_do(found, targets, lines):
    told = explain_obstacles(found, targets)
    if not lines:
        assert told is None
        return
    first, *middle, last = told.splitlines()
    assert first.startswith("the corpus has less than select_questions.targets ask for: ")
    assert last.endswith("select_questions.preset: small")
    assert len(middle) == len(lines)
    for line, expected in zip(middle, lines, strict=True):
        assert line.startswith(expected)


share = st.none() | st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0])
origins = st.builds(
    Origin, st.sampled_from(["train", "eval"]), st.sampled_from("ab"), st.sampled_from("xyz")
)


@settings(max_examples=10)
@given(
    st.dictionaries(origins, st.integers(1, 30), min_size=1),
    share,
    st.none() | st.sampled_from([0.0, 0.2, 0.5]),
    st.none() | st.integers(0, 20),
    st.none() | st.integers(0, 40),
    st.sampled_from([0.0, 0.02]),
)
def test_what_is_refused_is_what_the_solver_cannot_meet(
    counts, eval_share, of_a, cap, least, tolerance
):
    """It finds every obstacle of one kind; shares and caps together may hold more."""
    corpus_shares = None if of_a is None else {"a": of_a, "b": 1 - of_a}
    targets = Targets(
        corpus_shares=corpus_shares,
        eval_share=eval_share,
        tolerance=tolerance,
        min_questions=least,
        max_per_database=cap,
    )
    groups = Counter[Group]()
    for origin, count in counts.items():
        group = Group(origin.split, "easy", origin.database_name, "", origin.corpus)
        groups[group] += count
    is_missed = find_size(groups, targets) < max(least or 0, 1)
    is_told = explain_obstacles(counts, targets) is not None
    assert is_missed or not is_told
    if [eval_share, of_a, cap].count(None) == 3:
        assert is_told == is_missed
