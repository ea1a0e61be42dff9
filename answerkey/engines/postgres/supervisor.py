"""Run a server of PostgreSQL until the last process that uses it has ended.

Each process that uses the server holds a shared lock on the file `users`. The system takes the lock
away when the process ends, however it ends. So this program ends the server once it gets the lock
for itself. It is started as a script, by the first process that needs the server, and needs nothing
but the standard library. If this program is killed, the system ends the server.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

GONE = (
    "_answerkey-gone-"  # begins the names of folders, beside that of the cache, which are removed
)
_CHECK_SECONDS = 0.5
_STOP_SECONDS = 20
_SET_PARENT_DEATH_SIGNAL = 1  # prctl(2), on Linux alone


def supervise(folder: Path, command: list[str], owner: dict[str, Any], max_bytes: int) -> None:
    """Run the command of a server, and end it when nobody uses it any more.

    owner: the user of the server, as `subprocess` takes it.
    max_bytes: of the address space of each of its processes, where the system keeps to it (Linux).
    """
    # This program's own lock is released first: whoever gets the other one finds no supervisor.
    with (folder / "users").open("a") as users, (folder / "supervisor").open("a") as own:
        fcntl.flock(own, fcntl.LOCK_EX)
        with subprocess.Popen(
            command,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(_prepare, max_bytes),
            **owner,
        ) as server:
            for gone in folder.parent.parent.glob(f"{GONE}*"):
                Thread(target=shutil.rmtree, args=(gone, True), daemon=True).start()
            while server.poll() is None:
                time.sleep(_CHECK_SECONDS)
                with contextlib.suppress(OSError):
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _stop(server)  # who comes now waits for the lock, and starts another


def _stop(server: "subprocess.Popen[bytes]") -> None:
    for signal_number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(signal_number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_STOP_SECONDS)
            return


def _prepare(max_bytes: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGQUIT)
        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # whoever has started this program does not wait for it
    supervise(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4]))
