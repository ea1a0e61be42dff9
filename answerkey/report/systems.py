"""Systems side by side, as their page draws them: an axis, which is better, and a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from answerkey.evaluation.summary import Pair

BETTER, WORSE, SAME, UNPROVEN = "+", "\N{MINUS SIGN}", "\N{MIDDLE DOT}", ""
_TICKS = 4


class Axis(TypedDict):
    """An axis of shares that ends at 1."""

    low: float
    ticks: list[float]


class Drawn(TypedDict):
    """The matrix, the axis, the number of pairs that differ, and for each system the positions of
    the systems that are worse or better."""

    matrix: list[list[str]]
    ahead: list[str]
    behind: list[str]
    axis: Axis
    different: int


def make_axis(lowest: float) -> Axis:
    """Return an axis that starts at the next tenth below the lowest share.

    >>> make_axis(0.354)
    {'low': 0.3, 'ticks': [0.4, 0.6, 0.8, 1.0]}
    """
    tenths = min(9, math.floor(10 * lowest))
    step = math.ceil((10 - tenths) / _TICKS)
    ticks = sorted(10 - step * number for number in range((10 - tenths) // step + 1))
    return {"low": tenths / 10, "ticks": [tick / 10 for tick in ticks]}


def make_matrix(names: Sequence[str], pairs: Iterable[Pair]) -> list[list[str]]:
    """Return a row and a column for each system: whether that of the row is better, worse, or the
    difference may be chance."""
    places = {name: system_index for system_index, name in enumerate(names)}
    matrix = [
        [SAME if row == column else UNPROVEN for column in range(len(names))]
        for row in range(len(names))
    ]
    for pair in pairs:
        if pair["differs"]:
            row, column = places[pair["system"]], places[pair["other"]]
            matrix[row][column] = BETTER if pair["difference"] > 0 else WORSE
            matrix[column][row] = WORSE if pair["difference"] > 0 else BETTER
    return matrix


def spell_places(signs: Iterable[str], wanted: str) -> str:
    """Return the positions, from 1, at which a row of the matrix has a sign, with runs shortened.

    >>> spell_places(["+", "", "+", "+", "+", "+"], "+"), spell_places(["", "-"], "+")
    ('1, 3 to 6', '')
    """
    runs: list[list[int]] = []
    for position, sign in enumerate(signs, start=1):
        if sign == wanted:
            if runs and runs[-1][-1] == position - 1:
                runs[-1].append(position)
            else:
                runs.append([position])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def draw_systems(systems: Sequence[Mapping[str, Any]], pairs: Sequence[Pair], on: str) -> Drawn:
    """Return the drawing of systems, the best first. `on` is the accuracy to use: `database` or
    `suite`."""
    matrix = make_matrix([system["name"] for system in systems], pairs)
    return {
        "matrix": matrix,
        "ahead": [spell_places(row, BETTER) for row in matrix],
        "behind": [spell_places(row, WORSE) for row in matrix],
        "axis": make_axis(min(system["accuracy"][f"{on}_interval"][0] for system in systems)),
        "different": sum(pair["differs"] for pair in pairs),
    }
