"""The picked questions: which ones, once it is known how many of each part.

A part is a split and a difficulty, and a corpus if corpora have shares. In each part the first
questions of every SQL template come first, then the second ones, and so on. In each such round
those come first whose test suite rejects most wrong queries. A keyed hash decides between equals,
so that one exclusion moves little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from answerkey.base.records import digest_text, read_share
from answerkey.sections.select_questions import Targets
from answerkey.selection.program import Group, solve

MOST_UNPROVED = 100
PART = ["split", "difficulty", "corpus"]
_PLACE_BYTES = 3  # of a hash: enough to tell questions apart, few enough to add up exactly


def hash_key(question_id: str, seed: int) -> bytes:
    """A place in a shuffled order that depends on the question and the seed alone."""
    return digest_text(f"{seed} {question_id}")


def count_unproved(suite_score: float | None) -> int:
    """Of a hundred wrong queries near gold SQL, those that the test suite takes for right; all if
    the question has no score.

    >>> count_unproved(0.98), count_unproved(None)
    (2, 100)
    """
    return MOST_UNPROVED - round(MOST_UNPROVED * (suite_score or 0))


def order_candidates(usable: pd.DataFrame, *, seed: int, by_corpus: bool) -> pd.DataFrame:
    """The usable questions, those that prove most first; `corpus` is "" if no target asks for it.

    `unproved` and `place` are the columns that it sorts by.
    """
    places = [hash_key(question_id, seed) for question_id in usable["question_id"]]
    ordered = usable.assign(
        unproved=[count_unproved(score) for score in usable["suite_score"]],
        place=pd.Series(places, index=usable.index, dtype=object),
    )
    if not by_corpus:
        ordered["corpus"] = ""
    return ordered.sort_values(["unproved", "place", "question_id"])


def find_paraphrases(ordered: pd.DataFrame, most: int | None) -> pd.Index:
    """The questions beyond the first `most` of their database and canonical SQL."""
    if most is None:
        return ordered.index[:0]
    turns = ordered.groupby(["database_name", "canonical_sql"]).cumcount()
    return ordered.index[turns >= most]


def rank_candidates(ordered: pd.DataFrame) -> pd.DataFrame:
    """The candidates in rounds, of which `turn` is the number: the first question of every template
    in its part, the second ones, and so on."""
    turns = ordered.groupby([*PART, "template"]).cumcount()
    return ordered.assign(turn=turns).sort_values("turn", kind="stable")


def pick(ordered: pd.DataFrame, taken: Mapping[Group, int], targets: Targets) -> list[int]:
    """The places in the table of the picked questions, of each part as many as are taken."""
    ranked = rank_candidates(ordered)
    counts = {(part.split, part.difficulty, part.corpus): count for part, count in taken.items()}
    parts = ranked[PART].itertuples(index=False, name=None)
    wanted = pd.Series([counts[part] for part in parts], index=ranked.index, dtype=int)
    cap = targets.max_per_database
    if cap is None and targets.max_answer_type_share is None:
        return ranked.index[ranked.groupby(PART).cumcount() < wanted].tolist()
    # More of one kind than its cap, or than its part takes, are never picked.
    kinds = PART.copy()
    if cap is not None:
        kinds.append("database_name")
        wanted = wanted.clip(upper=min(cap, len(ranked)))
    if targets.max_answer_type_share is not None:
        kinds.append("answer_type")
    ranked = ranked[ranked.groupby(kinds).cumcount() < wanted]
    return ranked.index[_pick_within_caps(ranked, counts, targets)].tolist()


def _pick_within_caps(
    ranked: pd.DataFrame, counts: Mapping[tuple[str, ...], int], targets: Targets
) -> Sequence[bool]:
    """Whether each is picked: the choice with the lowest sum of rounds, of what is unproved, and of
    hashes. Hardly any two choices have the same sum, so that it is not the solver that chooses."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    is_picked = [model.new_bool_var("") for _ in range(len(ranked))]

    def count_by(names: list[str]) -> Iterator[tuple[tuple[str, ...], cp_model.LinearExpr]]:
        for key, places in ranked.groupby(names).indices.items():
            yield key, cp_model.LinearExpr.sum([is_picked[place] for place in places])

    for part, count in count_by(PART):
        model.add(count == counts[part])
    if targets.max_per_database is not None:
        for _, count in count_by(["database_name"]):
            model.add(count <= min(targets.max_per_database, len(ranked)))
    if targets.max_answer_type_share is not None:
        most = int(read_share(targets.max_answer_type_share) * sum(counts.values()))
        for _, count in count_by(["answer_type"]):
            model.add(count <= most)
    columns = (ranked[name] for name in ("turn", "unproved", "place"))
    costs = [
        (turn * (MOST_UNPROVED + 1) + unproved) * 256**_PLACE_BYTES
        + int.from_bytes(place[:_PLACE_BYTES])
        for turn, unproved, place in zip(*columns, strict=True)
    ]
    model.minimize(cp_model.LinearExpr.weighted_sum(is_picked, costs))
    solver = solve(model)
    return [bool(solver.value(variable)) for variable in is_picked]
