"""Audit every gold answer: doubts raise flags.

A flag alone excludes nothing: the policies in select_questions decide, so that a change of a policy
executes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING

from answerkey.base.code import hash_code
from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import AUDIT, DATABASES, GOLD_ANSWERS, SCHEMAS, SPLIT_QUESTIONS
from answerkey.base.records import (
    DESCRIPTIONS,
    cut_in_shards,
    hash_value,
    read_database_hashes,
    read_jsonl,
    read_shards,
)
from answerkey.base.stage import run_stage
from answerkey.doubts.audit import (
    AuditReport,
    Context,
    Query,
    audit_task,
    make_query,
    read_meanings,
    report_nothing,
)
from answerkey.engines.database import Limits
from answerkey.engines.schema import SchemaFile, decode_schema
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.database_files import find_database
from answerkey.shards.engine_versions import describe_engine
from answerkey.shards.runs import DatabaseWork, QueryRun

if TYPE_CHECKING:
    from answerkey.corpus.records import SplitQuestion


def plan_works(
    limits: Limits, thresholds: Thresholds, *, databases_url: str | None
) -> Iterator[DatabaseWork[Query, Context, AuditReport]]:
    """Yield each shard with those of its questions that have an answer."""
    hashes, schemas = read_database_hashes(DATABASES), SchemaFile(SCHEMAS)
    made_by = [hash_code(audit_task), version("sqlglot")]
    loaded: Iterator[SplitQuestion] = read_jsonl(SPLIT_QUESTIONS)
    for shard, records in cut_in_shards(loaded):
        name = shard.database_name
        outcomes = {
            outcome["question_id"]: outcome
            for outcome in read_shards(GOLD_ANSWERS, [shard])
            if "reason" not in outcome
        }
        questions: list[tuple[str, Query]] = []
        now = records[0].get("now")  # the same for all questions of a database
        for record in records:
            if outcome := outcomes.get(record["question_id"]):
                questions.append((record["question_id"], make_query(record, outcome)))
        tables, meanings = schemas.read_tables(name), read_meanings(DATABASES / name / DESCRIPTIONS)
        sha256 = hashes.get(name, "")  # "" for a database that cannot be read, without answers
        made_from = [sha256, questions, tables, asdict(limits), asdict(thresholds), meanings]
        made_from += [now] if now else []
        database = find_database(DATABASES, name, sha256=sha256, databases_url=databases_url)
        context = decode_schema(tables), limits, thresholds, meanings, now
        key = hash_value([*made_by, *describe_engine(database.place), *made_from])
        yield DatabaseWork(shard, database, key, questions, context)


def main(params: Params) -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("audit_gold_answers")
    thresholds = params.audit_gold_answers
    limits = params.compute_gold_answers
    execution = params.execution
    overdue = report_nothing(f"more than {limits.max_seconds} seconds")
    works = plan_works(limits, thresholds, databases_url=execution.databases_url)
    run = QueryRun[Query, Context, AuditReport](AUDIT, audit_task, overdue)
    databases = len(read_database_hashes(DATABASES))
    run.run(works, databases=databases, runner=execution.runner, workers=execution.workers)
    flags = (flag for record in read_shards(AUDIT, run.shards) for flag in record["flags"])
    counts = Counter(flag["code"] for flag in flags)
    log.info(
        f"{spell_count(run.databases, 'database')}, {spell_count(run.executed, 'query')} audited,"
        f" {spell_count(counts.total(), 'flag')}{list_counts(counts)}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
