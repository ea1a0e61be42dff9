"""Every parsed question gets a difficulty: easy, medium or hard."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.errors import InputError
from answerkey.core.joined import DIFFICULTY, INTERIM, read_joined
from answerkey.core.log import list_counts, start_log
from answerkey.core.param_types import SOURCE
from answerkey.core.params import read_params
from answerkey.core.records import write_jsonl
from answerkey.selection.difficulty_rule import DifficultyRule


def main() -> None:
    """Classify all questions that were parsed."""
    log = start_log("classify_difficulty")
    (values,) = read_params("classify_difficulty")
    rule = DifficultyRule(**values)
    counts: Counter[str] = Counter()
    without_word = 0

    def records() -> Iterator[dict[str, Any]]:
        nonlocal without_word
        for question in read_joined():
            if question.hardness is None:
                continue
            word = question.source_difficulty
            try:
                difficulty = rule.classify(len(question.tables_involved), question.hardness, word)
            except ValueError as error:
                raise InputError(f"{question.question_id}: {error}") from error
            counts[difficulty] += 1
            without_word += word is None
            yield {"question_id": question.question_id, "difficulty": difficulty}

    write_jsonl(INTERIM / DIFFICULTY, records())
    log.info("%d questions by %s%s", counts.total(), rule.method, list_counts(counts))
    if rule.method == SOURCE and without_word:
        log.info("%d of them by tables: their corpus says nothing of difficulty", without_word)


if __name__ == "__main__":
    run_stage(main)
