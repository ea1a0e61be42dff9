"""Give every parsed question a difficulty: easy, medium or hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import INTERIM
from answerkey.base.records import write_jsonl
from answerkey.base.stage import run_stage
from answerkey.dataset import DIFFICULTY, read_joined
from answerkey.sections.classify_difficulty import RANK
from answerkey.sections.whole_file import Params, read_params
from answerkey.selection.complexity import classify, find_cuts
from answerkey.selection.policies import find_reason, read_policies


def main(params: Params) -> None:
    """Classify all questions that were parsed."""
    log = start_log("classify_difficulty")
    rule = params.classify_difficulty
    values = params.select_questions.policies
    shares = params.select_questions.targets.difficulty_shares
    cuts = None
    if rule.method == RANK:
        policies = read_policies(values)
        cuts = find_cuts(
            (question for question in read_joined() if not find_reason(question, policies)), shares
        )
        log.info("easy up to a complexity of %g, medium up to %g", *cuts)
    counts: Counter[str] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for question in read_joined():
            if question.hardness is None:
                continue
            try:
                difficulty = classify(question, rule, cuts)
            except ValueError as error:
                raise InputError(f"{question.question_id}: {error}") from error
            counts[difficulty] += 1
            yield {"question_id": question.question_id, "difficulty": difficulty}

    write_jsonl(INTERIM / DIFFICULTY, records())
    log.info(f"{spell_count(counts.total(), 'question')} by {rule.method}{list_counts(counts)}")


if __name__ == "__main__":
    run_stage(main, read_params)
