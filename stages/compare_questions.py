"""Compare questions with each other (repeats, contradictions, leaks between splits) and with
held-out sets. Join all records of each question, with the risk that its gold is wrong, in one table
for later stages. List questions with repairs by risk, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import CORPORA, HELD_OUT, INTERIM, REPAIRS, SCHEMAS
from answerkey.base.records import read_json, read_jsonl, write_jsonl
from answerkey.base.shipped import find_dep
from answerkey.base.stage import run_stage
from answerkey.comparison.compare import HeldOut, compare, make_fingerprint
from answerkey.comparison.join import add_findings, find_in_rollouts, join_questions
from answerkey.dataset import JOINED, Question, make_joined_record
from answerkey.engines.names import SQLITE
from answerkey.engines.schema import Schema, decode_schema
from answerkey.risk.repairs import RepairedQuestion, record_repairs, sort_by_risk
from answerkey.risk.risks import Assessment, read_risks
from answerkey.risk.verdicts import list_unused, read_executions, read_verdicts
from answerkey.sections.whole_file import Params, read_params
from answerkey.sql.query_tree import speaking


def main(params: Params) -> None:
    """Write the table of joined questions."""
    log = start_log("compare_questions")
    bounds = params.compare_questions
    risks = read_risks(find_dep(Path(bounds.flag_precision), stage="compare_questions"))
    lists = {corpus.get("corrections") for corpus in read_json(CORPORA).values()}
    unused = list_unused(lists)
    verdicts = read_verdicts(used=lists, unused=unused)
    assessment = Assessment(
        risks, verdicts, read_executions(), min_answer_risk=bounds.min_answer_risk
    )
    engines: dict[str, str] = {}

    def read_schemas() -> Iterator[tuple[str, Schema]]:
        for record in read_jsonl(SCHEMAS):
            schema = decode_schema(record["tables"])
            engines[record["database_name"]] = schema.engine
            yield record["database_name"], schema

    join = partial(join_questions, min_mutation_score=bounds.min_mutation_score)
    fingerprints = map(make_fingerprint, join())
    shared = compare(fingerprints, read_schemas(), min_similarity=bounds.min_similarity)
    held_out = HeldOut(read_json(HELD_OUT), min_similarity=bounds.min_similarity)
    overlaps: Counter[str] = Counter()
    solved: Counter[str] = Counter()

    repaired: list[RepairedQuestion] = []

    def add_flags(question: Question) -> Question:
        findings = shared.get(question.question_id, [])
        with speaking(engines.get(question.database_name, SQLITE)):
            overlap = held_out.find_overlap(question)
        if overlap is not None:
            findings = [*findings, overlap]
            overlaps[overlap.evidence["corpus"]] += 1
        question = assessment.assess(add_findings(question, findings))
        findings = find_in_rollouts(question.pass_rate, answer_risk=question.answer_risk)
        solved.update(finding.code for finding in findings)
        question = add_findings(question, findings)
        if (record := record_repairs(question)) is not None:
            repaired.append(record)
        return question

    write_jsonl(INTERIM / JOINED, map(make_joined_record, map(add_flags, join())))
    write_jsonl(REPAIRS, sort_by_risk(repaired))
    counts = Counter(finding.code for findings in shared.values() for finding in findings)
    log.info(f"{spell_count(len(shared), 'question')} related to others{list_counts(counts)}")
    if overlaps:
        log.info("%d overlap with held-out sets%s", overlaps.total(), list_counts(overlaps))
    if unused:
        log.info("verdicts of lists of corrections that no corpus takes: %s", ", ".join(unused))
    for line in assessment.describe():
        log.info("%s", line)
    if solved:
        log.info("by rollouts%s", list_counts(solved))


if __name__ == "__main__":
    run_stage(main, read_params)
