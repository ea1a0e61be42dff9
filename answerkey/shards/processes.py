"""Worker processes: one function over many tasks, and no worker outlives the run.

A worker has one task at a time. Where it is killed, or ends by itself, that task comes back as
`Died`, and a new worker takes the next one. Ctrl-C ends all workers at once; so does the death of
the process that started them.

`concurrent.futures` cannot do this: there a dead process breaks its whole pool, nobody knows which
task it had, and Ctrl-C at a bad moment waits for a lock for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from multiprocessing.pool import ExceptionWithTraceback
from typing import Any, Generic, TypeVar

from answerkey.sqlite.watchdog import EXPENDABLE_VARIABLE

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
