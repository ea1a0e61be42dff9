"""Every question of the chosen databases, once, exactly as its corpus has it or a curator says.

Questions of held-out sets, which compare_questions looks for in these, go to a file of their own.
Text is not stripped or repaired here: what is wrong with a question is for later stages to say, or
for a person, whose corrections are applied on the record. None of them takes a question away.
"""

from __future__ import annotations

from collections import Counter

from answerkey.base.log import list_counts, spell_count, start_log
from answerkey.base.paths import CORPORA, HELD_OUT, LOADED_QUESTIONS
from answerkey.base.records import write_json, write_jsonl
from answerkey.base.stage import run_stage
from answerkey.corpus.corpora import check_roots, list_unpinned, parse_corpora
from answerkey.corpus.loading import describe_corpora, load_corpora, read_held_out
from answerkey.sections.corpora import TRAIN, VALIDATION
from answerkey.sections.whole_file import Params, read_params


def main(params: Params) -> None:
    """Load the questions of the chosen corpora, corrected."""
    log = start_log("load_questions")
    chosen = params.corpus
    entries = params.corpora
    limits = params.download
    settings = params.load_questions
    corpora = parse_corpora(chosen, entries)
    others = parse_corpora(settings.held_out or [], entries)
    check_roots([*corpora, *others], entries, stage="load_questions")
    for warning in list_unpinned({corpus.name: corpus.questions for corpus in corpora}):
        log.warning(warning)

    questions, rows, lines = load_corpora(corpora, limits=limits)
    write_jsonl(LOADED_QUESTIONS, questions)
    write_json(CORPORA, describe_corpora(entries, rows))
    write_json(HELD_OUT, list(read_held_out(others, limits=limits)))

    for line in lines:
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
