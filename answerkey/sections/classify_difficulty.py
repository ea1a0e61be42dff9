"""The section classify_difficulty: the rule that makes a question easy, medium or hard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from answerkey.base.errors import InputError
from answerkey.base.kinds import From0, Ratio, mapping, one_of
from answerkey.base.records import DIFFICULTIES, EASY, HARD, HARDNESS_LEVELS, MEDIUM

METHODS = TABLES, SPIDER, RANK, SOURCE, PASS_RATE = (
    "tables",
    "spider",
    "rank",
    "source",
    "pass_rate",
)

_LEVEL = one_of(DIFFICULTIES)
HardnessLevels = Annotated[
    dict[str, str],
    mapping(
        f"a difficulty for each of {', '.join(HARDNESS_LEVELS)}",
        _LEVEL,
        keys=HARDNESS_LEVELS,
        has_all=True,
    ),
]
SourceLevels = Annotated[dict[str, str], mapping(f"a mapping to {', '.join(DIFFICULTIES)}", _LEVEL)]

_SOURCE_LEVELS = {
    **{"simple": EASY, "moderate": MEDIUM, "challenging": HARD},  # the words of BIRD
    **{"Simple": EASY, "Moderate": MEDIUM, "Complex": HARD, "Highly Complex": HARD},  # of SynSQL
}


@dataclass(frozen=True, slots=True)
class DifficultyRule:
    """How questions are classified.

    method: tables, by the thresholds; spider, by the official hardness; rank, by complexity, cut so
        that difficulty_shares of the targets hold (answerkey.selection.complexity); source, by the
        corpus's own word for a question; pass_rate, by the share of its rollouts that are right. If
        that is unknown, the thresholds of tables decide.
    hardness_levels: a difficulty for each level of hardness.
    source_levels: a difficulty for each word of a corpus.
    easy_min_pass_rate, medium_min_pass_rate: the least share for an easy, and a medium question.
    """

    method: Annotated[str, one_of(METHODS)] = TABLES
    easy_max_tables: From0 = 2
    medium_max_tables: From0 = 3
    hardness_levels: HardnessLevels = field(
        default_factory=lambda: {EASY: EASY, MEDIUM: MEDIUM, HARD: HARD, "extra": HARD}
    )
    source_levels: SourceLevels = field(default_factory=lambda: dict(_SOURCE_LEVELS))
    easy_min_pass_rate: Ratio = 0.75
    medium_min_pass_rate: Ratio = 0.25

    def __post_init__(self) -> None:
        most = self.easy_max_tables, self.medium_max_tables
        if not all(type(count) is int for count in most) or not 0 <= most[0] <= most[1]:
            raise InputError(
                "expected whole numbers 0 <= easy_max_tables <= medium_max_tables, found"
                f" {most[0]!r} and {most[1]!r}"
            )
        if self.easy_min_pass_rate < self.medium_min_pass_rate:
            raise InputError(
                "expected easy_min_pass_rate >= medium_min_pass_rate, found"
                f" {self.easy_min_pass_rate} and {self.medium_min_pass_rate}"
            )

    def __str__(self) -> str:
        if self.method != TABLES:
            return f"method: {self.method}"
        return (
            f"easy_max_tables: {self.easy_max_tables}, medium_max_tables: {self.medium_max_tables}"
        )

    def classify(
        self,
        tables: int,
        hardness: str,
        source_difficulty: str | None,
        solved_share: float | None = None,
    ) -> str:
        """Return the difficulty of a question by the number of its tables, its hardness, the word
        of its corpus, and the share of its rollouts that are right (None: unknown).

        Raises:
            InputError: source_levels does not have the word.
            ValueError: the method is rank, which needs all questions together.
        """
        if self.method == RANK:
            raise ValueError("a question by itself has no rank: expected Cuts.classify")
        if self.method == SPIDER:
            return self.hardness_levels[hardness]
        if self.method == SOURCE and source_difficulty is not None:
            if source_difficulty not in self.source_levels:
                raise InputError(
                    f"the corpus says {source_difficulty!r}: expected one of"
                    f" classify_difficulty.source_levels, {', '.join(self.source_levels)}"
                )
            return self.source_levels[source_difficulty]
        if self.method == PASS_RATE and solved_share is not None:
            if solved_share >= self.easy_min_pass_rate:
                return EASY
            return MEDIUM if solved_share >= self.medium_min_pass_rate else HARD
        if tables <= self.easy_max_tables:
            return EASY
        return MEDIUM if tables <= self.medium_max_tables else HARD


def classify_difficulty(
    tables_involved: list[str], *, easy_max_tables: int = 2, medium_max_tables: int = 3
) -> str:
    """Return easy, medium or hard by the number of different tables.

    >>> [classify_difficulty(["a", "b", "c", "d"][:count]) for count in (1, 2, 3, 4)]
    ['easy', 'easy', 'medium', 'hard']

    Raises:
        InputError: the thresholds are no whole numbers, or the first is above the second.
    """
    rule = DifficultyRule(easy_max_tables=easy_max_tables, medium_max_tables=medium_max_tables)
    return rule.classify(len(set(tables_involved)), EASY, None)
