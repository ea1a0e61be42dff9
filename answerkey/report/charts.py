"""Charts of the report: where each mark stands, in pixels; `charts.svg.j2` draws them.

Nothing is measured, since the size of text depends on the fonts of a machine: the same counts give
the same bytes everywhere. Colours and font are the page's, so that one picture is light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 360
_BAR_STEP = 38
_LABEL_CHARACTERS = 36
_CELL_HEIGHT = 40
_HEADING_HEIGHT = 26
_ROW_LABEL_WIDTH = 84
_STRONGEST_OPACITY = 0.55  # text on a cell stays readable, on light and on dark

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: what it counts, how many, what stands at its end, and the paler bar behind it."""

    label: str
    count: int
    text: str
    out_of: int = 0


def make_bar(label: str, count: int, out_of: int | None = None) -> Bar:
    """A bar with its count in words.

    >>> make_bar("easy", 1200).text, make_bar("easy", 3, 5).text
    ('1,200', '3 of 5')
    """
    if out_of is None:
        return Bar(label, count, f"{count:,}")
    return Bar(label, count, f"{count:,} of {out_of:,}", out_of)


def place_bars(bars: Sequence[Bar], *, colour: str = "accent") -> Record:
    """Horizontal bars, each below its label and count; the longest is as wide as the chart.

    >>> [bar["length"] for bar in place_bars([make_bar("a", 2), make_bar("b", 1)])["bars"]]
    [360.0, 180.0]
    """
    most = max([1, *(max(bar.count, bar.out_of) for bar in bars)])
    return {
        "kind": "bars",
        "width": WIDTH,
        "height": max(1, len(bars)) * _BAR_STEP,
        "colour": colour,
        "bars": [
            {
                "label": _shorten(bar.label),
                "text": bar.text,
                "top": row * _BAR_STEP,
                "length": _round(WIDTH * bar.count / most),
                "behind": _round(WIDTH * bar.out_of / most),
            }
            for row, bar in enumerate(bars)
        ],
    }


def place_grid(
    rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]
) -> Record:
    """A table whose cells are the darker the more they count.

    >>> [cell["strength"] for cell in place_grid(["a"], ["b", "c"], [[2, 1]])["cells"]]
    [0.55, 0.275]
    """
    most = max([1, *(count for row in counts for count in row)])
    width = (WIDTH - _ROW_LABEL_WIDTH) / len(columns)

    def find_middle(row: int) -> float:
        return _HEADING_HEIGHT + (row + 0.5) * _CELL_HEIGHT

    return {
        "kind": "grid",
        "width": WIDTH,
        "height": _HEADING_HEIGHT + len(rows) * _CELL_HEIGHT,
        "cell_width": _round(width),
        "cell_height": _CELL_HEIGHT,
        "columns": [
            {"label": name, "middle": _round(_ROW_LABEL_WIDTH + (column + 0.5) * width)}
            for column, name in enumerate(columns)
        ],
        "rows": [{"label": name, "middle": find_middle(row)} for row, name in enumerate(rows)],
        "cells": [
            {
                "text": f"{count:,}",
                "strength": round(_STRONGEST_OPACITY * count / most, 3),
                "left": _round(_ROW_LABEL_WIDTH + column * width),
                "top": _HEADING_HEIGHT + row * _CELL_HEIGHT,
            }
            for row, line in enumerate(counts)
            for column, count in enumerate(line)
        ],
    }


def _round(pixels: float) -> float:
    return round(pixels, 1)


def _shorten(label: str) -> str:
    if len(label) <= _LABEL_CHARACTERS:
        return label
    return label[: _LABEL_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"
