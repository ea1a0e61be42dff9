"""Every chosen database is one whole SQLite file whose origin and checksum the manifest states.

The directory of databases may hold links into DVC's cache: a file is replaced, never written into.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
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
    replace_database,
)
from answerkey.corpus.descriptions import FOLDER, read_descriptions
from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.corpus.source_questions import list_db_ids, read_source_questions
from answerkey.corpus.text_databases import build_in_process
from answerkey.errors import InputError
from answerkey.log import track_progress
from answerkey.records import (
    DESCRIPTIONS,
    hash_file,
    hash_value,
    read_manifest,
    write_json,
    write_manifest,
)
from answerkey.sections.corpora import ARCHIVE, FILES, Archive, Download
from answerkey.sqlite.files import check_db_ids, open_database
from answerkey.sqlite.schema import encode_schema, read_schema

FILE, SQL = "file", "sql"  # kinds of databases in a directory
MANIFEST = "manifest.json"

# Only a corpus whose entry sets fill_empty loads this module and the rooms behind it, so that they
# are no deps of the stage. Raise the number if they make other rows: then all filled databases are
# made again.
_FILLING = "answerkey.corpus.filling"
_FILLING_VERSION = 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What is added to a database: rows up to so many a table, and rows for its gold queries."""

    rows: int
    gold_sql: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """What a database file must be made from. `origin` goes to the manifest and names no machine;
    `path` is the local source, if there is one."""

    origin: dict[str, str]
    path: Path | None = None
    filling: Filling | None = None


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
    corpus: Corpus | None = None,
    limits: Download | None = None,
) -> dict[str, Path]:
    """The path of each database, by id, sorted: `output_dir/ID/ID.sqlite`. A file that passes the
    checks stays; what is missing is made. Spider's from the hub, if no corpus is given.

    Raises:
        FileNotFoundError: "Failed to download database: ID: ...".
        ValueError: on a corrupt database or SQL text that does not run; with all of them.
    """
    checked = sorted(check_db_ids(db_ids))
    paths = {db_id: locate_database(Path(output_dir), db_id) for db_id in checked}
    missing = [db_id for db_id, path in paths.items() if not _is_whole(path)]
    if missing:
        if corpus is None or limits is None:
            spider, spider_limits = read_spider()
            corpus, limits = corpus or spider, limits or spider_limits
        with name_failure(missing[0]):
            sources = locate_databases(corpus, missing, limits=limits)
        make_databases(sources, paths, limits, made=set())
    return paths


