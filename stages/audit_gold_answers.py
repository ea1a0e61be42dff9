"""Every gold answer is executed a second time and looked at by every probe, which raises flags.

A flag excludes nothing by itself: policies in select_questions say what follows, so that a change
of a policy executes nothing. The second execution may be one that a probe needs anyway (on another
storage, or with the sort keys as further columns), where that gives the answer row by row. Shards
work as in compute_gold_answers.
"""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import sqlglot

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.audit.query_audit import Thresholds, audit_query
from answerkey.audit.shuffles import Shuffles
from answerkey.core.command import run_stage
from answerkey.core.log import list_counts, start_log
from answerkey.core.manifest_file import read_database_hashes
from answerkey.core.params import read_params
from answerkey.core.reasons import Flag
from answerkey.core.records import decode_json, encode_compactly, hash_value, read_jsonl
from answerkey.core.schema_file import SchemaFile
from answerkey.shards.code_hash import hash_code
from answerkey.shards.database_files import find_database, local_path
from answerkey.shards.query_run import DatabaseWork, Outcome, QueryRun, Task
from answerkey.shards.shard_directory import JOURNAL_DIRECTORY, ShardDirectory, read_shards
from answerkey.sqlite.guard import GuardedDatabase, Limits
from answerkey.sqlite.schema import Schema, decode_schema

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
DATABASES = Path("data/databases")
GOLD_ANSWERS = Path("data/interim/gold_answers")
OUT = Path("data/interim/audit")
JOURNAL = JOURNAL_DIRECTORY / "audit.jsonl"


class Context(NamedTuple):
    """What all queries of a database share."""

    schema: Schema
    limits: Limits
    thresholds: Thresholds


def audit_task(task: Task) -> list[Outcome]:
    """One report a query; a query is gold SQL and its recorded answer as JSON text."""
    schema, limits, thresholds = task.context
    path = local_path(task.database)
    shuffles = Shuffles(
        path,
        seeds=range(thresholds.shuffles),
        limits=limits,
        max_bytes=thresholds.max_shuffled_bytes,
    )
    with GuardedDatabase(path, limits) as database, shuffles:

        def audit(query: tuple[str, str]) -> Outcome:
            gold_sql, answer = query
            return audit_query(
                database,
                shuffles,
                gold_sql,
                decode_json(answer),
                schema=schema,
                thresholds=thresholds,
            )

        return task.map_queries(audit)


def report_overdue(limits: Limits) -> Outcome:
    """The report of a query that the watchdog ended with its process."""
    evidence = {"second_run": f"more than {limits.max_seconds} seconds"}
    return {
        "flags": [{"code": Flag.NOT_REPRODUCIBLE, "evidence": evidence}],
        "order_matters": False,
    }


def plan_works(
    hashes: dict[str, str],
    schemas: SchemaFile,
    limits: Limits,
    thresholds: Thresholds,
    *,
    databases_url: str | None,
) -> Iterator[DatabaseWork]:
    """Each database with those of its questions that have an answer."""
    made_by = [hash_code("audit_gold_answers"), sqlite3.sqlite_version, sqlglot.__version__]
    for name, records in groupby(read_jsonl(SPLITS_PATH), key=itemgetter("database_name")):
        answers = {
            outcome["question_id"]: encode_compactly(outcome["gold_answer"])
            for outcome in read_shards(GOLD_ANSWERS, [name])
            if "reason" not in outcome
        }
        questions = [
            (record["question_id"], (record["gold_sql"], answers[record["question_id"]]))
            for record in records
            if record["question_id"] in answers
        ]
        tables = schemas.read_tables(name)
        made_from = [hashes[name], questions, tables, asdict(limits), asdict(thresholds)]
        key = hash_value([*made_by, *made_from])
        database = find_database(DATABASES, name, sha256=hashes[name], databases_url=databases_url)
        context = Context(decode_schema(tables), limits, thresholds)
        yield DatabaseWork(name, database, key, questions, context)


def main() -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("audit_gold_answers")
    threshold_values, limit_values, engine, workers, databases_url = read_params(
        "audit_gold_answers",
        "compute_gold_answers",
        "execution.engine",
        "execution.workers",
        "execution.databases_url",
    )
    limits = Limits(**limit_values)
    works = plan_works(
        read_database_hashes(DATABASES),
        SchemaFile(SCHEMAS_PATH),
        limits,
        Thresholds(**threshold_values),
        databases_url=databases_url,
    )
    run = QueryRun(ShardDirectory(OUT, JOURNAL), audit_task, report_overdue(limits))
    run.run(works, engine=engine, workers=workers)
    counts = Counter(
        flag["code"] for record in read_shards(OUT, run.names) for flag in record["flags"]
    )
    log.info(
        "%d databases, %d queries executed again, %d flags%s",
        len(run.names),
        run.executed,
        counts.total(),
        list_counts(counts),
    )


if __name__ == "__main__":
    run_stage(main)
