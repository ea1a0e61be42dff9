"""Charts of the report: SVG with the page's own colours and font, the same bytes everywhere.

Every mark has its place in pixels and nothing is measured, since the size of text depends on the
fonts of a machine. Colours are the page's CSS variables, so that one picture is light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

WIDTH = 360
_BAR_STEP = 38
_BAR_TOP, _BAR_BOTTOM = 21, 29
_TEXT_MIDDLE = 10
_LABEL_CHARACTERS = 36
_CELL_HEIGHT = 40
_HEADING_HEIGHT = 26
_ROW_LABEL_WIDTH = 84
_STRONGEST_OPACITY = 0.55  # text on a cell stays readable, on light and on dark


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
    import altair as alt

    most = max([1, *(max(bar.count, bar.out_of) for bar in bars)])
    values = [
        {
            "label": _shorten(bar.label),
            "text": bar.text,
            "count": bar.count,
            "behind": bar.out_of,
            "middle": _TEXT_MIDDLE + row * _BAR_STEP,
            "top": _BAR_TOP + row * _BAR_STEP,
            "bottom": _BAR_BOTTOM + row * _BAR_STEP,
        }
        for row, bar in enumerate(bars)
    ]
    chart = alt.Chart(alt.Data(values=values))
    scale = alt.Scale(domain=[0, most], range=[0, WIDTH], nice=False)

    def draw_rect(field: str, fill: str) -> alt.Chart:
        return chart.mark_rect(fill=fill, cornerRadius=2).encode(
            x=alt.X("zero:Q", scale=scale, axis=None),
            x2=f"{field}:Q",
            y=alt.Y("top:Q", scale=None, axis=None),
            y2="bottom:Q",
        )

    def draw_text(field: str, x: int, align: str, fill: str) -> alt.Chart:
        return chart.mark_text(align=align, baseline="middle", fontSize=14, fill=fill).encode(
            x=alt.value(x), y=alt.Y("middle:Q", scale=None, axis=None), text=f"{field}:N"
        )

    chart = chart.transform_calculate(zero="0")
    layers = [
        draw_rect("behind", f"var(--{colour}-pale)"),
        draw_rect("count", f"var(--{colour})"),
        draw_text("label", 0, "left", "var(--ink)"),
        draw_text("text", WIDTH, "right", "var(--soft)"),
    ]
    return _render(alt.layer(*layers), height=max(1, len(bars)) * _BAR_STEP)


def draw_grid(rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """A table whose cells are the darker the more they count; SVG as of `draw_bars`."""
    import altair as alt

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
    texts: list[dict[str, Any]] = []
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

    def place(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "scale": None, "axis": None}

    rects = (
        alt.Chart(alt.Data(values=cells))
        .mark_rect(fill="var(--accent)", stroke="var(--line)", strokeWidth=1)
        .encode(
            x=alt.X(**place("left")),
            x2="right:Q",
            y=alt.Y(**place("top")),
            y2="bottom:Q",
            fillOpacity=alt.FillOpacity("strength:Q", scale=None, legend=None),
        )
    )
    text = {"baseline": "middle", "fontSize": 14}
    numbers = (
        alt.Chart(alt.Data(values=texts))
        .mark_text(align="center", **text)
        .encode(
            x=alt.X(**place("x")),
            y=alt.Y(**place("y")),
            text="text:N",
            fill=alt.Fill("fill:N", scale=None, legend=None),
        )
    )
    names = (
        alt.Chart(alt.Data(values=labels))
        .mark_text(align="left", fill="var(--ink)", **text)
        .encode(x=alt.value(0), y=alt.Y(**place("y")), text="text:N")
    )
    height = _HEADING_HEIGHT + len(rows) * _CELL_HEIGHT
    return _render(alt.layer(rects, numbers, names), height=height)


def _shorten(label: str) -> str:
    if len(label) <= _LABEL_CHARACTERS:
        return label
    return label[: _LABEL_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _render(chart: alt.LayerChart, *, height: int) -> str:
    """The SVG of a chart, without what the page says better: size, background and roles."""
    import altair as alt
    import vl_convert

    specification = (
        chart.properties(
            width=WIDTH,
            height=height,
            padding=0,
            autosize=alt.AutoSizeParams(type="none"),
            background="transparent",
        )
        .configure(font="inherit", aria=False)
        .configure_view(stroke=None)
        .to_dict()
    )
    svg = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
    head = f'<svg viewBox="0 0 {WIDTH} {height}" aria-hidden="true" focusable="false">'
    return re.sub(r"^<svg[^>]*>", head, svg)
