"""Every parsed question gets a difficulty: easy, medium or hard."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.errors import InputError
from answerkey.core.log import list_counts, start_log
from answerkey.core.param_types import SOURCE
from answerkey.core.params import read_params
from answerkey.core.records import read_jsonl, write_jsonl
from answerkey.selection.difficulty_rule import DifficultyRule

PARSED_PATH = Path("data/interim/parsed.jsonl")
QUESTIONS_PATH = Path("data/interim/splits.jsonl")
OUT = Path("data/interim/difficulty.jsonl")


def read_questions(rule: DifficultyRule) -> Iterator[tuple[dict[str, Any], str | None]]:
    """What was parsed of each question, and what its corpus says of its difficulty, where the rule
    asks for that.

    Raises:
        InputError: where the two are not of the same questions.
    """
    if rule.method != SOURCE:
        yield from zip(read_jsonl(PARSED_PATH), repeat(None))
        return
    for parsed, question in zip(read_jsonl(PARSED_PATH), read_jsonl(QUESTIONS_PATH), strict=True):
        if parsed["question_id"] != question["question_id"]:
            raise InputError(
                f"{PARSED_PATH}: expected {question['question_id']}, as in {QUESTIONS_PATH}, found"
                f" {parsed['question_id']}: run `dvc repro`"
            )
        yield parsed, question["source"].get("difficulty")


def main() -> None:
    """Classify all questions that were parsed."""
    log = start_log("classify_difficulty")
    (values,) = read_params("classify_difficulty")
    rule = DifficultyRule(**values)
    counts: Counter[str] = Counter()
    is_said: Counter[bool] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for parsed, said in read_questions(rule):
            if "reason" in parsed:
                continue
            try:
                difficulty = rule.classify(len(parsed["tables_involved"]), parsed["hardness"], said)
            except ValueError as error:
                raise InputError(f"{parsed['question_id']}: {error}") from error
            counts[difficulty] += 1
            is_said[said is not None] += 1
            yield {"question_id": parsed["question_id"], "difficulty": difficulty}

    write_jsonl(OUT, records())
    log.info("%d questions by %s%s", counts.total(), rule.method, list_counts(counts))
    if rule.method == SOURCE and is_said[False]:
        log.info("%d of them by tables: their corpus says nothing of difficulty", is_said[False])


if __name__ == "__main__":
    run_stage(main)
