"""Facts of the report: what its template has names for, and that they are of one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.explanations import EXPLANATIONS
from answerkey.core.question import DIFFICULTIES, SPLITS
from answerkey.core.reasons import Reason
from answerkey.report.numbers import (
    explain_size,
    list_codes,
    list_corpora,
    list_targets,
    tabulate_supply,
)
from answerkey.report.question_table import make_filters
from answerkey.report.questions import pick_examples

_EXAMPLES = 3

Record = dict[str, Any]


def make_facts(counts: Record, lengths: Record, targets: Record, rows: Sequence[Record]) -> Record:
    """What the page says in words and tables, by the names that its template has for it."""
    reasons, flags = counts["excluded"], counts["flags"]
    selected = [row for row in rows if row["reason"] is None]
    left_out = [row for row in rows if row["reason"] is not None]
    key_figures = [
        ("Loaded", counts["loaded"]),
        ("Usable", counts["usable"]),
        ("Selected", counts["selected"]),
        *((split.capitalize(), counts["split"][split]) for split in SPLITS),
        ("SQL templates", counts["templates"]),
    ]
    return {
        "counts": counts,
        "databases": len(counts["database"]),
        "unusable": counts["loaded"] - counts["usable"],
        "not_selected": reasons.get(Reason.NOT_SELECTED, 0),
        "key_figures": [{"name": name, "value": value} for name, value in key_figures],
        "chats": describe_chats(lengths["chat"]),
        "columns": [*DIFFICULTIES, "all", *(f"corpus {name}" for name in list_corpora(targets))],
        "has_corpora": bool(list_corpora(targets)),
        "supply": tabulate_supply(counts["selection"], targets),
        "size": explain_size(counts["selection"], targets, counts["usable"]),
        "targets": list_targets(targets),
        "reasons": list_codes("reason", reasons, pick_examples(left_out, most=_EXAMPLES)),
        "flags": list_codes("flag", flags, pick_examples(selected, most=_EXAMPLES)),
        "silent": [
            {"name": code, "meaning": meaning}
            for code, meaning in EXPLANATIONS.items()
            if not reasons.get(code) and not flags.get(code)
        ],
        "filters": make_filters(rows, reasons, flags),
        "shown": len(rows),
    }


def describe_chats(lengths: Record) -> str:
    """How long a prompt with its completion is, in tokens where they were counted.

    >>> characters = {"median": 5105, "p95": 5842, "longest": 6221}
    >>> unknown = dict.fromkeys(characters)
    >>> describe_chats({"characters": characters, "tokens": unknown, "more_tokens_than": {}})
    'A prompt with its completion has 5,105 characters (median), the longest 6,221.'
    """
    unit = "characters" if lengths["tokens"]["longest"] is None else "tokens"
    counts = lengths[unit]
    if counts["longest"] is None:
        return ""
    said = f"has {counts['median']:,} {unit} (median), the longest {counts['longest']:,}"
    if unit == "tokens":
        said += f"; {lengths['more_tokens_than']['1024']:,} have more than 1,024"
    return f"A prompt with its completion {said}."


def check_run(counts: Record, steps: Sequence[Record], shown: int, max_rows: int) -> None:
    """Make sure that the counts count the product that is shown.

    Raises:
        InputError: with the numbers.
    """
    if steps[-1]["left"] != counts["selected"] or shown != min(max_rows, counts["loaded"]):
        raise InputError(
            "metrics/counts.json and data/questions are not of the same run: expected"
            f" {counts['selected']} selected of {counts['loaded']}, found {steps[-1]['left']}, and"
            f" {shown} to show: run `dvc repro`"
        )
