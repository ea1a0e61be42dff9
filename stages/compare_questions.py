"""Questions are compared with each other: repeats, contradictions, and what leaks between splits.

What a question shares with others changes when any of them does, so this is no part of the shards
of audit_gold_answers. Nothing is executed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.comparison.schema_twins import SchemaPrint, find_schema_twins, print_schema
from answerkey.comparison.set_probes import find_in_database
from answerkey.comparison.set_records import SetRecord, make_set_record
from answerkey.comparison.split_probes import find_across_splits
from answerkey.core.command import run_stage
from answerkey.core.dossier import Answered, read_answered, read_curated_exclusion
from answerkey.core.findings import Finding, decode_findings, encode_findings
from answerkey.core.log import list_counts, start_log
from answerkey.core.params import read_params
from answerkey.core.question import EVAL, TRAIN
from answerkey.core.records import decode_json, encode_json, read_jsonl, write_jsonl
from answerkey.core.scratch import open_scratch
from answerkey.sqlite.schema import decode_schema

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/set_flags.jsonl")


def make_record(answered: Answered) -> SetRecord:
    """What is compared of a question that has an answer."""
    source, outcome, parsed, audit = answered
    return make_set_record(
        question_id=source["question_id"],
        database_name=source["database_name"],
        split=source["split"],
        question_text=source["question_text"],
        canonical_sql=parsed.get("canonical_sql", ""),
        template=parsed.get("template", ""),
        gold_answer=outcome["gold_answer"],
        order_matters=audit["order_matters"],
    )


def read_records() -> Iterator[SetRecord]:
    """The records of all questions that have an answer, in order.

    What a curator excluded is left out: a question must not fall with a wrong one that it repeats.
    """
    for answered in read_answered():
        if answered.audit is not None and read_curated_exclusion(answered.source) is None:
            yield make_record(answered)


def read_prints(splits: dict[str, str], split: str) -> Iterator[SchemaPrint]:
    """The print of every database of a split."""
    for record in read_jsonl(SCHEMAS_PATH):
        name = record["database_name"]
        if splits.get(name) == split:
            yield print_schema(name, decode_schema(record["tables"]))


def find_twins() -> dict[str, Finding]:
    """The schema twins among the databases that have questions."""
    splits = {record["database_name"]: record["split"] for record in read_jsonl(SPLITS_PATH)}
    return find_schema_twins(read_prints(splits, TRAIN), read_prints(splits, EVAL))


class Within:
    """What questions share with others of their database, on the disk until it is known what they
    share with those of the other split."""

    def __init__(self, min_similarity: float) -> None:
        self._min_similarity = min_similarity
        self._scratch = open_scratch("CREATE TABLE question (question_id, database_name, findings)")

    def compare(self, records: Iterable[SetRecord]) -> Iterator[SetRecord]:
        """The same records, which are compared as they pass, one database at a time."""
        for name, of_database in groupby(records, key=attrgetter("database_name")):
            questions = list(of_database)
            found = find_in_database(questions, min_similarity=self._min_similarity)
            self._scratch.executemany(
                "INSERT INTO question VALUES (?, ?, ?)",
                (
                    (question_id, name, encode_json(encode_findings(found.get(question_id, ()))))
                    for question_id, *_ in questions
                ),
            )
            yield from questions

    def __iter__(self) -> Iterator[tuple[str, str, list[Finding]]]:
        """The id, the database and the findings of each question that has passed."""
        for question_id, name, findings in self._scratch.execute(
            "SELECT question_id, database_name, findings FROM question ORDER BY rowid"
        ):
            yield question_id, name, decode_findings(decode_json(findings))


def compare(min_similarity: float) -> Iterator[tuple[str, list[Finding]]]:
    """Each question that has an answer, with what it shares with others."""
    twins = find_twins()
    within = Within(min_similarity)
    across = find_across_splits(within.compare(read_records()), min_similarity=min_similarity)
    # The first of `across` takes all records: only then has `within` any.
    for shared, (question_id, name, findings) in zip(across, within, strict=True):
        yield question_id, [*findings, *shared, *([twins[name]] if name in twins else ())]


def main() -> None:
    """Write the flags of the questions that have any."""
    log = start_log("compare_questions")
    (min_similarity,) = read_params("compare_questions.min_similarity")
    counts: Counter[str] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for question_id, findings in compare(min_similarity):
            if findings:
                flags = encode_findings(findings)
                counts.update(flag["code"] for flag in flags)
                yield {"question_id": question_id, "flags": flags}

    count = write_jsonl(OUT, records())
    log.info("%d questions share something with others%s", count, list_counts(counts))


if __name__ == "__main__":
    run_stage(main)
