"""Charts of the report: where each mark stands, in pixels; `charts.svg.j2` draws them.

Nothing is measured, since the size of text depends on the fonts of a machine: the same counts give
the same bytes everywhere. Colours and font are the page's, so that one picture is light and dark.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.records import DIFFICULTIES, HARDNESS_LEVELS, SPLITS

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


# Figures of the report: each chart with its title, a note, and the same in words.


_LONGEST_LIST = 12

Lines = Sequence[Sequence[str]]


def make_figure(
    title: str, bars: Sequence[Bar], *, note: str = "", colour: str = "accent"
) -> Record:
    """A bar chart; in words it reads `easy 3 of 5, hard 1 of 2`."""
    return {
        "title": title,
        "note": note,
        "alternative": ", ".join(f"{bar.label} {bar.text}" for bar in bars) or "nothing to show",
        "chart": place_bars(bars, colour=colour),
    }


def draw_funnel(steps: Sequence[Record]) -> Record:
    loaded = steps[0]["left"]
    bars = [Bar(step["name"], step["left"], f"{step['left']:,}", loaded) for step in steps]
    return make_figure("Questions left after each step", bars)


def draw_supply(cells: Mapping[str, Mapping[str, Record]]) -> Record:
    bars = [
        make_bar(f"{split} {level}", cells[split][level]["selected"], cells[split][level]["usable"])
        for split in SPLITS
        for level in DIFFICULTIES
    ]
    return make_figure("Selected of usable", bars, note="By split and difficulty")


def draw_hardness(lines: Lines) -> Record:
    counts = {(difficulty, hardness): int(count) for difficulty, hardness, count in lines}
    table = [[counts[level, hardness] for level in DIFFICULTIES] for hardness in HARDNESS_LEVELS]
    return {
        "title": "Hardness and difficulty",
        "note": "Down: hardness by Spider's rule. Across: difficulty by params",
        "alternative": ", ".join(
            f"hardness {hardness} and difficulty {level} {counts[level, hardness]:,}"
            for hardness in HARDNESS_LEVELS
            for level in DIFFICULTIES
        ),
        "chart": place_grid(HARDNESS_LEVELS, DIFFICULTIES, table),
    }


def draw_databases(lines: Lines) -> Record:
    """Selected questions of each database, or of the largest where there are many."""
    counts = sorted(((int(count), name) for name, count in lines), key=lambda p: (-p[0], p[1]))
    shown, others = counts[:_LONGEST_LIST], counts[_LONGEST_LIST:]
    note = "Selected questions"
    if others:
        rest = sum(count for count, _ in others)
        note = f"The largest {len(shown)}; {len(others):,} others have {rest:,} together"
    return make_figure("Databases", [make_bar(name, count) for count, name in shown], note=note)


def draw_tables(lines: Lines) -> Record:
    bars = [
        make_bar(f"{number} table{'' if number == '1' else 's'}", int(count))
        for number, count in sorted(lines, key=lambda line: int(line[0]))
    ]
    return make_figure(
        "Tables in a query", _merge_tail(bars, "more tables"), note="Selected questions"
    )


def draw_answer_types(lines: Lines) -> Record:
    bars = [make_bar(name, int(count)) for name, count in lines]
    return make_figure("Answer types", bars, note="Selected questions")


def draw_reasons(lines: Lines) -> Record:
    counts = sorted(((int(count), name) for name, count in lines), key=lambda p: (-p[0], p[1]))
    bars = [make_bar(name, count) for count, name in counts]
    bars = _merge_tail(bars, "other reasons")
    return make_figure("Left out, by reason", bars, note="Questions", colour="warm")


def _merge_tail(bars: list[Bar], name: str) -> list[Bar]:
    """At most as many bars as one looks at; the last stands for all others."""
    if len(bars) <= _LONGEST_LIST:
        return bars
    rest = sum(bar.count for bar in bars[_LONGEST_LIST - 1 :])
    return [*bars[: _LONGEST_LIST - 1], make_bar(name, rest)]


def draw_figures(
    plots: Path, cells: Mapping[str, Mapping[str, Record]], *, steps: Sequence[Record]
) -> Record:
    """All figures of the page, each with an id of its own: the funnel, and figures of what was
    selected and left out, which are drawn from the tables in a folder."""

    def read_plot(name: str, *columns: str) -> list[list[str]]:
        with (plots / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return [[line[column] for column in columns] for line in csv.DictReader(file)]

    content = [
        draw_supply(cells),
        draw_answer_types(read_plot("answer_types", "answer_type", "questions")),
        draw_tables(read_plot("tables", "tables", "questions")),
        draw_reasons(read_plot("exclusions", "reason", "questions")),
        draw_databases(read_plot("databases", "database_name", "questions")),
        draw_hardness(read_plot("hardness_by_difficulty", "difficulty", "hardness", "questions")),
    ]
    for number, figure in enumerate(content):
        figure["id"] = f"figure-{number}"
    return {"funnel": {**draw_funnel(steps), "id": "figure-funnel"}, "content": content}
