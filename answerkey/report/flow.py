"""The chart at the head of the page: loaded questions, usable ones, and where each question ended.

The thickness of a band is its number of questions. Each band ends at a line of text that names it.
So only the chart stretches, while the text keeps its size: one chart for every screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from answerkey.base.log import spell_count
from answerkey.base.reasons import Reason
from answerkey.base.records import SPLITS
from answerkey.flags import EXPLANATIONS

if TYPE_CHECKING:
    from answerkey.exports.product import RunCounts

# Heights are in sixteenths of the text size, positions along the chart in hundredths of its width.
_ALL = 200  # of all questions
_LINE = 36  # of an end with its text, at least
_THINNEST = 1.5
_GAP = 3
_BAR, _USABLE, _BEND = 3, 45, 75
_MAX_REASONS = 9  # with a band of their own

_KEPT = {"train": "to train on", "eval": "to evaluate with"}


class End(TypedDict):
    """An end for questions: a split, or a reason for which they are left out.

    kind: kept, spare (usable and not selected) or lost.
    link: to these questions in the table; text: the name in words, if it is a code.
    """

    kind: str
    name: str
    text: str
    link: str
    count: int
    height: int


class Band(TypedDict):
    """A band, as the path of its outline."""

    kind: str
    path: str


class Flow(TypedDict):
    """The chart: the positions of bars, and widths and heights as in SVG's rect."""

    height: float
    ends: list[End]
    bands: list[Band]
    bars: list[tuple[float, float, float, float]]


def draw_flow(counts: RunCounts) -> Flow:
    """Return the chart of a run; without questions it has no end."""
    ends: list[End] = []
    bands: list[Band] = []
    left, right, usable = 0.0, 0, 0.0  # the positions reached on either side, from the top
    for kind, name, text, link, count in _list_ways(counts):
        thick = max(_THINNEST, _ALL * count / counts["loaded"])
        height = max(_LINE, round(thick))
        path = _draw_band(left, right + (height - thick) / 2, thick)
        bands.append({"kind": kind, "path": path})
        ends.append(
            {
                "kind": kind,
                "name": name,
                "text": text,
                "link": link,
                "count": count,
                "height": height,
            }
        )
        left += thick
        right += height + _GAP
        usable = left if kind != "lost" else usable
    return {
        "height": round(max(left, right - _GAP), 1),
        "ends": ends,
        "bands": bands,
        "bars": [(0, 0, _BAR, round(left, 1)), (_USABLE, 0, _BAR, round(usable, 1))],
    }


def _list_ways(counts: RunCounts) -> Iterator[tuple[str, str, str, str, int]]:
    """Yield kind, name, text, link and count of each end that has questions, in their order."""
    for split in SPLITS:
        if count := counts["split"].get(split, 0):
            yield "kept", _KEPT[split], "", f"#outcome=selected&split={split}", count
    reasons = {code: count for code, count in counts["excluded"].items() if count}
    if count := reasons.pop(Reason.NOT_SELECTED, 0):
        text = "Usable, and more than the targets take."
        yield "spare", Reason.NOT_SELECTED, text, f"#code={Reason.NOT_SELECTED}", count
    ranked = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    most = _MAX_REASONS if len(ranked) <= _MAX_REASONS else _MAX_REASONS - 1
    for code, count in ranked[:most]:
        yield "lost", code, EXPLANATIONS[code], f"#code={code}", count
    if others := ranked[most:]:
        name = spell_count(len(others), "other reason")
        yield "lost", name, "", "#reasons", sum(count for _, count in others)


def _draw_band(left: float, right: float, thick: float) -> str:
    """Return a band that runs straight to the bar of usable questions, and then bends."""
    upper = f"M0 {left:.1f}H{_USABLE}C{_BEND} {left:.1f} {_BEND} {right:.1f} 100 {right:.1f}"
    low, high = left + thick, right + thick
    return f"{upper}V{high:.1f}C{_BEND} {high:.1f} {_BEND} {low:.1f} {_USABLE} {low:.1f}H0Z"
