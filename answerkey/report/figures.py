"""Figures of the report: each chart with its title, a note, and the same in words."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from answerkey.core.question import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from answerkey.report.charts import Bar, make_bar, place_bars, place_grid

_LONGEST_LIST = 12

Record = dict[str, Any]
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
    """How many questions are left after each step."""
    loaded = steps[0]["left"]
    bars = [Bar(step["name"], step["left"], f"{step['left']:,}", loaded) for step in steps]
    return make_figure("Questions left after each step", bars)


def draw_supply(cells: Mapping[str, Mapping[str, Record]]) -> Record:
    """Selected of usable questions, by split and difficulty."""
    bars = [
        make_bar(f"{split} {level}", cells[split][level]["selected"], cells[split][level]["usable"])
        for split in SPLITS
        for level in DIFFICULTIES
    ]
    return make_figure("Selected of usable", bars, note="By split and difficulty")


def draw_hardness(lines: Lines) -> Record:
    """Spider's hardness against our difficulty."""
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
    """Selected questions by the number of tables that gold SQL reads."""
    bars = [
        make_bar(f"{number} table{'' if number == '1' else 's'}", int(count))
        for number, count in sorted(lines, key=lambda line: int(line[0]))
    ]
    return make_figure(
        "Tables in a query", _merge_tail(bars, "more tables"), note="Selected questions"
    )


def draw_answer_types(lines: Lines) -> Record:
    """Selected questions by the type of their answer."""
    bars = [make_bar(name, int(count)) for name, count in lines]
    return make_figure("Answer types", bars, note="Selected questions")


def draw_reasons(lines: Lines) -> Record:
    """Excluded questions by reason, most first."""
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
