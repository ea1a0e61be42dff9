"""Write a page that shows a run to people: the numbers, what is left out and why, and every
question.

It works from disk without a network, and the same inputs give the same bytes.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from answerkey.base.log import format_size, spell_count, start_log
from answerkey.base.paths import COUNTS, DATABASES, PRODUCT, SCHEMAS
from answerkey.base.records import read_json, read_jsonl, replace_file
from answerkey.base.stage import run_stage
from answerkey.dataset import SUITES, count_left_out
from answerkey.engines.schema import SchemaFile
from answerkey.report.numbers import make_facts
from answerkey.report.page import embed_json, make_script, read_template, render_page
from answerkey.report.questions import make_payload, read_page_rows
from answerkey.sections.whole_file import Params, read_params

OUT = Path("reports/dataset.html")


def main(params: Params) -> None:
    """Write the page."""
    log = start_log("report_dataset")
    corpus = params.corpus
    targets = params.select_questions.targets
    settings = params.report_dataset
    least = params.export_trainers.min_mutation_score
    riskiest = params.export_trainers.max_sql_risk
    most = settings.max_answer_characters
    counts = read_json(COUNTS)
    rows = read_page_rows(PRODUCT, max_rows=settings.max_rows, max_characters=most)
    page = render_page(
        read_template(),
        make_script(),
        payload=embed_json(make_payload(rows, SchemaFile(SCHEMAS), DATABASES, max_characters=most)),
        corpora=[corpus] if isinstance(corpus, str) else corpus,
        bar=count_left_out(
            PRODUCT,
            min_mutation_score=least,
            max_sql_risk=riskiest,
        ),
        **make_facts(counts, asdict(targets), rows, read_jsonl(PRODUCT / SUITES)),
    )
    with replace_file(OUT) as file:
        file.write(page)
    questions = spell_count(counts["loaded"], "question")
    log.info(f"{len(rows)} of {questions}, {format_size(len(page))}")


if __name__ == "__main__":
    run_stage(main, read_params)
