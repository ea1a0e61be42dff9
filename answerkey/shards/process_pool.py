"""A pool of processes that ends with its block, whatever ends the block."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from answerkey.shards.child_process import follow_parent
from answerkey.shards.interrupts import hold_interrupts

Result = TypeVar("Result")

# A forked process has what its parent has imported. Python 3.14 starts a server instead, whose
# processes import it again and have the environment of the time when the first of them was started.
START_METHOD = "fork" if sys.platform == "linux" else None

# Ctrl-C does not end a wait that begins just after it, nor one where it comes to another thread.
SECONDS_TO_INTERRUPT = 0.1


class ProcessPool:
    """`concurrent.futures.ProcessPoolExecutor`, which Ctrl-C cannot leave hanging: its locks are
    taken where Ctrl-C is put off, and so is the wait for a result, which looks for it regularly."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()

    def submit(
        self, function: Callable[..., Result], *arguments: Any, **options: Any
    ) -> Future[Result]:
        """A future of what the function gives in a process of the pool; where one of them has died,
        its exception is BrokenProcessPool."""
        with hold_interrupts():
            try:
                future = self._executor.submit(function, *arguments, **options)
            except BrokenProcessPool as error:
                future = Future()
                future.set_exception(error)
            future.add_done_callback(self._done.put)
        return future

    def list_processes(self) -> list[BaseProcess]:
        """The processes that were started, also those that have died."""
        return list((self._executor._processes or {}).values())

    def wait(self) -> Future[Any]:
        """The next future that is done, in the order of completion: each comes once."""
        while True:
            with hold_interrupts(), contextlib.suppress(Empty):
                return self._done.get(timeout=SECONDS_TO_INTERRUPT)


@contextlib.contextmanager
def open_pool(
    workers: int,
    *,
    method: str | None = START_METHOD,
    initializer: Callable[[], None] | None = None,
) -> Iterator[ProcessPool]:
    """A pool of so many processes, in each of which `initializer` is called first.

    It ends with the block: when its work is done, or at once where the block ends with an
    exception.

    method: how a process is started, as multiprocessing names it; None for what Python does on this
    system.
    """
    executor = ProcessPoolExecutor(
        workers, get_context(method), initializer=_start, initargs=(initializer,)
    )
    pool = ProcessPool(executor)
    try:
        yield pool
    except BaseException:
        with hold_interrupts():
            for process in pool.list_processes():  # kill_workers(), from 3.14
                process.kill()
        raise
    finally:
        with hold_interrupts():
            executor.shutdown(wait=True, cancel_futures=True)


def _start(initializer: Callable[[], None] | None) -> None:
    follow_parent()
    if initializer is not None:
        initializer()
