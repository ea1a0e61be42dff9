"""Make every chosen database one whole file; the manifest has its origin and checksum.

A database of SQLite is a file of it. One of another engine is the SQL text that makes it.

The directory of databases may have links into DVC's cache: a file is replaced, never changed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import track_progress
from answerkey.base.records import (
    DESCRIPTIONS,
    ManifestEntry,
    hash_file,
    read_manifest,
    write_json,
    write_manifest,
)
from answerkey.corpus.corpora import (
    PAGE,
    Corpus,
    DirectoryDatabases,
    choose_spider,
    list_db_ids,
    name_databases,
)
from answerkey.corpus.databases import (
    DESCRIPTION_FOLDER,
    UnreadableDatabaseError,
    build_in_process,
    check_database,
    copy_database,
    find_settings,
    locate_database,
    read_descriptions,
    replace_database,
    write_database_text,
)
from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.engines.names import ENGINES, SQLITE
from answerkey.engines.opening import find_engine
from answerkey.engines.schema import encode_schema
from answerkey.engines.sqlite.files import check_db_ids
from answerkey.sections.corpora import ARCHIVE, FILES, Archive, Download

FILE, SQL = "file", "sql"  # kinds of databases in a directory
MANIFEST = "manifest.json"


class DatabaseSource(NamedTuple):
    """The source of a database: `origin`, for the manifest, names no machine; `path`, if it is
    local; its engine, and the settings that its corpus gives."""

    origin: dict[str, str]
    path: Path | None = None
    engine: str = SQLITE
    settings: Mapping[str, str] = MappingProxyType({})


class Downloads(NamedTuple):
    """The paths of all databases by name; how many were kept unchanged; and the fault of each other
    one."""

    paths: dict[str, Path]
    kept: int
    unreadable: dict[str, str]


def download_spider_databases(
    db_ids: Iterable[str],
    output_dir: str | os.PathLike[str],
    *,
    corpus: Corpus | None = None,
    limits: Download | None = None,
) -> dict[str, Path]:
    """Return the path of each database, by id, sorted: `output_dir/ID/ID.sqlite`. A file that
    passes the checks is kept; a missing one is made. The default corpus is Spider from the hub.

    Raises:
        FileNotFoundError: "Failed to download database: ID: ...".
        ValueError: a database is corrupt, or SQL text does not run; names all of them.
    """
    checked = sorted(check_db_ids(db_ids))
    paths = {db_id: locate_database(Path(output_dir), db_id) for db_id in checked}
    missing = []
    for db_id, path in paths.items():
        try:
            check_database(path)
        except (OSError, ValueError):
            missing.append(db_id)
    if missing:
        corpus, limits = choose_spider(corpus, limits)
        made = _make(_locate(corpus, missing, limits), paths, limits)
        if errors := [str(error) for _, error in made if error is not None]:
            raise InputError("\n".join(errors))
    return paths


def update_databases(corpora: Iterable[Corpus], output_dir: Path, *, limits: Download) -> Downloads:
    """Make `output_dir` hold the databases of some corpora, their descriptions of columns, the
    manifest, and nothing else. The manifest has the fault of each database that cannot be read.

    Nothing changes there before all databases are made, in a folder beside it. A run that fails
    leaves the former ones, and the next run uses what this one has made.

    Raises:
        FileNotFoundError, InputError: names all missing databases, after all others are made; or a
            hub does not answer; or no database can be read.
    """
    sources = locate_all(corpora, limits=limits)
    staging = output_dir.with_name(f".{output_dir.name}.partial")
    hashes = _find_made(output_dir, sources)
    missing = {name: source for name, source in sources.items() if name not in hashes}
    made = _find_made(staging, missing)
    _remove_others(staging, made)
    staged = {name: locate_database(staging, name, missing[name].engine) for name in missing}
    broken: dict[str, UnreadableDatabaseError] = {}
    try:
        left = {name: source for name, source in missing.items() if name not in made}
        for name, error in _make(left, staged, limits):
            if error is None:
                made[name] = hash_file(staged[name])
            else:
                broken[name] = error
        if not (hashes or made):
            raise InputError("\n".join(map(str, broken.values())))
    finally:
        if made:
            _write_manifest(staging, made, sources)
    descriptions = {name: _describe(sources[name]) for name in {*hashes, *made}}

    paths = {
        name: locate_database(output_dir, name, source.engine)
        for name, source in sources.items()
        if name not in broken
    }
    for name in made:
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        staged[name].replace(paths[name])
        for engine in ENGINES:  # which the database had before
            if engine != sources[name].engine:
                locate_database(output_dir, name, engine).unlink(missing_ok=True)
    for name, texts in descriptions.items():
        path = paths[name].with_name(DESCRIPTIONS)
        if texts is not None:
            write_json(path, texts)
        else:
            path.unlink(missing_ok=True)
    faults = {name: _name_fault(sources[name], error) for name, error in broken.items()}
    _write_manifest(output_dir, hashes | made, sources, faults)
    _remove_others(output_dir, paths)
    shutil.rmtree(staging, ignore_errors=True)
    return Downloads(paths, len(hashes), faults)


def _find_made(folder: Path, sources: Mapping[str, DatabaseSource]) -> dict[str, str]:
    """Return the sha256, by name, of each database of a folder that is byte for byte the one of its
    manifest, and has the wanted source."""
    try:
        manifest = read_manifest(folder / MANIFEST)
    except (FileNotFoundError, InputError):
        return {}
    hashes = {}
    for name, source in sources.items():
        entry, path = manifest.get(name), locate_database(folder, name, source.engine)
        if entry is None or entry.get("origin") != source.origin or not path.is_file():
            continue
        if (entry.get("engine", SQLITE), entry.get("settings", {})) != _name_engine(source):
            continue
        if (sha256 := hash_file(path)) == entry.get("sha256"):
            hashes[name] = sha256
    return hashes


def _write_manifest(
    folder: Path,
    hashes: Mapping[str, str],
    sources: Mapping[str, DatabaseSource],
    faults: Mapping[str, str] = MappingProxyType({}),
) -> None:
    entries: dict[str, ManifestEntry] = {}
    for name in sorted(hashes):
        engine, settings = _name_engine(sources[name])
        path = locate_database(folder, name, engine)
        entries[name] = {
            "sha256": hashes[name],
            "size_bytes": path.stat().st_size,
            "origin": sources[name].origin,
        }
        if engine != SQLITE:
            place = path.relative_to(folder).as_posix()
            entries[name] |= {"path": place, "engine": engine, "settings": settings}
    write_manifest(folder / MANIFEST, entries, faults)


def _name_engine(source: DatabaseSource) -> tuple[str, Mapping[str, str]]:
    """Return the engine of a database and its settings, with those that its text has."""
    if source.engine == SQLITE or source.path is None:
        return source.engine, {}
    return source.engine, find_settings(source.path, source.engine, source.settings)


def _name_fault(source: DatabaseSource, error: UnreadableDatabaseError) -> str:
    """Return the fault of a file with the corpus's name for it: its path would name a machine."""
    return f"{source.origin.get('member', source.origin['path'])}: {error.fault}"


