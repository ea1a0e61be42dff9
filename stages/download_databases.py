"""Every chosen database is one whole SQLite file whose origin and checksum the manifest states."""

from __future__ import annotations

from pathlib import Path

from answerkey.base.log import format_size, start_log
from answerkey.base.params import read_params, run_stage
from answerkey.base.records import write_jsonl
from answerkey.corpus.corpora import check_roots, list_unpinned, parse_corpora
from answerkey.corpus.downloads import read_tables, update_databases

DATABASES = Path("data/databases")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")


def main() -> None:
    """Make what is missing or not as the sources have it; write the schemas of all."""
    log = start_log("download_databases")
    chosen, entries, limits = read_params("corpus", "corpora", "download")
    corpora = parse_corpora(chosen, entries)
    check_roots(corpora, entries, stage="download_databases")
    for warning in list_unpinned({corpus.owner: corpus.databases for corpus in corpora}):
        log.warning(warning)
    done = update_databases(corpora, DATABASES, limits=limits)
    write_jsonl(SCHEMAS_PATH, (read_tables(name, path) for name, path in done.paths.items()))
    size = format_size(sum(path.stat().st_size for path in done.paths.values()))
    log.info(
        f"{len(done.paths)} databases ({len(done.paths) - done.kept} made, {done.kept} kept),"
        f" {size}"
    )


if __name__ == "__main__":
    run_stage(main)
