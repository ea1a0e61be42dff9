"""Open databases: a worker keeps those that it was asked for last."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path

from answerkey.sqlite.guard import GuardedDatabase, Limits

_KEPT_DATABASES = 32
_KEPT_STATEMENTS = 128


class OpenDatabases:
    """Databases by path, each opened once, and again where the file has become another one."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: OrderedDict[str, tuple[tuple[int, ...], GuardedDatabase]] = OrderedDict()

    def find(self, path: str) -> tuple[GuardedDatabase, int]:
        """The open database, and the bytes of its file.

        Raises:
            FileNotFoundError: where there is no such file.
            sqlite3.DatabaseError: where it is no database, or a corrupt one.
        """
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"No database at {path}: expected the databases of the dataset in"
                f" {Path(path).parents[1]}; elsewhere, say so by the environment variable"
                " ANSWERKEY_DATABASES"
            ) from None
        version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._open.get(path)
        if known is not None and known[0] == version:
            self._open.move_to_end(path)
            return known[1], status.st_size
        self.close(path)
        database = GuardedDatabase(
            Path(path), self._limits, watchdog=None, kept_statements=_KEPT_STATEMENTS
        )
        self._open[path] = version, database
        if len(self._open) > _KEPT_DATABASES:
            self.close(next(iter(self._open)))
        return database, status.st_size

    def close(self, path: str) -> None:
        """Close a database, if it is open."""
        if path in self._open:
            self._open.pop(path)[1].close()

    def close_others(self, path: str) -> bool:
        """Close all but one; whether there were any."""
        others = [other for other in self._open if other != path]
        for other in others:
            self.close(other)
        return bool(others)
