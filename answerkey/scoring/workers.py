"""The workers of one process: who asks takes one, and gives it back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from answerkey.scoring.worker_process import WorkerProcess


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