def _is_whole(path: Path) -> bool:
    try:
        check_database(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return True


def update_databases(corpora: Iterable[Corpus], output_dir: Path, *, limits: Download) -> Downloads:
    """Make `output_dir` hold the databases of some corpora, with what these say of their columns,
    the manifest and nothing else. The next run keeps what a run has made that fails.

    Raises as `locate_all`, `make_databases` and `read_descriptions`.
    """
    manifest_path = output_dir / MANIFEST
    sources = locate_all(corpora, limits=limits)
    try:
        manifest = read_manifest(manifest_path)
    except (FileNotFoundError, InputError):
        manifest = {}  # then nothing is kept
    removed = _remove_others(output_dir, sources)
    paths = {name: locate_database(output_dir, name) for name in sources}
    current = _find_current(sources, paths, manifest)
    made = set(current)
    missing = {name: source for name, source in sources.items() if name not in current}
    try:
        make_databases(missing, paths, limits, made=made)
    finally:
        if made:
            entries = (
                (name, _describe(paths[name], sources[name], current.get(name)))
                for name in sorted(made)
            )
            write_manifest(manifest_path, entries)
    for name, source in sources.items():
        if source.path is not None and (folder := source.path.with_name(FOLDER)).is_dir():
            write_json(paths[name].with_name(DESCRIPTIONS), read_descriptions(folder))
    return Downloads(paths, len(current), removed)


def locate_all(corpora: Iterable[Corpus], *, limits: Download) -> dict[str, DatabaseSource]:
    """What the file of each database of some corpora must be made from, by name, sorted. Raises as
    `list_db_ids`, `name_databases` and `locate_databases`."""
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
            if corpus.fill_empty is not None:
                located = _plan_fillings(corpus, located, limits)
            sources |= {names[db_id]: source for db_id, source in located.items()}
    return dict(sorted(sources.items()))


def locate_databases(
    corpus: Corpus, db_ids: Iterable[str], *, limits: Download
) -> dict[str, DatabaseSource]:
    """What the file of each database must be made from, by id, sorted. Reads local sources to
    identify them; fetches nothing, but asks the hub what a branch means.

    Raises:
        FileNotFoundError: if a directory does not have a database.
        InputError: if several of its folders do.
        HubError: if the hub does not say what a branch means.
    """
    checked, databases = sorted(check_db_ids(db_ids)), corpus.databases
    if isinstance(databases, DirectoryDatabases):
        _check_root(databases, corpus.owner, checked[0])
        located, failures = {}, _Failures()
        for db_id in checked:
            with failures.collect():
                located[db_id] = _locate_local(databases, corpus.owner, db_id)
        failures.raise_all()
        return located
    is_archive = isinstance(databases, Archive)
    place = {
        "corpus": corpus.owner,
        "kind": ARCHIVE if is_archive else FILES,
        "repo_id": databases.repo_id,
        "revision": resolve_revision(databases.repo_id, databases.revision, limits=limits),
    }
    if is_archive:
        place |= {"path": databases.path}
        place |= {"sha256": databases.sha256} if databases.sha256 is not None else {}
    key, template = ("member", databases.member) if is_archive else ("path", databases.path)
    return {
        db_id: DatabaseSource(place | {key: template.replace("{db_id}", db_id)})
        for db_id in checked
    }


def _check_root(databases: DirectoryDatabases, owner: str, db_id: str) -> None:
    if any((databases.root / folder).is_dir() for folder in databases.folders):
        return
    file = databases.files[0].replace("{db_id}", db_id)
    expected = " or ".join(f"{folder}/{file}" for folder in databases.folders)
    words = describe_root(
        owner, databases.root, databases.folders[0], [expected], section="databases"
    )
    raise FileNotFoundError(f"Failed to download database: {db_id}: {words}")


def _locate_local(databases: DirectoryDatabases, owner: str, db_id: str) -> DatabaseSource:
    """The .sqlite rather than the text: in a Spider release, the schema.sql beside it is often in
    another dialect and has no rows."""
    files = [file.replace("{db_id}", db_id) for file in databases.files]
    places = [databases.root / folder for folder in databases.folders]
    # A database is found by its folder, if it has one, whatever is in it.
    tops = [place / files[0].split("/")[0] for place in places]
    if len(found := [str(top) for top in tops if top.exists()]) > 1:
        raise InputError(f"Database {db_id} is in {' and in '.join(found)}: expected it once")
    for path in (place / file for place in places for file in files):
        if path.is_file():
            relative = path.relative_to(databases.root).as_posix()
            kind = SQL if path.suffix == ".sql" else FILE
            origin = {"corpus": owner, "kind": kind, "path": relative}
            return DatabaseSource(origin | {"sha256": hash_file(path)}, path)
    if found:
        inside = ", ".join(sorted(path.name for path in Path(found[0]).iterdir())[:5])
        looked = f"in {found[0]}, which has {inside or 'nothing'}"
    else:
        close = suggest_names(db_id, databases.list_ids())
        looked = f"in folder {db_id} of {databases}; {close}"
    names = [file.rpartition("/")[2] for file in files]
    raise FileNotFoundError(
        f"Failed to download database: {db_id}: neither {' nor '.join(names)} {looked}"
    )


def _plan_fillings(
    corpus: Corpus, located: Mapping[str, DatabaseSource], limits: Download
) -> dict[str, DatabaseSource]:
    """The sources with what is added to each; its origin has other words for another filling."""
    rows = corpus.fill_empty
    queries: dict[str, dict[str, None]] = {db_id: {} for db_id in located}
    for question in read_source_questions(corpus, limits=limits):
        if question.db_id in queries:
            queries[question.db_id][question.query] = None
    filled = {}
    for db_id, source in located.items():
        filling = Filling(rows, tuple(queries[db_id]))
        words = hash_value([_FILLING_VERSION, rows, filling.gold_sql])
        origin = source.origin | {"fill_empty": str(rows), "filled_for": words}
        filled[db_id] = replace(source, origin=origin, filling=filling)
    return filled


def make_databases(
    sources: Mapping[str, DatabaseSource],
    paths: Mapping[str, Path],
    limits: Download,
    *,
    made: set[str],
) -> None:
    """Make the file of every source, and add its name to `made`; an archive is fetched once.

    A hub that does not answer is the end.

    Raises:
        FileNotFoundError, InputError: naming all databases that are missing or broken, when all
            others are made.
    """
    archives: dict[tuple[str, ...], zipfile.ZipFile] = {}
    failures = _Failures()
    with contextlib.ExitStack() as stack:
        for name in track_progress(sources, "download_databases", unit="database"):
            source, path = sources[name], paths[name]
            kind = source.origin["kind"]
            if kind == FILES:
                with name_failure(name):
                    fetched = fetch_file(*_name_place(source), limits=limits, check=check_database)
            elif kind == ARCHIVE and _name_place(source) not in archives:
                archive = stack.enter_context(_open_archive(name, source, path, limits))
                archives[_name_place(source)] = archive
            with failures.collect():
                match kind:
                    case "file":
                        copy_database(source.path, path, sha256=source.origin["sha256"])
                    case "sql":
                        build_in_process(source.path, path)
                    case "files":
                        copy_database(fetched, path)
                    case "archive":
                        _extract_member(archives[_name_place(source)], name, source.origin, path)
                    case _:
                        raise ValueError(f"Database {name}: unknown kind of origin {kind!r}")
                if source.filling is not None:
                    _fill(path, source.filling)
                made.add(name)
    failures.raise_all()


def _fill(path: Path, filling: Filling) -> None:
    """Put the filled copy of a database in its place, if it can and needs to be filled."""
    filling_module = importlib.import_module(_FILLING)
    content = filling_module.fill_database(path, filling.gold_sql, rows=filling.rows)
    if content is not None:
        with replace_database(path) as file:
            file.write(content)


def _name_place(source: DatabaseSource) -> tuple[str, str, str]:
    return (source.origin["repo_id"], source.origin["revision"], source.origin["path"])


@contextlib.contextmanager
def _open_archive(
    name: str, source: DatabaseSource, path: Path, limits: Download
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


class _Failures:
    """What could not be done, of several things that do not depend on each other."""

    def __init__(self) -> None:
        self._errors: list[InputError | FileNotFoundError] = []

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        try:
            yield
        except (InputError, FileNotFoundError) as error:
            self._errors.append(error)

    def raise_all(self) -> None:
        """Raise the error, or one with a line for each of them; nothing if all went well."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            is_missing = all(isinstance(error, FileNotFoundError) for error in self._errors)
            kind = FileNotFoundError if is_missing else InputError
            first = f"{len(self._errors)} databases are missing or broken:"
            raise kind("\n".join([first, *map(str, self._errors)]))


@contextlib.contextmanager
def name_failure(db_id: str) -> Iterator[None]:
    """Turn a refusal of the hub into the error that names a database."""
    try:
        yield
    except HubError as error:
        raise FileNotFoundError(f"Failed to download database: {db_id}: {error}") from error


def read_tables(db_id: str, path: Path) -> dict[str, Any]:
    with contextlib.closing(open_database(path)) as connection:
        return {"database_name": db_id, "tables": encode_schema(read_schema(connection))}


def _describe(path: Path, source: DatabaseSource, sha256: str | None) -> dict[str, Any]:
    """The manifest's entry for a file, which is read once more only if its sha256 is not known."""
    if sha256 is None and source.origin["kind"] == FILE and source.filling is None:
        sha256 = source.origin["sha256"]  # a copy
    return {
        "sha256": sha256 or hash_file(path),
        "size_bytes": path.stat().st_size,
        "origin": source.origin,
    }


def _find_current(
    sources: Mapping[str, DatabaseSource],
    paths: Mapping[str, Path],
    manifest: Mapping[str, Mapping[str, Any]],
) -> dict[str, str]:
    """sha256 of the databases that are, byte for byte, what manifest and sources want, by name."""
    current = {}
    for name, source in sources.items():
        entry, path = manifest.get(name, {}), paths[name]
        is_wanted = entry.get("origin") == source.origin and path.is_file()
        if is_wanted and (sha256 := hash_file(path)) == entry.get("sha256"):
            current[name] = sha256
    return current


def _remove_others(output_dir: Path, db_ids: Collection[str]) -> int:
    """Remove all but the manifest and the listed databases; how many folders or files that was at
    the top: databases no longer listed, and leftovers of a run that was cut short.

    A link is removed itself, never what it points to.
    """
    if not output_dir.is_dir():
        return 0
    removed = 0
    for entry in sorted(output_dir.iterdir()):
        if entry.name in db_ids and entry.is_dir() and not entry.is_symlink():
            for file in entry.iterdir():
                if file.name != f"{entry.name}.sqlite" or (file.is_dir() and not file.is_symlink()):
                    _remove(file)
        elif entry.name != MANIFEST:
            _remove(entry)
            removed += 1
    return removed


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()
