"""Numbers of the report: the funnel, the supply against the targets, and codes with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from stages.question import DIFFICULTIES, EVAL, SPLITS
from stages.report.explanations import EXPLANATIONS

STEPS = {
    "load_questions": "Accepted from the corpus",
    "compute_gold_answers": "Answered by SQLite",
    "parse_gold_sql": "Parsed",
    "audit_gold_answers": "Without an excluding flag",
    "select_questions": "Selected",
}

Record = dict[str, Any]


def trace_steps(loaded: int, lost: Mapping[str, int]) -> list[Record]:
    """The funnel: how many questions are left after each stage that sets some aside.

    >>> [step["left"] for step in trace_steps(10, {"parse_gold_sql": 1, "select_questions": 4})]
    [10, 10, 10, 9, 9, 5]

    Raises:
        ValueError: on a stage that is no step.
    """
    unknown = sorted(set(lost) - set(STEPS))
    if unknown:
        raise ValueError(f"excluded.jsonl: expected {', '.join(STEPS)}, found {', '.join(unknown)}")
    steps = [{"name": "Loaded", "left": loaded, "lost": None}]
    for stage, name in STEPS.items():
        count = lost.get(stage, 0)
        steps.append({"name": name, "left": steps[-1]["left"] - count, "lost": count})
    return steps


def tabulate_supply(selection: Record, targets: Record) -> list[Record]:
    """The cells of the selection, a row a split and one for both, with shares and their targets."""
    shares = targets["difficulty_shares"] or {}
    cells = selection["cells"]
    binding = {cell["name"] for cell in list_binding(selection, targets)}
    levels = (*DIFFICULTIES, "all")
    counts = {
        split: {level: Counter(cells[split][level]) for level in DIFFICULTIES} for split in SPLITS
    }
    for row in counts.values():
        row["all"] = sum(row.values(), Counter())
    counts["all"] = {
        level: sum((counts[split][level] for split in SPLITS), Counter()) for level in levels
    }
    size = counts["all"]["all"]["selected"]

    def find_share(split: str, level: str) -> tuple[float | None, float | None]:
        count = counts[split][level]["selected"]
        if split in SPLITS and level in DIFFICULTIES:
            whole, target = counts[split]["all"]["selected"], shares.get(level)
        elif split in SPLITS:
            eval_share = targets["eval_share"]
            part = None if eval_share is None else round(1 - eval_share, 9)
            whole, target = size, eval_share if split == EVAL else part
        else:
            return None, None
        return (count / whole if whole else None), target

    def describe(split: str, level: str) -> Record:
        share, target = find_share(split, level)
        return {
            "selected": counts[split][level]["selected"],
            "usable": counts[split][level]["usable"],
            "share": share,
            "target": target,
            "is_binding": f"{split} {level}" in binding,
        }

    return [
        {"split": split, "cells": [describe(split, level) for level in levels]}
        for split in (*SPLITS, "all")
    ]


def explain_size(selection: Record, targets: Record, usable: int) -> Record:
    """Why the selection is as large as it is: a sentence, and the cells that hold it back."""
    size = selection["size"]
    if size == usable:
        sentence = f"Every usable question is selected, {size:,} in all."
    elif selection["is_largest"]:
        sentence = (
            f"The targets allow {size:,} of {usable:,} usable questions; the solver has proved that"
            " no larger selection meets them."
        )
    else:
        sentence = (
            f"The targets allow {size:,} of {usable:,} usable questions; the solver has proved that"
            f" no selection is larger than {selection['upper_bound']:,}."
        )
    return {"sentence": sentence, "cells": list_binding(selection, targets)}


def list_binding(selection: Record, targets: Record) -> list[Record]:
    """The cells that hold the selection back, and how large it would be without each.

    Without a share to keep no cell holds back another.
    """
    usable = sum(cell["usable"] for row in selection["cells"].values() for cell in row.values())
    has_shares = targets["difficulty_shares"] is not None or targets["eval_share"] is not None
    if not has_shares or selection["size"] == usable:
        return []
    found = []
    for name in selection["binding_cells"]:
        split, level = name.split()
        cell = selection["cells"][split][level]
        larger = cell["size_without_limit"]
        found.append({"name": name, "usable": cell["usable"], "larger": larger})
    return found


def list_codes(
    kind: str, counts: Mapping[str, int], examples: Mapping[str, list[Record]]
) -> list[Record]:
    """The codes that were found, most first, each with its meaning and examples; `kind` (reason or
    flag) tells their places in the page apart."""
    return [
        {
            "id": f"{kind}-{code}",
            "name": code,
            "count": count,
            "meaning": EXPLANATIONS[code],
            "examples": [
                {
                    "id": row["id"],
                    "question": row["question"],
                    "sql": row["sql"],
                    "evidence": [
                        pair for name, pairs in row["findings"] if name == code for pair in pairs
                    ],
                }
                for row in examples[code]
            ],
        }
        for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count
    ]
