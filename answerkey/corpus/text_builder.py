"""Databases are built from text in a process beside the stage, which a statement without end can
neither hold up nor bring down.
"""

from __future__ import annotations

import contextlib
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import TracebackType
from typing import Self

from answerkey.core.errors import InputError
from answerkey.corpus.databases import replace_database
from answerkey.corpus.text_databases import build_database
from answerkey.corpus.text_execution import BuildLimits
from answerkey.shards.process_pool import ProcessPool
from answerkey.shards.side_process import open_side_process


class TextBuilder:
    """One process for any number of texts, started for the first of them; use it as a context
    manager."""

    def __init__(self, limits: BuildLimits | None = None) -> None:
        self._limits = limits or BuildLimits()
        self._stack = contextlib.ExitStack()
        self._pool: ProcessPool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def build(self, source: Path, path: Path) -> None:
        """Make the file of a database from its text.

        Raises:
            InputError: as `build_database`; where the process was ended.
        """
        if self._pool is None:
            self._pool = self._stack.enter_context(open_side_process("makes databases of text"))
        self._pool.submit(_write_database, source, path, self._limits)
        try:
            self._pool.wait().result()
        except BrokenProcessPool as error:
            self._pool = None
            self._stack.close()
            raise InputError(
                f"{source}: the process that made a database of it was ended: a single step takes"
                f" more than {self._limits.max_seconds} seconds, or the machine has not enough"
                " memory; make the database yourself, and put it beside the text as ID.sqlite"
            ) from error


def _write_database(source: Path, path: Path, limits: BuildLimits) -> None:
    content = build_database(source, limits)
    with replace_database(path) as file:
        file.write(content)
