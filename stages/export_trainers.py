"""The product in the formats of trainers, and as a database to browse.

It reads nothing but the product and the databases: whoever has pulled these can run it with a
template of their own.
"""

from __future__ import annotations

from pathlib import Path

from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import DATABASES, EXPORTS, PRODUCT
from answerkey.base.records import read_jsonl, write_json
from answerkey.base.stage import run_stage
from answerkey.dataset import has_clock
from answerkey.exports.prompts import PromptLengths, read_links, read_template, read_tokenizer
from answerkey.exports.questions_db import write_questions_db
from answerkey.exports.trainers import FORMATS, write_formats
from answerkey.sections.whole_file import Params, read_params

BROWSABLE = EXPORTS / "questions.db"
TOKENIZER = Path("data/tokenizer")
LINKS = Path("data/schema_links/tables.json")  # {"fleet_train_000": ["ship", "port"]}
LENGTHS = EXPORTS / "prompt_lengths.json"


def main(params: Params) -> None:
    """Write all formats of all splits, the database, and how long prompts are."""
    log = start_log("export_trainers")
    settings = params.export_trainers
    lengths = PromptLengths(read_tokenizer(TOKENIZER))
    excluded, clock = read_jsonl(PRODUCT / "excluded.jsonl"), has_clock(PRODUCT)
    with write_questions_db(BROWSABLE, excluded, has_clock=clock) as add_question:
        counts = write_formats(
            PRODUCT,
            DATABASES,
            EXPORTS,
            read_template(Path(settings.prompt_template)),
            lengths.add_example,
            add_question,
            min_mutation_score=settings.min_mutation_score,
            max_sql_risk=settings.max_sql_risk,
            links=read_links(LINKS),
            example_rows=settings.example_rows,
            max_schema_characters=settings.max_schema_characters,
            named_values=settings.named_values,
        )
    write_json(LENGTHS, lengths.summarize())
    splits = ", ".join(f"{split} {count}" for split, count in counts.items())
    formats = len([*FORMATS, BROWSABLE])
    log.info(f"{spell_count(sum(counts.values()), 'question')} in {formats} formats: {splits}")


if __name__ == "__main__":
    run_stage(main, read_params)