def _describe(source: DatabaseSource) -> dict[str, Any] | None:
    folder = source.path and source.path.with_name(DESCRIPTION_FOLDER)
    return read_descriptions(folder) if folder and folder.is_dir() else None


def locate_all(corpora: Iterable[Corpus], *, limits: Download) -> dict[str, DatabaseSource]:
    """Return the source of each database of some corpora, by name, sorted."""
    chosen = [(corpus, list_db_ids(corpus, limits=limits)) for corpus in corpora]
    named = name_databases(chosen)
    sources: dict[str, DatabaseSource] = {}
    for corpus, _ in chosen:
        names = {db_id: name for name, (first, db_id) in named.items() if first is corpus}
        located = _locate(corpus, sorted(names), limits) if names else {}
        sources |= {names[db_id]: source for db_id, source in located.items()}
    return dict(sorted(sources.items()))


def _locate(corpus: Corpus, db_ids: list[str], limits: Download) -> dict[str, DatabaseSource]:
    """As `locate_all`. Downloads nothing, but asks the hub for the commit of a branch."""
    databases = corpus.databases
    if isinstance(databases, DirectoryDatabases):
        return _locate_local(databases, corpus, db_ids)
    with _name_failure(db_ids[0]):
        revision = resolve_revision(databases.repo_id, databases.revision, limits=limits)
    kind = ARCHIVE if isinstance(databases, Archive) else FILES
    origin = {"corpus": corpus.owner, "kind": kind}
    origin |= {"repo_id": databases.repo_id, "revision": revision, "path": databases.path}
    key, template = "path", databases.path
    if isinstance(databases, Archive):
        key, template = "member", databases.member
        if databases.sha256 is not None:
            origin["sha256"] = databases.sha256
    return {
        db_id: DatabaseSource(origin | {key: template.replace("{db_id}", db_id)})
        for db_id in db_ids
    }


