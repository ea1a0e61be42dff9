"""One page that shows a run to people: the numbers, what is left out and why, and every question.

It works from disk without a network, and the same inputs give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from answerkey.command_line import make_parser, run_stage
from answerkey.dataset import SUITES
from answerkey.log import format_size, start_log
from answerkey.params import read_params
from answerkey.records import SchemaFile, read_json, read_jsonl, replace_file
from answerkey.report.comparison import compare_product
from answerkey.report.figures import draw_figures
from answerkey.report.numbers import check_run, make_facts, trace_steps
from answerkey.report.page import embed_json, read_template, render_page
from answerkey.report.product import read_rows, read_statements, tabulate_operators
from answerkey.report.questions import make_payload

PRODUCT = Path("data/questions")
COUNTS = Path("metrics/counts.json")
LENGTHS = Path("data/exports/prompt_lengths.json")
PLOTS = Path("plots")
SCHEMAS = Path("data/interim/schemas.jsonl")
OUT = Path("reports/dataset.html")


def main(*arguments: str) -> None:
    """Write the page, or with --against print what changed since a git revision."""
    parser = make_parser("stages.report_dataset", __doc__)
    parser.add_argument(
        "--against",
        metavar="REV",
        help="write no page; print which questions came, went and changed since a git revision",
    )
    against = parser.parse_args(arguments).against
    if against is not None:
        print(compare_product(against))
        return
    log = start_log("report_dataset")
    corpus, targets, settings = read_params("corpus", "select_questions.targets", "report_dataset")
    max_rows, max_characters = settings.max_rows, settings.max_answer_characters
    counts = read_json(COUNTS)
    lost = Counter(record["stage"] for record in read_jsonl(PRODUCT / "excluded.jsonl"))
    steps = trace_steps(counts["loaded"], lost)
    rows = read_rows(PRODUCT, max_rows=max_rows, max_characters=max_characters)
    check_run(counts, steps, len(rows), max_rows)
    statements = read_statements(rows, SchemaFile(SCHEMAS), max_characters=max_characters)
    page = render_page(
        read_template(),
        embed_json(make_payload(rows, statements)),
        **make_facts(counts, read_json(LENGTHS), asdict(targets), rows),
        operators=tabulate_operators(read_jsonl(PRODUCT / SUITES)),
        corpora=[corpus] if isinstance(corpus, str) else corpus,
        steps=steps,
        charts=draw_figures(PLOTS, counts["selection"]["cells"], steps=steps),
    )
    with replace_file(OUT) as file:
        file.write(page)
    log.info("%d of %d questions, %s", len(rows), counts["loaded"], format_size(len(page)))


if __name__ == "__main__":
    run_stage(main, has_options=True)
