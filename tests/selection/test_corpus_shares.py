"""corpus_shares: the largest selection with a share of each corpus, beside all other targets."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.dataset import CELLS, Group, count_cells, count_corpora
from answerkey.kinds import check_value
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, TRAIN
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import SCOPES, Targets
from answerkey.selection.program import find_largest, find_size
from answerkey.selection.supply import (
    TargetsNotMetError,
    Usable,
    check_size,
    describe_supply,
    explain,
    find_binding,
    find_binding_targets,
    list_absent,
    summarize,
)
from tests.shared.candidates import Candidate, pick_ids
from tests.shared.exhaustive_search import is_allowed, list_best, search_everything

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}
HALVES = {"bird": 0.5, "spider": 0.5}
BOTH = Targets(**OF_SPLITS, corpus_shares=HALVES)


def make_supply(counts: dict[str, tuple[int, ...]]) -> dict[Group, int]:
    """A supply by the six cells of each corpus, of one database a split and corpus."""
    return {
        Group(split, level, f"{corpus}_{split}", "list", corpus): count
        for corpus, of_cells in counts.items()
        for (split, level), count in zip(CELLS, of_cells, strict=True)
    }


def make_crowd(supply: dict[Group, int], *, templates: int = 7) -> list[Candidate]:
    """Candidates of each group; templates repeat."""
    return [
        Candidate(group, f"{group.database_name}_{group.difficulty}_{n:03d}", f"{n % templates}")
        for group, count in supply.items()
        for n in range(count)
    ]


def count_supply(crowd: list[Candidate]) -> Counter[Group]:
    return Counter(candidate.group for candidate in crowd)


@st.composite
def some_shares(draw, names: tuple[str, ...]) -> dict[str, float]:
    steps = draw(st.sampled_from([4, 5, 10, 20]))
    ends = sorted(draw(st.integers(0, steps)) for _ in names[1:])
    return {
        name: (high - low) / steps
        for name, low, high in zip(names, [0, *ends], [*ends, steps], strict=True)
    }


def some_targets(**more: st.SearchStrategy) -> st.SearchStrategy[Targets]:
    choices = {
        "difficulty_shares": st.none() | some_shares(DIFFICULTIES),
        "difficulty_shares_of": st.sampled_from(SCOPES),
        "corpus_shares": some_shares(("bird", "spider")),
        "eval_share": st.sampled_from([None, 0, 0.25, 0.3, 1 / 3, 0.5, 1]),
        "tolerance": st.sampled_from([0, 0.02, 0.1, 0.1 + 0.2]),
        "max_questions": st.none() | st.integers(0, 9),
    }
    return st.builds(Targets, **choices | more)


def some_groups(databases: int) -> st.SearchStrategy[Group]:
    """Groups of a few databases; two corpora may ask about the same one."""
    return st.builds(
        lambda split, level, number, answer_type, corpus: Group(
            split, level, f"{split}_{number}", answer_type, corpus
        ),
        st.sampled_from(SPLITS),
        st.sampled_from(DIFFICULTIES),
        st.integers(1, databases),
        st.sampled_from(["integer", "list"]),
        st.sampled_from(["bird", "spider"]),
    )


@given(
    supply=st.dictionaries(some_groups(2), st.integers(0, 3), max_size=6),
    targets=some_targets(
        max_per_database=st.integers(0, 4),
        max_answer_type_share=st.sampled_from([None, None, None, 0.5, 0.7]),
    ),
)
def test_largest_selection_under_caps_is_that_of_an_exhaustive_search(supply, targets):
    solution = find_largest(supply, targets)
    assert list_best(solution) == search_everything(supply, targets)
    assert solution.size == find_size(supply, targets)


@pytest.mark.parametrize("of_port", [{}, {"bird": 1}])
def test_database_that_two_corpora_ask_about_is_capped_once(of_port):
    counts = {"harbour": {"bird": 5, "spider": 5}, "port": of_port}
    supply = {
        Group(TRAIN, "easy", database, "list", corpus): count
        for database, of_corpora in counts.items()
        for corpus, count in of_corpora.items()
    }
    targets = Targets(corpus_shares=HALVES, max_per_database=6)
    solution = find_largest(supply, targets)
    assert list_best(solution) == search_everything(supply, targets)
    assert list_best(solution) == (6, (6, 0, 0, 0, 0, 0), (3, 3, 0, 0))
    assert find_size(supply, targets) == 6


NEAR = {
    "of difficulties": (
        {"bird": (10, 10, 10, 0, 0, 0)},
        {**OF_SPLITS},
        (10, (4, 4, 2, 0, 0, 0), ()),
    ),
    "of eval": (
        {"bird": (10, 0, 0, 10, 0, 0)},
        {"eval_share": 0.3},
        (10, (7, 0, 0, 3, 0, 0), ()),
    ),
    "of eval before those of difficulties": (
        {"bird": (5, 1, 1, 2, 3, 5)},
        {**OF_SPLITS, "eval_share": 0.7},
        (10, (1, 1, 1, 2, 3, 2), ()),
    ),
    "of corpora": (
        {"bird": (10, 0, 0, 0, 0, 0), "spider": (10, 0, 0, 0, 0, 0)},
        {"corpus_shares": HALVES},
        (10, (10, 0, 0, 0, 0, 0), (5, 5, 0, 0)),
    ),
    "of corpora after those of difficulties": (
        {"bird": (10, 10, 10, 0, 0, 0), "spider": (0, 0, 10, 0, 0, 0)},
        {**OF_SPLITS, "corpus_shares": HALVES},
        (10, (4, 4, 2, 0, 0, 0), (8, 2, 0, 0)),
    ),
}


@pytest.mark.parametrize(("counts", "shares", "best"), NEAR.values(), ids=NEAR)
def test_solver_comes_as_near_to_shares_as_the_size_allows(counts, shares, best):
    supply = make_supply(counts)
    targets = Targets(tolerance=0.6, max_questions=10, **shares)
    assert list_best(find_largest(supply, targets)) == best


def test_shares_that_can_be_met_apart_are_met_together_only_as_far_as_they_go():
    # All of bird is hard, so that half of bird would be half of hard.
    supply = make_supply({"bird": (0, 0, 90, 0, 0, 90), "spider": (90, 90, 90, 90, 90, 90)})
    assert find_largest(supply, Targets(**OF_SPLITS)).size == 450
    assert find_largest(supply, Targets(corpus_shares=HALVES)).size == 360
    assert find_largest(supply, BOTH).size == 0
    fifth = {"bird": 0.2, "spider": 0.8}
    solution = find_largest(supply, Targets(**OF_SPLITS, corpus_shares=fifth))
    assert solution.size == 450
    assert solution.corpora == {
        (TRAIN, "bird"): 45,
        (TRAIN, "spider"): 180,
        (EVAL, "bird"): 45,
        (EVAL, "spider"): 180,
    }


def test_difficulties_settle_before_corpora_unless_they_have_no_share():
    supply = make_supply({"bird": (9, 9, 9, 0, 0, 0), "spider": (9, 0, 0, 0, 0, 0)})
    shares = {"easy": 0, "medium": 0.5, "hard": 0.5}
    wide = {"corpus_shares": HALVES, "tolerance": 0.5, "max_questions": 10}
    with_shares = find_largest(supply, Targets(**OF_SPLITS | {"difficulty_shares": shares}, **wide))
    assert list_best(with_shares) == (10, (0, 5, 5, 0, 0, 0), (10, 0, 0, 0))
    without = find_largest(supply, Targets(**wide))
    assert list_best(without) == (10, (10, 0, 0, 0, 0, 0), (5, 5, 0, 0))


def test_order_of_corpora_in_params_does_not_matter():
    supply = make_supply({"bird": (7, 9, 3, 5, 4, 8), "spider": (9, 4, 6, 3, 8, 5)})
    turned = dict(reversed(HALVES.items()))
    loose = {**OF_SPLITS, "tolerance": 0.2, "eval_share": 0.4}
    assert find_largest(supply, Targets(corpus_shares=turned, **loose)) == find_largest(
        dict(reversed(supply.items())), Targets(corpus_shares=HALVES, **loose)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"tolerance": 0.02, "eval_share": 0.3},
        {"tolerance": 0.02},
        {"tolerance": 0.3, "max_questions": 500_000},
        {"tolerance": 0.3, "max_questions": 500_000, "difficulty_shares": None},
        {"eval_share": 0.3},
        {"tolerance": 0.02, "eval_share": 0.3, "max_per_database": 100_000},
    ],
)
def test_a_million_questions_are_counted_exactly_and_soon(change):
    supply = make_supply(
        {
            "bird": (200_000, 120_000, 20_000, 60_000, 50_000, 40_000),
            "spider": (150_000, 90_000, 80_000, 70_000, 60_000, 60_000),
        }
    )
    values = {**OF_SPLITS, "corpus_shares": HALVES} | change
    targets = Targets(**values)
    start = time.process_time()
    solution = find_largest(supply, targets)
    binding = find_binding(supply, targets, solution)
    assert time.process_time() - start < 20
    assert all(size > solution.size for size in binding.values())
    taken = make_taken(supply, targets, solution)
    assert sum(taken.values()) == solution.size > 200_000
    assert is_allowed(taken, Targets(**values | {"max_per_database": None}))


def make_taken(supply, targets, solution) -> dict[Group, int]:
    """The selection that the parts of a solution are."""
    taken = {
        Group(split, level, f"{corpus}_{split}", "list", corpus): count
        for (split, level, corpus), count in solution.parts.items()
    }
    assert all(0 <= count <= supply[group] for group, count in taken.items())
    assert count_cells(taken) == solution.counts
    assert count_corpora(taken, targets.corpora) == solution.corpora
    return taken


@settings(max_examples=20)
@given(
    counts=st.fixed_dictionaries({name: st.tuples(*[st.integers(0, 9)] * 6) for name in HALVES}),
    tolerance=st.sampled_from([0.1, 0.3, 0.5]),
)
def test_parts_of_a_solution_add_up_to_its_cells_and_corpora(counts, tolerance):
    supply = make_supply(counts)
    targets = Targets(corpus_shares=HALVES, tolerance=tolerance, max_questions=20)
    make_taken(supply, targets, find_largest(supply, targets))


@settings(max_examples=20)
@given(shares=some_shares(DIFFICULTIES), share=st.integers(0, 10))
def test_corpora_with_plenty_are_alike_in_difficulty(shares, share):
    supply = make_supply({"bird": (99,) * 6, "spider": (99,) * 6})
    corpus_shares = {"bird": share / 10, "spider": 1 - share / 10}
    targets = Targets(
        difficulty_shares=shares, corpus_shares=corpus_shares, eval_share=0.5, max_questions=40,
        tolerance=0.01,
    )  # fmt: skip
    solution = find_largest(supply, targets)
    sizes = {s: sum(solution.counts[s, level] for level in DIFFICULTIES) for s in SPLITS}
    for (split, level, corpus), count in solution.parts.items():
        proportional = solution.counts[split, level] * solution.corpora[split, corpus]
        assert abs(count * sizes[split] - proportional) <= 1.5 * sizes[split]


@pytest.mark.parametrize("caps", [{}, {"max_per_database": 60}, {"max_answer_type_share": 1}])
def test_picks_are_those_of_the_solution_whatever_their_order(caps):
    supply = make_supply({"bird": (40, 20, 30, 20, 10, 15), "spider": (9, 50, 20, 20, 20, 9)})
    targets = Targets(**OF_SPLITS, corpus_shares=HALVES, eval_share=0.3, tolerance=0.03, **caps)
    crowd = make_crowd(supply)
    solution = find_largest(supply, targets)
    chosen = pick_ids(crowd, solution, targets, seed=20)
    taken = count_supply([c for c in crowd if c.question_id in chosen])
    assert count_cells(taken) == solution.counts
    assert count_corpora(taken, targets.corpora) == solution.corpora
    assert len(chosen) == solution.size > 100
    assert is_allowed(taken, targets)
    assert pick_ids(crowd[::-1], solution, targets, seed=20) == chosen
    assert pick_ids(crowd, solution, targets, seed=21) != chosen


@settings(max_examples=20)
@given(place=st.integers(0, 359), seed=st.integers(0, 99))
def test_exclusion_of_a_question_to_spare_changes_two_picks_at_most(place, seed):
    crowd = make_crowd(make_supply({"bird": (30,) * 6, "spider": (30,) * 6}))
    targets = Targets(**OF_SPLITS, corpus_shares=HALVES, tolerance=0.02, max_questions=120)
    gone = crowd[place]
    remaining = [candidate for candidate in crowd if candidate is not gone]
    before, after = (
        pick_ids(members, find_largest(count_supply(members), targets), targets, seed=seed)
        for members in (crowd, remaining)
    )
    assert len(before) == len(after) == 120
    assert len(before ^ after) == (2 if gone.question_id in before else 0)


SCARCE = {"bird": (99, 99, 99, 9, 9, 6), "spider": (99,) * 6}
QUARTER = Targets(**OF_SPLITS, corpus_shares=HALVES, eval_share=0.25)


def test_corpus_that_holds_the_selection_back_is_named_with_its_gain():
    supply = make_supply(SCARCE | {"bird": (99, 99, 99, 8, 8, 4)})
    solution = find_largest(supply, QUARTER)
    assert solution.size == 160
    assert find_binding(supply, QUARTER, solution) == {"eval corpus bird": 640}
    assert find_binding_targets(supply, QUARTER, solution) == {
        "corpus_shares": 660,
        "eval_share": 530,
    }


def test_difficulty_that_is_scarce_in_every_corpus_is_named_without_one():
    supply = make_supply({"bird": (99, 99, 5, 99, 99, 99), "spider": (99, 99, 5, 99, 99, 99)})
    targets = Targets(**OF_SPLITS, corpus_shares=HALVES, eval_share=0.5)
    solution = find_largest(supply, targets)
    assert solution.size == 100
    assert list(find_binding(supply, targets, solution)) == ["train hard"]


def test_difficulty_of_a_corpus_that_holds_the_selection_back_is_named_with_both():
    # Half are of spider and easy, so that bird must give the medium and the hard ones.
    supply = make_supply({"bird": (0, 40, 9, 0, 0, 0), "spider": (90, 90, 90, 0, 0, 0)})
    targets = Targets(
        difficulty_shares={"easy": 0.5, "medium": 0.25, "hard": 0.25},
        difficulty_shares_of="split",
        corpus_shares=HALVES,
    )
    solution = find_largest(supply, targets)
    assert list_best(solution) == (36, (18, 9, 9, 0, 0, 0), (18, 18, 0, 0))
    binding = find_binding(supply, targets, solution)
    assert list(binding) == [
        "train corpus bird",
        "train easy corpus bird",
        "train hard corpus bird",
    ]
    for level in ("easy", "hard"):
        more = {**supply, Group(TRAIN, level, "new", "list", "bird"): 9999}
        assert binding[f"train {level} corpus bird"] == find_size(more, targets)


def test_without_shares_of_corpora_no_corpus_is_named():
    supply = make_supply({"bird": (9, 9, 1, 9, 9, 9), "spider": (9, 9, 1, 9, 9, 9)})
    targets = Targets(**OF_SPLITS, eval_share=0.5)
    solution = find_largest(supply, targets)
    assert solution.corpora == {}
    assert list(find_binding(supply, targets, solution)) == ["train hard"]
    summary = summarize(supply, targets, solution)
    assert "corpora" not in summary
    assert "corpus_shares" not in summary["size_without_target"]
    assert not any("corpus" in name for name in summary["shares"])


def complain(supply: dict[Group, int], targets: Targets) -> str:
    with pytest.raises(TargetsNotMetError) as caught:
        check_size(supply, targets, find_largest(supply, targets))
    return str(caught.value)


def test_corpus_without_a_usable_question_is_said():
    text = complain(make_supply({"spider": (40, 40, 20, 40, 40, 20)}), BOTH)
    assert "there are questions, and the largest selection under the other targets has 0" in text
    assert "no question of corpus bird is usable" in text
    assert "without corpus_shares: 200 instead of 0" in text
    assert "train  0 of 40  0 of 40  0 of 20  0 of 0       0 of 100" in text


def test_corpus_without_a_usable_question_in_one_split_is_said():
    supply = make_supply({"bird": (40, 40, 20, 0, 0, 0), "spider": (40, 40, 20, 40, 40, 20)})
    targets = Targets(**OF_SPLITS, corpus_shares=HALVES, eval_share=0.5)
    text = complain(supply, targets)
    assert "no eval question of corpus bird is usable" in text
    assert "Limited by eval/corpus bird: " in text


def test_corpus_whose_share_is_nothing_needs_no_question():
    supply = make_supply({"spider": (40, 40, 20, 40, 40, 20)})
    targets = Targets(**OF_SPLITS, corpus_shares={"bird": 0, "spider": 1})
    check_size(supply, targets, find_largest(supply, targets))
    assert find_largest(supply, targets).size == 200
    other = make_supply({"bird": (40, 40, 20, 40, 40, 20)})
    assert "no question of corpus spider is usable" in complain(other, targets)


@pytest.mark.parametrize(
    ("share", "tolerance", "absent"),
    [
        (0, 0, []),
        (0.1, 0.1, []),
        (0.1, 0.09, ["no question of corpus bird is usable"]),
    ],
)
def test_absent_corpus_is_named_where_the_tolerance_is_less_than_its_share(
    share, tolerance, absent
):
    supply = make_supply({"spider": (40, 40, 20, 40, 40, 20)})
    shares = {"bird": share, "spider": 1 - share}
    assert list_absent(supply, Targets(corpus_shares=shares, tolerance=tolerance)) == absent


def test_message_names_the_tolerance_and_the_corpora():
    supply = make_supply({"bird": (40, 40, 20, 0, 0, 0), "spider": (40, 40, 20, 0, 0, 0)})
    shares = {"bird": 0.6, "spider": 0.4}
    targets = Targets(**OF_SPLITS, corpus_shares=shares, min_questions=180)
    text = complain(supply, targets)
    assert "min_questions asks for 180" in text
    assert "Limited by train/corpus bird: " in text
    tolerance = float(re.search(r"tolerance: ([\d.]+) would reach 180", text)[1])
    for offset, is_enough in ((0, True), (-0.005, False)):
        loosened = Targets(
            **OF_SPLITS,
            corpus_shares=shares,
            tolerance=round(tolerance + offset, 3),
        )
        assert (find_size(supply, loosened) >= 180) is is_enough


def test_supply_is_told_with_its_corpora():
    supply = make_supply({"bird": (1, 2, 3, 0, 0, 0), "spider": (4, 5, 6, 7, 8, 9)})
    solution = find_largest(supply, Targets(corpus_shares=HALVES, tolerance=0.3))
    lines = describe_supply(supply, solution.counts, solution.corpora).splitlines()
    assert lines[0] == "split  easy    medium  hard    corpus bird  corpus spider"
    assert lines[2] == "eval   0 of 7  0 of 8  0 of 9  0 of 0       0 of 24"


def test_summary_tells_each_corpus_and_each_share():
    supply = make_supply(SCARCE)
    summary = summarize(supply, QUARTER, find_largest(supply, QUARTER))
    assert summary["corpora"]["eval"]["bird"] == {
        "usable": 24,
        "selected": 20,
        "slack": 4,
        "size_without_limit": 640,
        "difficulties": {
            "easy": {"usable": 9, "size_without_limit": 600},
            "medium": {"usable": 9, "size_without_limit": 600},
            "hard": {"usable": 6, "size_without_limit": 240},
        },
    }
    assert summary["corpora"]["train"]["spider"]["size_without_limit"] == 160
    assert summary["binding_cells"][0] == "eval corpus bird"
    assert summary["size_without_target"]["corpus_shares"] == 660
    assert summary["shares"]["eval corpus bird"] == {"asked": 0.5, "found": 0.5, "slack": 0.0}


def test_explanation_shows_corpora_for_the_thresholds_and_their_neighbours():
    usable = [
        Usable(split, f"{corpus}_{split}", "list", tables, "easy", 1.0, corpus, None)
        for split in SPLITS
        for corpus in HALVES
        for tables in (1, 1, 2, 2, 3)
        for _ in range(10)
    ]
    targets = Targets(**OF_SPLITS, corpus_shares=HALVES)
    levels = {"easy": "easy", "medium": "medium", "hard": "hard", "extra": "hard"}
    rule = DifficultyRule("tables", 1, 2, levels, {})
    text = explain(Counter(usable), rule, targets)
    assert "largest selection: 200 of 200 usable questions" in text
    assert text.count("corpus bird  corpus spider") == text.count("largest selection") > 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "corpus_shares: expected a sum of 1"),
        ([0.5, 0.5], "corpus_shares: expected a share for each corpus"),
        ("spider", "corpus_shares: expected a share for each corpus"),
        ({"": 1}, "corpus_shares: expected a share for each corpus"),
        ({1: 1}, "corpus_shares: expected a share for each corpus"),
        ({"spider": 0.5, "bird": 0.4}, "corpus_shares: expected a sum of 1"),
        ({"spider": 1.5, "bird": -0.5}, r"corpus_shares\.spider: expected a share from 0 to 1"),
        ({"spider": 1, "bird": -0.1}, r"corpus_shares\.bird: expected a share from 0 to 1"),
        ({"spider": "1"}, r"corpus_shares\.spider: expected a share from 0 to 1"),
        ({"spider": True}, r"corpus_shares\.spider: expected a share from 0 to 1"),
        ({"spider": None}, r"corpus_shares\.spider: expected a share from 0 to 1"),
    ],
)
def test_bad_shares_are_named_by_their_key(value, message):
    with pytest.raises(ValueError, match=message):
        check_value(Targets, {"corpus_shares": value})


@pytest.mark.parametrize("shares", [HALVES, None])
def test_shares_of_the_corpora_of_params_pass(shares):
    Targets(corpus_shares=shares).check_corpora(["spider", "bird"])
    Targets(corpus_shares={"spider": 1}).check_corpora("spider")
