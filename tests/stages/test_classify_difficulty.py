"""classify_difficulty: by number of tables or by hardness, within checked thresholds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.records import DIFFICULTIES, read_jsonl
from answerkey.sections.classify_difficulty import DifficultyRule, classify_difficulty
from answerkey.selection.complexity import cut, measure_complexity
from tests.shared.joined_questions import make_joined, write_joined
from tests.shared.project_world import World

LEVELS = {"easy": "easy", "medium": "medium", "hard": "hard", "extra": "hard"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


QUESTIONS = [
    make_joined("a_train_000", tables_involved=["a"], hardness="extra"),
    make_joined("a_train_001"),
    make_joined("a_train_002", tables_involved=["a", "b", "c"], hardness="medium"),
    make_joined("a_train_003", tables_involved=list("abcd"), hardness="easy"),
]


def write_questions(folder: Path, *words: str | None) -> None:
    """Write the questions, with what their corpus says of the difficulty of each; None: nothing."""
    sources = [{"corpus": "bird"} | ({"difficulty": word} if word else {}) for word in words]
    questions = [
        question._replace(source=source)
        for question, source in zip(QUESTIONS, sources, strict=True)
    ]
    write_joined(folder / "data/interim", questions)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "easy"), (1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (9, "hard")],
)
def test_default_thresholds_are_two_and_three_tables(count, expected):
    assert classify_difficulty([f"t{number}" for number in range(count)]) == expected


def test_table_that_comes_twice_counts_once():
    assert classify_difficulty(["a", "a", "b", "b"]) == "easy"


@pytest.mark.parametrize(
    ("easy", "medium"), [(3, 2), (-1, 2), (None, 3), (2, "3"), (1.5, 3), (True, 3), (2, None)]
)
def test_bad_thresholds_are_named(easy, medium):
    with pytest.raises(ValueError, match="easy_max_tables <= medium_max_tables"):
        classify_difficulty(["a"], easy_max_tables=easy, medium_max_tables=medium)


def test_stage_classifies_what_was_parsed_and_nothing_else(world, capsys):
    write_questions(world.folder, *[None] * 4)
    world.run("classify_difficulty")
    summary = "classify_difficulty: 3 questions by tables (easy 1, hard 1, medium 1)\n"
    assert capsys.readouterr().err == summary
    assert world.lines("data/interim/difficulty.jsonl") == [
        {"question_id": "a_train_000", "difficulty": "easy"},
        {"question_id": "a_train_002", "difficulty": "medium"},
        {"question_id": "a_train_003", "difficulty": "hard"},
    ]


def test_method_spider_maps_the_official_hardness(world):
    write_questions(world.folder, *[None] * 4)
    world.change("classify_difficulty.method", "spider")
    world.run("classify_difficulty")
    found = [record["difficulty"] for record in world.lines("data/interim/difficulty.jsonl")]
    assert found == ["hard", "medium", "easy"]


def test_method_source_maps_the_words_of_the_corpus_and_else_counts_tables(world):
    write_questions(world.folder, "challenging", "simple", None, "moderate")
    world.change("classify_difficulty.method", "source")
    world.run("classify_difficulty")
    found = [record["difficulty"] for record in world.lines("data/interim/difficulty.jsonl")]
    assert found == ["hard", "medium", "medium"]


@pytest.mark.parametrize(
    ("solved", "expected"),
    [(4, "easy"), (3, "easy"), (2, "medium"), (1, "medium"), (0, "hard"), (None, "hard")],
)
def test_method_pass_rate_classifies_by_the_share_of_right_rollouts(solved, expected):
    rule = DifficultyRule("pass_rate", 1, 3, LEVELS, {}, 0.75, 0.25)
    share = None if solved is None else solved / 4
    assert rule.classify(4, "easy", "simple", share) == expected


def test_word_that_means_no_difficulty_stops_the_run_and_is_named(world):
    write_questions(world.folder, "simple", "simple", "simple", "insane")
    world.change("classify_difficulty.method", "source")
    with pytest.raises(ValueError, match=r"a_train_003: the corpus says 'insane': expected one of"):
        world.run("classify_difficulty")


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


def test_rank_cuts_among_usable_questions_where_the_shares_hold(world, capsys):
    queries = ["SELECT 1", "SELECT 1 FROM a", "SELECT COUNT(*) FROM a", "SELECT 1 FROM a JOIN b"]
    questions = [
        make_joined(
            f"a_train_{place:03d}", tables_involved=["a"], hardness="easy", canonical_sql=query
        )
        for place, query in enumerate([*queries, *queries])
    ]
    questions[7] = questions[7]._replace(flags=[{"code": "tie_at_limit", "evidence": None}])
    write_joined(Path("data/interim"), questions)
    world.change("classify_difficulty.method", "rank")
    world.change(
        "select_questions.targets.difficulty_shares", {"easy": 0.5, "medium": 0.35, "hard": 0.15}
    )
    world.run("classify_difficulty")
    found = [record["difficulty"] for record in read_jsonl(Path("data/interim/difficulty.jsonl"))]
    assert found == ["easy", "easy", "medium", "hard"] * 2
    assert "easy up to a complexity of 1.004, medium up to 2.004" in capsys.readouterr().err
