"""Worker processes: one function over many tasks, and no worker outlives the run.

A worker has one task at a time. Where it is killed, or ends by itself, that task comes back as
`Died`, and a new worker takes the next one. Ctrl-C ends all workers at once; so does the death of
the process that started them.

`concurrent.futures` cannot do this: there a dead process breaks its whole pool, nobody knows which
task it had, and Ctrl-C at a bad moment waits for a lock for ever.
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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import connection
from multiprocessing.pool import ExceptionWithTraceback
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from answerkey.errors import InputError
from answerkey.sqlite.bounds import EXPENDABLE_VARIABLE

Task = TypeVar("Task")
Result = TypeVar("Result")

# A forked process has what its parent has imported. Elsewhere, Python's own way is the safe one.
START_METHOD = "fork" if sys.platform == "linux" else None

# Ctrl-C does not end a wait that begins just after it, nor one where it comes to another thread.
_SECONDS_TO_INTERRUPT = 0.1


@dataclass(frozen=True, slots=True)
class Died:
    """What comes in the place of a result, where the worker died.

    exit_status: of its process, negative where a signal ended it; None where nobody knows.

    >>> str(Died(-9)), str(Died(1))
    ('killed by signal 9', 'exit status 1')
    """

    exit_status: int | None = None

    def __str__(self) -> str:
        if self.exit_status is not None and self.exit_status < 0:
            return f"killed by signal {-self.exit_status}"
        return f"exit status {self.exit_status}"


def map_in_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int
) -> Generator[tuple[Task, Result | Died], None, None]:
    """Each task with its result, in the order of completion.

    Tasks are taken as they are needed. When the generator ends or is closed, its processes are
    gone.

    Raises:
        Exception: of any kind, as the function does, with the worker's traceback as its cause.
    """
    source = iter(tasks)
    team = [_Worker(function) for _ in range(workers)]
    busy = []
    try:
        for worker, task in zip(team, source, strict=False):
            worker.give(task)
            busy.append(worker)
        while busy:
            for worker in _wait_for_any(busy):
                done = worker.take()
                for task in islice(source, 1):
                    worker.give(task)
                    break
                else:
                    busy.remove(worker)
                yield done
    finally:
        with hold_interrupts():
            for worker in team:
                worker.end()


def run_alone(function: Callable[[Task], Result], task: Task) -> Result | Died:
    """The result of a task in a process of its own."""
    [(_, result)] = map_in_processes(function, [task], workers=1)
    return result


@contextlib.contextmanager
def hold_interrupts() -> Iterator[None]:
    """Put off what Ctrl-C raises to the end of the block.

    A process that is started must be known before anything is raised, and must itself begin to
    ignore Ctrl-C, which goes to every process of a terminal.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # nothing is raised here
        return
    held: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: held.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


class _Worker(Generic[Task, Result]):
    """A process for one task after another, which is started for the first, and again for the next
    one where it died."""

    def __init__(self, function: Callable[[Task], Result]) -> None:
        self._function = function
        self._process: multiprocessing.process.BaseProcess | None = None

    def give(self, task: Task) -> None:
        """Let it begin with a task."""
        if self._process is None:
            with hold_interrupts():
                self._start()
        self._task = task
        with contextlib.suppress(ConnectionError):  # it is dead: `take` says so
            self.pipe.send(task)

    def take(self) -> tuple[Task, Result | Died]:
        """Its task and the result, for which it is waited."""
        try:
            result, error = self.pipe.recv()
        except (EOFError, OSError):  # OSError: it died in the middle of its result
            self._process.join()
            died = Died(self._process.exitcode)
            self.end()
            return self._task, died
        if error is not None:
            raise error
        return self._task, result

    def end(self) -> None:
        """Kill the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self.pipe.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context(START_METHOD)
        self.pipe, theirs = context.Pipe()
        process = context.Process(target=_work, args=(self._function, theirs), daemon=True)
        process.start()
        theirs.close()  # else nobody would see that the worker's end is closed
        self._process = process


def _wait_for_any(busy: list[_Worker[Task, Result]]) -> list[_Worker[Task, Result]]:
    """Those that have a result or are dead: one at least."""
    pipes = [worker.pipe for worker in busy]
    while not (ready := connection.wait(pipes, timeout=_SECONDS_TO_INTERRUPT)):
        pass
    return [worker for worker in busy if worker.pipe in ready]


def _work(function: Callable[[Task], Result], pipe: connection.Connection) -> None:
    """What a worker does: results and exceptions for tasks, until its parent ends it."""
    os.environ[EXPENDABLE_VARIABLE] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    while True:
        task = pipe.recv()
        try:
            answer = (function(task), None)
        except Exception as error:  # the parent raises it
            answer = (None, ExceptionWithTraceback(error, error.__traceback__))
        pipe.send(answer)


def _end_with_parent() -> None:
    """A parent that is killed says nothing to its children."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


# Ray: one function over many tasks, on the nodes of a cluster.
#
# A task whose worker dies is tried once more; where that one dies too, the task comes back as
# `Died`.
#
# The cluster is the one that the variable RAY_ADDRESS names (`auto`: the one of this machine).
# Without it, one with the workers asked for is started here, and gone when the run is over.
#
# Nodes need the project's dependencies and not the project: the package `answerkey` travels with
# the run, so that all of them work with the code of this machine. What the results depend on must
# be of its version there. Nor do nodes need its data, except the databases: see
# answerkey.shards.database_files.


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


# Engines: where the tasks of a run are worked on, which changes no result.


LOCAL = "local"  # processes of this machine
RAY = "ray"  # a Ray cluster


def map_with_engine(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, engine: str, workers: int
) -> Generator[tuple[Task, Result | Died], None, None]:
    """Each task with its result, in the order of completion; `Died` where its worker died.

    workers: 0 for as many as there are cores, here or in the cluster.

    Raises:
        InputError: where there is no such engine, workers is not a whole number from 0, or the
            engine is Ray, and Ray is not installed.
    """
    local_workers = count_workers(workers)
    if engine == LOCAL:
        return map_in_processes(function, tasks, workers=local_workers)
    if engine == RAY:
        return map_on_ray(function, tasks, workers=workers, local_workers=local_workers)
    raise InputError(f"execution.engine: expected {LOCAL} or {RAY}, found {engine!r}")


def count_workers(workers: int) -> int:
    """How many processes to use: `workers`, or the cores that this process may use if it is 0.

    Raises:
        InputError: where workers is not a whole number from 0.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise InputError(f"execution.workers: expected a whole number from 0, found {workers!r}")
    if workers:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
