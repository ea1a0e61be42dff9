"""Database files: where a worker finds a database, on whatever machine it works.

A database lies at a path, which on a cluster is one of a shared mount, or under a URL
(`execution.databases_url`) as in `data/databases`: NAME/NAME.sqlite. From there each machine
fetches it once, into a folder for temporary files that the manifest's sha256 names; what has
another sha256 is never used. fsspec knows the kinds of URL; its own file cache would show other
workers a file that is half fetched.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stages.errors import InputError
from stages.records import hash_file


class RemoteDatabase(NamedTuple):
    """A database under a URL."""

    url: str
    sha256: str


Database = Path | RemoteDatabase
_ATTEMPTS = 3
_BACKOFF_S = 1.0  # times the number of the attempt
_verified: set[Path] = set()  # by this process


def find_database(
    databases_dir: Path, name: str, *, sha256: str, databases_url: str | None
) -> Database:
    """What a worker on any machine needs to know to open a database.

    >>> find_database(Path("d"), "car_1", sha256="e3b0", databases_url="s3://bucket/spider/")
    RemoteDatabase(url='s3://bucket/spider/car_1/car_1.sqlite', sha256='e3b0')
    """
    if databases_url is None:
        return (databases_dir / name / f"{name}.sqlite").absolute()
    return RemoteDatabase(f"{databases_url.rstrip('/')}/{name}/{name}.sqlite", sha256)


def local_path(database: Database) -> Path:
    """Where the database lies on this machine, fetched if it does not yet; what fails is tried
    again, unless there is no such file.

    Raises:
        OSError: where it cannot be fetched.
        InputError: where what lies there is not the database of the manifest.
    """
    if isinstance(database, Path):
        return database
    fetched = Path(tempfile.gettempdir()) / f"answerkey-{os.getuid()}"
    folder = fetched / database.sha256
    path = folder / database.url.rpartition("/")[2]
    if path in _verified and path.is_file():
        return path
    fetched.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)
    with _hold_lock(folder / "lock"):
        if not path.is_file() or hash_file(path) != database.sha256:
            _fetch(database, path)
    _verified.add(path)
    return path


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
