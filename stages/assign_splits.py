"""Give every question a split, by default that of its source, and an id that other questions cannot
change.

If the targets ask for more than the splits of the corpus allow, the run ends here, before any
question is executed.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import LOADED_QUESTIONS, SCHEMAS, SPLIT_QUESTIONS
from answerkey.base.records import read_jsonl, write_jsonl
from answerkey.base.stage import run_stage
from answerkey.corpus.split_rules import choose_splits
from answerkey.corpus.splits import assign_splits
from answerkey.engines.schema import SchemaFile
from answerkey.sections.whole_file import Params, read_params
from answerkey.selection.obstacles import Origin, explain_obstacles

if TYPE_CHECKING:
    from answerkey.corpus.records import SourceQuestion


def main(params: Params) -> None:
    """Assign split and id to all questions that were loaded."""
    log = start_log("assign_splits")
    targets = params.select_questions.targets
    entries = params.corpora
    rules = {name: entry.split for name, entry in entries.items() if entry.split is not None}
    loaded: list[SourceQuestion] = list(read_jsonl(LOADED_QUESTIONS))
    splits = choose_splits(loaded, rules, partial(SchemaFile, SCHEMAS))
    questions = assign_splits(loaded, splits=splits)
    supply = Counter(
        Origin(question["split"], question["source"]["corpus"], question["database_name"])
        for question in questions
    )
    if (obstacles := explain_obstacles(supply, targets)) is not None:
        raise InputError(obstacles)
    write_jsonl(SPLIT_QUESTIONS, questions)
    counts = Counter(splits)
    log.info(
        f"{spell_count(len(questions), 'question')}: {counts['train']} train, {counts['eval']} eval"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
