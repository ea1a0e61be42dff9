"""A worker as seen from the process that asks it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import connection
from pathlib import Path
from typing import Any

from answerkey.scoring.jobs import Channel, Job
from answerkey.sqlite.guard import Limits

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from answerkey.scoring.worker import main; main(*sys.argv[2:])"
)
_NUMBERS = 256  # of jobs, which are counted in a byte: a worker has fewer at a time


class WorkerProcess:
    """A process that does jobs, once it is started.

    It is spawned: a fork would have the locks of other threads, and the memory of a trainer. Its
    standard input is the pipe of the jobs, and its standard output tells with which one it begins.
    A fork of this process may hold either open, so that their end says nothing of the worker's.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._answered = 0
        self._last_begun: int | None = None
        self._files: list[connection.Connection] = []
        self._processes: list[int] = []  # the one that is started
        self._status: int | None = None

    def start(self) -> None:
        """Begin to start, if it has not; it takes some 100 ms."""
        if self._files:
            return
        # Files that close themselves, should an exception come here from a handler of a signal.
        ours, theirs = connection.Pipe()
        begun, begins = connection.Pipe(duplex=False)
        for file in (ours, begun):
            os.set_blocking(file.fileno(), False)
        self._files = [ours, begun]
        self._channel = Channel(ours.fileno())
        with theirs, begins:
            spawn = partial(
                os.posix_spawn,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_DUP2, begins.fileno(), 1),
                ],
                setsigmask=[],
                setsigdef=[signal.SIGPROF],
            )
            # Without what the environment adds to Python, which takes a fifth of the time.
            command = (sys.executable, "-I", "-S", "-c", _START, str(_ROOT))
            arguments = (pickle.dumps(self._limits).hex(), str(os.getpid()))
            # A handler runs between two calls of Python's, and this is one: whatever it raises, the
            # process is known.
            self._processes.extend(map(spawn, [command[0]], [[*command, *arguments]], [os.environ]))

    def fileno(self) -> int:
        """The open file of its jobs and answers."""
        return self._channel.fileno()

    @property
    def events(self) -> int:
        """What to poll for until `exchange`."""
        return self._channel.events

    def give(self, jobs: Sequence[Job]) -> None:
        """Let it do these after those that it has. What does not go at once goes by `exchange`."""
        self._read_begun()
        with contextlib.suppress(ConnectionError):  # it is dead: `exchange` says so
            self._channel.send(jobs)

    def exchange(self) -> list[tuple[Any, Exception | None]] | None:
        """Send what waits, and take the answers that have come, to the next of its jobs. None
        where it is dead and has no more."""
        try:
            with contextlib.suppress(ConnectionError):
                self._channel.flush()
            answers = [answer for some in self._channel.receive() for answer in some]
        except BlockingIOError:
            return None if self._status is not None else []
        except (EOFError, ConnectionError):
            return None
        self._answered += len(answers)
        return answers

    def is_dead(self) -> bool:
        """Whether its process has ended."""
        return self._wait(os.WNOHANG)

    def end(self) -> tuple[int | None, int | None]:
        """Kill it, if it is not dead; its exit status, negative where a signal ended it, and with
        which of its jobs that have no answer it was busy last; None where it never was."""
        if self._processes:
            if not self.is_dead():
                os.kill(self._processes[0], signal.SIGKILL)
                self._wait(0)
            self._read_begun()
        self.forget()
        last = self._last_begun
        return self._status, None if last is None else (last - self._answered) % _NUMBERS

    def forget(self) -> None:
        """Close what belongs to it, and leave it alone: another process has started it."""
        for file in self._files:
            file.close()

    def _wait(self, options: int) -> bool:
        if self._status is None:
            try:
                process, status = os.waitpid(self._processes[0], options)
            except ChildProcessError:  # somebody else in this process waits for all children
                process, status = self._processes[0], 0
            if process:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is not None

    def _read_begun(self) -> None:
        with contextlib.suppress(BlockingIOError):
            if numbers := os.read(self._files[1].fileno(), 2 * _NUMBERS):
                self._last_begun = numbers[-1]


# The workers of one process: who asks takes one, and gives it back.


class Workers:
    """The workers of one process, at most so many at a time.

    Each is known, with who holds it, before its process starts and until somebody has waited for
    that. So an exception that comes at any moment, such as that of a handler of SIGALRM, leaves
    nothing behind: `end_those_of` ends what the holder has.
    """

    def __init__(self, count: int, make: Callable[[], WorkerProcess]) -> None:
        self.count = count
        self._make = make
        self._lock = threading.Lock()
        self._all: dict[WorkerProcess, object] = {}  # each with its holder, None without one
        self._waiting: deque[_Waiting] = deque()

    @property
    def are_wanted(self) -> bool:
        """Whether somebody waits for one."""
        return bool(self._waiting)

    def take(self, holder: object, *, is_waiting: bool) -> WorkerProcess | None:
        """A worker for the holder alone; who waits gets it in turn. None where there is none, and
        the holder does not wait."""
        with self._lock:
            worker = next((one for one, other in self._all.items() if other is None), None)
            if worker is None and len(self._all) < self.count:
                worker = self._make()
            if worker is not None:
                self._all[worker] = holder
            elif not is_waiting:
                return None
            else:
                waiting = _Waiting(holder)
                self._waiting.append(waiting)
        if worker is None:
            waiting.is_served.wait()
            worker = waiting.worker
        worker.start()
        return worker

    def give_back(self, worker: WorkerProcess) -> None:
        """Let the next one who asks have a worker that has no jobs."""
        with self._lock:
            self._hand_on(worker)

    def end(self, worker: WorkerProcess) -> tuple[int | None, int | None]:
        """End a worker; what its process says of it (`WorkerProcess.end`)."""
        ended = worker.end()
        with self._lock:
            self._all.pop(worker, None)
            if self._waiting and len(self._all) < self.count:
                self._hand_on(self._make())
        return ended

    def end_those_of(self, holder: object) -> None:
        """End the workers of a holder that goes, and let it wait for none."""
        with self._lock:
            for waiting in [one for one in self._waiting if one.holder is holder]:
                self._waiting.remove(waiting)
            own = [worker for worker, other in self._all.items() if other is holder]
        for worker in own:
            self.end(worker)

    def _hand_on(self, worker: WorkerProcess) -> None:
        """Give it to who waits longest."""
        waiting = self._waiting.popleft() if self._waiting else None
        self._all[worker] = waiting and waiting.holder
        if waiting is not None:
            waiting.worker = worker
            waiting.is_served.set()

    def end_all(self) -> None:
        """End all of them."""
        for worker in list(self._all):
            self.end(worker)

    def forget_all(self) -> None:
        """Leave them to the process that has started them."""
        for worker in list(self._all):
            worker.forget()


class _Waiting:
    def __init__(self, holder: object) -> None:
        self.holder = holder
        self.is_served = threading.Event()
        self.worker: WorkerProcess | None = None
