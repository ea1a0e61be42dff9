"""Every parsed question gets a difficulty: easy, medium or hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.log import list_counts, start_log
from answerkey.base.params import read_params, run_stage
from answerkey.base.records import write_jsonl
from answerkey.dataset import DIFFICULTY, INTERIM, Question, read_joined
from answerkey.sections.classify_difficulty import PASS_RATE, RANK, SOURCE
from answerkey.sections.select_questions import Policy
from answerkey.selection.complexity import find_cuts, measure_complexity
from answerkey.selection.policies import find_reason, read_policies

WITHOUT = {SOURCE: "their corpus says nothing of difficulty", PASS_RATE: "they have no rollouts"}


def read_complexity(question: Question) -> float:
    """The complexity of a question that was parsed."""
    return measure_complexity(
        len(question.tables_involved), question.hardness, question.canonical_sql
    )


def count_complexities(policies: Mapping[str, Policy]) -> Counter[float]:
    """How many usable questions there are of each complexity."""
    return Counter(
        read_complexity(question)
        for question in read_joined()
        if find_reason(question, policies) is None
    )


def main() -> None:
    """Classify all questions that were parsed."""
    log = start_log("classify_difficulty")
    rule, policies, shares = read_params(
        "classify_difficulty",
        "select_questions.policies",
        "select_questions.targets.difficulty_shares",
    )
    cuts = None
    if rule.method == RANK:
        cuts = find_cuts(count_complexities(read_policies(policies)), shares)
        log.info("easy up to a complexity of %g, medium up to %g", *cuts)
    counts: Counter[str] = Counter()
    by_tables = 0  # for want of what the method asks for

    def records() -> Iterator[dict[str, Any]]:
        nonlocal by_tables
        for question in read_joined():
            if question.hardness is None:
                continue
            word = question.source_difficulty
            try:
                difficulty = (
                    cuts.classify(read_complexity(question))
                    if cuts
                    else rule.classify(
                        len(question.tables_involved),
                        question.hardness,
                        word,
                        question.solved_share,
                    )
                )
            except ValueError as error:
                raise InputError(f"{question.question_id}: {error}") from error
            counts[difficulty] += 1
            if rule.method in WITHOUT:
                by_tables += (word if rule.method == SOURCE else question.pass_rate) is None
            yield {"question_id": question.question_id, "difficulty": difficulty}

    write_jsonl(INTERIM / DIFFICULTY, records())
    log.info("%d questions by %s%s", counts.total(), rule.method, list_counts(counts))
    if by_tables:
        log.info("%d of them by tables: %s", by_tables, WITHOUT[rule.method])


if __name__ == "__main__":
    run_stage(main)
