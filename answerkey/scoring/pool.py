"""Pools: worker processes that score predictions, shared by all threads of a process.

Who asks waits for workers itself: there is no thread beside it, and nothing that a fork could leave
locked. Workers are started as they are needed. One that is ended, because its prediction took too
long or because somebody killed it, is replaced.
"""

from __future__ import annotations

import logging
import math
import os
import select
import signal
import weakref
from collections import Counter, deque
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

from answerkey.scoring.jobs import WORKER_DIED, Job, answer_without_rows, wait_for_events
from answerkey.scoring.workers import WorkerProcess, Workers
from answerkey.sqlite.bounds import QueryReason
from answerkey.sqlite.guard import Limits

DEFAULT_LIMITS = Limits(max_seconds=2)
WORKERS_VARIABLE = "ANSWERKEY_WORKERS"

_LOG = logging.getLogger("answerkey.scoring")
_MOST_WORKERS = 8  # by default: several trainers may share a machine
# Of a message, but for the last job; a worker has up to two of them.
_JOBS_AT_ONCE = 16
_CHARACTERS_AT_ONCE = 1_000_000
_TRIES = 2  # of a job whose worker is ended otherwise than by its seconds
_FAILED_STARTS = 3
_MS_TO_NEXT_WORKER = 20  # until it is asked whether another thread gave one back
_MS_BETWEEN_LOOKS = 250  # whether a worker is dead, whose pipe a fork may hold open


class Pool:
    """Worker processes with the same limits, at most `workers` for each process that asks.

    workers: by default the environment variable ANSWERKEY_WORKERS, or as many as there are cores,
        up to 8.
    limits: of each prediction; max_heap_bytes of each worker.

    Threads may share a pool. So may forks: each has workers of its own.
    """

    def __init__(self, workers: int | None = None, *, limits: Limits | None = None) -> None:
        count = _count_workers() if workers is None else workers
        if count < 1:
            raise ValueError(f"workers: expected a whole number from 1, found {workers!r}")
        self._limits = limits or DEFAULT_LIMITS
        self._make_workers = partial(Workers, count, partial(WorkerProcess, self._limits))
        self._by_process: dict[int, Workers] = {}
        self._end = weakref.finalize(self, _end_own_workers, self._by_process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; they are started again where the pool is asked again."""
        _end_own_workers(self._by_process)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """What each job gives, in their order.

        Raises:
            Exception: what a worker raised, such as FileNotFoundError for a missing database.
            RuntimeError: where workers cannot be started.
        """
        return _Run(jobs, self._find_workers(), self._limits).finish() if jobs else []

    def _find_workers(self) -> Workers:
        process = os.getpid()
        workers = self._by_process.get(process)
        if workers is None:
            for other in set(self._by_process) - {process}:  # this is a fork
                self._by_process.pop(other).forget_all()
            workers = self._by_process.setdefault(process, self._make_workers())
        return workers


def _count_workers() -> int:
    text = os.environ.get(WORKERS_VARIABLE)
    if text is None:
        return min(_count_cores(), _MOST_WORKERS)
    if not text.isdecimal():
        raise ValueError(f"{WORKERS_VARIABLE}: expected a whole number from 1, found {text!r}")
    return int(text)


def _count_cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end_own_workers(by_process: dict[int, Workers]) -> None:
    process = os.getpid()
    if process in by_process:
        by_process[process].end_all()
        by_process.pop(process, None)


_SHARED: dict[tuple[int | None, Limits | None], Pool] = {}


def find_shared_pool(workers: int | None, limits: Limits | None) -> Pool:
    """The pool of all who ask without one of their own, with so many workers and these limits."""
    known = _SHARED.get((workers, limits))
    if known is None:
        known = _SHARED.setdefault((workers, limits), Pool(workers, limits=limits))
    return known


class _Run:
    """Some jobs and what they give."""

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
        """All answers; where anything is raised, the workers that are busy are ended."""
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
        """Give workers their next jobs before they have done all, and take more workers, as far as
        there are any; at least one has jobs then."""
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
        """Those that have or take a message, or are dead; none where it is time to look for workers
        again."""
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
        """Whether it is for this job that a worker ended; then it has its answer."""
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
