"""A worker as seen from the process that asks it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
from collections.abc import Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from answerkey.scoring.jobs import Job
from answerkey.sqlite.guard import Limits

_ROOT = Path(__file__).resolve().parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from answerkey.scoring.worker import main; main(sys.argv[2])"
)
_NUMBERS = 256  # of jobs, which are counted in a byte: a worker has fewer at a time


class WorkerProcess:
    """A process that does jobs; it begins to start when it is made, in some 100 ms.

    It is spawned: a fork would have the locks of other threads, and the memory of a trainer. Its
    standard input is the pipe of the jobs, and its standard output tells with which one it begins.
    A fork of this process may hold either open, so that their end says nothing of the worker's.
    """

    def __init__(self, limits: Limits) -> None:
        self._answered = 0
        self._last_begun: int | None = None
        self._connection, theirs = connection.Pipe()
        self._begun, begins = os.pipe()
        os.set_blocking(self._begun, False)
        # Without what the environment adds to Python, which takes a fifth of the time.
        command = (sys.executable, "-I", "-S", "-c", _START)
        files = [
            (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
            (os.POSIX_SPAWN_DUP2, begins, 1),
        ]
        self._status: int | None = None
        try:
            self._process = os.posix_spawn(
                command[0],
                [*command, str(_ROOT), pickle.dumps(limits).hex()],
                os.environ,
                file_actions=files,
                setsigdef=[signal.SIGPROF],
            )
        except BaseException:
            self.forget()
            raise
        finally:
            theirs.close()
            os.close(begins)

    def fileno(self) -> int:
        """The open file that has something to read when there are answers."""
        return self._connection.fileno()

    def give(self, jobs: Sequence[Job]) -> None:
        """Let it do these after those that it has."""
        self._read_begun()
        with contextlib.suppress(ConnectionError):  # it is dead: `take` says so
            self._connection.send(jobs)

    def take(self) -> list[tuple[Any, Exception | None]] | None:
        """The answers to the next of its jobs, for which it is waited; None where it is dead."""
        if self._status is not None and not self._connection.poll():
            return None
        try:
            answers = self._connection.recv()
            self._answered += len(answers)
            return answers
        except (EOFError, ConnectionError):
            return None
        except OSError as error:
            # It died in the middle of a message. TimeoutError is what a handler of SIGALRM raises.
            if type(error) is not OSError:
                raise
            return None

    def is_dead(self) -> bool:
        """Whether its process has ended."""
        return self._wait(os.WNOHANG)

    def end(self) -> tuple[int, int | None]:
        """Kill it, if it is not dead; its exit status, negative where a signal ended it, and with
        which of its jobs that have no answer it was busy last; None where it never was."""
        if not self.is_dead():
            os.kill(self._process, signal.SIGKILL)
            self._wait(0)
        self._read_begun()
        self.forget()
        last = self._last_begun
        return self._status, None if last is None else (last - self._answered) % _NUMBERS

    def forget(self) -> None:
        """Close what belongs to it, and leave it alone: another process has started it."""
        self._connection.close()
        os.close(self._begun)

    def _wait(self, options: int) -> bool:
        if self._status is None:
            try:
                process, status = os.waitpid(self._process, options)
            except ChildProcessError:  # somebody else in this process waits for all children
                process, status = self._process, 0
            if process:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is not None

    def _read_begun(self) -> None:
        with contextlib.suppress(BlockingIOError):
            if numbers := os.read(self._begun, 2 * _NUMBERS):
                self._last_begun = numbers[-1]
