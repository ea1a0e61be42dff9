"""Find the engine of a database by the name of its file, and open it."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from answerkey.base.errors import InputError
from answerkey.engines.names import ENGINES, SQLITE, SUFFIXES, name_engine
from answerkey.engines.sqlite.files import find_inside

if TYPE_CHECKING:
    from answerkey.engines.database import Database, Limits
    from answerkey.engines.engine import Engine


def find_database_file(
    folder: str | os.PathLike[str], name: str, *, engine: str | None = None
) -> str:
    """Return the path of a database in a folder: NAME/NAME with the suffix of its engine.

    >>> find_database_file("data", "shop", engine="duckdb")
    'data/shop/shop.duckdb.sql'

    engine: None: that of the file that is there; SQLite's if none is.

    Raises:
        InputError: the name leads out of the folder.
    """
    if engine is not None:
        return _find_path(os.fspath(folder), name, engine)
    paths = [_find_path(os.fspath(folder), name, known) for known in ENGINES]
    return next(filter(os.path.isfile, paths), paths[0])


@lru_cache(4096)  # a reward asks for the same databases again and again
def _find_path(folder: str, name: str, engine: str) -> str:
    return str(find_inside(folder, f"{name}/{name}{SUFFIXES[engine]}"))


@lru_cache
def load_engine(name: str) -> Engine:
    """Return an engine by its name. What it needs is imported here and nowhere else.

    Raises:
        InputError: there is no such engine, it does not run on this system, or a package that it
            needs is not installed.
    """
    if name not in ENGINES:
        raise InputError(f"engine: expected one of {', '.join(ENGINES)}, found {name!r}")
    if name != SQLITE and sys.platform == "win32":
        raise InputError(f"databases of {name} need Linux or macOS: Windows bounds no query")
    try:
        engine: Engine = import_module(f"answerkey.engines.{name}.engine").ENGINE
    except ModuleNotFoundError as error:
        raise InputError(
            f"databases of {name} need the package {error.name}: pip install 'answerkey[{name}]'"
        ) from error
    return engine


def find_engine(path: str | Path) -> Engine:
    """Return the engine of a database by its path."""
    return load_engine(name_engine(path))


def open_database(path: Path, limits: Limits | None = None, *, now: str | None = None) -> Database:
    """Open a database of any engine for untrusted SQL.

    >>> with open_database(path) as database:                       # doctest: +SKIP
    ...     database.execute("SELECT count(*) FROM ship")
    [(42,)]

    Raises:
        as `Engine.open`, and `load_engine`.
    """
    return find_engine(path).open(path, limits, now=now)
