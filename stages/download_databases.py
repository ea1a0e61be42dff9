"""Make every chosen database one whole file; the manifest has its origin and checksum.

A file that is no whole database only costs its own questions, each of which gets a reason. The run
goes on, and the manifest has the fault.
"""

from __future__ import annotations

from itertools import chain

from answerkey.base.log import format_size, spell_count, start_log
from answerkey.base.paths import DATABASES, SCHEMAS
from answerkey.base.records import write_jsonl
from answerkey.base.stage import run_stage
from answerkey.corpus.corpora import (
    list_idle_roots,
    list_unpinned,
    list_unshared,
    parse_corpora,
    watch_roots,
)
from answerkey.corpus.downloads import read_tables, update_databases
from answerkey.sections.whole_file import Params, read_params


def main(params: Params) -> None:
    """Make databases that are missing or differ from their sources; write the schemas of all."""
    log = start_log("download_databases")
    chosen = params.corpus
    entries = params.corpora
    limits = params.download
    corpora = parse_corpora(chosen, entries)
    watched = watch_roots(corpora, entries, stage="download_databases")
    unpinned = list_unpinned({corpus.owner: corpus.databases for corpus in corpora})
    idle = list_idle_roots(corpora, stage="download_databases")
    for warning in [*watched, *unpinned, *list_unshared(corpora), *idle]:
        log.warning(warning)
    done = update_databases(corpora, DATABASES, limits=limits)
    for name, words in done.unreadable.items():
        log.warning(f"warning: the questions of {name} are set aside: {words}")
    unread = [{"database_name": name, "tables": []} for name in done.unreadable]
    read = (read_tables(name, path) for name, path in done.paths.items())
    write_jsonl(SCHEMAS, chain(read, unread))
    size = format_size(sum(path.stat().st_size for path in done.paths.values()))
    log.info(
        f"{spell_count(len(done.paths), 'database')}"
        f" ({len(done.paths) - done.kept} made, {done.kept} kept),"
        f" {size}{f'; {len(done.unreadable)} unreadable' if done.unreadable else ''}"
    )


if __name__ == "__main__":
    run_stage(main, read_params)
