"""Every chosen database is one whole SQLite file whose origin and checksum the manifest states.

The directory of databases may hold links into DVC's cache: a file is replaced, never written into,
and whatever does not belong there is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.core.database_ids import check_db_ids
from answerkey.core.errors import InputError
from answerkey.core.manifest_file import read_manifest, write_manifest
from answerkey.core.records import hash_file
from answerkey.corpus.corpora import Corpus, name_databases, read_spider
from answerkey.corpus.database_sources import (
    FILE,
    DatabaseSource,
    locate_databases,
    make_databases,
    name_failure,
)
from answerkey.corpus.databases import check_database, locate_database, open_database
from answerkey.corpus.filling import plan_fillings
from answerkey.corpus.hub import Limits
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
    output_dir: str | os.PathLike[str],
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
    paths = {db_id: locate_database(Path(output_dir), db_id) for db_id in checked}
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


def update_databases(corpora: Iterable[Corpus], output_dir: Path, *, limits: Limits) -> Downloads:
    """Make `output_dir` hold the databases of some corpora, their manifest and nothing else. What a
    run has made that fails, the next one keeps.

    Raises:
        as `locate_all` and `download_spider_databases`.
    """
    manifest_path = output_dir / MANIFEST
    sources = locate_all(corpora, limits=limits)
    manifest = _read_entries(manifest_path)
    removed = _remove_others(output_dir, sources, {MANIFEST})
    current = _find_current(sources, output_dir, manifest)
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


def locate_all(corpora: Iterable[Corpus], *, limits: Limits) -> dict[str, DatabaseSource]:
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
                located = locate_databases(corpus, names, limits=limits)
                for db_id, filling in plan_fillings(corpus, names, limits).items():
                    source = located[db_id]
                    origin = source.origin | filling.describe()
                    located[db_id] = replace(source, origin=origin, filling=filling)
            sources |= {names[db_id]: source for db_id, source in located.items()}
    return dict(sorted(sources.items()))


def _describe_databases(
    paths: Mapping[str, Path], sources: Mapping[str, DatabaseSource], current: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The manifest's entries by name; what is current, or was copied, is not read again."""
    for name, path in paths.items():
        origin = sources[name].origin
        is_copied = origin["kind"] == FILE and sources[name].filling is None
        copied = origin["sha256"] if is_copied else None
        yield name, _describe_database(path, origin, sha256=current.get(name, copied))


def read_tables(db_id: str, path: Path) -> dict[str, Any]:
    """The schema's record for a file."""
    with contextlib.closing(open_database(path)) as connection:
        return {"database_name": db_id, "tables": encode_schema(read_schema(connection))}


def _read_entries(manifest: Path) -> dict[str, dict[str, Any]]:
    """The entries of a manifest by id; none where there is no manifest: then nothing is kept."""
    try:
        return read_manifest(manifest)
    except (FileNotFoundError, InputError):
        return {}


def _describe_database(
    path: Path, origin: dict[str, str], *, sha256: str | None = None
) -> dict[str, Any]:
    """The manifest's entry for a file, whose sha256 is computed where it is not yet known."""
    return {
        "sha256": sha256 or hash_file(path),
        "size_bytes": path.stat().st_size,
        "origin": origin,
    }


def _find_current(
    sources: dict[str, DatabaseSource],
    output_dir: Path,
    manifest: dict[str, dict[str, Any]],
) -> dict[str, str]:
    """sha256 of the databases that are, byte for byte, what manifest and sources want, by id."""
    current = {}
    for db_id, source in sources.items():
        entry, path = manifest.get(db_id, {}), locate_database(Path(output_dir), db_id)
        is_wanted = entry.get("origin") == source.origin and path.is_file()
        if is_wanted and (sha256 := hash_file(path)) == entry.get("sha256"):
            current[db_id] = sha256
    return current


def _remove_others(output_dir: Path, db_ids: Collection[str], kept: Collection[str]) -> int:
    """Remove what is neither a listed database nor a kept file; how many folders or files that was
    at the top: databases no longer listed, and leftovers of a run that was cut short.

    A link is removed itself, never what it points to.
    """
    if not output_dir.is_dir():
        return 0
    removed = 0
    for entry in sorted(output_dir.iterdir()):
        is_folder = entry.is_dir() and not entry.is_symlink()
        if is_folder and entry.name in db_ids:
            for file in entry.iterdir():
                if file.name != f"{entry.name}.sqlite" or (file.is_dir() and not file.is_symlink()):
                    _remove(file)
        elif entry.name not in kept:
            _remove(entry)
            removed += 1
    return removed


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()
