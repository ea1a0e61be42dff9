"""Worker processes: one function over many tasks, as results come, with one task at a time lost.

A worker that dies (out of memory, killed) costs a second try of the tasks that were under way, each
in a process of its own; a task that kills its worker again comes back without a result, and the
others go on. `run_alone` says what ends a process.
"""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from answerkey.core.errors import InputError
from answerkey.shards.process_pool import ProcessPool, open_pool

Task = TypeVar("Task")
Result = TypeVar("Result")

TASKS_AHEAD = 4  # for each worker: enough to keep it busy, few enough to stay small in memory


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


def map_unordered(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int
) -> Generator[tuple[Task, Result | None], None, None]:
    """Each task with its result, in the order of completion; None where it killed a worker
    that it had for itself.

    An exception that the function raises ends the run. Tasks are taken as they are needed. When
    the generator is closed, or ended by an exception, its processes are gone.
    """
    source = iter(tasks)
    is_finished = False
    while not is_finished:
        pending: dict[Future[Result], Task] = {}
        with open_pool(workers, initializer=_start_worker) as pool:
            is_finished = yield from _map_in_pool(pool, function, source, pending, workers)
        yield from _finish_alone(function, pending)


def run_alone(function: Callable[[Task], Result], task: Task) -> tuple[Result | None, int | None]:
    """The result of a task in a process of its own, and 0; or None and the exit status of that
    process, where it died: -9 where it was killed by signal 9."""
    with open_pool(1, initializer=_start_worker) as pool:
        pool.submit(function, task)
        processes = pool.list_processes()
        future = pool.wait()
    if isinstance(future.exception(), BrokenProcessPool):
        return None, processes[0].exitcode
    return future.result(), 0


def _start_worker() -> None:
    gc.freeze()  # what was imported stays: to look through it again and again takes time


def _map_in_pool(
    pool: ProcessPool,
    function: Callable[[Task], Result],
    source: Iterator[Task],
    pending: dict[Future[Result], Task],
    workers: int,
) -> Generator[tuple[Task, Result], None, bool]:
    """Results until there are no more tasks (True), or until the pool breaks (False): then pending
    has the tasks that were under way."""
    while True:
        for task in itertools.islice(source, workers * TASKS_AHEAD - len(pending)):
            pending[pool.submit(function, task)] = task
        if not pending:
            return True
        future = pool.wait()
        if isinstance(future.exception(), BrokenProcessPool):
            return False
        yield pending.pop(future), future.result()


def _finish_alone(
    function: Callable[[Task], Result], tried: dict[Future[Result], Task]
) -> Iterator[tuple[Task, Result | None]]:
    """The tasks of a broken pool: results that came before it broke, the others one by one."""
    for future, task in tried.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            yield task, future.result()
            continue
        lost: dict[Future[Result], Task] = {}
        with open_pool(1, initializer=_start_worker) as pool:
            yield from _map_in_pool(pool, function, iter((task,)), lost, workers=1)
        if lost:
            yield task, None
