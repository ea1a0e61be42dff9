"""Every parsed question gets a difficulty: easy, medium or hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stages.log import list_counts, start_log
from stages.params import read_params
from stages.question import DIFFICULTIES, EASY, HARD, HARDNESS_LEVELS, MEDIUM
from stages.records import read_jsonl, write_jsonl

PARSED_PATH = Path("data/interim/parsed.jsonl")
OUT = Path("data/interim/difficulty.jsonl")
METHODS = TABLES, SPIDER = ("tables", "spider")


def classify_difficulty(
    tables_involved: list[str], *, easy_max_tables: int = 2, medium_max_tables: int = 3
) -> str:
    """easy, medium or hard by the number of different tables.

    >>> [classify_difficulty(["a", "b", "c", "d"][:count]) for count in (1, 2, 3, 4)]
    ['easy', 'easy', 'medium', 'hard']

    Raises:
        ValueError: where the thresholds are no whole numbers, or the wrong way round.
    """
    are_whole = type(easy_max_tables) is int and type(medium_max_tables) is int
    if not are_whole or not 0 <= easy_max_tables <= medium_max_tables:
        raise ValueError(
            "classify_difficulty: expected whole numbers 0 <= easy_max_tables <="
            f" medium_max_tables, found {easy_max_tables!r} and {medium_max_tables!r}"
        )
    count = len(set(tables_involved))
    if count <= easy_max_tables:
        return EASY
    return MEDIUM if count <= medium_max_tables else HARD


def check_levels(levels: dict[str, str]) -> None:
    """Make sure that a mapping gives each level of hardness a difficulty, and nothing else.

    Raises:
        ValueError: with what was expected and what was found.
    """
    if set(levels) != set(HARDNESS_LEVELS) or not set(levels.values()) <= set(DIFFICULTIES):
        raise ValueError(
            f"classify_difficulty.hardness_levels: expected each of {', '.join(HARDNESS_LEVELS)}"
            f" mapped to one of {', '.join(DIFFICULTIES)}, found {levels}"
        )


def main() -> None:
    """Classify all questions that were parsed."""
    log = start_log("classify_difficulty")
    method, easy_max_tables, medium_max_tables, levels = read_params(
        "classify_difficulty.method",
        "classify_difficulty.easy_max_tables",
        "classify_difficulty.medium_max_tables",
        "classify_difficulty.hardness_levels",
    )
    if method not in METHODS:
        raise ValueError(
            f"classify_difficulty.method: expected {' or '.join(METHODS)}, found {method!r}"
        )
    check_levels(levels)
    counts: Counter[str] = Counter()

    def classify(parsed: dict[str, Any]) -> str:
        if method == SPIDER:
            return levels[parsed["hardness"]]
        return classify_difficulty(
            parsed["tables_involved"],
            easy_max_tables=easy_max_tables,
            medium_max_tables=medium_max_tables,
        )

    def records() -> Iterator[dict[str, Any]]:
        for parsed in read_jsonl(PARSED_PATH):
            if "reason" not in parsed:
                difficulty = classify(parsed)
                counts[difficulty] += 1
                yield {"question_id": parsed["question_id"], "difficulty": difficulty}

    write_jsonl(OUT, records())
    log.info("%d questions by %s%s", counts.total(), method, list_counts(counts))


if __name__ == "__main__":
    main()
