"""Every gold query is parsed once: its tables, its features, its hardness, its canonical form.

What was parsed is remembered in shards, a file a database, which lie beside the pipeline's outs:
the next stages read all of it, and the out is one file.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import sqlglot

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.log import list_counts, start_log
from answerkey.core.params import read_params
from answerkey.core.records import hash_value, read_jsonl, replace_file
from answerkey.core.schema_file import SchemaFile
from answerkey.shards.code_hash import hash_code
from answerkey.shards.query_run import DatabaseWork, Outcome, QueryRun, Task
from answerkey.shards.shard_directory import JOURNAL_DIRECTORY, ShardDirectory
from answerkey.sql.parsed_query import parse_query
from answerkey.sqlite.schema import decode_schema

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/parsed.jsonl")

SHARDS = JOURNAL_DIRECTORY / "parsed"
JOURNAL = JOURNAL_DIRECTORY / "parsed.jsonl"


def parse_task(task: Task) -> list[Outcome]:
    """What is known of each query, in their order; the task's context is the schema."""
    return task.map_queries(lambda query: parse_query(query, task.context))


def plan_works(schemas: SchemaFile) -> Iterator[DatabaseWork]:
    """Each database with its questions, in their order; the file itself is not looked at."""
    made_by = [hash_code("parse_gold_sql"), sqlglot.__version__]
    for name, records in groupby(read_jsonl(SPLITS_PATH), key=itemgetter("database_name")):
        questions = [(record["question_id"], record["gold_sql"]) for record in records]
        tables = schemas.read_tables(name)
        key = hash_value([*made_by, questions, tables])
        yield DatabaseWork(name, None, key, questions, decode_schema(tables))


def main() -> None:
    """Parse the gold SQL of the databases of which something has changed; write that of all."""
    log = start_log("parse_gold_sql")
    engine, workers = read_params("execution.engine", "execution.workers")
    shards = ShardDirectory(SHARDS, JOURNAL)
    run = QueryRun(shards, parse_task)
    run.run(plan_works(SchemaFile(SCHEMAS_PATH)), engine=engine, workers=workers)
    with replace_file(OUT) as file:
        for name in run.names:
            file.write(shards.shard_path(name).read_bytes())
    outcomes = Counter(record.get("reason", "") for record in read_jsonl(OUT))
    parsed = outcomes.pop("", 0)
    log.info(
        "%d questions, %d queries parsed now: %d parsed%s",
        parsed + outcomes.total(),
        run.executed,
        parsed,
        list_counts(outcomes),
    )


if __name__ == "__main__":
    run_stage(main)
