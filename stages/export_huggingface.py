"""Write the product as a dataset of the Hugging Face hub that is enough to train with: questions
with prompts, the databases and those of test suites, a card, and Croissant metadata.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from answerkey.base.log import format_size, spell_count, start_log
from answerkey.base.paths import (
    COUNTS,
    EXPORTS,
    PRODUCT,
    SUITE_DATABASES,
    WIDENED,
    find_exported_databases,
)
from answerkey.base.records import (
    read_database_hashes,
    read_json,
    read_manifest,
    replace_folder,
    write_json,
)
from answerkey.base.shipped import find_file
from answerkey.base.stage import run_stage
from answerkey.dataset import count_left_out, has_clock, list_engines
from answerkey.engines.names import SQLITE
from answerkey.exports import huggingface
from answerkey.exports.card import BENCHMARK, CardFacts, make_card, make_croissant
from answerkey.exports.prompts import read_template
from answerkey.sections.whole_file import Params, read_params

PROMPTS = EXPORTS / "prompts"  # as export_trainers rendered them
OUT = EXPORTS / "huggingface"
TEMPLATE = Path("templates/card.md.j2")


def main(params: Params) -> None:
    """Write the tables, and their descriptions."""
    log = start_log("export_huggingface")
    hub = params.export_huggingface
    selection = params.select_questions
    least = params.export_trainers.min_mutation_score
    riskiest = params.export_trainers.max_sql_risk
    databases = find_exported_databases()
    folders = {huggingface.DATABASES: databases, huggingface.TEST_SUITES: SUITE_DATABASES}
    manifest = read_manifest(databases / "manifest.json")
    hashes = read_database_hashes(databases) if databases == WIDENED else {}
    with replace_folder(OUT) as folder:
        facts = CardFacts(
            corpora=read_json(PRODUCT / "corpora.json"),
            origins=[database["origin"] for database in manifest.values()],
            has_clock=has_clock(PRODUCT),
            files=huggingface.write_questions(PRODUCT, PROMPTS, folder, hashes=hashes),
            packed=huggingface.write_packed_files(
                PRODUCT, folders, folder, max_bytes=hub.max_packed_bytes
            ),
            metrics=read_json(COUNTS),
            bar=count_left_out(
                PRODUCT,
                min_mutation_score=least,
                max_sql_risk=riskiest,
            ),
            targets=asdict(selection.targets)
            | {"max_per_canonical_sql": selection.max_per_canonical_sql},
            repo_id=hub.repo_id,
            version=hub.version,
            date_published=hub.date_published,
            is_widened=databases == WIDENED,
            engines=list_engines(PRODUCT),
        )
        write_json(folder / "croissant.json", make_croissant(facts))
        (folder / "README.md").write_bytes(
            make_card(facts, read_template(find_file(TEMPLATE))).encode()
        )
        if "eval" in facts.files and facts.engines == (SQLITE,):  # tasks of Harbor are SQLite's
            (folder / "eval.yaml").write_text(BENCHMARK, encoding="utf-8")
        size = sum(path.stat().st_size for path in folder.iterdir())
    tables = spell_count(len(facts.tables), "table")
    log.info(f"{spell_count(facts.size, 'question')} in {tables}, {format_size(size)}")


if __name__ == "__main__":
    run_stage(main, read_params)
