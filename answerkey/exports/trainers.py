"""The formats of trainers. Each has a folder with a file per split, and a README.md that names the
splits: without it `datasets.load_dataset(FOLDER)` calls `eval` "test".

verl's reward function and SkyRL's environment `answerkey` read `ground_truth` as JSON. (SkyRL's own
`text2sql` would execute gold SQL at every reward.) TRL has three tables, since the trainer chooses
what to do by the columns of a table. `prompt_only` is for GRPOTrainer, which passes every column
but the prompt to the reward function and to an environment's reset; `prompt_completion` is for
SFTTrainer, and may be for both; `messages` is the whole chat, for language modelling. A line for
OpenEnv has the arguments of an environment's reset, except seed and episode_id, since a question is
played many times. `prompts` has the prompt of every question.

A question to train on is in files for rewards if its test suite proves enough, and in files with
gold SQL as the completion if its gold SQL is not too doubtful: each format says its `Use`.

Sources: "Prepare Data for Post-Training" in verl's documentation, whose dataset reads `index` of
extra_info; "Dataset Preparation" in SkyRL's; "Dataset formats and types" and "OpenEnv Integration"
in TRL's; ResetRequest and Environment.reset in OpenEnv (core/env_server).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from enum import Flag, auto
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from jinja2 import Template

from answerkey.base.log import spell_count
from answerkey.base.records import SPLITS, TRAIN, replace_folder
from answerkey.dataset import has_clock, is_above, is_below, read_product
from answerkey.exports.columns import CHAT, EXTRA_INFO, FACTS, TEXT, drop_clock
from answerkey.exports.prompts import PromptExample, make_completion, make_prompt_examples
from answerkey.exports.row_files import Format, Lines, ParquetTable, write_files


class Use(Flag):
    """What a trainer does with a file, which decides the questions to train on that it has.

    REWARD: score completions; the test suite of a question must prove enough.
    GOLD_SQL: learn the text of gold SQL; it must not be too doubtful.
    """

    NOTHING = 0
    REWARD = auto()
    GOLD_SQL = auto()


class TrainerFormat(NamedTuple):
    """A format and its use."""

    format: Format
    use: Use


def _make_table(*, own: tuple[str, str], reward: tuple[str, str]) -> ParquetTable:
    """Return a table for verl or SkyRL. They differ in a column of their own, and in the names of
    the reward's column and of its field beside ground_truth."""
    (name, value), (column, method) = own, reward
    schema = pa.schema(
        {
            "data_source": TEXT,
            "prompt": CHAT,
            name: TEXT,
            column: pa.struct({method: TEXT, "ground_truth": TEXT}),
            "extra_info": EXTRA_INFO,
        }
    )

    def make_row(example: PromptExample) -> dict[str, Any]:
        question = example.question
        return {
            "data_source": f"answerkey/{question.corpus}",
            "prompt": example.messages,
            name: value,
            column: {method: "rule", "ground_truth": example.ground_truth},
            "extra_info": {"split": question.split, "index": example.index, **example.facts},
        }

    return ParquetTable(schema, make_row)


def _make_prompt_completion(example: PromptExample) -> dict[str, Any]:
    return {
        "prompt": example.messages,
        "completion": make_completion(example.question.gold_sql),
        "gold_answer": example.ground_truth,
        **example.facts,
    }


def _make_prompt_only(example: PromptExample) -> dict[str, Any]:
    return {
        "prompt": example.messages,
        "gold_answer": example.ground_truth,
        **example.facts,
    }


def _make_messages(example: PromptExample) -> dict[str, Any]:
    return {
        "messages": example.messages + make_completion(example.question.gold_sql),
        "question_id": example.question.question_id,
    }


def _make_reset(example: PromptExample) -> dict[str, Any]:
    """Return the fields of a reset in OpenEnv; some are JSON text, so that tables can hold them.

    The policy never sees them: the answer key stays with the environment.
    """
    question = example.question
    return {
        "question_id": question.question_id,
        "question_text": question.question_text,
        "evidence": question.evidence,
        "database_name": question.database_name,
        "gold_answer": example.ground_truth,
        "answer_type": question.answer_type,
        **example.reward_terms,
        "difficulty": question.difficulty,
        "split": question.split,
    }


def _make_prompt(example: PromptExample) -> dict[str, Any]:
    return {"question_id": example.question.question_id, "prompt": example.messages}


