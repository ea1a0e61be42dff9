"""What Unix and Windows do in different ways for worker processes: how a process gets an open file
of its parent, and what ends it once its job has used its seconds of CPU time."""

from __future__ import annotations

import contextlib
import faulthandler
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

IS_UNIX = hasattr(os, "fork")
_SECONDS_BETWEEN_LOOKS = 0.05


def write_first_byte(file: int, byte: int) -> None:
    """Write the first byte of an open file, and leave the position behind it."""
    if IS_UNIX:
        os.pwrite(file, bytes((byte,)), 0)
    else:
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, bytes((byte,)))


def read_two_bytes(file: int) -> bytes:
    """Return the first two bytes of an open file, or fewer if it is shorter."""
    os.lseek(file, 0, os.SEEK_SET)
    return os.read(file, 2)


@contextlib.contextmanager
def share_file(file: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the number that an open file has for a new process, and the options of Popen by which
    that process gets it, and Ctrl-C does not reach the process."""
    if sys.platform == "win32":
        import msvcrt

        handle = msvcrt.get_osfhandle(file)
        os.set_handle_inheritable(handle, True)
        try:
            yield (
                handle,
                {
                    "startupinfo": subprocess.STARTUPINFO(
                        lpAttributeList={"handle_list": [handle]}
                    ),
                    "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP,
                },
            )
        finally:
            os.set_handle_inheritable(handle, False)
    else:
        yield file, {"pass_fds": [file], "start_new_session": True}


def open_shared(number: int) -> int:
    """Return the open file that `share_file` numbered, in the new process."""
    if sys.platform == "win32":
        import msvcrt

        return msvcrt.open_osfhandle(number, os.O_RDWR)
    return number


class KernelTimer:
    """The kernel ends the process, whatever Python and SQLite are doing then."""

    def watch(self, file: int) -> None:
        """End this process when a job's seconds are over. It says so behind the first byte of an
        open file: nobody may learn from its status, if SIGCHLD is ignored, or if somebody else
        waits for all children."""
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        os.lseek(file, 1, os.SEEK_SET)
        faulthandler.register(signal.SIGPROF, file=file, all_threads=False, chain=True)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])

    def start(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)

    def stop(self) -> float:
        """Stop it, and return the seconds that are left."""
        left, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        return left


class ThreadTimer:
    """Windows has no such timer. A thread looks at the CPU time of the process and ends it: SQLite
    runs without Python's lock, so the thread has its turns."""

    def __init__(self) -> None:
        self._end = math.inf

    def watch(self, file: int) -> None:
        threading.Thread(target=self._watch, args=[file], daemon=True).start()

    def _watch(self, file: int) -> None:
        while time.process_time() < self._end:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        os.lseek(file, 1, os.SEEK_SET)
        os.write(file, b"!")
        os._exit(1)

    def start(self, seconds: float) -> None:
        self._end = time.process_time() + seconds

    def stop(self) -> float:
        left = self._end - time.process_time()
        self._end = math.inf
        return left


TIMER = KernelTimer() if IS_UNIX else ThreadTimer()
