"""The run over all databases: each has a shard of records and a folder of small databases, which
are made again only when its database, its questions, the settings or the code change."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sqlglot

from answerkey.errors import InputError
from answerkey.log import track_progress
from answerkey.records import hash_file, hash_value, replace_file, write_json
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.shards.database_files import Database, local_path
from answerkey.shards.processes import Died, map_with_engine, run_alone
from answerkey.shards.shard_directory import ShardDirectory, hash_code, read_shards
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import Limits
from answerkey.sqlite.schema import decode_schema
from answerkey.suites.database_suites import DatabaseSuites, make_suites
from answerkey.suites.questions import SuiteQuestion

STAGE = "generate_test_suites"
MANIFEST = "manifest.json"

_LOG = logging.getLogger(STAGE)


class SuiteTask(NamedTuple):
    """A database with its questions, and its schema as it is recorded."""

    name: str
    database: Database
    tables: list[Any]
    questions: list[SuiteQuestion]


class SuiteOuts(NamedTuple):
    """Where suites are written: shards of records, and the folder of the databases."""

    shards: ShardDirectory
    databases: Path

    def list_files(self, name: str) -> list[Path]:
        """The databases that lie in the folder of one."""
        return sorted((self.databases / name).glob(f"{name}.*.sqlite"))


def run_suites(
    tasks: Iterable[SuiteTask],
    outs: SuiteOuts,
    *,
    settings: SuiteSettings,
    limits: Limits,
    engine: str,
    workers: int,
) -> tuple[list[str], int]:
    """Bring the suites of all databases up to date, and remove those of others: the names of the
    databases, and of how many the suites were made.

    Raises:
        InputError: naming the databases whose process ended, also where it had nothing else to do.
    """
    made_by = [hash_code(STAGE), sqlglot.__version__, asdict(settings), asdict(limits)]
    names: list[str] = []
    keys: dict[str, str] = {}

    def list_stale() -> Iterator[SuiteTask]:
        for task in tasks:
            names.append(task.name)
            key = hash_value([*made_by, task.database.sha256, task.tables, task.questions])
            if not _is_fresh(outs, task.name, key):
                keys[task.name] = key
                yield task

    work = partial(_work, settings=settings, limits=limits)
    lost = []
    results = map_with_engine(work, list_stale(), engine=engine, workers=workers)
    with closing(results):
        for task, made in track_progress(results, "generating", unit="database"):
            if made is None or isinstance(made, Died):
                lost.append(task)
            else:
                _write(outs, task.name, keys[task.name], made)
    _try_again(lost, work, outs, keys)
    outs.shards.keep_only(names)
    _keep_only(outs, names)
    return names, len(keys)


def _work(task: SuiteTask, *, settings: SuiteSettings, limits: Limits) -> DatabaseSuites | None:
    """The suites of a database; None where there was no memory for them."""
    try:
        return make_suites(
            local_path(task.database),
            decode_schema(task.tables),
            task.questions,
            settings=settings,
            limits=limits,
        )
    except MemoryError:
        return None


def _try_again(lost: list[SuiteTask], work: Any, outs: SuiteOuts, keys: dict[str, str]) -> None:
    ended = []
    for task in lost:
        made = run_alone(work, task)
        if made is None or isinstance(made, Died):
            ended.append(f"{task.name}: {'out of memory' if made is None else made}")
        else:
            _write(outs, task.name, keys[task.name], made)
    if ended:
        raise InputError(
            "The process that made the suites of a database ended before they were done, also where"
            f" it had nothing else to do:\n  {chr(10).join(ended)}"
        )


def _is_fresh(outs: SuiteOuts, name: str, key: str) -> bool:
    if not outs.shards.is_fresh(name, key):
        return False
    known = {
        database["path"].rpartition("/")[2]: database["sha256"]
        for record in read_shards(outs.shards.directory, [name])
        for database in record["databases"]
    }
    return {path.name: hash_file(path) for path in outs.list_files(name)} == known


def _write(outs: SuiteOuts, name: str, key: str, made: DatabaseSuites) -> None:
    if made.problem is not None:
        _LOG.warning("the questions of %s have no suites: %s", name, made.problem)
    folder = find_inside(outs.databases, name)
    if folder.exists():
        shutil.rmtree(folder)
    for number, content in enumerate(made.files, start=1):
        with replace_file(folder / f"{name}.{number:02}.sqlite") as file:
            file.write(content)
    outs.shards.write_shard(name, key, made.records)


def _keep_only(outs: SuiteOuts, names: list[str]) -> None:
    """Remove the folders of other databases, and write the manifest of those that are kept."""
    outs.databases.mkdir(parents=True, exist_ok=True)
    for path in sorted(outs.databases.iterdir()):
        if path.name not in {*names, MANIFEST}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    manifest = {
        path.relative_to(outs.databases).as_posix(): hash_file(path)
        for name in sorted(names)
        for path in outs.list_files(name)
    }
    write_json(outs.databases / MANIFEST, manifest)
