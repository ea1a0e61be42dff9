"""Every question gets the split of its source and an id that no other question can change.

A corpus with fewer questions than min_questions ends here, before anything runs.
"""

from __future__ import annotations

from collections import Counter

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import LOADED_QUESTIONS, SPLIT_QUESTIONS
from answerkey.base.records import read_jsonl, write_jsonl
from answerkey.base.stage import run_stage
from answerkey.corpus.splits import assign_splits
from answerkey.sections.whole_file import Params, read_params


def main(params: Params) -> None:
    """Assign split and id to all questions that were loaded."""
    log = start_log("assign_splits")
    min_questions = params.select_questions.targets.min_questions
    questions = assign_splits(read_jsonl(LOADED_QUESTIONS))
    if len(questions) < (min_questions or 0):
        raise InputError(
            f"the corpus has {spell_count(len(questions), 'question')}, and"
            f" select_questions.targets.min_questions asks for {min_questions}: lower it, or set"
            " it to null"
        )
    write_jsonl(SPLIT_QUESTIONS, questions)
    splits = Counter(question["split"] for question in questions)
    log.info(
        f"{spell_count(len(questions), 'question')}: {splits['train']} train, {splits['eval']} eval"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
