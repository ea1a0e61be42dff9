"""Where the file of each database comes from, exactly, and how it is made from there."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from answerkey.core.database_ids import check_db_ids
from answerkey.core.errors import InputError
from answerkey.core.param_corpora import ARCHIVE, FILES
from answerkey.core.progress import track_progress
from answerkey.core.records import hash_file
from answerkey.corpus.corpora import Corpus, DirectoryDatabases, suggest_names
from answerkey.corpus.databases import check_database, copy_database, replace_database
from answerkey.corpus.filling import Filling, fill_file
from answerkey.corpus.hub import HubError, Limits, fetch_file, resolve_revision
from answerkey.corpus.roots import describe_root
from answerkey.corpus.text_databases import build_in_process

FILE, SQL = "file", "sql"  # kinds of databases in a directory


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """What a database file must be made from. `origin` goes to the manifest and names no machine;
    `path` is the source on this one, where there is one; `filling` what is added to it."""

    origin: dict[str, str]
    path: Path | None = None
    filling: Filling | None = None


def locate_databases(
    corpus: Corpus,
    db_ids: Iterable[str],
    *,
    limits: Limits,
) -> dict[str, DatabaseSource]:
    """What the file of each database must be made from, by id, sorted. Reads local sources to
    identify them; fetches nothing, but asks the hub what a branch means.

    Raises:
        FileNotFoundError: where a directory does not have a database.
        InputError: where several of its folders do.
        HubError: where the hub does not say what a branch means.
    """
    checked, databases = sorted(check_db_ids(db_ids)), corpus.databases
    if isinstance(databases, DirectoryDatabases):
        _check_root(databases, corpus.owner, checked[0])
        located, failures = {}, Failures()
        for db_id in checked:
            with failures.collect():
                located[db_id] = _locate_local(databases, corpus.owner, db_id)
        failures.raise_all()
        return located
    revision = resolve_revision(databases.repo_id, databases.revision, limits=limits)
    place = {
        "corpus": corpus.owner,
        "kind": FILES if databases.member is None else ARCHIVE,
        "repo_id": databases.repo_id,
        "revision": revision,
    }
    if databases.member is None:
        return {
            db_id: DatabaseSource(place | {"path": databases.path.replace("{db_id}", db_id)})
            for db_id in checked
        }
    place["path"] = databases.path
    if databases.archive_sha256 is not None:
        place["sha256"] = databases.archive_sha256
    return {
        db_id: DatabaseSource(place | {"member": databases.member.replace("{db_id}", db_id)})
        for db_id in checked
    }


def _check_root(databases: DirectoryDatabases, owner: str, db_id: str) -> None:
    if any((databases.root / folder).is_dir() for folder in databases.folders):
        return
    expected = [f"{folder}/{db_id}/{db_id}.sqlite" for folder in databases.folders]
    words = describe_root(
        owner,
        databases.root,
        databases.folders[0],
        [" or ".join(expected)],
        section="databases",
    )
    raise FileNotFoundError(f"Failed to download database: {db_id}: {words}")


def _locate_local(databases: DirectoryDatabases, owner: str, db_id: str) -> DatabaseSource:
    """The .sqlite where there is one: in a Spider release, the schema.sql beside it is often in
    another dialect and has no rows."""
    folders = [databases.root / folder / db_id for folder in databases.folders]
    if len(found := [str(folder) for folder in folders if folder.is_dir()]) > 1:
        raise InputError(f"Database {db_id} is in {' and in '.join(found)}: expected it once")
    for folder in folders:
        for kind, path in ((FILE, folder / f"{db_id}.sqlite"), (SQL, folder / "schema.sql")):
            if path.is_file():
                relative = path.relative_to(databases.root).as_posix()
                origin = {"corpus": owner, "kind": kind, "path": relative}
                return DatabaseSource(origin | {"sha256": hash_file(path)}, path)
    if found:
        inside = ", ".join(sorted(path.name for path in Path(found[0]).iterdir())[:5])
        looked = f"in {found[0]}, which has {inside or 'nothing'}"
    else:
        close = suggest_names(db_id, databases.list_ids())
        looked = f"in folder {db_id} of {databases}; {close}"
    raise FileNotFoundError(
        f"Failed to download database: {db_id}: neither {db_id}.sqlite nor schema.sql {looked}"
    )


class Failures:
    """What could not be done, of several things that do not depend on each other."""

    def __init__(self) -> None:
        self._errors: list[InputError | FileNotFoundError] = []

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Keep an error of the block for later."""
        try:
            yield
        except (InputError, FileNotFoundError) as error:
            self._errors.append(error)

    def raise_all(self) -> None:
        """Nothing, where all went well.

        Raises:
            InputError, FileNotFoundError: the error, or one with a line for each of them.
        """
        if not self._errors:
            return
        if len(self._errors) == 1:
            raise self._errors[0]
        is_missing = all(isinstance(error, FileNotFoundError) for error in self._errors)
        kind = FileNotFoundError if is_missing else InputError
        lines = [f"{len(self._errors)} databases are missing or broken:", *map(str, self._errors)]
        raise kind("\n".join(lines))


