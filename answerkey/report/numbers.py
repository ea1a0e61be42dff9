"""Numbers of the report: the funnel, the supply against the targets, and codes with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.errors import InputError
from answerkey.flags import EXPLANATIONS
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, Reason
from answerkey.report.questions import make_filters, pick_examples
from answerkey.sections.select_questions import DATASET

STEPS = {
    "load_questions": "Accepted from the corpus",
    "compute_gold_answers": "Answered by SQLite",
    "parse_gold_sql": "Parsed",
    "audit_gold_answers": "Without an excluding flag",
    "select_questions": "Selected",
}

Record = dict[str, Any]


def trace_steps(loaded: int, lost: Mapping[str, int]) -> list[Record]:
    """The funnel: how many questions are left after each stage that sets some aside.

    >>> [step["left"] for step in trace_steps(10, {"parse_gold_sql": 1, "select_questions": 4})]
    [10, 10, 10, 9, 9, 5]

    Raises:
        ValueError: on a stage that is no step.
    """
    unknown = sorted(set(lost) - set(STEPS))
    if unknown:
        raise ValueError(f"excluded.jsonl: expected {', '.join(STEPS)}, found {', '.join(unknown)}")
    steps = [{"name": "Loaded", "left": loaded, "lost": None}]
    for stage, name in STEPS.items():
        count = lost.get(stage, 0)
        steps.append({"name": name, "left": steps[-1]["left"] - count, "lost": count})
    return steps


def tabulate_supply(selection: Record, targets: Record) -> list[Record]:
    """The cells of the selection, a row a split and one for both, with shares and their targets;
    where corpora have shares, they follow."""
    shares = targets["difficulty_shares"] or {}
    cells = selection["cells"]
    levels = (*DIFFICULTIES, "all")
    corpora = list_corpora(targets)
    counts = {
        split: {level: Counter(cells[split][level]) for level in DIFFICULTIES} for split in SPLITS
    }
    for row in counts.values():
        row["all"] = sum(row.values(), Counter())
    counts["all"] = {
        level: sum((counts[split][level] for split in SPLITS), Counter()) for level in levels
    }
    size = counts["all"]["all"]["selected"]
    for split in SPLITS:
        for corpus in corpora:
            cell = selection["corpora"][split][corpus]
            counts[split][f"corpus {corpus}"] = Counter(
                {name: cell[name] for name in ("usable", "selected")}
            )
    for corpus in corpora:
        name = f"corpus {corpus}"
        counts["all"][name] = sum((counts[split][name] for split in SPLITS), Counter())
    shares = {**shares, **{f"corpus {name}": targets["corpus_shares"][name] for name in corpora}}
    columns = (*levels, *(f"corpus {name}" for name in corpora))

    def find_share(split: str, level: str) -> tuple[float | None, float | None]:
        count = counts[split][level]["selected"]
        of_dataset = level in DIFFICULTIES and targets["difficulty_shares_of"] == DATASET
        if split in SPLITS and level != "all":
            whole = counts[split]["all"]["selected"]
            target = None if of_dataset else shares.get(level)
        elif split in SPLITS:
            eval_share = targets["eval_share"]
            part = None if eval_share is None else round(1 - eval_share, 9)
            whole, target = size, eval_share if split == EVAL else part
        elif of_dataset:
            whole, target = size, shares.get(level)
        else:
            return None, None
        return (count / whole if whole else None), target

    def describe(split: str, level: str) -> Record:
        share, target = find_share(split, level)
        return {
            "selected": counts[split][level]["selected"],
            "usable": counts[split][level]["usable"],
            "share": share,
            "target": target,
        }

    return [
        {"split": split, "cells": [describe(split, column) for column in columns]}
        for split in (*SPLITS, "all")
    ]


def list_corpora(targets: Record) -> list[str]:
    """The corpora that have shares, in the order of the selection's metrics."""
    return sorted(targets["corpus_shares"] or ())


def explain_size(selection: Record) -> str:
    """Why the selection is as large as it is."""
    size, usable = selection["size"], selection["usable"]
    if size == usable:
        return f"Every usable question is selected, {size:,} in all."
    return (
        f"The targets allow {size:,} of {usable:,} usable questions; the solver has proved that no"
        f" larger selection meets them. All are selected without {', '.join(selection['lifts'])}."
    )


def list_codes(
    kind: str, counts: Mapping[str, int], examples: Mapping[str, list[Record]]
) -> list[Record]:
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
                    "id": row["id"],
                    "question": row["question"],
                    "sql": row["sql"],
                    "evidence": [
                        pair for name, pairs in row["findings"] if name == code for pair in pairs
                    ],
                }
                for row in examples[code]
            ],
        }
        for code, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if count
    ]


def list_targets(targets: Record) -> list[tuple[str, str]]:
    """The targets that are set, as a name and a text; a tolerance is none without a share.

    >>> list_targets({"difficulty_shares": {"easy": 0.4}, "eval_share": None, "tolerance": 0.02})
    [('difficulty_shares', 'easy 0.4'), ('tolerance', '0.02')]
    """
    found = {}
    for name, value in targets.items():
        if isinstance(value, dict):
            found[name] = ", ".join(f"{level} {share}" for level, share in value.items())
        elif value is not None:
            found[name] = str(value)
    if not {"difficulty_shares", "corpus_shares", "eval_share"} & set(found):
        found.pop("tolerance", None)
    if "difficulty_shares" not in found:
        found.pop("difficulty_shares_of", None)
    return list(found.items())


# Facts of the report: what its template has names for, and that they are of one run.


_EXAMPLES = 3


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
        "size": explain_size(counts["selection"]),
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
