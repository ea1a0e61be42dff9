"""Where the file of each database comes from, exactly, and how it is made from there."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stages.corpus.corpora import (
    ARCHIVE,
    FILES,
    Corpus,
    DirectoryCorpus,
    list_local_databases,
    suggest_names,
)
from stages.corpus.databases import check_db_ids, copy_database, replace_database
from stages.corpus.hub import HubError, Limits, fetch_file, resolve_revision
from stages.corpus.text_databases import build_database
from stages.records import hash_file

FILE, SQL = "file", "sql"  # kinds of databases in a directory


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """What a database file must be made from: `origin` goes to the manifest and names no machine;
    `path` is the source on this one, where there is one."""

    origin: dict[str, str]
    path: Path | None = None


def locate_databases(
    corpus: Corpus, db_ids: Iterable[str], *, limits: Limits
) -> dict[str, DatabaseSource]:
    """What the file of each database must be made from, by id, sorted. Reads local sources to
    identify them; fetches nothing, but asks the hub what a branch means.

    Raises:
        FileNotFoundError: where a directory does not have a database.
        HubError: where the hub does not say what a branch means.
    """
    checked = sorted(check_db_ids(db_ids))
    if isinstance(corpus, DirectoryCorpus):
        return {db_id: _locate_local(corpus, db_id) for db_id in checked}
    repo_id = corpus.databases_repo_id
    revision = resolve_revision(repo_id, corpus.databases_revision, limits=limits)
    place = {"repo_id": repo_id, "revision": revision, "path": corpus.databases_path}
    if corpus.member is None:
        return {
            db_id: DatabaseSource(
                {"kind": FILES} | place | {"path": place["path"].replace("{db_id}", db_id)}
            )
            for db_id in checked
        }
    place = {"kind": ARCHIVE} | place | {"sha256": str(corpus.archive_sha256)}
    return {
        db_id: DatabaseSource(place | {"member": corpus.member.replace("{db_id}", db_id)})
        for db_id in checked
    }


def _locate_local(corpus: DirectoryCorpus, db_id: str) -> DatabaseSource:
    """The .sqlite where there is one: in a Spider release, the schema.sql beside it is often in
    another dialect and has no rows."""
    folder = corpus.databases_dir / db_id
    for kind, path in ((FILE, folder / f"{db_id}.sqlite"), (SQL, folder / "schema.sql")):
        if path.is_file():
            relative = path.relative_to(corpus.root).as_posix()
            return DatabaseSource({"kind": kind, "path": relative, "sha256": hash_file(path)}, path)
    raise FileNotFoundError(
        f"Failed to download database: {db_id}: neither {db_id}.sqlite nor schema.sql in {folder};"
        f" {suggest_names(db_id, list_local_databases(corpus))}"
    )


@contextlib.contextmanager
def name_failure(db_id: str) -> Iterator[None]:
    """Turn what the hub refuses into the error that names a database."""
    try:
        yield
    except HubError as error:
        raise FileNotFoundError(f"Failed to download database: {db_id}: {error}") from error


def make_databases(
    sources: dict[str, DatabaseSource], paths: dict[str, Path], limits: Limits
) -> None:
    """Make the file of every source, all of which are of one corpus."""
    from tqdm import tqdm

    is_watched = sys.stderr.isatty()
    with contextlib.ExitStack() as stack:
        archive = None
        if ARCHIVE in {source.origin["kind"] for source in sources.values()}:
            archive = stack.enter_context(_open_archive(sources, paths, limits))
        for db_id in tqdm(sources, unit="database", disable=not is_watched):
            source, path = sources[db_id], paths[db_id]
            kind = source.origin["kind"]
            if kind == FILE:
                copy_database(source.path, path)
            elif kind == SQL:
                content = build_database(source.path)
                with replace_database(path) as file:
                    file.write(content)
            elif kind == FILES:
                place = (source.origin[key] for key in ("repo_id", "revision", "path"))
                with name_failure(db_id):
                    copy_database(fetch_file(*place, limits=limits), path)
            elif kind == ARCHIVE:
                _extract_member(archive, db_id, source.origin, path)
            else:
                raise ValueError(f"Database {db_id}: unknown kind of origin {kind!r}")


@contextlib.contextmanager
def _open_archive(
    sources: dict[str, DatabaseSource], paths: dict[str, Path], limits: Limits
) -> Iterator[zipfile.ZipFile]:
    """The archive of all sources, fetched beside the databases' directory, removed at the end."""
    db_id, source = next(iter(sources.items()))
    beside = paths[db_id].parent.parent.absolute().parent
    beside.mkdir(parents=True, exist_ok=True)
    place = (source.origin[key] for key in ("repo_id", "revision", "path"))
    with tempfile.TemporaryDirectory(
        prefix=".download-", dir=beside if os.access(beside, os.W_OK) else None
    ) as directory:
        with name_failure(db_id):
            path = fetch_file(
                *place, limits=limits, sha256=source.origin["sha256"], directory=Path(directory)
            )
        with zipfile.ZipFile(path) as archive:
            yield archive


def _extract_member(
    archive: zipfile.ZipFile, db_id: str, origin: dict[str, str], path: Path
) -> None:
    """Write one member, found by its exact name, whose size and CRC are as the archive states."""
    member = origin["member"]
    try:
        info = archive.getinfo(member)
    except KeyError:
        raise FileNotFoundError(
            f"Failed to download database: {db_id}: no member {member} in {origin['path']} of"
            f" {origin['repo_id']} at {origin['revision']}; remove it from db_list"
        ) from None
    with archive.open(info) as content, replace_database(path) as file:
        shutil.copyfileobj(content, file)
        if file.tell() != info.file_size:
            raise ValueError(
                f"Corrupt database: {member} has {file.tell()} bytes, expected {info.file_size}"
            )
