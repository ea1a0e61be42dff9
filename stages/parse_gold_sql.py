"""Parse every gold query once: its tables, features, hardness and canonical form."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from answerkey.base.code import hash_code
from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import PARSED, SCHEMAS, SPLIT_QUESTIONS
from answerkey.base.records import cut_in_shards, hash_value, read_jsonl
from answerkey.base.stage import run_stage
from answerkey.engines.schema import Schema, SchemaFile, decode_schema
from answerkey.gold.parsing import OVERDUE, Outcome, parse_task
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.runs import DatabaseWork, QueryRun, count_reasons

if TYPE_CHECKING:
    from answerkey.corpus.records import SplitQuestion


def plan_works(
    schemas: SchemaFile,
) -> Iterator[DatabaseWork[str, Schema, Outcome]]:
    """Yield each shard with its questions, in their order; the database file is not needed."""
    made_by = [hash_code(parse_task), version("sqlglot")]
    loaded: Iterator[SplitQuestion] = read_jsonl(SPLIT_QUESTIONS)
    for shard, records in cut_in_shards(loaded):
        questions = [(record["question_id"], record["gold_sql"]) for record in records]
        tables = schemas.read_tables(shard.database_name)
        key = hash_value([*made_by, questions, tables])
        yield DatabaseWork(shard, None, key, questions, decode_schema(tables))


def main(params: Params) -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("parse_gold_sql")
    execution = params.execution
    run = QueryRun[str, Schema, Outcome](PARSED, parse_task, OVERDUE)
    schemas = SchemaFile(SCHEMAS)
    works = plan_works(schemas)
    run.run(works, databases=len(schemas), runner=execution.runner, workers=execution.workers)
    reasons, _ = count_reasons(PARSED, run.shards)
    parsed = reasons.pop("", 0)
    log.info(
        f"{spell_count(parsed + reasons.total(), 'question')},"
        f" {spell_count(run.executed, 'query')} parsed now:"
        f" {parsed} parsed{list_counts(reasons)}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
