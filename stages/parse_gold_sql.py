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
from typing import Any

import sqlglot

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.log import list_counts, start_log
from answerkey.core.params import read_params
from answerkey.core.reasons import Reason
from answerkey.core.records import hash_value, read_jsonl, replace_file
from answerkey.core.schema_file import SchemaFile
from answerkey.shards.code_hash import hash_code
from answerkey.shards.query_run import DatabaseWork, Outcome, QueryRun, Task
from answerkey.shards.shard_directory import JOURNAL_DIRECTORY, ShardDirectory
from answerkey.sql.canonical import canonical_sql, sql_template
from answerkey.sql.columns import list_columns
from answerkey.sql.features import list_features
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sql.tables import TABLE_NODES, list_tables
from answerkey.sqlite.schema import Schema, decode_schema

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/parsed.jsonl")

SHARDS = JOURNAL_DIRECTORY / "parsed"
JOURNAL = JOURNAL_DIRECTORY / "parsed.jsonl"


def extract_tables_involved(gold_sql: str, *, schema: Schema | None = None) -> list[str]:
    """The sorted, unique names of the tables and views that SQL reads.

    >>> extract_tables_involved("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    ['Ship', 'port']

    Names of CTEs are not tables. With a schema, names come as it spells them; without, as the query
    does. A view counts as itself.

    Raises:
        sqlglot.errors.SqlglotError: where the SQL does not parse.
    """
    return list_tables(parse_sql(gold_sql).find_all(*TABLE_NODES), schema)


def parse_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    """What is known of a query from its text and the schema; a reason where it does not parse.

    A query that SQLite runs and the parser does not know is set aside: nothing could be said of its
    difficulty.
    """
    try:
        return _describe_query(gold_sql, schema)
    except RecursionError:
        return _set_aside("nested too deeply for the parser")


def _describe_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    try:
        tree = parse_sql(gold_sql)
        hardness = classify_hardness(tree)
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        return _set_aside(str(error).partition("\n")[0])
    scopes = Scopes(tree, schema)
    return {
        "tables_involved": list_tables(scopes.nodes.find_all(*TABLE_NODES), schema),
        "columns_involved": list_columns(scopes),
        "features": list_features(tree),
        "hardness": hardness,
        "canonical_sql": canonical_sql(scopes),
        "template": sql_template(scopes),
    }


def _set_aside(detail: str) -> dict[str, Any]:
    return {"reason": Reason.UNPARSABLE_SQL, "detail": detail}


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
