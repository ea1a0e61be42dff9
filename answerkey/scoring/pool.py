"""Pools: worker processes that score predictions, shared by all threads of a process.

Who asks waits for workers itself: there is no thread beside it, and nothing that a fork could leave
locked. A worker that is ended, because its prediction took too long or because somebody killed it,
is replaced.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pickle
import select
import signal
import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import connection
from pathlib import Path
from typing import Any, Self

from answerkey.scoring.jobs import WORKER_DIED, Channel, Job, answer_without_rows, wait_for_events
from answerkey.sqlite.bounds import QueryReason
from answerkey.sqlite.guard import Limits

DEFAULT_LIMITS = Limits(max_seconds=2)
WORKERS_VARIABLE = "ANSWERKEY_WORKERS"

_LOG = logging.getLogger("answerkey.scoring")
_MOST_WORKERS = 8  # by default: several trainers may share a machine
# Of a message, but for the last job; a worker has up to two of them.
_JOBS_AT_ONCE = 16
_CHARACTERS_AT_ONCE = 1_000_000
_NUMBERS = 256  # of jobs, which are counted in a byte: a worker has fewer at a time
_TRIES = 2  # of a job whose worker is ended otherwise than by its seconds
_FAILED_STARTS = 3
_MS_TO_NEXT_WORKER = 20  # until it is asked whether another thread gave one back
_MS_BETWEEN_LOOKS = 250  # whether a worker is dead, whose pipe a fork may hold open

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from answerkey.scoring.worker import main; main(*sys.argv[2:])"
)


class Pool:
    """Worker processes with the same limits; options as in `answerkey.reward`.

    Threads may share a pool. So may forks: each has up to `workers` of its own.
    """

    def __init__(self, workers: int | None = None, *, limits: Limits | None = None) -> None:
        count = _count_workers() if workers is None else workers
        if count < 1:
            raise ValueError(f"workers: expected a whole number from 1, found {workers!r}")
        self._limits = limits or DEFAULT_LIMITS
        self._count = count
        self._by_process: dict[int, Workers] = {}
        self._end = weakref.finalize(self, _end_own_workers, self._by_process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; they start again if the pool is asked again."""
        _end_own_workers(self._by_process)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Return what each job gives, in their order.

        Raises:
            Exception: what a worker raised, such as FileNotFoundError for a missing database.
            RuntimeError: workers cannot be started.
        """
        return _Run(jobs, self._find_workers(), self._limits).finish() if jobs else []

    def _find_workers(self) -> Workers:
        process = os.getpid()
        workers = self._by_process.get(process)
        if workers is None:
            for other in set(self._by_process) - {process}:  # this is a fork
                self._by_process.pop(other).forget_all()
            workers = self._by_process.setdefault(process, Workers(self._count, self._limits))
        return workers


def _count_workers() -> int:
    text = os.environ.get(WORKERS_VARIABLE)
    if text is None:
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
        return min(cores or 1, _MOST_WORKERS)
    if not text.isdecimal():
        raise ValueError(f"{WORKERS_VARIABLE}: expected a whole number from 1, found {text!r}")
    return int(text)


def _end_own_workers(by_process: dict[int, Workers]) -> None:
    process = os.getpid()
    if process in by_process:
        by_process[process].end_all()
        by_process.pop(process, None)


_SHARED: dict[tuple[int | None, Limits | None], Pool] = {}


def find_shared_pool(workers: int | None, limits: Limits | None) -> Pool:
    """The pool of all calls without one of their own, with so many workers and these limits."""
    known = _SHARED.get((workers, limits))
    return known or _SHARED.setdefault((workers, limits), Pool(workers, limits=limits))


class _Run:
    def __init__(self, jobs: Sequence[Job], workers: Workers, limits: Limits) -> None:
        self._jobs = jobs
        self._workers = workers
        self._limits = limits
        self._waiting = deque(range(len(jobs)))
        self._answers: list[Any] = [None] * len(jobs)
        self._held: dict[WorkerProcess, deque[int]] = {}  # each with the places of its jobs
        self._poll = select.poll()
        self._deaths: Counter[int] = Counter()  # by the place of a job
        self._failed_starts = 0
        self._error: Exception | None = None

    def finish(self) -> list[Any]:
        """Return all answers; if anything is raised, end the workers that are busy."""
        try:
            while self._waiting or self._held:
                self._give()
                for worker in self._wait_for_any():
                    self._take(worker)
        except BaseException:
            self._workers.end_those_of(self)
            raise
        if self._error is not None:
            raise self._error
        return self._answers

    def _give(self) -> None:
        """Give workers their next jobs before they have done all, and take more workers, if there
        are any; at least one has jobs then."""
        for worker, places in self._held.items():
            if len(places) <= _JOBS_AT_ONCE and not self._workers.are_wanted:
                self._give_some(worker, places)
        while self._waiting:
            worker = self._workers.take(self, is_waiting=not self._held)
            if worker is None:
                return
            self._give_some(worker, self._held.setdefault(worker, deque()))

    def _give_some(self, worker: WorkerProcess, places: deque[int]) -> None:
        share = math.ceil(len(self._waiting) / (4 * self._workers.count))
        count, given, size = min(share, _JOBS_AT_ONCE), [], 0
        while len(given) < count and size < _CHARACTERS_AT_ONCE:
            place = self._waiting.popleft()
            given.append(self._jobs[place])
            places.append(place)
            size += given[-1].size
        if given:
            worker.give(given)
            self._poll.register(worker, worker.events)

    def _wait_for_any(self) -> list[WorkerProcess]:
        """Return the workers that have or take a message, or are dead; none if it is time to look
        for workers again."""
        timeout_ms = _MS_TO_NEXT_WORKER if self._waiting else _MS_BETWEEN_LOOKS
        ready = wait_for_events(self._poll, timeout_ms, is_soon=len(self._jobs) == 1)
        if ready:
            files = {file for file, _ in ready}
            return [worker for worker in self._held if worker.fileno() in files]
        return [worker for worker in self._held if worker.is_dead()]

    def _take(self, worker: WorkerProcess) -> None:
        answers = worker.exchange()
        if answers is None:
            self._bury(worker)
            return
        places = self._held[worker]
        for answer, error in answers:
            self._answers[places.popleft()] = answer
            if error is not None:
                self._error = error
                self._waiting.clear()
        if not places:
            del self._held[worker]
            self._poll.unregister(worker)
            self._workers.give_back(worker)
        else:
            self._poll.register(worker, worker.events)

    def _bury(self, worker: WorkerProcess) -> None:
        """Decide on the job with which a worker died, and let others do the rest."""
        places = self._held.pop(worker)
        self._poll.unregister(worker)
        status, busy = self._workers.end(worker)
        if busy is None:
            self._failed_starts += 1
            if self._failed_starts > _FAILED_STARTS:
                raise RuntimeError(
                    f"workers end before they begin, the last one with status {status}: expected"
                    " Python to start as a process; what it says stands on stderr"
                )
        elif busy < len(places) and self._is_decided(places[busy], status):
            del places[busy]
        if self._error is None:
            self._waiting.extendleft(reversed(places))

    def _is_decided(self, place: int, status: int) -> bool:
        """Whether a worker ended for this job, which has its answer then."""
        job = self._jobs[place]
        if status == -signal.SIGPROF:
            reason = QueryReason.TIME_EXCEEDED
            detail = f"more than {self._limits.max_seconds} seconds of CPU time"
        else:
            self._deaths[place] += 1
            if self._deaths[place] < _TRIES:
                return False
            reason = WORKER_DIED
            detail = f"its process ended {_TRIES} times, the last time with status {status}"
            _LOG.warning("a prediction scores nothing: %s: %.200r", detail, job.text)
        self._answers[place] = answer_without_rows(job.kind, reason, detail)
        return True


class Workers:
    """The workers of one process, at most so many at a time: who asks takes one and gives it back.

    Each is known, with its holder, before its process starts and until somebody has waited for its
    end. So an exception at any moment, such as that of a handler of SIGALRM, leaves nothing behind:
    `end_those_of` ends what the holder has.
    """

    def __init__(self, count: int, limits: Limits) -> None:
        self.count = count
        self._limits = limits
        self._lock = threading.Lock()
        self._all: dict[WorkerProcess, object] = {}  # each with its holder, None without one
        self._waiting: deque[_Waiting] = deque()

    @property
    def are_wanted(self) -> bool:
        return bool(self._waiting)

    def take(self, holder: object, *, is_waiting: bool) -> WorkerProcess | None:
        """Return a worker for the holder alone; who waits gets it in turn. None if there is none
        and the holder does not wait."""
        with self._lock:
            worker = next((one for one, other in self._all.items() if other is None), None)
            if worker is None and len(self._all) < self.count:
                worker = WorkerProcess(self._limits)
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
        with self._lock:
            self._hand_on(worker)

    def end(self, worker: WorkerProcess) -> tuple[int | None, int | None]:
        """End a worker and return what `WorkerProcess.end` says."""
        ended = worker.end()
        with self._lock:
            self._all.pop(worker, None)
            if self._waiting and len(self._all) < self.count:
                self._hand_on(WorkerProcess(self._limits))
        return ended

    def end_those_of(self, holder: object) -> None:
        """End the workers of a holder that goes, and its waiting."""
        with self._lock:
            for waiting in [one for one in self._waiting if one.holder is holder]:
                self._waiting.remove(waiting)
            own = [worker for worker, other in self._all.items() if other is holder]
        for worker in own:
            self.end(worker)

    def _hand_on(self, worker: WorkerProcess) -> None:
        waiting = self._waiting.popleft() if self._waiting else None
        self._all[worker] = waiting and waiting.holder
        if waiting is not None:
            waiting.worker = worker
            waiting.is_served.set()

    def end_all(self) -> None:
        for worker in list(self._all):
            self.end(worker)

    def forget_all(self) -> None:
        """Leave them to the process that has started them."""
        for worker in list(self._all):
            worker.forget()


@dataclass(eq=False, slots=True)
class _Waiting:
    holder: object
    is_served: threading.Event = field(default_factory=threading.Event)
    worker: WorkerProcess | None = None


class WorkerProcess:
    """A process that does jobs, once it is started.

    It is spawned: a fork would have the locks of other threads, and the memory of a trainer. Jobs
    come by its standard input; by its standard output it tells which one it begins. A fork of this
    process may hold either open, so that their end says nothing of the worker's.
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
        return self._channel.fileno()

    @property
    def events(self) -> int:
        return self._channel.events

    def give(self, jobs: Sequence[Job]) -> None:
        """Send jobs, to be done after those that it has; `exchange` sends what does not go now."""
        self._read_begun()
        with contextlib.suppress(ConnectionError):  # it is dead: `exchange` says so
            self._channel.send(jobs)

    def exchange(self) -> list[tuple[Any, Exception | None]] | None:
        """Send what waits, and return the answers that have come, in the order of its jobs; None
        if it is dead and has no more."""
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
        return self._wait(os.WNOHANG)

    def end(self) -> tuple[int | None, int | None]:
        """Kill it if it is not dead. Return its exit status, negative if a signal ended it, and
        which of its jobs without an answer it began last; None if none."""
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
