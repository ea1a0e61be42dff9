"""Charts of the report: SVG with the page's own colours and font, the same bytes everywhere.

Every mark has its place in pixels and nothing is measured, since the size of text depends on the
fonts of a machine. Colours are the page's CSS variables, so that one picture is light and dark.

Charts are specified in Vega-Lite's JSON as it is: to build it with Altair takes four times as long
as to render it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 360
_BAR_STEP = 38
_BAR_TOP, _BAR_BOTTOM = 21, 29
_TEXT_MIDDLE = 10
_LABEL_CHARACTERS = 36
_CELL_HEIGHT = 40
_HEADING_HEIGHT = 26
_ROW_LABEL_WIDTH = 84
_STRONGEST_OPACITY = 0.55  # text on a cell stays readable, on light and on dark
_TEXT = {"type": "text", "baseline": "middle", "fontSize": 14}

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


def draw_bars(bars: Sequence[Bar], *, colour: str = "accent") -> str:
    """Horizontal bars, each below its label and count; SVG without a title of its own."""
    return _render(specify_bars(bars, colour=colour))


def draw_grid(rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """A table whose cells are the darker the more they count; SVG as of `draw_bars`."""
    return _render(specify_grid(rows, columns, counts))


def specify_bars(bars: Sequence[Bar], *, colour: str) -> Record:
    """The Vega-Lite of `draw_bars`."""
    most = max([1, *(max(bar.count, bar.out_of) for bar in bars)])
    values = [
        {
            "label": _shorten(bar.label),
            "text": bar.text,
            "zero": 0,
            "count": bar.count,
            "behind": bar.out_of,
            "middle": _TEXT_MIDDLE + row * _BAR_STEP,
            "top": _BAR_TOP + row * _BAR_STEP,
            "bottom": _BAR_BOTTOM + row * _BAR_STEP,
        }
        for row, bar in enumerate(bars)
    ]
    scale = {"domain": [0, most], "range": [0, WIDTH], "nice": False}

    def draw_rect(field: str, fill: str) -> Record:
        return {
            "mark": {"type": "rect", "fill": fill, "cornerRadius": 2},
            "encoding": {
                "x": {**_place("zero"), "scale": scale},
                "x2": {"field": field},
                "y": _place("top"),
                "y2": {"field": "bottom"},
            },
        }

    def draw_text(field: str, x: int, align: str, fill: str) -> Record:
        return {
            "mark": {**_TEXT, "align": align, "fill": fill},
            "encoding": {
                "x": {"value": x},
                "y": _place("middle"),
                "text": {"field": field, "type": "nominal"},
            },
        }

    layers = [
        draw_rect("behind", f"var(--{colour}-pale)"),
        draw_rect("count", f"var(--{colour})"),
        draw_text("label", 0, "left", "var(--ink)"),
        draw_text("text", WIDTH, "right", "var(--soft)"),
    ]
    height = max(1, len(bars)) * _BAR_STEP
    return {**_specify(layers, height=height), "data": {"values": values}}


def specify_grid(
    rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]
) -> Record:
    """The Vega-Lite of `draw_grid`."""
    most = max([1, *(count for row in counts for count in row)])
    width = (WIDTH - _ROW_LABEL_WIDTH) / len(columns)
    cells = [
        {
            "left": _ROW_LABEL_WIDTH + j * width + 1,
            "right": _ROW_LABEL_WIDTH + (j + 1) * width - 1,
            "top": _HEADING_HEIGHT + i * _CELL_HEIGHT + 1,
            "bottom": _HEADING_HEIGHT + (i + 1) * _CELL_HEIGHT - 1,
            "strength": round(_STRONGEST_OPACITY * counts[i][j] / most, 3),
        }
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    texts: list[Record] = []
    for j, name in enumerate(columns):
        x = _ROW_LABEL_WIDTH + (j + 0.5) * width
        texts.append({"text": name, "x": x, "y": _TEXT_MIDDLE, "fill": "var(--soft)"})
        for i in range(len(rows)):
            y = _HEADING_HEIGHT + (i + 0.5) * _CELL_HEIGHT
            texts.append({"text": f"{counts[i][j]:,}", "x": x, "y": y, "fill": "var(--ink)"})
    labels = [
        {"text": name, "y": _HEADING_HEIGHT + (i + 0.5) * _CELL_HEIGHT}
        for i, name in enumerate(rows)
    ]
    layers = [
        {
            "data": {"values": cells},
            "mark": {
                "type": "rect",
                "fill": "var(--accent)",
                "stroke": "var(--line)",
                "strokeWidth": 1,
            },
            "encoding": {
                "x": _place("left"),
                "x2": {"field": "right"},
                "y": _place("top"),
                "y2": {"field": "bottom"},
                "fillOpacity": {**_take("strength"), "type": "quantitative"},
            },
        },
        {
            "data": {"values": texts},
            "mark": {**_TEXT, "align": "center"},
            "encoding": {
                "x": _place("x"),
                "y": _place("y"),
                "text": {"field": "text", "type": "nominal"},
                "fill": {**_take("fill"), "type": "nominal"},
            },
        },
        {
            "data": {"values": labels},
            "mark": {**_TEXT, "align": "left", "fill": "var(--ink)"},
            "encoding": {
                "x": {"value": 0},
                "y": _place("y"),
                "text": {"field": "text", "type": "nominal"},
            },
        },
    ]
    return _specify(layers, height=_HEADING_HEIGHT + len(rows) * _CELL_HEIGHT)


def _place(field: str) -> Record:
    """A place that a field gives in pixels."""
    return {"field": field, "type": "quantitative", "scale": None, "axis": None}


def _take(field: str) -> Record:
    """A look that a field gives as it is."""
    return {"field": field, "scale": None, "legend": None}


def _shorten(label: str) -> str:
    if len(label) <= _LABEL_CHARACTERS:
        return label
    return label[: _LABEL_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _specify(layers: list[Record], *, height: int) -> Record:
    """A chart without what the page says better: background and roles."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "layer": layers,
        "width": WIDTH,
        "height": height,
        "padding": 0,
        "autosize": {"type": "none"},
        "background": "transparent",
        "config": {"font": "inherit", "aria": False, "view": {"stroke": None}},
    }


def _render(specification: Record) -> str:
    """The SVG of a chart, which takes its size from the page."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    view = f"0 0 {specification['width']} {specification['height']}"
    head = f'<svg viewBox="{view}" aria-hidden="true" focusable="false">'
    return re.sub(r"^<svg[^>]*>", head, svg)
