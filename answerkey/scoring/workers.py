"""The workers of one process: who asks takes one, and gives it back."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable

from answerkey.scoring.worker_process import WorkerProcess


class Workers:
    """The workers of one process, at most so many at a time."""

    def __init__(self, count: int, start: Callable[[], WorkerProcess]) -> None:
        self.count = count
        self._start = start
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._all: set[WorkerProcess] = set()
        self._places = count  # for workers that are not started
        self._waiting: deque[_Waiting] = deque()

    @property
    def are_wanted(self) -> bool:
        """Whether somebody waits for one."""
        return bool(self._waiting)

    def take(self, *, is_waiting: bool) -> WorkerProcess | None:
        """A worker for the caller alone; who waits gets it in turn. None where there is none, and
        the caller does not wait."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._places:
                self._places -= 1
                is_new = True
            elif not is_waiting:
                return None
            else:
                is_new = False
                waiting = _Waiting()
                self._waiting.append(waiting)
        return self._start_one() if is_new else self._wait(waiting)

    def _start_one(self) -> WorkerProcess:
        try:
            worker = self._start()
        except BaseException:
            self._hand_on(None)
            raise
        self._all.add(worker)
        return worker

    def _wait(self, waiting: _Waiting) -> WorkerProcess:
        try:
            waiting.is_served.wait()
        except BaseException:  # such as TimeoutError of a handler of SIGALRM
            with self._lock, contextlib.suppress(ValueError):
                self._waiting.remove(waiting)
            if waiting.is_served.is_set():
                self._hand_on(waiting.worker)
            raise
        return waiting.worker if waiting.worker is not None else self._start_one()

    def give_back(self, worker: WorkerProcess) -> None:
        """A worker that has no jobs, for the next one who asks."""
        self._hand_on(worker)

    def end(self, worker: WorkerProcess) -> tuple[int, int | None]:
        """End a worker; what its process says of it (`WorkerProcess.end`)."""
        self._all.discard(worker)
        try:
            return worker.end()
        finally:
            self._hand_on(None)

    def _hand_on(self, worker: WorkerProcess | None) -> None:
        """A worker, or the place of one that is to be started, to who waits longest."""
        with self._lock:
            if self._waiting:
                waiting = self._waiting.popleft()
                waiting.worker = worker
                waiting.is_served.set()
            elif worker is not None:
                self._idle.append(worker)
            else:
                self._places += 1

    def end_all(self) -> None:
        """End all of them."""
        for worker in list(self._all):
            self._all.discard(worker)
            worker.end()

    def forget_all(self) -> None:
        """Leave them to the process that has started them."""
        for worker in list(self._all):
            worker.forget()


class _Waiting:
    def __init__(self) -> None:
        self.is_served = threading.Event()
        self.worker: WorkerProcess | None = None
