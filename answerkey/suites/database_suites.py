"""The suites of all databases: each has a shard of records and a folder of small databases, which
are made again only when its database, its questions, the settings or the code change."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import show_progress
from answerkey.base.records import hash_file, hash_value, replace_folder, write_json
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.shards.code import hash_code
from answerkey.shards.database_files import Database, local_path
from answerkey.shards.processes import Died, map_tasks
from answerkey.shards.runs import ShardDirectory, read_shards
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import Limits
from answerkey.sqlite.schema import decode_schema
from answerkey.suites.pool import DatabaseSuites, make_suites
from answerkey.suites.questions import SuiteQuestion

STAGE = "generate_test_suites"
MANIFEST = "manifest.json"

_LOG = logging.getLogger(STAGE)


class SuiteTask(NamedTuple):
    """A database with its questions, its schema as it is recorded, and what the clock says."""

    name: str
    database: Database
    tables: list[Any]
    questions: list[SuiteQuestion]
    now: str | None = None


def run_suites(
    tasks: Iterable[SuiteTask],
    shards: ShardDirectory,
    folder: Path,
    *,
    settings: SuiteSettings,
    limits: Limits,
    databases: int,
    engine: str,
    workers: int,
) -> tuple[list[str], int]:
    """Bring the suites of all databases up to date, in `folder`, and remove those of others: the
    names of the databases, and of how many the suites were made.

    databases: how many there are, for the bar.

    Raises:
        InputError: naming the database whose process ended.
    """
    made_by: list[Any] = [hash_code(make_task_suites), version("sqlglot"), sqlite3.sqlite_version]
    made_by += [asdict(settings), asdict(limits)]
    keys: dict[str, str] = {}

    def list_stale() -> Iterator[SuiteTask]:
        for task in tasks:
            made_from = [task.database.sha256, task.tables, task.questions]
            key = hash_value([*made_by, *made_from, *([task.now] if task.now else [])])
            keys[task.name] = key
            if not (shards.is_fresh(task.name, key) and _is_whole(shards, folder, task.name)):
                yield task
            else:
                advance()

    work = partial(make_task_suites, settings=settings, limits=limits)
    count = 0
    progress = show_progress("test_suites", total=databases, unit="databases")
    with (
        progress as advance,
        closing(map_tasks(work, list_stale(), engine=engine, workers=workers)) as results,
    ):
        for task, made in results:
            if isinstance(made, Died):
                raise InputError(f"{task.name}: the process that made its suites ended: {made}")
            if made.problem is not None:
                _LOG.warning("the questions of %s have no suites: %s", task.name, made.problem)
            _write_databases(find_inside(folder, task.name), made.files)
            shards.write_shard(task.name, keys[task.name], made.records)
            count += 1
            advance()
    shards.keep_only(keys)
    _keep_only(folder, keys)
    return list(keys), count


def make_task_suites(task: SuiteTask, *, settings: SuiteSettings, limits: Limits) -> DatabaseSuites:
    """The suites of the questions of a database, wherever its file lies."""
    path, schema = local_path(task.database), decode_schema(task.tables)
    return make_suites(path, schema, task.questions, settings=settings, limits=limits, now=task.now)


def _is_whole(shards: ShardDirectory, folder: Path, name: str) -> bool:
    known = {
        database["path"].rpartition("/")[2]: database["sha256"]
        for record in read_shards(shards.directory, [name])
        for database in record["databases"]
    }
    return {path.name: hash_file(path) for path in (folder / name).glob("*.sqlite")} == known


def _write_databases(folder: Path, files: list[bytes]) -> None:
    with replace_folder(folder) as partial:
        for number, content in enumerate(files, start=1):
            (partial / f"{folder.name}.{number:02}.sqlite").write_bytes(content)


def _keep_only(folder: Path, names: Iterable[str]) -> None:
    """Remove the folders of other databases, and write the manifest of those that are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.iterdir()):
        if path.name not in {*names, MANIFEST}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    files = sorted(folder.glob("*/*.sqlite"))
    hashes = {path.relative_to(folder).as_posix(): hash_file(path) for path in files}
    write_json(folder / MANIFEST, hashes)
