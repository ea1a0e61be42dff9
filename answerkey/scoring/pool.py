"""Pools: worker processes that score predictions, shared by all threads of a process.

Threads of the pool talk to the processes, and the caller only waits: an exception in the caller,
such as that of a handler of SIGALRM, cannot interrupt a message halfway. A process that is ended,
because its prediction took too long or because somebody killed it, is replaced.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, Self

from answerkey.base.cores import count_cores
from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits
from answerkey.engines.names import SQLITE, name_engine
from answerkey.scoring.systems import IS_UNIX, read_two_bytes, share_file, write_first_byte
from answerkey.scoring.worker import WORKER_DIED, Job, answer_without_rows, write_message

DEFAULT_LIMITS = Limits(max_seconds=2)
WORKERS_VARIABLE = "ANSWERKEY_WORKERS"

_LOG = logging.getLogger("answerkey.scoring")
_MAX_WORKERS = 8  # by default: several trainers may share a machine
_JOBS_AT_ONCE = 64
_TRIES = 2  # of a job whose process ended for another reason than its CPU seconds
_FAILED_STARTS = 3
_NONE_BEGUN = 255

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path[:0], sys.argv[1:] = sys.argv[5:], sys.argv[1:5];"
    " from answerkey.scoring.worker import main; main(*sys.argv[1:])"
)

# No other thread forks while a process starts: the fork would keep the worker's end of the pipe
# open, and might keep a lock of tempfile locked for ever.
_STARTING = threading.Lock()
if IS_UNIX:
    os.register_at_fork(
        before=_STARTING.acquire,
        after_in_parent=_STARTING.release,
        after_in_child=_STARTING.release,
    )


class Pool:
    """Worker processes with the same limits; options as in `answerkey.reward`.

    Threads may share a pool. Forks may, too: each fork has up to `workers` processes of its own.
    """

    def __init__(self, workers: int | None = None, limits: Limits | None = None) -> None:
        count = _count_workers() if workers is None else workers
        if count < 1:
            raise ValueError(f"workers: expected a whole number from 1, found {workers!r}")
        self._limits = limits or DEFAULT_LIMITS
        self._count = count
        self._by_process: dict[int, dict[bool, Workers]] = {}
        weakref.finalize(self, _end_own_workers, self._by_process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers. They start again when the pool gets new jobs."""
        _end_own_workers(self._by_process)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the result of each job, in the order of the jobs.

        Raises:
            Exception: what a worker raised, such as FileNotFoundError for a missing database.
            RuntimeError: workers cannot be started.
        """
        others = [number for number, job in enumerate(jobs) if name_engine(job.path) != SQLITE]
        if not others:
            return self.find_workers().run(jobs)
        outcomes: list[Any] = [None] * len(jobs)
        for has_packages in (True, False):
            numbers = others if has_packages else sorted({*range(len(jobs))} - {*others})
            workers = self.find_workers(has_packages=has_packages)
            answers = workers.run([jobs[number] for number in numbers]) if numbers else []
            for number, answer in zip(numbers, answers, strict=True):
                outcomes[number] = answer
        return outcomes

    def find_workers(self, *, has_packages: bool = False) -> Workers:
        """Return the workers of this process, which may be a fork: those that have the standard
        library alone, which is enough for SQLite, or those that have the packages that are
        installed, which other engines need."""
        own = self._by_process.setdefault(os.getpid(), {})
        if has_packages not in own:
            new = Workers(self._count, self._limits, has_packages=has_packages)
            if own.setdefault(has_packages, new) is not new:  # another thread was faster
                new.close()
        return own[has_packages]


def _count_workers() -> int:
    text = os.environ.get(WORKERS_VARIABLE)
    if text is None:
        return min(count_cores(), _MAX_WORKERS)
    if not text.isdecimal():
        raise ValueError(f"{WORKERS_VARIABLE}: expected a whole number from 1, found {text!r}")
    return int(text)


def _end_own_workers(by_process: dict[int, dict[bool, Workers]]) -> None:
    for workers in by_process.pop(os.getpid(), {}).values():
        workers.close()


_SHARED: dict[tuple[int | None, Limits | None], Pool] = {}


def find_shared_pool(workers: int | None, limits: Limits | None) -> Pool:
    """Return the pool that all calls with these limits and this number of workers share."""
    known = _SHARED.get((workers, limits))
    return known or _SHARED.setdefault((workers, limits), Pool(workers, limits=limits))


@dataclass(eq=False, slots=True)
class _Batch:
    jobs: Sequence[Job]
    answers: SimpleQueue[tuple[range, list[Any]]] = field(default_factory=SimpleQueue)
    is_over: bool = False


class Workers:
    """The workers of one process. Threads take jobs from one queue, a share of a run at a time, and
    give each share to a free process or to a new one."""

    def __init__(self, count: int, limits: Limits, *, has_packages: bool = False) -> None:
        self.free: list[WorkerProcess] = []
        self.busy: dict[WorkerProcess, _Batch] = {}
        self._limits = limits
        self._has_packages = has_packages
        self._queue: SimpleQueue[tuple[_Batch, range] | None] = SimpleQueue()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._serve, name="answerkey-worker", daemon=True)
            for _ in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Return all results. If anything is raised, kill the processes that work on these jobs."""
        count = len(self._threads)
        size = min(math.ceil(len(jobs) / (4 * count)), _JOBS_AT_ONCE)
        shares = [range(len(jobs))[n : n + size] for n in range(0, len(jobs), size or 1)]
        outcomes: list[Any] = [None] * len(jobs)
        batch, waiting = _Batch(jobs), iter(shares)
        try:
            for share in islice(waiting, 2 * count):  # the queue stays short: other runs get a turn
                self._queue.put((batch, share))
            for _ in shares:
                share, answers = batch.answers.get()
                for error in answers:
                    if isinstance(error, Exception):
                        raise error
                outcomes[share.start : share.stop] = answers
                for following in islice(waiting, 1):
                    self._queue.put((batch, following))
        except BaseException:
            batch.is_over = True
            for process, other in list(self.busy.items()):
                if other is batch:
                    process.kill()
            raise
        return outcomes

    def close(self) -> None:
        self._is_closed = True
        for _ in self._threads:
            self._queue.put(None)
        for process in list(self.busy):
            process.kill()
        for thread in self._threads:
            if thread is not threading.current_thread():  # a thread may collect a pool as garbage
                thread.join()
        for process in self.free:
            process.end()

    def _serve(self) -> None:
        while (task := self._queue.get()) is not None:
            self._answer(*task)
            del task  # frees its jobs while the thread waits

    def _answer(self, batch: _Batch, share: range) -> None:
        try:
            answers = self._do(batch, share)
        except Exception as error:  # the calling thread raises it
            answers = [error]
        batch.answers.put((share, answers))

    def _do(self, batch: _Batch, share: range) -> list[Any]:
        answers: dict[int, Any] = {}
        deaths: Counter[int | None] = Counter()
        done = None  # how many of the jobs left a process finished before it ended
        while left := [job_index for job_index in share if job_index not in answers]:
            left = left[: done or None]  # repeat the finished ones without the fatal one
            try:
                process = self.free.pop()
            except IndexError:  # all are busy
                process = WorkerProcess(
                    self._limits, len(self._threads), has_packages=self._has_packages
                )
            self.busy[process] = batch
            if batch.is_over or self._is_closed:
                process.kill()
            try:
                outcomes = process.do([batch.jobs[job_index] for job_index in left])
            finally:
                del self.busy[process]
            if outcomes is not None:
                self.free.append(process)
                answers.update(zip(left, outcomes, strict=True))
                done = None
                continue
            end = process.end()
            if batch.is_over or self._is_closed:
                raise RuntimeError("the pool was closed while it was asked")
            done = end.begun
            begun = None if done is None else left[done]
            deaths[begun] += 1
            if begun is not None:
                job = batch.jobs[begun]
                if why := self._explain_end(end, deaths[begun], job):
                    answers[begun] = answer_without_rows(job.kind, *why)
            elif deaths[None] > _FAILED_STARTS:
                raise RuntimeError(
                    f"workers end before they begin, the last one with status {end.status}:"
                    " expected Python to start as a process; what it says stands on stderr"
                )
        return [answers[job_index] for job_index in share]

    def _explain_end(self, end: ProcessEnd, deaths: int, job: Job) -> tuple[str, str] | None:
        """Return reason and detail if a job killed its process; None if the job is tried again."""
        if end.is_overdue:
            seconds = self._limits.max_seconds
            return Reason.TIME_EXCEEDED, f"more than {seconds} seconds of CPU time"
        if deaths < _TRIES:
            return None
        detail = f"its process ended {_TRIES} times, the last time with status {end.status}"
        _LOG.warning("a prediction scores nothing: %s: %.200r", detail, job.text)
        return WORKER_DIED, detail


