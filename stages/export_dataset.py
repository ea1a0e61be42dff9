"""Write the selected and validated questions: the product, sidecars, metrics and plots."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import CORPORA, COUNTS, PRODUCT, SELECTION, VALIDATION
from answerkey.base.records import read_json, read_jsonl, replace_folder, write_json
from answerkey.base.stage import run_stage
from answerkey.dataset import SUITES, read_classified
from answerkey.exports.product import (
    average_scores,
    make_counts,
    make_metrics,
    make_plots,
    tabulate_questions,
    write_product,
)
from answerkey.flags import FLAGS
from answerkey.sections.whole_file import Params, read_params

METRICS = Path("metrics/dataset.json")
PLOTS = Path("plots")


def write_statistics() -> None:
    """Write all counts, including the metrics, and the tables of the plots."""
    excluded = read_jsonl(SELECTION / "excluded.jsonl")
    reasons = {record["question_id"]: record["reason"] for record in excluded}
    flagged = Counter(
        flag["code"] for audit in read_jsonl(SELECTION / "audit.jsonl") for flag in audit["flags"]
    )
    flags = {flag: flagged[flag] for flag in FLAGS}
    table = tabulate_questions(read_classified(), reasons)
    scores = average_scores(read_jsonl(SELECTION / SUITES))
    counts = make_counts(table, flags, read_json(SELECTION / "summary.json"), scores)
    with replace_folder(PLOTS) as folder:
        for name, plot in make_plots(table).items():
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(plot)
    write_json(COUNTS, counts)
    write_json(METRICS, make_metrics(counts))


def main(_: Params) -> None:
    """Write all files for teammates and trainers."""
    log = start_log("export_dataset")
    errors = read_json(VALIDATION)["errors"]
    if errors:
        raise InputError(
            f"{VALIDATION} lists {spell_count(len(errors), 'error')}, expected none: run"
            " `dvc repro validate_dataset`"
        )
    with replace_folder(PRODUCT) as folder:
        sizes = write_product(SELECTION, CORPORA, folder)
        write_statistics()
    splits = ", ".join(f"{split} {size}" for split, size in sizes.items())
    log.info(f"{spell_count(sum(sizes.values()), 'question')}: {splits}")


if __name__ == "__main__":
    run_stage(main, read_params)
