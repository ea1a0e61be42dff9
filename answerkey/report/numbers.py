"""Numbers of the report: the supply against the targets, charts, and codes with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from answerkey.base.log import spell_count
from answerkey.base.reasons import Reason
from answerkey.base.records import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from answerkey.engines.answers import ANSWER_TYPES
from answerkey.flags import EXPLANATIONS
from answerkey.report.flow import draw_flow
from answerkey.report.questions import Row, pick_examples
from answerkey.risk.verdicts import VERDICT_WORDS

if TYPE_CHECKING:
    from answerkey.exports.product import RunCounts
    from answerkey.selection.choice import SelectionSummary
    from answerkey.suites.records import SuiteRecord

READINGS_DIFFER, NO_VERDICT = "they differ", "none"  # as verdicts.js has them
_EXAMPLES = 3  # of each code
_MAX_BARS = 12  # of a chart, to be read at a glance


class SupplyCell(TypedDict):
    """The numbers of selected and of usable questions, and the cell's share of its row."""

    selected: int
    usable: int
    share: float | None


class SupplyRow(TypedDict):
    """The cells of a split, by difficulty and for all."""

    split: str
    cells: list[SupplyCell]


class Chart(TypedDict):
    """Bars: their name, their number, and their length as a share of the longest.

    others: values without a bar, in words: a bar for them would be longer than all.
    """

    title: str
    bars: list[tuple[str, int, float]]
    others: str | None


class Example(Row):
    """A question with the evidence of the code for which it is an example."""

    evidence: list[list[str]]


class Code(TypedDict):
    """A reason or a flag: its anchor on the page, the number of its questions, and some of them."""

    id: str
    name: str
    count: int
    meaning: str
    examples: list[Example]


class OperatorRow(TypedDict):
    """An operator of neighbors, with their fates, and the share that is killed of those that count,
    None if none does."""

    name: str
    killed: int
    alive: int
    undecided: int
    share: float | None


def make_facts(
    counts: RunCounts,
    targets: Mapping[str, object],
    rows: Sequence[Row],
    suites: Iterable[SuiteRecord],
) -> dict[str, object]:
    """Return the facts of the page in words and tables, by their names in its template."""
    reasons, flags = counts["excluded"], counts["flags"]
    selected = [row for row in rows if row["reason"] is None]
    left_out = [row for row in rows if row["reason"] is not None]
    return {
        "counts": counts,
        "databases": len(counts["database"]),
        "unusable": counts["loaded"] - counts["usable"],
        "not_selected": reasons.get(Reason.NOT_SELECTED, 0),
        "flow": draw_flow(counts),
        "supply": tabulate_supply(counts["selection"]),
        "levels": (*DIFFICULTIES, "all"),
        "targets": {name: value for name, value in targets.items() if value is not None},
        "charts": [
            make_chart("Databases", counts["database"]),
            make_chart("Answer types", counts["answer_type"], order=ANSWER_TYPES),
            make_chart("Spider's hardness", counts["hardness"], order=HARDNESS_LEVELS),
        ],
        "reasons": list_codes("reason", reasons, pick_examples(left_out, most=_EXAMPLES)),
        "flags": list_codes("flag", flags, pick_examples(selected, most=_EXAMPLES)),
        "operators": tabulate_operators(suites),
        "filters": make_filters(rows, reasons, flags),
        "shown": len(rows),
    }


def tabulate_supply(selection: SelectionSummary) -> list[SupplyRow]:
    """Return the cells of the selection, one row per split and one for both, with their shares of
    the row. A row's own share is that of all questions."""
    taken = selection["cells"]
    rows = {
        split: {name: Counter[str](**taken[split][name]) for name in DIFFICULTIES}
        for split in SPLITS
    }
    rows["all"] = {
        name: sum((rows[split][name] for split in SPLITS), Counter()) for name in DIFFICULTIES
    }
    size = sum(cell["selected"] for cell in rows["all"].values())
    table: list[SupplyRow] = []
    for split, row in rows.items():
        whole = sum(row.values(), Counter())
        cells = [(cell, whole["selected"]) for cell in row.values()] + [(whole, size)]
        table.append(
            {
                "split": split,
                "cells": [
                    {
                        "selected": cell["selected"],
                        "usable": cell["usable"],
                        "share": cell["selected"] / of if of else None,
                    }
                    for cell, of in cells
                ],
            }
        )
    return table


