"""Supply against targets: what a selection could be, told in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stages.question import DIFFICULTIES, EVAL, SPLITS
from stages.selection.targets import (
    CELLS,
    TARGET_NAMES,
    Cell,
    Group,
    Solution,
    Targets,
    count_cells,
    find_binding_caps,
    find_binding_cells,
    find_tolerance,
)


class TargetsNotMetError(Exception):
    """No selection meets the targets; the message says which would."""


def describe_supply(supply: Mapping[Group, int], counts: Mapping[Any, int]) -> str:
    """A table of the cells: how many questions are usable, how many are selected.

    >>> print(describe_supply({Group("train", "easy", "a", "list"): 7}, {("train", "easy"): 5}))
    split  easy    medium  hard
    train  5 of 7  0 of 0  0 of 0
    eval   0 of 0  0 of 0  0 of 0
    """
    cells = count_cells(supply)
    rows = [["split", *DIFFICULTIES]]
    for split in SPLITS:
        row = [
            f"{counts.get((split, level), 0)} of {cells[split, level]}" for level in DIFFICULTIES
        ]
        rows.append([split, *row])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def describe_binding(binding: Mapping[tuple[str, str], int], size: int) -> str:
    """Which cells hold the selection back, in words."""
    if not binding:
        return "no cell alone holds it back"
    return "; ".join(
        f"{split} {level} holds it back (without that cell's limit: {gain} instead of {size})"
        for (split, level), gain in binding.items()
    )


def check_size(supply: Mapping[Group, int], targets: Targets, solution: Solution) -> None:
    """Make sure that the largest selection is large enough: min_questions, and more than none where
    a question is usable.

    Raises:
        TargetsNotMetError: with the supply, what holds it back, and the nearest targets that can
            be met.
    """
    wanted = max(targets.min_questions or 0, 1 if supply else 0)
    size = solution.size
    if size >= wanted:
        return
    asked = f"min_questions asks for {wanted}" if targets.min_questions else "there are questions"
    tolerance = find_tolerance(supply, targets, wanted)
    ways = [f"min_questions: {size} would be met"] if size else []
    if tolerance is not None:
        ways.append(f"tolerance: {tolerance:g} would reach {wanted}")
    else:
        ways.append(f"no tolerance reaches {wanted}: add databases, or loosen policies or caps")
    caps = [
        f"{name} holds it back (without it: {gain} instead of {size})"
        for name, gain in find_binding_caps(supply, targets, solution).items()
    ]
    held_back = [describe_binding(find_binding_cells(supply, targets, solution), size), *caps]
    raise TargetsNotMetError(
        f"select_questions.targets cannot be met: {asked}, and the largest selection under the"
        f" other targets has {size} ({'; '.join(ways)}).\n{'; '.join(held_back)}\n"
        f"Largest selection, of usable questions:\n{describe_supply(supply, solution.counts)}"
    )


def summarize(supply: Mapping[Group, int], targets: Targets, solution: Solution) -> dict[str, Any]:
    """The selection in numbers with stable keys, for metrics."""
    cells = count_cells(supply)
    binding = find_binding_cells(supply, targets, solution)
    binding_caps = find_binding_caps(supply, targets, solution)
    return {
        "size": solution.size,
        "upper_bound": solution.upper_bound,
        "is_largest": solution.size == solution.upper_bound,
        "cells": {
            split: {
                level: {
                    "usable": cells[split, level],
                    "selected": solution.counts[split, level],
                    "slack": cells[split, level] - solution.counts[split, level],
                    "size_without_limit": binding.get((split, level), solution.size),
                }
                for level in DIFFICULTIES
            }
            for split in SPLITS
        },
        "binding_cells": [f"{split} {level}" for split, level in binding],
        "size_without_target": {
            name: binding_caps.get(name, solution.size) for name in TARGET_NAMES
        },
        "shares": describe_shares(targets, solution.counts),
    }


def describe_shares(
    targets: Targets, counts: Mapping[Cell, int]
) -> dict[str, dict[str, float | None]]:
    """Each share that can be asked for: what was asked, what was found, and how much of the
    tolerance is left; None where nothing was asked, or where there is nothing to have a share of.
    """
    sizes = {split: sum(counts[split, level] for level in DIFFICULTIES) for split in SPLITS}
    shares = {EVAL: (targets.eval_share, sizes[EVAL], sum(sizes.values()))}
    for split, level in CELLS:
        asked = (targets.difficulty_shares or {}).get(level)
        shares[f"{split} {level}"] = (asked, counts[split, level], sizes[split])
    described = {}
    for name, (asked, part, whole) in shares.items():
        found = part / whole if whole else None
        is_judged = asked is not None and found is not None
        described[name] = {
            "asked": asked,
            "found": None if found is None else round(found, 4),
            "slack": round(targets.tolerance - abs(found - asked), 4) if is_judged else None,
        }
    return described
