"""Cells: a selection is counted by split and difficulty, and a share is a share of such counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from answerkey.core.question import DIFFICULTIES, SPLITS

Cell = tuple[str, str]  # split, difficulty
CorpusCell = tuple[str, str]  # split, corpus
Part = tuple[str, str, str]  # split, difficulty, corpus ("": any)
CELLS: tuple[Cell, ...] = tuple((split, level) for split in SPLITS for level in DIFFICULTIES)
_SHARE_STEPS = 1_000_000


class Group(NamedTuple):
    """Questions that no target tells apart."""

    split: str
    difficulty: str
    database_name: str
    answer_type: str
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Solution:
    """The largest size, how many questions of each cell, and where corpora have shares, how many
    questions of each corpus in each split."""

    size: int
    counts: dict[Cell, int]
    corpora: dict[CorpusCell, int] = field(default_factory=dict)


def count_cells(supply: Mapping[Group, int]) -> dict[Cell, int]:
    """How many questions each cell holds, empty cells included."""
    counts = dict.fromkeys(CELLS, 0)
    for group, count in supply.items():
        counts[group.split, group.difficulty] += count
    return counts


def list_corpus_cells(corpora: Iterable[str]) -> list[CorpusCell]:
    """Each corpus in each split, in order.

    >>> list_corpus_cells(["bird", "spider"])
    [('train', 'bird'), ('train', 'spider'), ('eval', 'bird'), ('eval', 'spider')]
    """
    corpora = list(corpora)
    return [(split, corpus) for split in SPLITS for corpus in corpora]


def count_corpora(supply: Mapping[Group, int], corpora: Iterable[str]) -> dict[CorpusCell, int]:
    """How many questions each of these corpora holds in each split."""
    counts = dict.fromkeys(list_corpus_cells(corpora), 0)
    for group, count in supply.items():
        if (group.split, group.corpus) in counts:
            counts[group.split, group.corpus] += count
    return counts


def read_share(value: float) -> Fraction:
    """A share of params as it is written there, to the millionth: 0.3 is three tenths.

    >>> read_share(0.3), read_share(0.1 + 0.2)
    (Fraction(3, 10), Fraction(3, 10))
    """
    return Fraction(round(Fraction(str(value)) * _SHARE_STEPS), _SHARE_STEPS)
