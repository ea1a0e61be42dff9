"""picks: which questions of a cell are picked, and how little an exclusion moves."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from answerkey.base.records import DIFFICULTIES, EVAL, TRAIN
from answerkey.sections.select_questions import Targets
from answerkey.selection.picks import (
    count_unproved,
    find_paraphrases,
    hash_key,
    order_candidates,
    pick,
    rank_candidates,
)
from answerkey.selection.program import CELLS, Group, count_by, find_largest

SHARES = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
OF_SPLITS = {"difficulty_shares": SHARES, "difficulty_shares_of": "split"}
USUAL = Targets(**OF_SPLITS, eval_share=0.3, tolerance=0.02)


class Candidate(NamedTuple):
    """A usable question, as far as selection looks at it."""

    group: Group
    question_id: str
    template: str
    canonical_sql: str = ""
    suite_score: float | None = None


def tabulate(candidates: list[Candidate], *, seed: int, by_corpus: bool = False) -> pd.DataFrame:
    """The candidates in their order, each indexed by its place in the list."""
    columns = [*Group._fields, *Candidate._fields[1:]]
    rows = [(*candidate.group, *candidate[1:]) for candidate in candidates]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return order_candidates(table, seed=seed, by_corpus=by_corpus)


def count_groups(candidates: Iterable[Candidate]) -> Counter[Group]:
    return Counter(candidate.group for candidate in candidates)


def count_cells(candidates: Iterable[Candidate]) -> Counter[tuple[str, ...]]:
    return count_by(count_groups(candidates), "split", "difficulty")


def make_candidate(
    number: int,
    *,
    split: str = TRAIN,
    level: str = "easy",
    database: str = "a",
    template: str = "",
    answer_type: str = "list",
    canonical_sql: str = "",
    suite_score: float | None = None,
) -> Candidate:
    return Candidate(
        Group(split, level, database, answer_type),
        f"{database}_{split}_{number:03d}",
        template or f"template {number}",
        canonical_sql or f"sql {number}",
        suite_score,
    )


def make_crowd(count: int, *, templates: int) -> list[Candidate]:
    """So many candidates of every cell; templates repeat."""
    return [
        make_candidate(
            1000 * place + number,
            split=split,
            level=level,
            database=f"{split}_{number % 5}",
            template=f"template {number % templates}",
        )
        for place, (split, level) in enumerate(CELLS)
        for number in range(count)
    ]


def select(candidates: list[Candidate], targets: Targets, *, seed: int = 20) -> set[str]:
    """The ids of the picked ones, each of which is picked once."""
    taken = find_largest(count_groups(candidates), targets)
    table = tabulate(candidates, seed=seed, by_corpus=bool(targets.corpora))
    places = pick(table, taken, targets)
    assert len(set(places)) == len(places) == sum(taken.values())
    chosen = [candidates[place] for place in places]
    parts = count_by(count_groups(chosen), "split", "difficulty")
    assert parts == +count_by(taken, "split", "difficulty")
    return {candidate.question_id for candidate in chosen}


def order_cell(candidates: list[Candidate], *, seed: int) -> list[Candidate]:
    """The candidates, all of one cell, best first."""
    return [candidates[place] for place in rank_candidates(tabulate(candidates, seed=seed)).index]


def find_cell(candidate: Candidate) -> tuple[str, str]:
    return candidate.group.split, candidate.group.difficulty


def test_order_of_the_candidates_does_not_matter():
    crowd = make_crowd(20, templates=6)
    caps = Targets(**OF_SPLITS, tolerance=0.1, max_per_database=6)
    of_corpora = Targets(corpus_shares={"": 1}, max_questions=30)
    for targets in (USUAL, caps, of_corpora):
        assert select(crowd[::-1], targets) == select(crowd, targets)


def test_seed_changes_the_picks_and_their_number_stays():
    crowd = make_crowd(30, templates=30)
    picks = [select(crowd, USUAL, seed=seed) for seed in range(4)]
    assert len({frozenset(chosen) for chosen in picks}) == 4
    assert len({len(chosen) for chosen in picks}) == 1


@pytest.mark.parametrize("seed", range(4))
def test_higher_mutation_score_comes_first_inside_a_round(seed):
    scores = [None, 0.5, 0.97, 1.0, 0.98, 1.0]
    cell = [
        make_candidate(n, template=template, suite_score=score)
        for n, (template, score) in enumerate(zip("abcdea", scores, strict=True))
    ]
    found = [candidate.suite_score for candidate in order_cell(cell, seed=seed)]
    assert found == [1.0, 1.0, 0.98, 0.97, 0.5, None]


@given(
    templates=st.lists(st.sampled_from("abcd"), max_size=15),
    count=st.integers(0, 15),
    seed=st.integers(0, 99),
)
def test_no_template_is_more_than_one_round_ahead_of_one_with_questions_left(
    templates, count, seed
):
    cell = [make_candidate(n, template=template) for n, template in enumerate(templates)]
    ordered = order_cell(cell, seed=seed)
    assert sorted(ordered) == sorted(cell)
    taken = Counter(candidate.template for candidate in ordered[:count])
    left = {candidate.template for candidate in ordered[count:]}
    for template in left:
        assert max(taken.values(), default=0) <= taken[template] + 1


@settings(max_examples=20)
@given(
    templates=st.lists(st.sampled_from("abcdef"), min_size=60, max_size=60),
    seed=st.integers(0, 10**6),
    place=st.integers(0, 59),
)
def test_exclusion_of_a_question_to_spare_changes_two_picks_at_most(templates, seed, place):
    crowd = [
        make_candidate(n, split=CELLS[n % 6][0], level=CELLS[n % 6][1], template=template)
        for n, template in enumerate(templates)
    ]
    targets = Targets(**OF_SPLITS, eval_share=0.5)
    before = select(crowd, targets, seed=seed)
    gone = crowd[place]
    taken = find_largest(count_groups(crowd), targets)
    cell = find_cell(gone)
    assume(taken[Group(*cell)] < count_cells(crowd)[cell])  # else the counts change
    remaining = [candidate for candidate in crowd if candidate is not gone]
    after = select(remaining, targets, seed=seed)
    assert len(after) == len(before)
    changed = before ^ after
    assert len(changed) <= 2
    assert bool(changed) == (gone.question_id in before)


def rank(candidate: Candidate, crowd: list[Candidate], seed: int) -> float:
    """The round of a candidate in its cell, what it leaves unproved as a fraction of a round, and
    its hash as a fraction of that."""
    kind = (find_cell(candidate), candidate.template)
    peers = [c for c in crowd if (find_cell(c), c.template) == kind]
    peers.sort(key=lambda c: (count_unproved(c.suite_score), hash_key(c.question_id, seed)))
    place = int.from_bytes(hash_key(candidate.question_id, seed)[:3])
    unproved = count_unproved(candidate.suite_score)
    return peers.index(candidate) + (unproved + place / 256**3) / 101


@settings(max_examples=25)
@given(
    kinds=st.lists(
        st.tuples(
            st.sampled_from([TRAIN, EVAL]),
            st.sampled_from(DIFFICULTIES[:2]),
            st.integers(0, 1),
            st.sampled_from(["integer", "list"]),
            st.sampled_from("tu"),
            st.sampled_from([None, 0.5, 1.0]),
        ),
        min_size=1,
        max_size=9,
    ),
    max_per_database=st.none() | st.integers(1, 3),
    max_answer_type_share=st.sampled_from([0.5, 0.7, None]),
    seed=st.integers(0, 99),
)
def test_picks_within_caps_are_the_best_ones_there_are(
    kinds, max_per_database, max_answer_type_share, seed
):
    crowd = [
        make_candidate(
            n,
            split=split,
            level=level,
            database=f"{split}{number}",
            answer_type=answer_type,
            template=template,
            suite_score=score,
        )
        for n, (split, level, number, answer_type, template, score) in enumerate(kinds)
    ]
    targets = Targets(
        max_per_database=max_per_database, max_answer_type_share=max_answer_type_share
    )
    taken = find_largest(count_groups(crowd), targets)
    size = sum(taken.values())

    def fits(members: tuple[Candidate, ...]) -> bool:
        databases = Counter(c.group.database_name for c in members)
        types = Counter(c.group.answer_type for c in members)
        most = (max_answer_type_share or 1) * size + 1e-9
        return (
            count_cells(members) == +count_by(taken, "split", "difficulty")
            and max(databases.values(), default=0) <= (max_per_database or 99)
            and max(types.values(), default=0) <= most
        )

    possible = [members for members in itertools.combinations(crowd, size) if fits(members)]
    best = min(possible, key=lambda members: sum(rank(c, crowd, seed) for c in members))
    assert select(crowd, targets, seed=seed) == {candidate.question_id for candidate in best}


def test_empty_cells_need_no_candidates():
    assert select([], Targets()) == select([], Targets(max_per_database=3)) == set()


def cap(candidates: list[Candidate], most: int | None, *, seed: int) -> tuple[set[str], set[str]]:
    """The ids of those that stay, and of the others."""
    table = tabulate(candidates, seed=seed)
    capped = {candidates[place].question_id for place in find_paraphrases(table, most)}
    return {candidate.question_id for candidate in candidates} - capped, capped


def test_paraphrases_are_capped_in_each_database():
    candidates = [
        make_candidate(n, database=database, canonical_sql=sql)
        for n, (database, sql) in enumerate([*[("a", "x")] * 4, *[("b", "x")] * 2, ("a", "y")])
    ]
    kept, capped = cap(candidates, 2, seed=3)
    assert cap(candidates[::-1], 2, seed=3) == (kept, capped)
    assert cap(candidates, None, seed=3)[1] == set()
    groups = Counter(
        (candidate.group.database_name, candidate.canonical_sql)
        for candidate in candidates
        if candidate.question_id in kept
    )
    assert groups == {("a", "x"): 2, ("b", "x"): 2, ("a", "y"): 1}