def _locate_local(
    databases: DirectoryDatabases, corpus: Corpus, db_ids: list[str]
) -> dict[str, DatabaseSource]:
    located, missing = {}, []
    for db_id in db_ids:
        candidates = databases.list_places(db_id)
        path = next((path for path in candidates if path.is_file()), None)
        if path is None:
            missing.append(
                f"Failed to download database: {db_id}: no {' and no '.join(map(str, candidates))}"
                f" (corpora.{corpus.owner}.root and .databases in params.yaml; {PAGE})"
            )
            continue
        origin = {
            "corpus": corpus.owner,
            "kind": SQL if path.suffix == ".sql" else FILE,
            "path": path.relative_to(databases.root).as_posix(),
            "sha256": hash_file(path),
        }
        if path.suffix == ".sql" and corpus.now is not None:
            origin["now"] = corpus.now  # its text may make other rows at another instant
        located[db_id] = DatabaseSource(origin, path, corpus.engine, corpus.settings)
    if missing:
        raise FileNotFoundError("\n".join(missing))
    return located


def _make(
    sources: Mapping[str, DatabaseSource], paths: Mapping[str, Path], limits: Download
) -> Iterator[tuple[str, UnreadableDatabaseError | None]]:
    """Make the file of every source. Yield the names of those that are made, and of those whose
    files are at fault, with the fault. An error at the end names all that failed for other
    reasons."""
    fetch = functools.cache(functools.partial(fetch_file, limits=limits))
    errors: list[Exception] = []
    for name in track_progress(sources, "databases", total=len(sources), unit="databases"):
        (origin, local, engine, settings), path = sources[name], paths[name]
        kind = origin["kind"]
        if local is None:
            with _name_failure(name):
                address = (origin["repo_id"], origin["revision"], origin["path"])
                local = fetch(*address, sha256=origin.get("sha256"))
        try:
            if engine != SQLITE:
                write_database_text(local, path, engine, settings, now=origin.get("now"))
            elif kind == SQL:
                build_in_process(local, path, now=origin.get("now"))
            elif kind == ARCHIVE:
                _extract_member(local, name, origin, path)
            else:
                copy_database(local, path)
            yield name, None
        except UnreadableDatabaseError as error:
            yield name, error
        except (InputError, FileNotFoundError) as error:
            errors.append(error)
    if errors:
        is_missing = all(isinstance(error, FileNotFoundError) for error in errors)
        raise (FileNotFoundError if is_missing else InputError)("\n".join(map(str, errors)))


def _extract_member(packed: Path, name: str, origin: Mapping[str, str], path: Path) -> None:
    where = f"{origin['member']} in {origin['path']} of {origin['repo_id']} at {origin['revision']}"
    try:
        with (
            zipfile.ZipFile(packed) as archive,
            archive.open(origin["member"]) as content,
            replace_database(path) as file,
        ):
            shutil.copyfileobj(content, file)
    except KeyError:
        raise FileNotFoundError(
            f"Failed to download database: {name}: no member {where}; remove it from db_list"
        ) from None
    except zipfile.BadZipFile as error:
        raise UnreadableDatabaseError(f"Corrupt database: {where}", str(error)) from error


@contextlib.contextmanager
def _name_failure(db_id: str) -> Iterator[None]:
    try:
        yield
    except HubError as error:
        raise FileNotFoundError(f"Failed to download database: {db_id}: {error}") from error


def read_tables(db_id: str, path: Path) -> dict[str, Any]:
    """Return the record of a database's schema."""
    return {"database_name": db_id, "tables": encode_schema(find_engine(path).read_schema(path))}


def _remove_others(output_dir: Path, names: Iterable[str]) -> None:
    """Remove everything but the manifest and the folders of these databases. A link itself is
    removed, never its target."""
    kept = {MANIFEST, *names}
    for entry in output_dir.iterdir() if output_dir.is_dir() else ():
        if entry.name not in kept:
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
