"""Database files: where a worker finds a database, on whatever machine it works.

A database lies at a path, which on a cluster is on a shared mount, or under a URL
(`execution.databases_url`), as in `data/databases`: NAME/NAME.sqlite. Each machine fetches it once,
into a temporary folder that is named by its sha256.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.records import hash_file
from answerkey.sqlite.files import find_inside


class Database(NamedTuple):
    """What a worker on any machine needs to know to open a database.

    place: a path, or a URL.
    """

    place: Path | str
    sha256: str


def find_database(
    databases_dir: Path, name: str, *, sha256: str, databases_url: str | None
) -> Database:
    """A database by its name.

    >>> find_database(Path("d"), "car_1", sha256="e3b0", databases_url="s3://bucket/spider/")
    Database(place='s3://bucket/spider/car_1/car_1.sqlite', sha256='e3b0')
    """
    path = f"{name}/{name}.sqlite"
    if databases_url is None:
        return Database(find_inside(databases_dir.absolute(), path), sha256)
    return Database(f"{databases_url.rstrip('/')}/{path}", sha256)


def local_path(database: Database) -> Path:
    """Where the database lies on this machine, fetched if it does not yet.

    Raises:
        OSError: if it cannot be fetched.
        InputError: if what lies under the URL is not the database of the manifest.
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
    except Exception as error:  # of whatever library speaks to the URL; few can be pickled
        words = f"{type(error).__name__}: {error}"
        raise OSError(f"Cannot fetch the database {database.place}: {words}") from error
    if (sha256 := hash_file(partial)) != database.sha256:
        raise InputError(
            f"{database.place}: expected sha256 {database.sha256} (the manifest), found {sha256}"
        )
    partial.replace(path)
