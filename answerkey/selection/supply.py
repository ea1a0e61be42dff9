"""Supply against targets: how large a selection can be, and what it takes of what there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pandas as pd

from answerkey.base.log import align
from answerkey.base.records import DIFFICULTIES, SPLITS
from answerkey.sections.select_questions import Targets
from answerkey.selection.program import Group, count_by, find_size
from answerkey.sqlite.schema import Schema

_LIFTABLE = (
    "difficulty_shares",
    "corpus_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)
Record = dict[str, Any]


def summarize(supply: Mapping[Group, int], taken: Mapping[Group, int], targets: Targets) -> Record:
    """The selection in numbers, for metrics.

    size, usable: how many questions are selected, and how many could be.
    lifts: the fewest targets that one has to lift together to select all of them.
    cells, corpora: the same numbers by split and difficulty, and by split and corpus; without
        shares of corpora there are none of the latter.
    """

    def tell(field: str, names: tuple[str, ...]) -> Record:
        usable, selected = (count_by(groups, "split", field) for groups in (supply, taken))
        return {
            split: {
                name: {"usable": usable[split, name], "selected": selected[split, name]}
                for name in names
            }
            for split in SPLITS
        }

    return {
        "size": sum(taken.values()),
        "usable": sum(supply.values()),
        "lifts": find_lifts(supply, targets),
        "cells": tell("difficulty", DIFFICULTIES),
        **({"corpora": tell("corpus", targets.corpora)} if targets.corpora else {}),
    }


def find_lifts(supply: Mapping[Group, int], targets: Targets) -> list[str]:
    """The fewest targets that one has to lift together for all usable questions."""
    usable = sum(supply.values())
    names = [name for name in _LIFTABLE if getattr(targets, name) is not None]
    return next(
        list(lifted)
        for count in range(len(names) + 1)
        for lifted in combinations(names, count)
        if find_size(supply, replace(targets, **dict.fromkeys(lifted))) == usable
    )


def describe(summary: Record) -> str:
    """A summary in words: its size, what to lift, and a table of selected and usable questions.

    >>> supply = {Group("train", level): 7 for level in DIFFICULTIES}
    >>> targets = Targets(max_questions=5)
    >>> print(describe(summarize(supply, {Group("train", "easy"): 5}, targets)))
    largest selection: 5 of 21 usable questions
    all 21 without max_questions
    split  easy    medium  hard
    train  5 of 7  0 of 7  0 of 7
    eval   0 of 0  0 of 0  0 of 0
    """
    lines = [f"largest selection: {summary['size']} of {summary['usable']} usable questions"]
    if summary["lifts"]:
        lines.append(f"all {summary['usable']} without {', '.join(summary['lifts'])}")
    return "\n".join([*lines, tabulate(summary)])


def tabulate(summary: Record) -> str:
    """The table of a summary."""
    corpora = summary.get("corpora", {split: {} for split in SPLITS})
    rows = [["split", *DIFFICULTIES, *(f"corpus {name}" for name in corpora[SPLITS[0]])]]
    for split in SPLITS:
        cells = [*summary["cells"][split].values(), *corpora[split].values()]
        rows.append([split, *(f"{cell['selected']} of {cell['usable']}" for cell in cells)])
    return align(rows)


def measure_coverage(questions: pd.DataFrame, schemas: Mapping[str, Schema]) -> dict[str, int]:
    """How many tables and columns the databases of the questions have, and how many of them some
    question touches; views are left out.

    The columns of `questions` are database_name, tables_involved and columns_involved, each column
    as `table.column`.
    """
    touched: dict[str, set[str]] = defaultdict(set)
    for name, tables, columns in questions.itertuples(index=False, name=None):
        touched[name].update(tables, columns)
    counts = dict.fromkeys(("tables", "tables_touched", "columns", "columns_touched"), 0)
    for name, names in touched.items():
        for table in schemas[name].tables:
            if table.is_view:
                continue
            columns = [f"{table.name}.{column.name}" for column in table.columns]
            counts["tables"] += 1
            counts["tables_touched"] += table.name in names
            counts["columns"] += len(columns)
            counts["columns_touched"] += len(names.intersection(columns))
    return counts
