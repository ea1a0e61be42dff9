"""Where the file of each database comes from, exactly, and how it is made from there."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.corpus.corpora import (
    Corpus,
    DirectoryDatabases,
    describe_root,
    name_databases,
    read_spider,
    suggest_names,
)
from answerkey.corpus.databases import (
    check_database,
    copy_database,
    locate_database,
    open_database,
    replace_database,
)
from answerkey.corpus.filling import Filling, fill_file, plan_fillings
from answerkey.corpus.hub import HubError, Limits, fetch_file, resolve_revision
from answerkey.corpus.source_questions import list_db_ids
from answerkey.corpus.text_databases import build_in_process
from answerkey.errors import InputError
from answerkey.log import track_progress
from answerkey.params import ARCHIVE, FILES
from answerkey.records import hash_file, read_manifest, write_manifest
from answerkey.sqlite.files import check_db_ids
from answerkey.sqlite.schema import encode_schema, read_schema

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


# Every chosen database is one whole SQLite file whose origin and checksum the manifest states.
#
# The directory of databases may hold links into DVC's cache: a file is replaced, never written
# into, and whatever does not belong there is removed.


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
