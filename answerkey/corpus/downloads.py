"""Every chosen database is one whole SQLite file whose origin and checksum the manifest states.

The directory of databases may hold links into DVC's cache: a file is replaced, never written into,
and whatever does not belong there is removed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.core.manifest_file import write_manifest
from answerkey.corpus.corpora import Corpus, read_spider
from answerkey.corpus.database_names import name_databases
from answerkey.corpus.database_sources import (
    FILE,
    DatabaseSource,
    locate_databases,
    make_databases,
    name_failure,
)
from answerkey.corpus.databases import check_database, check_db_ids, locate_database, open_database
from answerkey.corpus.file_hashes import FileHashes
from answerkey.corpus.hub import Limits
from answerkey.corpus.manifest import (
    describe_database,
    find_current,
    read_manifest,
    remove_foreign_entries,
)
from answerkey.corpus.source_questions import list_db_ids
from answerkey.sqlite.schema import encode_schema, read_schema

MANIFEST = "manifest.json"


class Downloads(NamedTuple):
    """The paths of all databases by name, sorted; how many were kept as they were, and how many
    folders or files were removed."""

    paths: dict[str, Path]
    kept: int
    removed: int


def download_spider_databases(
    db_ids: Iterable[str],
    output_dir: Path,
    *,
    sources: dict[str, DatabaseSource] | None = None,
    current: Collection[str] | None = None,
    limits: Limits | None = None,
    on_made: Callable[[str], None] = lambda db_id: None,
) -> dict[str, Path]:
    """The path of each database, by id, sorted: `output_dir/ID/ID.sqlite`. Makes what is missing.

    A file that is `current` stays as it is; where nobody says which ones are, a file that passes
    the checks is. Without sources, the databases are Spider's, from the hub. `on_made` is called
    with the id of each database that is made, also where others cannot be.

    Raises:
        FileNotFoundError: "Failed to download database: ID: ...".
        ValueError: on a corrupt database or SQL text that does not run; where it is several, with
            all of them.
    """
    checked = sorted(check_db_ids(db_ids))
    paths = {db_id: locate_database(output_dir, db_id) for db_id in checked}
    if current is None:
        current = {db_id for db_id, path in paths.items() if _is_whole(path)}
    missing = [db_id for db_id in checked if db_id not in current]
    if missing and (sources is None or limits is None):
        spider, spider_limits = read_spider()
        limits = limits or spider_limits
        with name_failure(missing[0]):
            sources = sources or locate_databases(spider, missing, limits=limits)
    if missing:
        missing_sources = {db_id: sources[db_id] for db_id in missing}
        make_databases(missing_sources, paths, limits, on_made=on_made)
    return paths


def _is_whole(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        check_database(path)
    except ValueError:
        return False
    return True


def update_databases(
    corpora: Iterable[Corpus], output_dir: Path, *, limits: Limits, hashes_path: Path
) -> Downloads:
    """Make `output_dir` hold the databases of some corpora, their manifest and nothing else. What a
    run has made that fails, the next one keeps.

    hashes_path: where the checksums of large files are remembered.

    Raises:
        as `locate_all` and `download_spider_databases`.
    """
    manifest_path = output_dir / MANIFEST
    with FileHashes(hashes_path) as hashes:
        sources = locate_all(corpora, limits=limits, hash_file=hashes)
        manifest = read_manifest(manifest_path)
        removed = remove_foreign_entries(output_dir, sources, {MANIFEST})
        current = find_current(sources, output_dir, manifest, hash_file=hashes)
    made = set(current)
    try:
        paths = download_spider_databases(
            sources, output_dir, sources=sources, current=current, limits=limits, on_made=made.add
        )
    finally:
        if made:
            whole = {name: locate_database(output_dir, name) for name in sorted(made)}
            write_manifest(manifest_path, _describe_databases(whole, sources, current))
    return Downloads(paths, len(current), removed)


def locate_all(
    corpora: Iterable[Corpus], *, limits: Limits, hash_file: FileHashes
) -> dict[str, DatabaseSource]:
    """What the file of each database of some corpora must be made from, by name, sorted.

    Raises:
        as `list_db_ids`, `name_databases` and `locate_databases`.
    """
    chosen = [(corpus, list_db_ids(corpus, limits=limits)) for corpus in corpora]
    named = name_databases(chosen)
    sources: dict[str, DatabaseSource] = {}
    for corpus, _ in chosen:
        names = {
            found.db_id: name for name, found in named.items() if found.corpus.name == corpus.name
        }
        if names:
            with name_failure(min(names)):
                located = locate_databases(corpus, names, limits=limits, hash_file=hash_file)
            sources |= {names[db_id]: source for db_id, source in located.items()}
    return dict(sorted(sources.items()))


def _describe_databases(
    paths: Mapping[str, Path], sources: Mapping[str, DatabaseSource], current: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The manifest's entries by name; what is current, or was copied, is not read again."""
    for name, path in paths.items():
        origin = sources[name].origin
        copied = origin["sha256"] if origin["kind"] == FILE else None
        yield name, describe_database(path, origin, sha256=current.get(name, copied))


def read_tables(db_id: str, path: Path) -> dict[str, Any]:
    """The schema's record for a file."""
    with contextlib.closing(open_database(path)) as connection:
        return {"database_name": db_id, "tables": encode_schema(read_schema(connection))}
