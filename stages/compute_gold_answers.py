"""Execute every gold query once; every question gets an answer or a reason.

A shard of questions of one database is made again only if the database, these questions, the limits
or the code change. The bytes are the same whatever the runner and the number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from answerkey.base.code import hash_code
from answerkey.base.log import list_counts, spell_count, start_log, warn_of_each
from answerkey.base.paths import DATABASES, GOLD_ANSWERS, SPLIT_QUESTIONS
from answerkey.base.reasons import Failure, Reason
from answerkey.base.records import (
    cut_in_shards,
    hash_value,
    read_database_hashes,
    read_exclusion,
    read_jsonl,
    read_unreadable,
)
from answerkey.base.stage import run_stage
from answerkey.engines.database import Limits
from answerkey.engines.gold_answers import Queries
from answerkey.engines.sqlite.clock import describe_clock_readers
from answerkey.gold.execution import Context, Outcome, execute_task
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.database_files import find_database
from answerkey.shards.engine_versions import describe_engine
from answerkey.shards.runs import DatabaseWork, QueryRun, count_reasons, list_set_aside

if TYPE_CHECKING:
    from answerkey.corpus.records import SplitQuestion


def plan_works(
    limits: Limits, *, databases_url: str | None
) -> Iterator[DatabaseWork[Queries, Context, Outcome]]:
    """Yield each shard with its questions, in their order. Questions that a curator excluded, or
    that have no SQL or no readable database, are not executed."""
    hashes, unreadable = read_database_hashes(DATABASES), read_unreadable(DATABASES)
    made_by = [hash_code(execute_task), asdict(limits)]
    loaded: Iterator[SplitQuestion] = read_jsonl(SPLIT_QUESTIONS)
    for shard, records in cut_in_shards(loaded):
        name = shard.database_name
        questions: list[tuple[str, Queries]] = []
        excluded: dict[str, Outcome] = {}
        now = records[0].get("now")  # the same for all questions of a database
        for record in records:
            others = record.get("other_sql", ())
            query: Queries = (record["gold_sql"], *others) if others else record["gold_sql"]
            questions.append((record["question_id"], query))
            fault = (Reason.UNREADABLE_DATABASE, unreadable[name]) if name in unreadable else None
            if (exclusion := read_exclusion(record) or fault) is not None:
                reason, words = exclusion[0], f"not executed: {exclusion[1]}"
                excluded[record["question_id"]] = {"reason": reason, "detail": words}
        sha256 = "" if name in unreadable else hashes[name]
        made_from = [sha256, questions, excluded, *([now] if now else [])]
        database = find_database(DATABASES, name, sha256=sha256, databases_url=databases_url)
        key = hash_value([*made_by, *describe_engine(database.place), *made_from])
        yield DatabaseWork(shard, database, key, questions, (limits, now), excluded)


def main(params: Params) -> None:
    """Bring the shards of all databases up to date."""
    log = start_log("compute_gold_answers")
    limits, execution = params.compute_gold_answers, params.execution
    works = plan_works(limits, databases_url=execution.databases_url)
    overdue = Failure(reason=Reason.TIME_EXCEEDED, detail=f"more than {limits.max_seconds} seconds")
    run = QueryRun[Queries, Context, Outcome](GOLD_ANSWERS, execute_task, overdue)
    databases = len(read_database_hashes(DATABASES)) + len(read_unreadable(DATABASES))
    run.run(works, databases=databases, runner=execution.runner, workers=execution.workers)
    set_aside = list_set_aside(read_jsonl(SPLIT_QUESTIONS))
    reasons, failures = count_reasons(GOLD_ANSWERS, run.shards, told=set_aside)
    warn_of_each(log, failures, most=execution.max_warnings, key="execution.max_warnings")
    answers = reasons.pop("", 0)
    questions = spell_count(answers + reasons.total(), "question")
    done = f"{spell_count(run.databases, 'database')}, {spell_count(run.executed, 'query')}"
    left = f"{spell_count(answers, 'answer')}, {reasons.total()} without{list_counts(reasons)}"
    log.info(f"{questions} in {done} executed: {left}")
    if words := describe_clock_readers(failures):
        log.info(words)


if __name__ == "__main__":
    run_stage(main, read_params)
