"""Every gold query is parsed once: its tables, its features, its hardness, its canonical form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.reasons import Reason
from answerkey.base.records import hash_value, read_jsonl
from answerkey.base.stage import run_stage
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.code import hash_code
from answerkey.shards.runs import DatabaseWork, Outcome, QueryRun, Task, read_shards
from answerkey.sql.parsed_query import parse_query
from answerkey.sqlite.guard import end_overdue
from answerkey.sqlite.schema import SchemaFile, decode_schema

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/parsed")


MAX_SECONDS = 60  # the last resort: bounds that are the same on every machine come first
OVERDUE = {"reason": Reason.TOO_COMPLEX, "detail": f"more than {MAX_SECONDS} seconds"}


def parse_task(task: Task) -> list[Outcome]:
    """What is known of each query, in their order; the task's context is the schema."""

    def parse(query: str) -> Outcome:
        with end_overdue(MAX_SECONDS):
            return parse_query(query, task.context)

    return task.map_queries(parse)


def plan_works(schemas: SchemaFile) -> Iterator[DatabaseWork]:
    """Each database with its questions, in their order; the file itself is not looked at."""
    made_by = [hash_code(parse_task), version("sqlglot")]
    for name, records in groupby(read_jsonl(SPLITS_PATH), key=itemgetter("database_name")):
        questions = [(record["question_id"], record["gold_sql"]) for record in records]
        tables = schemas.read_tables(name)
        key = hash_value([*made_by, questions, tables])
        yield DatabaseWork(name, None, key, questions, decode_schema(tables))


def main(params: Params) -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("parse_gold_sql")
    execution = params.execution
    run = QueryRun(OUT, parse_task, OVERDUE)
    schemas = SchemaFile(SCHEMAS_PATH)
    works = plan_works(schemas)
    run.run(works, databases=len(schemas), engine=execution.engine, workers=execution.workers)
    outcomes = Counter(record.get("reason", "") for record in read_shards(OUT, run.names))
    parsed = outcomes.pop("", 0)
    log.info(
        f"{spell_count(parsed + outcomes.total(), 'question')},"
        f" {spell_count(run.executed, 'query')} parsed now:"
        f" {parsed} parsed{list_counts(outcomes)}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
