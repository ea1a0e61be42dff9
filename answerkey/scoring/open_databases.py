"""Open databases: a worker keeps those that it was asked for last."""

from __future__ import annotations

import hashlib
import os
import signal
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path

from answerkey.core.errors import InputError
from answerkey.sqlite.guard import GuardedDatabase, Limits

# Environment variables that say where databases are: those of questions, those of test suites.
DATABASES_VARIABLE = "ANSWERKEY_DATABASES"
SUITES_VARIABLE = "ANSWERKEY_TEST_SUITES"

# 32 databases, each with a test suite of eight. Every one is an open file, of which a process may
# have 1,024, and takes 0.1 MB of memory before it has read a row.
_KEPT_DATABASES = 32 * (1 + 8)
# SQLite keeps up to 2 MB of each file in memory: so many of large ones are kept, and of small ones,
# such as those of test suites, as many as above.
_CACHE_BYTES = 2_048_000
_KEPT_BYTES = 32 * _CACHE_BYTES
# Compiled queries, of 5 kB each: many predictions for one database are alike. On a test suite they
# come again at once, for the same question, or not at all.
_KEPT_STATEMENTS = 128
_KEPT_STATEMENTS_OF_SUITES = 16
_KEPT_HASHES = 1 << 16

Version = tuple[int, ...]  # of a file: another one where it was changed or replaced


class OpenDatabases:
    """Databases by path, each read and opened once, and again where the file has become another."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: OrderedDict[str, tuple[Version, GuardedDatabase]] = OrderedDict()
        self._cached_bytes = 0

    def find(
        self, path: str, *, sha256: str | None = None, is_of_suite: bool = False
    ) -> tuple[GuardedDatabase, int]:
        """The open database, and the bytes of its file.

        sha256: that of the file that the question was made with; None: nobody says.
        is_of_suite: whether it is one of a test suite.

        Raises:
            FileNotFoundError: where there is no such file.
            InputError: where it is another file than that of sha256.
            sqlite3.DatabaseError: where it is no database, or a corrupt one.
        """
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            files = "test suites" if is_of_suite else "databases"
            variable = SUITES_VARIABLE if is_of_suite else DATABASES_VARIABLE
            raise FileNotFoundError(
                f"No database at {path}: expected the {files} of the dataset in"
                f" {Path(path).parents[1]}; elsewhere, say so by the environment variable"
                f" {variable}"
            ) from None
        # Bytes that change without a new mtime change the ctime.
        version = (status.st_size, status.st_dev, status.st_ino, status.st_ctime_ns)
        if sha256 is not None and (found := _hash_file(path, version)) != sha256:
            raise InputError(
                f"{path}: expected sha256 {sha256}, with which its questions were made, found"
                f" {found}: fetch the databases of this version of the dataset"
            )
        known = self._open.get(path)
        if known is not None and known[0] == version:
            self._open.move_to_end(path)
            return known[1], status.st_size
        self.close(path)
        kept = _KEPT_STATEMENTS_OF_SUITES if is_of_suite else _KEPT_STATEMENTS
        database = GuardedDatabase(Path(path), self._limits, watchdog=None, kept_statements=kept)
        self._open[path] = version, database
        self._cached_bytes += min(status.st_size, _CACHE_BYTES)
        while len(self._open) > _KEPT_DATABASES or self._cached_bytes > _KEPT_BYTES:
            self.close(next(iter(self._open)))
        return database, status.st_size

    def close(self, path: str) -> None:
        """Close a database, if it is open."""
        if path in self._open:
            version, database = self._open.pop(path)
            self._cached_bytes -= min(version[0], _CACHE_BYTES)
            database.close()

    def close_others(self, path: str) -> bool:
        """Close all but one; whether there were any."""
        others = [other for other in self._open if other != path]
        for other in others:
            self.close(other)
        return bool(others)


@lru_cache(_KEPT_HASHES)
def _hash_file(path: str, version: Version) -> str:
    """sha256 of a version of a file; the seconds of the prediction that is tried stand still."""
    left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)
