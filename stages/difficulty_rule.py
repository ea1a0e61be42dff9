"""The rule of difficulty: what params make of tables, of hardness, or of what a corpus says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stages.errors import InputError
from stages.question import DIFFICULTIES, EASY, HARD, HARDNESS_LEVELS, MEDIUM

METHODS = TABLES, SPIDER, SOURCE = ("tables", "spider", "source")


@dataclass(frozen=True, slots=True)
class DifficultyRule:
    """How questions are classified.

    method: tables, by the thresholds; spider, by the official hardness; source, by what the corpus
        itself says of a question, and by the thresholds where it says nothing.
    hardness_levels: a difficulty for each level of hardness.
    source_levels: a difficulty for each word of a corpus.

    Raises:
        InputError: with the param, what was expected and what was found.
    """

    method: str
    easy_max_tables: int
    medium_max_tables: int
    hardness_levels: Mapping[str, str]
    source_levels: Mapping[str, str]

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(
                f"classify_difficulty.method: expected {', '.join(METHODS[:-1])} or {METHODS[-1]},"
                f" found {self.method!r}"
            )
        check_thresholds(self.easy_max_tables, self.medium_max_tables)
        _check_levels("hardness_levels", self.hardness_levels)
        _check_levels("source_levels", self.source_levels)
        if set(self.hardness_levels) != set(HARDNESS_LEVELS):
            raise InputError(
                "classify_difficulty.hardness_levels: expected one for each of"
                f" {', '.join(HARDNESS_LEVELS)}, found {self.hardness_levels}"
            )

    def __str__(self) -> str:
        if self.method != TABLES:
            return f"method: {self.method}"
        return (
            f"easy_max_tables: {self.easy_max_tables}, medium_max_tables: {self.medium_max_tables}"
        )

    def classify(self, tables: int, hardness: str, said: str | None) -> str:
        """The difficulty of a question by the number of its tables, its hardness, and the word of
        its corpus, which is None where it says nothing.

        Raises:
            InputError: on a word that source_levels does not have.
        """
        if self.method == SPIDER:
            return self.hardness_levels[hardness]
        if self.method == SOURCE and said is not None:
            if said not in self.source_levels:
                raise InputError(
                    f"the corpus says {said!r}: expected one of classify_difficulty.source_levels,"
                    f" {', '.join(self.source_levels)}"
                )
            return self.source_levels[said]
        return classify_tables(tables, self.easy_max_tables, self.medium_max_tables)


def classify_tables(count: int, easy_max_tables: int, medium_max_tables: int) -> str:
    """easy, medium or hard by the number of tables, from thresholds that were checked."""
    if count <= easy_max_tables:
        return EASY
    return MEDIUM if count <= medium_max_tables else HARD


def check_thresholds(easy_max_tables: int, medium_max_tables: int) -> None:
    """Make sure that thresholds are whole numbers in their order.

    Raises:
        InputError: with what was expected and what was found.
    """
    are_whole = type(easy_max_tables) is int and type(medium_max_tables) is int
    if not are_whole or not 0 <= easy_max_tables <= medium_max_tables:
        raise InputError(
            "classify_difficulty: expected whole numbers 0 <= easy_max_tables <="
            f" medium_max_tables, found {easy_max_tables!r} and {medium_max_tables!r}"
        )


def _check_levels(name: str, levels: Mapping[str, str]) -> None:
    if not isinstance(levels, Mapping) or not set(levels.values()) <= set(DIFFICULTIES):
        raise InputError(
            f"classify_difficulty.{name}: expected a mapping to {', '.join(DIFFICULTIES)}, found"
            f" {levels}"
        )
