"""Give every question a test suite: small databases on which wrong queries give other answers than
gold, its gold answers on them, and a mutation score, which says how much its answer proves."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import (
    AUDIT,
    DATABASES,
    PARSED,
    ROLLOUTS,
    SCHEMAS,
    SPLIT_QUESTIONS,
    SUITE_DATABASES,
    TEST_SUITES,
)
from answerkey.base.records import cut_in_shards, read_database_hashes, read_jsonl, read_shards
from answerkey.base.stage import run_stage
from answerkey.engines.schema import SchemaFile
from answerkey.evaluation.samples import choose_queries, read_rollouts
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.database_files import find_database
from answerkey.shards.runs import ShardDirectory, count_databases
from answerkey.suites.database_suites import SuiteTask, run_suites
from answerkey.suites.questions import make_question


def plan_tasks(*, databases_url: str | None) -> Iterator[SuiteTask]:
    """Yield each shard with those of its questions that have an answer and were parsed, and with
    the queries of models."""
    model_queries = choose_queries(read_rollouts(ROLLOUTS))
    hashes, schemas = read_database_hashes(DATABASES), SchemaFile(SCHEMAS)
    for shard, records in cut_in_shards(read_jsonl(SPLIT_QUESTIONS)):
        name = shard.database_name
        audits = {audit["question_id"]: audit for audit in read_shards(AUDIT, [shard])}
        parses = read_shards(PARSED, [shard])
        parsed = {record["question_id"] for record in parses if "reason" not in record}
        questions = [
            make_question(record, audits[asked], model_queries.get(asked, ()))
            for record in records
            if (asked := record["question_id"]) in audits and asked in parsed
        ]
        # A database that cannot be read has no hash, and no question with an answer.
        sha256, tables = hashes.get(name, ""), schemas.read_tables(name)
        database = find_database(DATABASES, name, sha256=sha256, databases_url=databases_url)
        now = records[0].get("now")  # the same for all questions of a database
        yield SuiteTask(shard, database, tables, questions, now)


def main(params: Params) -> None:
    """Bring the suites of all databases up to date."""
    log = start_log("generate_test_suites")
    settings = params.generate_test_suites
    limits = params.compute_gold_answers
    execution = params.execution
    shards, made = run_suites(
        plan_tasks(databases_url=execution.databases_url),
        ShardDirectory(TEST_SUITES),
        SUITE_DATABASES,
        settings=settings,
        limits=limits,
        databases=len(read_database_hashes(DATABASES)),
        runner=execution.runner,
        workers=execution.workers,
    )
    records = list(read_shards(TEST_SUITES, shards))
    scores = [record["mutation_score"]["suite"] for record in records if record["mutation_score"]]
    log.info(
        f"{spell_count(count_databases(shards), 'database')}, suites of {made} made;"
        f" {spell_count(len(records), 'question')}, mean mutation score {fmean(scores or [0]):.3f}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
