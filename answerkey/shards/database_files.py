"""Find the file of a database on any machine.

A database is at a path (on a cluster on a shared mount) or under a URL
(`execution.databases_url`), with the names of `data/databases`: NAME/NAME.sqlite, or
NAME/NAME.duckdb.sql for one of another engine, from whose text each machine builds it. Each machine
downloads a database once, into a temporary folder whose name is its sha256.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import hash_file
from answerkey.engines.opening import find_database_file
from answerkey.engines.sqlite.files import find_inside


class Database(NamedTuple):
    """The data with which a worker on any machine opens a database.

    place: a path, or a URL.
    """

    place: Path | str
    sha256: str


def find_database(
    databases_dir: Path, name: str, *, sha256: str, databases_url: str | None
) -> Database:
    """Return a database by its name. Its engine is that of the file in `databases_dir`.

    >>> find_database(Path("d"), "car_1", sha256="e3b0", databases_url="s3://bucket/spider/")
    Database(place='s3://bucket/spider/car_1/car_1.sqlite', sha256='e3b0')
    """
    path = Path(find_database_file(databases_dir.absolute(), name))
    if databases_url is None:
        return Database(path, sha256)
    return Database(f"{databases_url.rstrip('/')}/{name}/{path.name}", sha256)


def local_path(database: Database) -> Path:
    """Return the path of the database on this machine; download it first if it is not here.

    Raises:
        OSError: the download fails.
        InputError: the file under the URL is not the database of the manifest.
    """
    if isinstance(database.place, Path):
        return database.place
    fetched = Path(tempfile.gettempdir()) / f"answerkey-{os.getuid()}"
    fetched.mkdir(mode=0o700, exist_ok=True)
    path = find_inside(fetched, database.sha256) / database.place.rpartition("/")[2]
    if not path.is_file():
        _fetch(database, path)
    return path


def _fetch(database: Database, path: Path) -> None:
    import fsspec

    path.parent.mkdir(exist_ok=True)
    partial = path.with_name(str(os.getpid()))
    try:
        filesystem, remote_path = fsspec.url_to_fs(database.place)
        filesystem.get_file(remote_path, str(partial))
    except Exception as error:  # of any library that reads the URL; few of them can be pickled
        words = f"{type(error).__name__}: {error}"
        raise OSError(f"Cannot fetch the database {database.place}: {words}") from error
    if (sha256 := hash_file(partial)) != database.sha256:
        raise InputError(
            f"{database.place}: expected sha256 {database.sha256} (the manifest), found {sha256}"
        )
    partial.replace(path)
