"""The suites of all databases: shards of records, and folders of small databases, of which each
shard has its own. They are made again only when the database, the questions of the shard, the
settings or the code change.

A shard whose worker died is tried again alone, when all others are there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.code import hash_code
from answerkey.base.errors import InputError
from answerkey.base.log import show_progress, spell_count, track_progress
from answerkey.base.records import (
    Shard,
    hash_file,
    hash_value,
    list_files,
    read_shards,
    replace_file,
    write_json,
)
from answerkey.engines.database import Limits
from answerkey.engines.names import SUFFIXES, name_engine
from answerkey.engines.schema import decode_schema
from answerkey.engines.sqlite.files import find_inside
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.shards.database_files import Database, local_path
from answerkey.shards.engine_versions import describe_engine
from answerkey.shards.processes import Died, map_tasks, run_alone
from answerkey.shards.runs import ShardDirectory, count_databases, remove_others
from answerkey.sql.query_tree import speaking
from answerkey.suites.pool import DatabaseSuites, make_suites, name_files
from answerkey.suites.questions import SuiteQuestion

STAGE = "generate_test_suites"
MANIFEST = "manifest.json"

_LOG = logging.getLogger(STAGE)


class SuiteTask(NamedTuple):
    """A shard, its database with the schema as it is recorded, its questions, and what the clock
    says."""

    shard: Shard
    database: Database
    tables: list[Any]
    questions: list[SuiteQuestion]
    now: str | None = None


def run_suites(
    tasks: Iterable[SuiteTask],
    directory: ShardDirectory,
    folder: Path,
    *,
    settings: SuiteSettings,
    limits: Limits,
    databases: int,
    runner: str,
    workers: int,
) -> tuple[list[Shard], int]:
    """Bring the suites of all databases up to date, in `folder`, and remove those of others: all
    shards, and of how many databases suites were made.

    databases: how many there are, for the bar.

    Raises:
        InputError: naming the questions whose process ended also where it had nothing beside it;
            all other shards are up to date then.
    """
    made_by: list[Any] = [hash_code(make_task_suites), version("sqlglot")]
    settled = [asdict(settings), asdict(limits)]
    keys: dict[Shard, str] = {}

    def list_stale() -> Iterator[SuiteTask]:
        for task in tasks:
            made_from = [task.database.sha256, task.tables, task.questions]
            made_from += [task.now] if task.now else []
            engine_version = describe_engine(task.database.place)
            key = hash_value([*made_by, *engine_version, *settled, *made_from])
            keys[task.shard] = key
            if not (directory.is_fresh(task.shard, key) and _is_whole(directory, folder, task)):
                yield task
            else:
                advance(1 / task.shard.of)

    made: list[Shard] = []

    def write(task: SuiteTask, suites: DatabaseSuites) -> None:
        _write_databases(folder, task, suites.files)
        directory.write_shard(task.shard, keys[task.shard], suites.records)
        if suites.problem is not None and task.shard.number == 1:
            name = task.shard.database_name
            _LOG.warning("the questions of %s have no suites: %s", name, suites.problem)
        made.append(task.shard)

    work = partial(make_task_suites, settings=settings, limits=limits)
    lost: list[SuiteTask] = []
    progress = show_progress("test_suites", total=databases, unit="databases")
    with (
        progress as advance,
        closing(map_tasks(work, list_stale(), runner=runner, workers=workers)) as results,
    ):
        for task, suites in results:
            if isinstance(suites, Died):
                lost.append(task)
            else:
                write(task, suites)
                advance(1 / task.shard.of)
    ended = []
    for task in track_progress(lost, "trying again", total=len(lost), unit="shards"):
        suites = run_alone(work, task)
        if isinstance(suites, Died):
            ended.append(_describe_end(task, suites))
        else:
            write(task, suites)
    if ended:
        raise InputError("\n".join(ended))
    directory.keep_only(keys)
    _keep_only(folder, keys)
    return list(keys), count_databases(made)


def _describe_end(task: SuiteTask, died: Died) -> str:
    first, last = (task.questions[index].question_id for index in (0, -1))
    asked = spell_count(len(task.questions), "question")
    return (
        f"{task.shard.database_name}: the process that made the suites of {asked}, {first} to"
        f" {last}, ended: {died}"
    )


def make_task_suites(task: SuiteTask, *, settings: SuiteSettings, limits: Limits) -> DatabaseSuites:
    """The suites of the questions of a shard, wherever the file of its database lies."""
    path, schema = local_path(task.database), decode_schema(task.tables)
    make = partial(make_suites, shard=task.shard, settings=settings, limits=limits, now=task.now)
    with speaking(schema.engine):
        return make(path, schema, task.questions)


# The files of a database lie together, numbered by shard. So one that has a single shard has the
# names that people know: shop/shop.01.sqlite.


def _list_own(folder: Path, shard: Shard) -> list[Path]:
    """The files that a shard has, made by this run or an earlier one."""
    paths = list_files(folder / shard.database_name, "*")
    return [path for path in paths if _strip_number(path.name) == name_files(shard)]


def _strip_number(name: str) -> str:
    """Return how the name of a variant begins.

    >>> _strip_number("shop.01.sqlite"), _strip_number("shop.0002.01.duckdb.sql")
    ('shop', 'shop.0002')
    """
    return name.removesuffix(SUFFIXES[name_engine(name)]).rpartition(".")[0]


def _is_whole(directory: ShardDirectory, folder: Path, task: SuiteTask) -> bool:
    known = {
        database["path"].rpartition("/")[2]: database["sha256"]
        for record in read_shards(directory.directory, [task.shard])
        for database in record["databases"]
    }
    return {path.name: hash_file(path) for path in _list_own(folder, task.shard)} == known


def _write_databases(folder: Path, task: SuiteTask, files: list[bytes]) -> None:
    shard, suffix = task.shard, SUFFIXES[name_engine(task.database.place)]
    paths = [
        find_inside(folder, f"{shard.database_name}/{name_files(shard)}.{number:02}{suffix}")
        for number in range(1, len(files) + 1)
    ]
    for path, content in zip(paths, files, strict=True):
        with replace_file(path) as file:
            file.write(content)
    for path in _list_own(folder, shard):
        if path not in paths:
            path.unlink()


def _keep_only(folder: Path, shards: Iterable[Shard]) -> None:
    """Remove the files of others, and write the manifest of those that are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [path for shard in shards for path in _list_own(folder, shard)]
    hashes = {path.relative_to(folder).as_posix(): hash_file(path) for path in sorted(files)}
    remove_others(folder, {MANIFEST, *hashes})
    write_json(folder / MANIFEST, hashes)
