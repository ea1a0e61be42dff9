"""Database files: where a worker finds a database, on whatever machine it works.

A database lies at a path, which on a cluster is on a shared mount, or under a URL
(`execution.databases_url`). Below the URL it lies as in `data/databases`: NAME/NAME.sqlite. Each
machine fetches it once, into a temporary folder that is named by its sha256. A file is never used
where its sha256 is not the manifest's.

fsspec reads the URL. Its own file cache is not used: it shows workers a file that is half fetched.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from answerkey.errors import InputError
from answerkey.records import hash_file
from answerkey.sqlite.files import find_inside


class LocalDatabase(NamedTuple):
    """A database at a path."""

    path: Path
    sha256: str


class RemoteDatabase(NamedTuple):
    """A database under a URL."""

    url: str
    sha256: str


Database = LocalDatabase | RemoteDatabase
_ATTEMPTS = 3
_BACKOFF_S = 1.0  # times the number of the attempt
# By this process, of a path with its size and time: a file is read again where one of them changes.
_hashes: dict[tuple[Path, int, int], str] = {}


def find_database(
    databases_dir: Path, name: str, *, sha256: str, databases_url: str | None
) -> Database:
    """What a worker on any machine needs to know to open a database.

    >>> find_database(Path("d"), "car_1", sha256="e3b0", databases_url="s3://bucket/spider/")
    RemoteDatabase(url='s3://bucket/spider/car_1/car_1.sqlite', sha256='e3b0')
    """
    if databases_url is None:
        return LocalDatabase(find_inside(databases_dir.absolute(), f"{name}/{name}.sqlite"), sha256)
    return RemoteDatabase(f"{databases_url.rstrip('/')}/{name}/{name}.sqlite", sha256)


def local_path(database: Database) -> Path:
    """Where the database lies on this machine, fetched if it does not yet; what fails is tried
    again, unless there is no such file.

    Raises:
        FileNotFoundError: where there is no file at its path.
        OSError: where it cannot be fetched.
        InputError: where what lies there is not the database of the manifest.
    """
    if isinstance(database, LocalDatabase):
        _check_file(database)
        return database.path
    fetched = Path(tempfile.gettempdir()) / f"answerkey-{os.getuid()}"
    folder = find_inside(fetched, database.sha256)
    path = folder / database.url.rpartition("/")[2]
    if path.is_file() and _hash_once(path) == database.sha256:
        return path
    fetched.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)
    with _hold_lock(folder / "lock"):
        if not path.is_file() or _hash_once(path) != database.sha256:
            _fetch(database, path)
    return path


def _hash_once(path: Path) -> str:
    status = path.stat()
    state = (path, status.st_size, status.st_mtime_ns)
    if state not in _hashes:
        _hashes[state] = hash_file(path)
    return _hashes[state]


def _check_file(database: LocalDatabase) -> None:
    path, sha256 = database
    if not path.is_file():
        raise FileNotFoundError(f"No database at {path}: run `dvc repro download_databases`")
    found = _hash_once(path)
    if found != sha256:
        raise InputError(
            f"Database {path.stem} is not the one of the manifest: expected sha256 {sha256}, found"
            f" {found} in {path}. It was changed or replaced: run `dvc repro download_databases`,"
            " which makes it again"
        )


def _fetch(database: RemoteDatabase, path: Path) -> None:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _fetch_once(database, path)
        except (OSError, ValueError) as error:
            is_missing = isinstance(error.__cause__, FileNotFoundError)
            if is_missing or attempt == _ATTEMPTS:
                raise
        else:
            return
        time.sleep(_BACKOFF_S * attempt)


def _fetch_once(database: RemoteDatabase, path: Path) -> None:
    import fsspec

    partial = path.with_name("partial")  # of a worker that died, perhaps
    try:
        filesystem, place = fsspec.url_to_fs(database.url)
        filesystem.get_file(place, str(partial))
    except Exception as error:  # of whatever library speaks to the URL; few of them can be pickled
        words = f"{type(error).__name__}: {error}"
        raise OSError(f"Cannot fetch the database {database.url}: {words}") from error
    sha256 = hash_file(partial)
    if sha256 != database.sha256:
        raise InputError(
            f"{database.url}: expected sha256 {database.sha256} (the manifest), found {sha256}"
        )
    partial.replace(path)


@contextlib.contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Workers of this machine one at a time; a worker that dies lets go."""
    import fcntl  # not on Windows, where databases have to lie at a path

    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
