"""Worker processes: one function over many tasks, as results come, with one task at a time lost.

A worker that dies (out of memory, killed) costs a second try of the tasks that were under way, each
in a process of its own; a task that kills its worker again is given up, and the others go on.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from stages.child_process import follow_parent

Task = TypeVar("Task")
Result = TypeVar("Result")

TASKS_AHEAD = 4  # for each worker: enough to keep it busy, few enough to stay small in memory


def count_workers(workers: int) -> int:
    """How many processes to use: `workers`, or the cores that this process may use if it is 0.

    Raises:
        ValueError: where workers is not a whole number from 0.
    """
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise ValueError(f"execution.workers: expected a whole number from 0, found {workers!r}")
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
        with _open_pool(workers) as pool:
            is_finished = yield from _map_in_pool(pool, function, source, pending, workers)
        yield from _finish_alone(function, pending)


@contextlib.contextmanager
def _open_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that ends with the block: at once after an exception, else when its work is done."""
    pool = ProcessPoolExecutor(workers, initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):  # kill_workers(), from Python 3.14
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    follow_parent()
    gc.freeze()  # what was imported stays: to look through it again and again takes time


def _map_in_pool(
    pool: ProcessPoolExecutor,
    function: Callable[[Task], Result],
    source: Iterator[Task],
    pending: dict[Future[Result], Task],
    workers: int,
) -> Generator[tuple[Task, Result], None, bool]:
    """Results until there are no more tasks (True), or until the pool breaks (False): then pending
    has the tasks that were under way."""
    is_exhausted = False
    while True:
        while not is_exhausted and len(pending) < workers * TASKS_AHEAD:
            try:
                task = next(source)
            except StopIteration:
                is_exhausted = True
            else:
                pending[_submit(pool, function, task)] = task
        if not pending:
            return True
        done, _ = wait(pending, return_when=FIRST_COMPLETED)
        if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
            return False
        finished = [future for future in pending if future in done]
        for future in sorted(finished, key=lambda future: future.exception() is not None):
            yield pending.pop(future), future.result()


def _submit(
    pool: ProcessPoolExecutor, function: Callable[[Task], Result], task: Task
) -> Future[Result]:
    """A future also where the pool broke since the last look at it."""
    try:
        return pool.submit(function, task)
    except BrokenProcessPool as error:
        future: Future[Result] = Future()
        future.set_exception(error)
        return future


def _finish_alone(
    function: Callable[[Task], Result], tried: dict[Future[Result], Task]
) -> Iterator[tuple[Task, Result | None]]:
    """The tasks of a broken pool: results that came before it broke, the others one by one."""
    for future, task in tried.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            yield task, future.result()
            continue
        with _open_pool(1) as pool:
            try:
                result = pool.submit(function, task).result()
            except BrokenProcessPool:
                result = None
        yield task, result