class ProcessEnd(NamedTuple):
    """How a process ended.

    status: negative if a signal ended it; "unknown" if it was lost, as with SIGCHLD ignored.
    begun: the index of the job that it began last.
    is_overdue: whether it used up its CPU seconds.
    """

    status: int | str
    begun: int | None
    is_overdue: bool


class WorkerProcess:
    """A process that does jobs. It reads jobs from its standard input, and writes the results to
    its standard output. It writes to a file which job it begins, and that its CPU seconds are over.

    It is not a fork: a fork would have the locks of other threads, and the memory of a trainer.
    """

    def __init__(self, limits: Limits, workers: int, *, has_packages: bool = False) -> None:
        # -I and -S: without site-packages Python starts in a fifth of the time.
        command = [sys.executable, "-I", "-S", "-c", _START]
        paths = [str(_ROOT), *(filter(None, sys.path) if has_packages else ())]
        with _STARTING, _hold_standard_files():
            self._begun = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (see `end`)
            with share_file(self._begun.fileno()) as (begun, options):
                arguments = pickle.dumps(limits).hex(), begun, os.getpid(), workers
                self._process = subprocess.Popen(
                    [*command, *map(str, arguments), *paths],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    **options,
                )
        self.pid = self._process.pid
        assert self._process.stdin is not None  # a pipe, as asked for
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def do(self, jobs: Sequence[Job]) -> list[Any] | None:
        """Return the result or the exception of each job; None if the process is dead."""
        write_first_byte(self._begun.fileno(), _NONE_BEGUN)
        try:
            write_message(self._stdin.fileno(), jobs)
            answers: list[Any] = pickle.load(self._stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        return answers

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> ProcessEnd:
        self.kill()
        # Popen says 0 if the status is lost. A process that was killed, or failed, is never 0.
        status = self._process.wait() or "unknown"
        begun, *overdue = read_two_bytes(self._begun.fileno()) or [_NONE_BEGUN]
        for file in (self._stdin, self._stdout, self._begun):
            file.close()
        return ProcessEnd(status, None if begun == _NONE_BEGUN else begun, bool(overdue))


@contextlib.contextmanager
def _hold_standard_files() -> Iterator[None]:
    """Open files 0, 1 and 2 if they are closed. A pipe with such a number would be lost in a new
    process, which has its own files there, and would receive whatever anybody prints."""
    held: list[int] = []
    try:
        while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
            held.append(file)
            os.set_inheritable(file, True)
        os.close(file)
        yield
    finally:
        for file in held:
            os.close(file)
