"""Questions are compared with each other (repeats, contradictions, leaks between splits) and with
held-out sets, and all that is known of each, with the risk that its gold is wrong, is joined in one
table, which later stages read."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.command_line import run_stage
from answerkey.comparison.compare import compare, tabulate_questions
from answerkey.comparison.held_out import HeldOut
from answerkey.comparison.join import find_in_rollouts, join_questions
from answerkey.dataset import INTERIM, JOINED
from answerkey.log import list_counts, start_log
from answerkey.params import read_params
from answerkey.records import encode_findings, read_json, read_jsonl, write_jsonl
from answerkey.risk.gold_risk import Assessment, read_flag_precision
from answerkey.risk.verdicts import read_verdicts
from answerkey.sqlite.schema import decode_schema

SCHEMAS = Path("data/interim/schemas.jsonl")
HELD_OUT = Path("data/interim/held_out.json")


def main() -> None:
    """Write the table of joined questions."""
    log = start_log("compare_questions")
    min_similarity, min_gold_risk, flag_precision, min_mutation_score = read_params(
        "compare_questions.min_similarity",
        "compare_questions.min_gold_risk",
        "compare_questions.flag_precision",
        "generate_test_suites.min_mutation_score",
    )
    table = read_flag_precision(Path(flag_precision))
    assessment = Assessment(table, read_verdicts(), min_gold_risk=min_gold_risk)
    schemas = (
        (record["database_name"], decode_schema(record["tables"])) for record in read_jsonl(SCHEMAS)
    )
    questions = tabulate_questions(join_questions(min_mutation_score=min_mutation_score))
    findings = compare(questions, schemas, min_similarity=min_similarity)
    counts = Counter(found.code for of_question in findings.values() for found in of_question)
    rollout_counts: Counter[str] = Counter()

    held_out = HeldOut(read_json(HELD_OUT), min_similarity=min_similarity)
    overlaps: Counter[str] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for question in join_questions(min_mutation_score=min_mutation_score):
            found = findings.get(question.question_id, [])
            if question.answer_type is not None:
                names = question.corpus, question.question_text, question.gold_sql
                if (overlap := held_out.find_overlap(*names)) is not None:
                    found = [*found, overlap]
                    overlaps[overlap.evidence["corpus"]] += 1
            flags = encode_findings(found)
            question = question._replace(flags=question.flags + flags)
            question = assessment.assess(question)
            solved = find_in_rollouts(question.pass_rate, gold_risk=question.gold_risk)
            rollout_counts.update(found.code for found in solved)
            record = question._replace(flags=question.flags + encode_findings(solved))._asdict()
            del record["difficulty"]  # which classify_difficulty knows
            yield record

    write_jsonl(INTERIM / JOINED, records())
    log.info("%d questions share something with others%s", len(findings), list_counts(counts))
    if overlaps:
        log.info("%d overlap with held-out sets%s", overlaps.total(), list_counts(overlaps))
    for line in assessment.describe():
        log.info("%s", line)
    if rollout_counts:
        log.info("by rollouts%s", list_counts(rollout_counts))


if __name__ == "__main__":
    run_stage(main)
