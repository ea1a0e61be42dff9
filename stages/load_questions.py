"""Load every question of the chosen databases once, unchanged or as a curator corrected it.

Questions of held-out sets, which compare_questions looks for in these, go to a file of their own.
Text is not stripped or repaired here: later stages report what is wrong with a question, and a
person may write a correction, which is applied on the record. No correction removes a question. A
correction that names its question by a hash is applied only if its query gives the stated answer on
this database.
"""

from __future__ import annotations

from collections import Counter

from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import CORPORA, HELD_OUT, JUDGED, LOADED_QUESTIONS
from answerkey.base.records import write_json, write_jsonl
from answerkey.base.stage import run_stage
from answerkey.corpus.corpora import list_unpinned, parse_corpora, watch_roots
from answerkey.corpus.judged_queries import (
    Context,
    Pair,
    describe_withdrawn,
    execute_task,
    list_judged_queries,
    list_withdrawn,
    plan_works,
    withdraw_unconfirmed,
)
from answerkey.corpus.loading import describe_corpora, load_corpora, read_held_out
from answerkey.risk.verdicts import (
    QUERIES,
    Execution,
    list_unused,
    read_executions,
    read_verdicts,
)
from answerkey.sections.corpora import TRAIN, VALIDATION
from answerkey.sections.whole_file import Params, read_params
from answerkey.shards.runs import QueryRun


def main(params: Params) -> None:
    """Load the questions of the chosen corpora, corrected."""
    log = start_log("load_questions")
    chosen = params.corpus
    entries = params.corpora
    limits = params.download
    settings = params.load_questions
    corpora = parse_corpora(chosen, entries)
    others = parse_corpora(settings.held_out or [], entries)
    watched = watch_roots([*corpora, *others], entries, stage="load_questions")
    unpinned = list_unpinned({corpus.name: corpus.questions for corpus in corpora})
    for warning in [*watched, *unpinned]:
        log.warning(warning)

    loaded = load_corpora(corpora, limits=limits)
    lists = {corpus.corrections for corpus in corpora}
    verdicts = read_verdicts(used=lists, unused=list_unused(lists))
    judged = list_judged_queries(loaded.records, loaded.hashed, verdicts)
    bounds, execution = params.compute_gold_answers, params.execution
    works = plan_works(judged, bounds, databases_url=execution.databases_url)
    overdue = Execution(
        answers=None, is_void=False, detail=f"more than {bounds.max_seconds} seconds"
    )
    run = QueryRun[Pair, Context, Execution](JUDGED / QUERIES, execute_task, overdue)
    named = {query.database_name for query in judged}
    run.run(works, databases=len(named), runner=execution.runner, workers=execution.workers)
    questions, withdrawn = withdraw_unconfirmed(
        loaded.records, loaded.hashed, verdicts, read_executions()
    )
    write_json(JUDGED / "unconfirmed.json", list_withdrawn(withdrawn))
    write_jsonl(LOADED_QUESTIONS, questions)
    write_json(CORPORA, describe_corpora(entries, loaded.rows))
    write_json(HELD_OUT, list(read_held_out(others, limits=limits)))

    for line in [*loaded.notes, *describe_withdrawn(withdrawn)]:
        log.info("%s", line)
    databases = {question["database_name"] for question in questions}
    splits = Counter(question["spider_split"] for question in questions)
    notes = [question["source"].get("correction") for question in questions]
    actions = Counter(note["action"] for note in notes if note)
    corrected = f"; {actions.total()} corrected{list_counts(actions)}" if actions else ""
    log.info(
        f"{spell_count(len(questions), 'question')} of {spell_count(len(databases), 'database')}"
        f" ({splits[TRAIN]} train, {splits[VALIDATION]} validation){corrected}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