def make_chart(title: str, counts: Mapping[str, int], order: Sequence[str] | None = None) -> Chart:
    """Return bars in the order of their vocabulary, or the longest first if it is open.

    >>> make_chart("Ships", {"Tern": 1, "Sun": 2})["bars"]
    [('Sun', 2, 1.0), ('Tern', 1, 0.5)]
    """
    names = sorted(counts, key=lambda name: -counts[name]) if order is None else order
    bars = [(name, count) for name in names if (count := counts.get(name, 0))]
    most = max((count for _, count in bars), default=1)
    others = None
    if len(bars) > _MAX_BARS:
        rest = [count for _, count in bars[_MAX_BARS:]]
        each = f"{rest[-1]:,} to {rest[0]:,}" if rest[-1] < rest[0] else f"{rest[0]:,}"
        words = spell_count(len(rest), "other", ",")
        others = f"{words}, each with {each}: {sum(rest):,} in all"
    shown = [(name, count, count / most) for name, count in bars[:_MAX_BARS]]
    return {"title": title, "bars": shown, "others": others}


def list_codes(
    kind: str, counts: Mapping[str, int], examples: Mapping[str, list[Row]]
) -> list[Code]:
    """Return the codes that were found, most frequent first, each with its meaning and examples.
    `kind` (reason or flag) makes their anchors in the page unique."""
    return [
        {
            "id": f"{kind}-{code}",
            "name": code,
            "count": count,
            "meaning": EXPLANATIONS[code],
            "examples": [
                {
                    **row,
                    "evidence": [
                        pair for name, of in row["findings"] if name == code for pair in of
                    ],
                }
                for row in examples.get(code, ())  # empty if the page shows only a sample
            ],
        }
        for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count
    ]


def tabulate_operators(suites: Iterable[SuiteRecord]) -> list[OperatorRow]:
    """Return a row for each operator with the fates of its neighbors in all suites, those with most
    survivors first, and the share that is killed of those that count, None if none does.

    >>> tabulate_operators([{"operators": {"limit": {"killed": 3, "alive": 1, "undecided": 2}}}])
    [{'name': 'limit', 'killed': 3, 'alive': 1, 'undecided': 2, 'share': 0.75}]
    """
    operators: dict[str, Counter[str]] = {}
    for suite in suites:
        for name, fates in suite["operators"].items():
            operators.setdefault(name, Counter()).update(fates)
    rows: list[OperatorRow] = []
    for name, fates in operators.items():
        counted = fates["killed"] + fates["alive"]
        rows.append(
            {
                "name": name,
                "killed": fates["killed"],
                "alive": fates["alive"],
                "undecided": fates["undecided"],
                "share": fates["killed"] / counted if counted else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["alive"], -row["killed"], row["name"]))


def make_filters(
    rows: Sequence[Row], reasons: Mapping[str, int], flags: Mapping[str, int]
) -> list[tuple[str, str, dict[str, Iterable[str]]]]:
    """Return the filters of the table: a key, a name, and options by the name of their group. There
    is a filter for corpora if the rows come from several."""
    corpora = sorted({row["corpus"] for row in rows})
    databases = sorted({row["database"] for row in rows})
    codes = {
        "Left out because of": sorted(code for code, count in reasons.items() if count),
        "In the dataset, flagged": sorted(code for code, count in flags.items() if count),
    }
    verdicts = {"": VERDICT_WORDS, "Of all": (READINGS_DIFFER, NO_VERDICT)}
    return [
        *([("corpus", "Corpus", {"": corpora})] if len(corpora) > 1 else ()),
        ("database", "Database", {"": databases}),
        ("split", "Split", {"": SPLITS}),
        ("difficulty", "Difficulty", {"": DIFFICULTIES}),
        ("answer_type", "Answer type", {"": ANSWER_TYPES}),
        ("outcome", "Outcome", {"": ("selected", "left out")}),
        ("verdict", "Verdict", verdicts),
        ("code", "Reason or flag", codes),
    ]
