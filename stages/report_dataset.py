"""One page that shows a run to people: the numbers, what is left out and why, and every question.

It works from disk without a network, and the same inputs give the same bytes.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from stages.command import run_stage
from stages.dossier import read_dossiers
from stages.errors import InputError
from stages.log import format_size, start_log
from stages.params import read_params
from stages.question import DIFFICULTIES, SPLITS
from stages.reasons import Reason
from stages.records import read_json, read_jsonl, replace_file
from stages.report.explanations import EXPLANATIONS
from stages.report.figures import (
    draw_answer_types,
    draw_databases,
    draw_funnel,
    draw_hardness,
    draw_reasons,
    draw_supply,
    draw_tables,
)
from stages.report.numbers import (
    explain_size,
    list_codes,
    list_corpora,
    list_targets,
    tabulate_supply,
    trace_steps,
)
from stages.report.page import embed_json, read_template, render_page
from stages.report.question_table import make_filters, make_payload
from stages.report.questions import choose_ids, find_verdict, make_rows, pick_examples
from stages.side_process import open_side_process

PRODUCT = Path("data/questions")
METRICS = Path("metrics/dataset.json")
PLOTS = Path("plots")
OUT = Path("reports/dataset.html")

_EXAMPLES = 3

Record = dict[str, Any]


def read_sidecars() -> Iterator[Record]:
    """Each question once: with its flags if it is selected, with its reason if it is not."""
    return chain(read_jsonl(PRODUCT / "audit.jsonl"), read_jsonl(PRODUCT / "excluded.jsonl"))


def read_plot(name: str, *columns: str) -> list[list[str]]:
    """The lines of a plot's table: the values of some columns."""
    with (PLOTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [[line[column] for column in columns] for line in csv.DictReader(file)]


def read_rows(max_rows: int, max_answer_characters: int) -> list[Record]:
    """The rows of the page's table, in the order of the corpus."""
    ids = choose_ids(read_sidecars(), max_rows=max_rows)
    verdicts = {
        record["question_id"]: find_verdict(record)
        for record in read_sidecars()
        if record["question_id"] in ids
    }
    return list(make_rows(read_dossiers(), verdicts, max_characters=max_answer_characters))


def make_charts(metrics: Record, steps: Sequence[Record]) -> Record:
    """The figures of the page, each with an id of its own."""
    content = [
        draw_supply(metrics["selection"]["cells"]),
        draw_answer_types(read_plot("answer_types", "answer_type", "questions")),
        draw_tables(read_plot("tables", "tables", "questions")),
        draw_reasons(read_plot("exclusions", "reason", "questions")),
        draw_databases(read_plot("databases", "database_name", "questions")),
        draw_hardness(read_plot("hardness_by_difficulty", "difficulty", "hardness", "questions")),
    ]
    for number, figure in enumerate(content):
        figure["id"] = f"figure-{number}"
    return {"funnel": {**draw_funnel(steps), "id": "figure-funnel"}, "content": content}


def check_run(metrics: Record, steps: Sequence[Record], shown: int, max_rows: int) -> None:
    """Make sure that the metrics count the product that is shown.

    Raises:
        InputError: with the numbers.
    """
    if steps[-1]["left"] != metrics["selected"] or shown != min(max_rows, metrics["loaded"]):
        raise InputError(
            f"{METRICS} and {PRODUCT} are not of the same run: {metrics['selected']} selected of"
            f" {metrics['loaded']} expected, found {steps[-1]['left']}, and {shown} to show:"
            " run `dvc repro`"
        )


def make_facts(metrics: Record, targets: Record, rows: Sequence[Record]) -> Record:
    """What the page says in words and tables, by the names that its template has for it."""
    reasons, flags = metrics["excluded"], metrics["flags"]
    selected = [row for row in rows if row["reason"] is None]
    left_out = [row for row in rows if row["reason"] is not None]
    key_figures = [
        ("Loaded", metrics["loaded"]),
        ("Usable", metrics["usable"]),
        ("Selected", metrics["selected"]),
        *((split.capitalize(), metrics["split"][split]) for split in SPLITS),
        ("SQL templates", metrics["templates"]),
    ]
    return {
        "metrics": metrics,
        "databases": len(metrics["database"]),
        "unusable": metrics["loaded"] - metrics["usable"],
        "not_selected": reasons.get(Reason.NOT_SELECTED, 0),
        "key_figures": [{"name": name, "value": value} for name, value in key_figures],
        "columns": [*DIFFICULTIES, "all", *(f"corpus {name}" for name in list_corpora(targets))],
        "has_corpora": bool(list_corpora(targets)),
        "supply": tabulate_supply(metrics["selection"], targets),
        "size": explain_size(metrics["selection"], targets, metrics["usable"]),
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


def main() -> None:
    """Write the page, whose charts are drawn in a process of their own beside the rest of it."""
    log = start_log("report_dataset")
    corpus, targets, max_rows, max_answer_characters = read_params(
        "corpus",
        "select_questions.targets",
        "report_dataset.max_rows",
        "report_dataset.max_answer_characters",
    )
    metrics = read_json(METRICS)
    lost = Counter(record["stage"] for record in read_jsonl(PRODUCT / "excluded.jsonl"))
    steps = trace_steps(metrics["loaded"], lost)
    with open_side_process() as pool:
        pool.submit(make_charts, metrics, steps)
        rows = read_rows(max_rows, max_answer_characters)
        check_run(metrics, steps, len(rows), max_rows)
        facts = make_facts(metrics, targets, rows)
        payload = embed_json(make_payload(rows))
        template = read_template()
        page = render_page(
            template,
            payload,
            **facts,
            corpora=[corpus] if isinstance(corpus, str) else corpus,
            steps=steps,
            charts=pool.wait().result(),
        )
        with replace_file(OUT) as file:
            file.write(page)
    log.info("%d of %d questions, %s", len(rows), metrics["loaded"], format_size(len(page)))


if __name__ == "__main__":
    run_stage(main)
