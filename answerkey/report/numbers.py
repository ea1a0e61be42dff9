"""Numbers of the report: the funnel, the supply against the targets, and codes with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from answerkey.base.log import spell_count
from answerkey.base.reasons import Reason
from answerkey.base.records import DIFFICULTIES, SPLITS
from answerkey.flags import EXPLANATIONS
from answerkey.report.questions import Row, pick_examples
from answerkey.sqlite.answers import ANSWER_TYPES

if TYPE_CHECKING:
    from answerkey.exports.product import Counts
    from answerkey.selection.choice import Summary
    from answerkey.suites.records import SuiteRecord

STEPS = {
    "load_questions": "Accepted from the corpus",
    "compute_gold_answers": "Answered by SQLite",
    "parse_gold_sql": "Parsed",
    "audit_gold_answers": "Without an excluding flag",
    "select_questions": "Selected",
}
_EXAMPLES = 3  # of each code
_MAX_BARS = 12  # of a chart: what one sees at a glance


class Step(TypedDict):
    """A step of the funnel: how many questions are left after it, how many it sets aside, and the
    share of all that is left."""

    name: str
    left: int
    lost: int
    share: float


class Cell(TypedDict):
    """How many questions are selected, of how many usable ones; and the share of its row."""

    selected: int
    usable: int
    share: float | None


class SupplyRow(TypedDict):
    """The cells of a split, by difficulty and for all."""

    split: str
    cells: list[Cell]


class Chart(TypedDict):
    """Bars: their name, their number, and their length as a share of the longest."""

    title: str
    bars: list[tuple[str, int, float]]


class Example(Row):
    """A question with the evidence of the code that it is an example of."""

    evidence: list[list[str]]


class Code(TypedDict):
    """A reason or a flag: its place on the page, how many questions have it, and some of them."""

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
    counts: Counts,
    targets: Mapping[str, object],
    rows: Sequence[Row],
    lost: Mapping[str, int],
    suites: Iterable[SuiteRecord],
) -> dict[str, object]:
    """What the page says in words and tables, by the names that its template has for it."""
    reasons, flags = counts["excluded"], counts["flags"]
    selected = [row for row in rows if row["reason"] is None]
    left_out = [row for row in rows if row["reason"] is not None]
    return {
        "counts": counts,
        "databases": len(counts["database"]),
        "unusable": counts["loaded"] - counts["usable"],
        "not_selected": reasons.get(Reason.NOT_SELECTED, 0),
        "steps": trace_steps(counts["loaded"], lost),
        "supply": tabulate_supply(counts["selection"]),
        "levels": (*DIFFICULTIES, "all"),
        "targets": {name: value for name, value in targets.items() if value is not None},
        "charts": [
            make_chart("Databases", counts["database"]),
            make_chart("Answer types", counts["answer_type"]),
            make_chart("Spider's hardness", counts["hardness"]),
        ],
        "reasons": list_codes("reason", reasons, pick_examples(left_out, most=_EXAMPLES)),
        "flags": list_codes("flag", flags, pick_examples(selected, most=_EXAMPLES)),
        "operators": tabulate_operators(suites),
        "filters": make_filters(rows, reasons, flags),
        "shown": len(rows),
    }


def trace_steps(loaded: int, lost: Mapping[str, int]) -> list[Step]:
    """The funnel: how many questions are left after each stage that sets some aside.

    >>> [step["left"] for step in trace_steps(10, {"parse_gold_sql": 1, "select_questions": 4})]
    [10, 10, 10, 9, 9, 5]
    """
    steps: list[Step] = [{"name": "Loaded", "left": loaded, "lost": 0, "share": 1}]
    left = loaded
    for stage, name in STEPS.items():
        left -= lost.get(stage, 0)
        share = left / loaded if loaded else 0
        steps.append({"name": name, "left": left, "lost": lost.get(stage, 0), "share": share})
    return steps


def tabulate_supply(selection: Summary) -> list[SupplyRow]:
    """The cells of the selection, a row a split and one for both, with their shares of the row; a
    row's own share is one of all."""
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


def make_chart(title: str, counts: Mapping[str, int]) -> Chart:
    """Bars, the longest first unless the vocabulary is closed; the last stands for all others.

    >>> make_chart("Ships", {"Tern": 1, "Sun": 2})["bars"]
    [('Sun', 2, 1.0), ('Tern', 1, 0.5)]
    """
    bars = [(name, count) for name, count in counts.items() if count]
    if tuple(counts) != ANSWER_TYPES:
        bars.sort(key=lambda bar: -bar[1])
    most = max((count for _, count in bars), default=1)
    if len(bars) > _MAX_BARS:
        rest = bars[_MAX_BARS - 1 :]
        others = (spell_count(len(rest), "other"), sum(count for _, count in rest))
        bars = [*bars[: _MAX_BARS - 1], others]
    return {"title": title, "bars": [(name, count, min(1.0, count / most)) for name, count in bars]}


def list_codes(
    kind: str, counts: Mapping[str, int], examples: Mapping[str, list[Row]]
) -> list[Code]:
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
                    **row,
                    "evidence": [
                        pair for name, of in row["findings"] if name == code for pair in of
                    ],
                }
                for row in examples.get(code, ())  # none, if the rows are a small sample
            ],
        }
        for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count
    ]


def tabulate_operators(suites: Iterable[SuiteRecord]) -> list[OperatorRow]:
    """A row for each operator with the fates of its neighbors in all suites, those with the most
    alive first, and the share that is killed of those that count, None if none does.

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
    """The filters of the table: a key, a name, and options by the name of their group. Corpora are
    offered where the rows are of several."""
    corpora = sorted({row["corpus"] for row in rows})
    databases = sorted({row["database"] for row in rows})
    codes = {
        "Left out because of": sorted(code for code, count in reasons.items() if count),
        "In the dataset, flagged": sorted(code for code, count in flags.items() if count),
    }
    return [
        *([("corpus", "Corpus", {"": corpora})] if len(corpora) > 1 else ()),
        ("database", "Database", {"": databases}),
        ("split", "Split", {"": SPLITS}),
        ("difficulty", "Difficulty", {"": DIFFICULTIES}),
        ("answer_type", "Answer type", {"": ANSWER_TYPES}),
        ("outcome", "Outcome", {"": ("selected", "left out")}),
        ("code", "Reason or flag", codes),
    ]
