"""Write the product in the formats of trainers, and as a database to browse.

It reads only the product and the databases. So anyone who has pulled these can run it with their
own template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import DATABASES, EXPORTS, PRODUCT, WIDENED
from answerkey.base.records import read_jsonl, replace_folder, write_json
from answerkey.base.shipped import find_dep
from answerkey.base.stage import run_stage
from answerkey.dataset import has_clock
from answerkey.exports.prompts import (
    SEARCHED,
    PromptLengths,
    read_links,
    read_template,
    read_tokenizer,
    shows,
)
from answerkey.exports.questions_db import write_questions_db
from answerkey.exports.trainers import FORMATS, describe_counts, write_formats
from answerkey.exports.widened import describe_shortfall, widen_databases
from answerkey.sections.whole_file import Params, read_params

BROWSABLE = EXPORTS / "questions.db"
TOKENIZER = Path("data/tokenizer")
LINKS = Path("data/schema_links/tables.json")  # {"fleet_train_000": ["ship", "port"]}
LENGTHS = EXPORTS / "prompt_lengths.json"
# A file for the folder, which is always an output: DVC would warn about an empty one.
NOT_WIDENED = """\
`export_trainers.schema` in params.yaml is not `widened`: the exports ask the databases in
data/databases, and none is here.
"""


def main(params: Params) -> None:
    """Write all formats of all splits, the database, and the lengths of prompts."""
    log = start_log("export_trainers")
    settings = params.export_trainers
    template = find_dep(Path(settings.prompt_template), stage="export_trainers")
    is_widened = settings.schema == "widened"
    lengths = PromptLengths(read_tokenizer(TOKENIZER))
    measured: dict[str, Any] = {}
    excluded, clock = read_jsonl(PRODUCT / "excluded.jsonl"), has_clock(PRODUCT)
    with (
        replace_folder(WIDENED) as folder,
        write_questions_db(BROWSABLE, excluded, has_clock=clock) as add_question,
    ):
        if is_widened:
            widened = widen_databases(
                PRODUCT,
                DATABASES,
                folder,
                tables=settings.widened_tables,
                seed=settings.widened_seed,
            )
            measured["widened"] = widened.summarize()
            if shortfall := describe_shortfall(measured["widened"]):
                log.warning(shortfall)
            for name, fault in widened.faults.items():
                log.warning(f"{name} keeps its own schema: {fault}")
        else:
            (folder / "README.md").write_text(NOT_WIDENED, encoding="utf-8")
        counts = write_formats(
            PRODUCT,
            folder if is_widened else DATABASES,
            EXPORTS,
            read_template(template),
            lengths.add_example,
            add_question,
            min_mutation_score=settings.min_mutation_score,
            max_sql_risk=settings.max_sql_risk,
            links=read_links(LINKS),
            example_rows=settings.example_rows,
            max_schema_characters=settings.max_schema_characters,
            named_values=settings.named_values,
            is_searched=is_widened or shows(template, SEARCHED),
            is_widened=is_widened,
        )
    write_json(LENGTHS, lengths.summarize() | measured)
    most = {split: max(of_split.values()) for split, of_split in counts.items()}
    splits = ", ".join(f"{split} {count}" for split, count in most.items())
    formats = len([*FORMATS, BROWSABLE])
    log.info(f"{spell_count(sum(most.values()), 'question')} in {formats} formats: {splits}")
    for line in describe_counts(counts):
        log.info(line)


if __name__ == "__main__":
    run_stage(main, read_params)