@contextlib.contextmanager
def name_failure(db_id: str) -> Iterator[None]:
    """Turn what the hub refuses into the error that names a database."""
    try:
        yield
    except HubError as error:
        raise FileNotFoundError(f"Failed to download database: {db_id}: {error}") from error


def make_databases(
    sources: dict[str, DatabaseSource],
    paths: dict[str, Path],
    limits: Limits,
    *,
    on_made: Callable[[str], None],
) -> None:
    """Make the file of every source; an archive is fetched once for all that are in it.

    A database that is missing or broken is named at the end, when all others are made. Where the
    hub does not answer, that is the end.
    """
    archives: dict[tuple[str, ...], zipfile.ZipFile] = {}
    failures = Failures()
    with contextlib.ExitStack() as stack:
        for name in track_progress(sources, "download_databases", unit="database"):
            source, path = sources[name], paths[name]
            kind = source.origin["kind"]
            if kind not in (FILE, SQL, FILES, ARCHIVE):
                raise ValueError(f"Database {name}: unknown kind of origin {kind!r}")
            if kind == FILES:
                with name_failure(name):
                    fetched = fetch_file(*_name_place(source), limits=limits, check=check_database)
            elif kind == ARCHIVE and _name_place(source) not in archives:
                archive = stack.enter_context(_open_archive(name, source, path, limits))
                archives[_name_place(source)] = archive
            with failures.collect():
                if kind == FILE:
                    copy_database(source.path, path, sha256=source.origin["sha256"])
                elif kind == SQL:
                    build_in_process(source.path, path)
                elif kind == FILES:
                    copy_database(fetched, path)
                else:
                    _extract_member(archives[_name_place(source)], name, source.origin, path)
                if source.filling is not None:
                    fill_file(path, source.filling)
                on_made(name)
    failures.raise_all()


def _name_place(source: DatabaseSource) -> tuple[str, str, str]:
    """The repository, its revision and the path of a file on the hub."""
    return (source.origin["repo_id"], source.origin["revision"], source.origin["path"])


@contextlib.contextmanager
def _open_archive(
    name: str, source: DatabaseSource, path: Path, limits: Limits
) -> Iterator[zipfile.ZipFile]:
    """The archive of a source, fetched beside the databases' directory, removed at the end."""
    beside = path.parent.parent.absolute().parent
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=".download-", dir=beside if os.access(beside, os.W_OK) else None
    ) as directory:
        with name_failure(name):
            fetched = fetch_file(
                *_name_place(source),
                limits=limits,
                sha256=source.origin.get("sha256"),
                check=_check_archive,
                directory=Path(directory),
            )
        with zipfile.ZipFile(fetched) as archive:
            yield archive


def _check_archive(path: Path) -> None:
    if not zipfile.is_zipfile(path):
        raise ValueError("not a whole zip file")


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
            raise InputError(
                f"Corrupt database: {member} has {file.tell()} bytes, expected {info.file_size}"
            )
