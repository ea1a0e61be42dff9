"""A database of foreign text is made in a process of its own, which a statement without end can
neither hold up nor bring down.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from answerkey.core.errors import InputError
from answerkey.corpus.databases import replace_database
from answerkey.corpus.text_databases import build_database
from answerkey.corpus.text_execution import BuildLimits
from answerkey.shards.processes import Died, run_alone


def build_in_process(source: Path, path: Path, limits: BuildLimits | None = None) -> None:
    """Make the file of a database from its text.

    Raises:
        InputError: as `build_database`; where the process was ended.
    """
    limits = limits or BuildLimits()
    if isinstance(run_alone(partial(_write_database, path=path, limits=limits), source), Died):
        raise InputError(
            f"{source}: the process that made a database of it was ended: a single step takes"
            f" more than {limits.max_seconds} seconds, or the machine has not enough"
            " memory; make the database yourself, and put it beside the text as ID.sqlite"
        )


def _write_database(source: Path, *, path: Path, limits: BuildLimits) -> None:
    content = build_database(source, limits)
    with replace_database(path) as file:
        file.write(content)
