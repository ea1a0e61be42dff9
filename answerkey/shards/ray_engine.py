"""Ray: one function over many tasks, on the nodes of a cluster.

A task whose worker dies is tried once more; where that one dies too, the task comes back as `Died`.

The cluster is the one that the variable RAY_ADDRESS names (`auto`: the one of this machine).
Without it, one with the workers asked for is started here, and gone when the run is over.

Nodes need the project's dependencies and not the project: the package `answerkey` travels with
the run, so that all of them work with the code of this machine. What the results depend on must be
of its version there. Nor do nodes need its data, except the databases: see
answerkey.shards.database_files.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from answerkey.core.errors import InputError
from answerkey.shards.processes import Died
from answerkey.sqlite.watchdog import EXPENDABLE_VARIABLE

Task = TypeVar("Task")
Result = TypeVar("Result")

_ATTEMPTS = 2
_TASKS_AHEAD = 4  # for each CPU: enough to keep it busy, few enough to stay small in memory
_PACKAGE = Path(__file__).resolve().parents[1]
_SILENCE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # unset, it makes Ray warn
}


class _Connection(NamedTuple):
    ray: ModuleType
    count_ahead: Callable[[], int]  # how many tasks may be under way


def map_on_ray(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int, local_workers: int
) -> Generator[tuple[Task, Result | Died], None, None]:
    """As `answerkey.shards.processes.map_in_processes`; a run without tasks needs no cluster.

    workers: how many tasks at a time at most on a cluster that others may use too; 0 for no bound.
    local_workers: the CPUs of a cluster that is started for the run.
    """
    source = iter(tasks)
    for first in source:
        with _connect(workers, local_workers) as connection:
            yield from _map_connected(function, chain([first], source), connection)


def _map_connected(
    function: Callable[[Task], Result], source: Iterator[Task], connection: _Connection
) -> Generator[tuple[Task, Result | Died], None, None]:
    ray, count_ahead = connection
    errors = ray.exceptions
    versions = list_versions()

    # Ray's own retries would be endless for a worker that was killed for want of memory.
    @ray.remote(num_cpus=1, max_retries=0)
    def work(task: Task) -> Result:
        os.environ[EXPENDABLE_VARIABLE] = "1"
        check_versions(versions)
        return function(task)

    pending: dict[Any, tuple[Task, int]] = {}  # the task and its attempts, by reference
    while True:
        for task in islice(source, max(0, count_ahead() - len(pending))):
            pending[work.remote(task)] = (task, 1)
        if not pending:
            return
        ray.wait(list(pending), num_returns=1)
        ready, _ = ray.wait(list(pending), num_returns=len(pending), timeout=0)
        for reference in ready:
            task, attempts = pending.pop(reference)
            try:
                result = ray.get(reference)
            except errors.RayTaskError as error:
                raise error.cause from error
            except (errors.NodeDiedError, errors.ObjectLostError):  # no fault of the task
                pending[work.remote(task)] = (task, attempts)
                continue
            except (errors.WorkerCrashedError, errors.OutOfMemoryError):
                if attempts < _ATTEMPTS:
                    pending[work.remote(task)] = (task, attempts + 1)
                    continue
                result = Died()
            yield task, result


def list_versions() -> dict[str, str]:
    """The versions of what the same query may have other results with."""
    from importlib.metadata import version

    return {"SQLite": sqlite3.sqlite_version, "sqlglot": version("sqlglot")}


def check_versions(expected: Mapping[str, str]) -> None:
    """Nothing, where this machine has these versions.

    Raises:
        InputError: with the name of the machine, both versions, and where the right one stands.
    """
    found = list_versions()
    for name in expected:
        if found[name] != expected[name]:
            raise InputError(
                f"Node {socket.gethostname()} has {name} {found[name]}: expected {expected[name]},"
                " as on the machine that started the run; give all nodes the same Python, with what"
                " requirements.lock says"
            )


@contextlib.contextmanager
def _connect(workers: int, local_workers: int) -> Iterator[_Connection]:
    """Ray in a cluster; when the block ends, what was under way in it ends too."""
    for name, value in _SILENCE.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise InputError(
            "execution.engine is ray, and Ray is not installed: pip install -e '.[ray]'"
        ) from error

    def count_ahead() -> int:
        if address == "local":
            return _TASKS_AHEAD * local_workers
        cpus = int(ray.cluster_resources().get("CPU", 0))  # now: a cluster may grow
        return workers or _TASKS_AHEAD * max(1, cpus)

    address = os.environ.get("RAY_ADDRESS", "local")
    if address == "local":
        options = {"num_cpus": local_workers, "include_dashboard": False}
    else:
        options = {"runtime_env": {"py_modules": [str(_PACKAGE)]}}
    ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
    try:
        yield _Connection(ray, count_ahead)
    finally:
        ray.shutdown()