_VERL = _make_table(own=("ability", "text-to-sql"), reward=("reward_model", "style"))
_SKYRL = _make_table(own=("env_class", "answerkey"), reward=("reward_spec", "method"))
_PROMPT_COMPLETION = ParquetTable(
    pa.schema({"prompt": CHAT, "completion": CHAT, "gold_answer": TEXT, **FACTS}),
    _make_prompt_completion,
)
_PROMPT_ONLY = ParquetTable(
    pa.schema({"prompt": CHAT, "gold_answer": TEXT, **FACTS}), _make_prompt_only
)
_MESSAGES = ParquetTable(pa.schema({"messages": CHAT, "question_id": TEXT}), _make_messages)
_PROMPTS = ParquetTable(pa.schema({"question_id": TEXT, "prompt": CHAT}), _make_prompt)
# The formats by their folders, each with a file per split.
FORMATS = {
    "verl": TrainerFormat(_VERL, Use.REWARD),
    "skyrl": TrainerFormat(_SKYRL, Use.REWARD),
    "trl/prompt_completion": TrainerFormat(_PROMPT_COMPLETION, Use.REWARD | Use.GOLD_SQL),
    "trl/prompt_only": TrainerFormat(_PROMPT_ONLY, Use.REWARD),
    "trl/messages": TrainerFormat(_MESSAGES, Use.GOLD_SQL),
    "openenv": TrainerFormat(Lines(_make_reset), Use.REWARD),
    "prompts": TrainerFormat(_PROMPTS, Use.NOTHING),
}
FOLDERS = sorted({name.partition("/")[0] for name in FORMATS})


def write_formats(
    product: Path,
    databases: Path,
    exports: Path,
    template: Template,
    *watchers: Callable[[PromptExample], object],
    min_mutation_score: float,
    max_sql_risk: float | None,
    **options: Any,
) -> dict[str, dict[str, int]]:
    """Write every format of every split that has questions, and pass each example to the watchers
    as well. Return the number of questions of each format, by split and by its name. Options are
    those of `make_prompt_examples`.

    min_mutation_score: a question to train on with a lower score is left out of files for rewards.
    max_sql_risk: one with a higher risk is left out of files with gold SQL as the completion.

    Each format has a folder, even without files, since DVC expects it. A table has the column `now`
    only if the corpus of some question has a clock.

    Raises:
        FileNotFoundError, InputError: as `read_product` and `make_prompt_examples`.
    """

    def takes(use: Use, example: PromptExample) -> bool:
        question = example.question
        is_weak = is_below(question.suite_score, min_mutation_score)
        is_doubtful = is_above(question.sql_risk, max_sql_risk)
        return question.split != TRAIN or not (
            (is_weak and Use.REWARD in use) or (is_doubtful and Use.GOLD_SQL in use)
        )

    formats = {
        name: replace(known.format, takes=partial(takes, known.use))
        for name, known in FORMATS.items()
    }
    if not has_clock(product):
        formats = {
            name: replace(format_, schema=drop_clock(format_.schema))
            if isinstance(format_, ParquetTable)
            else format_
            for name, format_ in formats.items()
        }
    counts = {}
    splits: dict[Path, list[Path]] = {}  # the files of each folder
    with ExitStack() as stack:
        tops = {name: stack.enter_context(replace_folder(exports / name)) for name in FOLDERS}
        for split in SPLITS:
            questions = read_product(product, split)
            examples = make_prompt_examples(questions, template, databases, **options)
            paths = {}
            for name, format_ in formats.items():
                top, _, below = name.partition("/")
                paths[tops[top] / below / f"{split}{format_.suffix}"] = format_
            written = write_files(_watch(examples, *watchers), paths)
            counts[split] = {
                name: written[path].rows if path in written else 0
                for path, name in zip(paths, formats, strict=True)
            }
            for path in written:
                splits.setdefault(path.parent, []).append(path)
        for folder, files in splits.items():
            (folder / "README.md").write_text(_name_splits(files), encoding="utf-8")
    return counts


def describe_counts(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a line for each split whose formats differ in their number of questions.

    >>> describe_counts({"train": {"verl": 253, "trl/messages": 238, "openenv": 253}})
    ['train: 253 questions in verl, openenv; 238 in trl/messages']
    """
    lines = []
    for split, of_split in counts.items():
        names: dict[int, list[str]] = {}
        for name, count in of_split.items():
            names.setdefault(count, []).append(name)
        if len(names) > 1:
            most, *fewer = sorted(names, reverse=True)
            parts = [f"{spell_count(most, 'question')} in {', '.join(names[most])}"]
            parts += [f"{count} in {', '.join(names[count])}" for count in fewer]
            lines.append(f"{split}: {'; '.join(parts)}")
    return lines


def _name_splits(files: Iterable[Path]) -> str:
    """Return a README.md that says which files of a folder belong to which split.

    Source: "Manual Configuration" of the repository structure in the documentation of datasets.
    """
    lines = [f"  - split: {file.stem}\n    path: {file.name}\n" for file in files]
    head = "---\nconfigs:\n- config_name: default\n  data_files:\n"
    return f"{head}{''.join(lines)}---\n\nWritten by Answerkey (`dvc repro export_trainers`).\n"


def _watch(
    examples: Iterable[PromptExample], *watchers: Callable[[PromptExample], object]
) -> Iterator[PromptExample]:
    for example in examples:
        for watch in watchers:
            watch(example)
        yield example
