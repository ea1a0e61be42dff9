"""program: the largest selection that meets the targets, against a search of all; bad targets."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value
from answerkey.base.records import DIFFICULTIES, EVAL, SPLITS, TRAIN, read_share
from answerkey.sections.select_questions import DATASET, SCOPES, Targets
from answerkey.selection.program import CELLS, Group, count_by, find_largest, find_size

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}
HALVES = {"bird": 0.5, "spider": 0.5}
USUAL = Targets(**OF_SPLITS, eval_share=0.3, tolerance=0.02)


def make_supply(*counts: int, corpus: str = "bird") -> dict[Group, int]:
    """A supply by its six cells, of one database a split and corpus."""
    return {
        Group(split, level, f"{corpus}_{split}", "list", corpus): count
        for (split, level), count in zip(CELLS, counts, strict=True)
    }


def list_cells(taken: dict[Group, int]) -> tuple[int, ...]:
    counts = count_by(taken, "split", "difficulty")
    return tuple(counts[cell] for cell in CELLS)


def measure_shares(taken: dict[Group, int], targets: Targets) -> dict[str, list[tuple]]:
    """By how many questions each share is off, and the number that it is a share of: straight from
    what each target says."""
    splits, size = count_by(taken, "split"), sum(taken.values())
    levels, cells = count_by(taken, "difficulty"), count_by(taken, "split", "difficulty")
    corpora = count_by(taken, "split", "corpus")
    asked = []
    if targets.eval_share is not None:
        asked.append((splits[(EVAL,)], size, targets.eval_share))
    shares = targets.difficulty_shares or {}
    of_cells = [
        (cells[cell], splits[cell[:1]], shares[cell[1]]) for cell in (CELLS if shares else ())
    ]
    if targets.difficulty_shares_of == DATASET:
        asked += [(levels[(level,)], size, share) for level, share in shares.items()]
    else:
        asked += of_cells
    of_corpora = (targets.corpus_shares or {}).items()
    asked += [
        (corpora[split, corpus], splits[(split,)], share)
        for split in SPLITS
        for corpus, share in of_corpora
    ]
    of_parts = [
        (count_by(taken, "split", "difficulty", "corpus")[*cell, corpus], cells[cell], share)
        for cell in CELLS
        for corpus, share in of_corpora
    ]
    kinds = {"asked": asked, "cells": of_cells, "parts": of_parts}
    return {
        kind: [(abs(part - read_share(share) * whole), whole) for part, whole, share in found]
        for kind, found in kinds.items()
    }


def is_allowed(taken: dict[Group, int], targets: Targets) -> bool:
    """Whether a selection meets the targets."""
    size = sum(taken.values())
    if targets.max_questions is not None and size > targets.max_questions:
        return False
    databases, types = count_by(taken, "database_name"), count_by(taken, "answer_type")
    cap, type_share = targets.max_per_database, targets.max_answer_type_share
    if cap is not None and max(databases.values(), default=0) > cap:
        return False
    if type_share is not None and max(types.values(), default=0) > read_share(type_share) * size:
        return False
    tolerance = read_share(targets.tolerance)
    return all(off <= tolerance * whole for off, whole in measure_shares(taken, targets)["asked"])


def search_everything(supply: dict[Group, int], targets: Targets) -> tuple:
    """The parts of the best selection, by trying all of them."""

    def list_parts(taken: dict[Group, int]) -> tuple[int, ...]:
        if not targets.corpora:
            return list_cells(taken)
        counts = count_by(taken, "split", "difficulty", "corpus")
        return tuple(counts[*cell, corpus] for cell in CELLS for corpus in targets.corpora)

    def rank(taken: dict[Group, int]) -> tuple:
        off = {
            kind: sum((off for off, _ in found), Fraction(0))
            for kind, found in measure_shares(taken, targets).items()
        }
        if targets.difficulty_shares_of != DATASET:
            off["cells"] = 0
        return sum(taken.values()), *(-distance for distance in off.values()), list_parts(taken)

    allowed = (
        taken
        for counts in itertools.product(*(range(count + 1) for count in supply.values()))
        if is_allowed(taken := dict(zip(supply, counts, strict=True)), targets)
    )
    return list_parts(max(allowed, key=rank))


@st.composite
def some_shares(draw, names: tuple[str, ...]) -> dict[str, float]:
    steps = draw(st.sampled_from([4, 5, 10, 20]))
    ends = sorted(draw(st.integers(0, steps)) for _ in names[1:])
    return {
        name: (high - low) / steps
        for name, low, high in zip(names, [0, *ends], [*ends, steps], strict=True)
    }


def some_groups() -> st.SearchStrategy[Group]:
    """Groups of a few databases; two corpora may ask about the same one."""
    return st.builds(
        lambda split, level, number, answer_type, corpus: Group(
            split, level, f"{split}_{number}", answer_type, corpus
        ),
        st.sampled_from(SPLITS),
        st.sampled_from(DIFFICULTIES),
        st.integers(1, 2),
        st.sampled_from(["integer", "list"]),
        st.sampled_from(["bird", "spider"]),
    )


@settings(max_examples=150)
@given(
    supply=st.dictionaries(some_groups(), st.integers(0, 3), max_size=6),
    targets=st.builds(
        Targets,
        difficulty_shares=st.none() | some_shares(DIFFICULTIES),
        difficulty_shares_of=st.sampled_from(SCOPES),
        corpus_shares=st.none() | some_shares(("bird", "spider")),
        eval_share=st.sampled_from([None, 0, 0.25, 0.3, 1 / 3, 0.5, 1]),
        tolerance=st.sampled_from([0, 0.02, 0.1, 0.1 + 0.2]),
        max_questions=st.none() | st.integers(0, 9) | st.just(10**30),
        max_per_database=st.none() | st.integers(0, 4),
        max_answer_type_share=st.sampled_from([None, None, 0, 0.4, 0.5, 0.7]),
    ),
    seed=st.integers(),
)
def test_largest_selection_is_that_of_an_exhaustive_search(supply, targets, seed):
    taken = find_largest(supply, targets)
    assert tuple(taken.values()) == search_everything(supply, targets)
    assert sum(taken.values()) == find_size(supply, targets)
    shuffled = list(supply.items())
    random.Random(seed).shuffle(shuffled)
    assert find_largest(dict(shuffled), targets) == taken


@pytest.mark.parametrize(
    ("supply", "targets", "cells"),
    [
        (make_supply(5, 0, 7, 1, 2, 300), Targets(), (5, 0, 7, 1, 2, 300)),
        (make_supply(9, 9, 0, 9, 9, 9), USUAL, (0, 0, 0, 0, 0, 0)),
        (make_supply(*[9] * 6), Targets(eval_share=0), (9, 9, 9, 0, 0, 0)),
        (
            make_supply(100, 100, 70, 60, 60, 6),
            Targets(**OF_SPLITS, eval_share=0.3),
            (28, 28, 14, 12, 12, 6),
        ),
        (
            make_supply(100, 100, 70, 60, 60, 6),
            Targets(difficulty_shares=SHARES, eval_share=0.3),
            (100, 96, 70, 52, 56, 6),
        ),
        (
            make_supply(*[90] * 6),
            Targets(difficulty_shares=SHARES, eval_share=0.5, max_questions=100),
            (20, 20, 10, 20, 20, 10),
        ),
        (
            make_supply(9, 9, 9, 0, 0, 0),
            Targets(**OF_SPLITS, tolerance=0.3, max_questions=10),
            (4, 4, 2, 0, 0, 0),
        ),
        (
            make_supply(30, 50, 20, 15, 25, 10),
            Targets(
                difficulty_shares={"easy": 0.1 + 0.2, "medium": 0.5, "hard": 1 - 0.8},
                eval_share=1 / 3,
                tolerance=1e-6,
            ),
            (30, 50, 20, 15, 25, 10),
        ),
    ],
    ids=[
        "no targets take everything",
        "a cell without questions empties both splits",
        "a share of nothing takes nothing",
        "shares of each split",
        "shares of the dataset take more",
        "the splits nearest to the shares",
        "the shares nearest to the targets",
        "numbers are read as they are meant",
    ],
)
def test_cells_are_those_worked_out_by_hand(supply, targets, cells):
    assert list_cells(find_largest(supply, targets)) == cells


@pytest.mark.parametrize("type_share", [None, 0.5])
@pytest.mark.parametrize("supply", [{}, make_supply(0, 0, 0, 0, 0, 0)])
def test_no_supply_gives_an_empty_selection(supply, type_share):
    targets = Targets(**OF_SPLITS, eval_share=0.3, max_answer_type_share=type_share)
    taken = find_largest(supply, targets)
    assert taken == {Group(*cell): 0 for cell in CELLS}


def test_database_that_two_corpora_ask_about_is_capped_once():
    supply = {Group(TRAIN, "easy", "harbour", "list", corpus): 5 for corpus in HALVES}
    taken = find_largest(supply, Targets(corpus_shares=HALVES, max_per_database=6))
    assert +Counter(taken) == {Group(TRAIN, "easy", corpus=corpus): 3 for corpus in HALVES}


def test_shares_of_corpora_hold_in_every_difficulty_and_in_any_order_of_params():
    supply = make_supply(*[99] * 6) | make_supply(*[99] * 6, corpus="spider")
    terms = {"eval_share": 0.5, "max_questions": 200, **OF_SPLITS}
    taken = find_largest(supply, Targets(corpus_shares={"spider": 0.7, "bird": 0.3}, **terms))
    assert list(taken.values()) == [12, 28, 12, 28, 6, 14] * 2
    assert taken == find_largest(
        supply, Targets(corpus_shares={"bird": 0.3, "spider": 0.7}, **terms)
    )
    all_hard = make_supply(0, 0, 90, 0, 0, 90) | make_supply(*[90] * 6, corpus="spider")
    assert find_size(all_hard, Targets(**OF_SPLITS, corpus_shares=HALVES)) == 0


# Worked out by hand. 154,397 easy ones at 38% at least let train hold 406,307, and eval, at 32% at
# most, then 191,203. Without a tolerance the last needs a train and an eval that are whole ten
# thousands, and eval 31,877 of each 125,000: there are too few.
@pytest.mark.parametrize(
    ("supply", "targets", "size"),
    [
        (make_supply(154397, 434860, 132965, 1000000, 631146, 1000000), USUAL, 597_510),
        (
            make_supply(1301457, 1966333, 0, 2565516, 483852, 923077),
            Targets(
                difficulty_shares={"easy": 0.8571, "medium": 0.1429, "hard": 0},
                difficulty_shares_of="split",
                eval_share=0.2550157588437252,
            ),
            0,
        ),
        (
            make_supply(200_000, 120_000, 20_000, 60_000, 50_000, 40_000)
            | make_supply(150_000, 90_000, 80_000, 70_000, 60_000, 60_000, corpus="spider"),
            Targets(**OF_SPLITS, corpus_shares=HALVES, tolerance=0.3, max_questions=500_000),
            500_000,
        ),
    ],
)
def test_millions_are_counted_exactly_and_soon(supply, targets, size):
    start = time.process_time()
    taken = find_largest(supply, targets)
    assert time.process_time() - start < 20
    assert sum(taken.values()) == size
    cells = count_by(supply, "split", "difficulty", *(["corpus"] if targets.corpora else []))
    found = [count <= cells[tuple(filter(None, part))] for part, count in taken.items()]
    assert all(found)
    assert is_allowed(taken, targets)


def test_databases_without_number_cost_little():
    supply = {
        Group(split, level, f"{split}_{number}", "list"): 1 + number % 7
        for split, level in CELLS
        for number in range(5000)
    }
    targets = Targets(**OF_SPLITS, eval_share=0.3, tolerance=0.02, max_per_database=9)
    start = time.process_time()
    assert find_size(supply, targets) > 10_000
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"difficulty_shares": {"easy": 1}}, "difficulty_shares: expected easy, medium, hard"),
        ({"difficulty_shares": [0.4, 0.4, 0.2]}, "difficulty_shares: expected easy, medium, hard"),
        ({"difficulty_shares": SHARES | {"extra": 0}}, "difficulty_shares: expected easy, medium"),
        ({"difficulty_shares": SHARES | {"easy": 0.5}}, "difficulty_shares: expected a sum of 1"),
        (
            {"difficulty_shares": {"easy": 1.2, "medium": -0.2, "hard": 0}},
            r"difficulty_shares\.easy: expected a share",
        ),
        ({"difficulty_shares_of": "each"}, "difficulty_shares_of: expected dataset or split"),
        ({"eval_share": 30}, "eval_share: expected a share from 0 to 1, or null, found 30"),
        ({"eval_share": "0.3"}, "eval_share: expected a share from 0 to 1"),
        ({"eval_share": True}, "eval_share: expected a share from 0 to 1"),
        ({"eval_share": float("nan")}, "eval_share: expected a share from 0 to 1"),
        ({"tolerance": None}, "tolerance: expected a share from 0 to 1"),
        ({"min_questions": 1.5}, "min_questions: expected a whole number from 0"),
        ({"max_questions": -1}, "max_questions: expected a whole number from 0"),
        ({"corpus_shares": {}}, "corpus_shares: expected a sum of 1"),
        ({"corpus_shares": "spider"}, "corpus_shares: expected a share for each corpus"),
        ({"corpus_shares": {1: 1}}, "corpus_shares: expected a share for each corpus"),
        ({"corpus_shares": {"spider": "1"}}, r"corpus_shares\.spider: expected a share from 0"),
        ({"max_question": 3}, r"unknown key .*max_question: expected some of .*max_questions"),
    ],
)
def test_bad_target_is_named_by_its_key(values, message):
    with pytest.raises(InputError, match=message):
        check_value(Targets, values, key="select_questions.targets")


@pytest.mark.parametrize("shares", [HALVES, None])
def test_shares_of_the_corpora_of_params_pass(shares):
    Targets(corpus_shares=shares).check_corpora(["spider", "bird"])
    Targets(corpus_shares={"spider": 1}).check_corpora("spider")


@given(st.integers(0, 1_000_000))
def test_share_is_read_to_the_millionth(steps):
    assert read_share(steps / 1_000_000) == Fraction(steps, 1_000_000)
