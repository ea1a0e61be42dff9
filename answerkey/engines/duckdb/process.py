"""Start the process of DuckDB, and ask it.

A process has one of them, which all its threads share; a fork starts its own. DuckDB runs there
because a single function of it may take all memory, and heeds no interrupt.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answerkey.engines.duckdb.messages import LENGTH, pack_message, unpack_message

_ROOT = Path(__file__).resolve().parents[3]
_START = (
    "import sys; sys.path[:0], sys.argv[1:] = sys.argv[2:], sys.argv[1:2];"
    " from answerkey.engines.duckdb.serving import main; main(*sys.argv[1:])"
)
_PART_BYTES = 1 << 20


class ProcessDiedError(RuntimeError):
    """The process of DuckDB ended before it replied.

    status: negative if a signal ended it.
    is_overdue: whether its query used up its CPU time, or its seconds.
    """

    def __init__(self, status: int, *, is_overdue: bool) -> None:
        super().__init__(f"the process of DuckDB ended with status {status}")
        self.status = status
        self.is_overdue = is_overdue


class DuckDBProcess:
    """A process that answers requests, one at a time."""

    def __init__(self) -> None:
        # -I and -S: it imports what this process would, and nothing else.
        paths = [str(_ROOT), *filter(None, sys.path)]
        command = [sys.executable, "-I", "-S", "-c", _START, str(os.getpid()), *paths]
        # A session of its own: Ctrl-C does not reach it.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin is not None  # a pipe, as asked for
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        os.set_blocking(self._requests.fileno(), False)
        self.pid = self._process.pid

    def ask(self, request: Any, seconds: float) -> Any:
        """Return the reply to a request.

        Raises:
            ProcessDiedError: it ended, or did not reply within these seconds and was ended.
        """
        deadline = time.monotonic() + seconds
        try:
            self._write(pack_message(request), deadline)
            (length,) = LENGTH.unpack(self._read(LENGTH.size, deadline))
            return unpack_message(self._read(length, deadline))
        except TimeoutError:
            raise ProcessDiedError(self.end(), is_overdue=True) from None
        except (EOFError, BrokenPipeError, ConnectionError):
            status = self.end()
            raise ProcessDiedError(status, is_overdue=status == -signal.SIGPROF) from None
        except BaseException:  # such as Ctrl-C: the reply would be read as that to the next request
            self.end()
            raise

    def _write(self, content: bytes, deadline: float) -> None:
        view, file = memoryview(content), self._requests.fileno()
        while view:
            try:
                view = view[os.write(file, view[:_PART_BYTES]) :]
            except BlockingIOError:
                _wait(file, select.POLLOUT, deadline)

    def _read(self, count: int, deadline: float) -> bytes:
        file, parts = self._replies.fileno(), []
        while count:
            _wait(file, select.POLLIN, deadline)
            part = os.read(file, min(count, _PART_BYTES))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def end(self) -> int:
        """End it, and return its status: that with which it ended before, if it did."""
        if self._replies.closed:
            return self._process.returncode or 0
        try:
            # An ended pipe comes a moment before the status.
            status = self._process.wait(0.5 if self._is_ending() else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self.forget()
        return status

    def _is_ending(self) -> bool:
        poll = select.poll()
        poll.register(self._replies.fileno(), select.POLLIN)
        return any(events & select.POLLHUP for _, events in poll.poll(0))

    def forget(self) -> None:
        """Close the pipes. A fork does so with the process of its parent, and no more."""
        self._process.returncode = self._process.returncode or 0
        for file in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                file.close()


def _wait(file: int, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(file, event)
    left = deadline - time.monotonic()
    if left <= 0 or not poll.poll(left * 1000):
        raise TimeoutError


class _Shared:
    """The process of DuckDB that all threads of this process share."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.process: DuckDBProcess | None = None
        self.closed: list[int] = []  # databases that were closed since the last request

    def end(self) -> None:
        with self.lock:
            if self.process is not None:
                self.process.end()
                self.process = None


_SHARED = _Shared()


def ask_shared(request: tuple[Any, ...], seconds: float, *, anew: bool = False) -> Any:
    """Return the reply of the shared process, which is started if there is none.

    anew: in a new process, which has nothing of earlier queries.

    Raises:
        ProcessDiedError: as `DuckDBProcess.ask`. The next request starts another one.
    """
    shared = _SHARED
    with shared.lock:
        if anew:
            shared.end()
        if shared.process is None:
            shared.process = DuckDBProcess()
        closed, shared.closed = shared.closed, []
        try:
            return shared.process.ask((closed, *request), seconds)
        except BaseException:
            shared.process = None
            raise


def close_shared(number: int) -> None:
    """Let the shared process close a database, with its next request."""
    _SHARED.closed.append(number)


@contextlib.contextmanager
def hold_shared() -> Iterator[None]:
    """Keep the requests of other threads away."""
    with _SHARED.lock:
        yield


def ask_alone(request: tuple[Any, ...], seconds: float) -> Any:
    """Return the reply of a process of its own, which ends then."""
    process = DuckDBProcess()
    try:
        return process.ask(([], *request), seconds)
    finally:
        process.end()


def _start_fork() -> None:
    global _SHARED  # another thread may have held the lock, and does not exist here
    if _SHARED.process is not None:
        _SHARED.process.forget()
    _SHARED = _Shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_fork)
atexit.register(lambda: _SHARED.end())
