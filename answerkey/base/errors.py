"""Decide which errors end a run with a message, and which with a traceback.

The user can fix an `InputError`, and an error of the machine (a file, the network, memory): these
end with a message. Any other exception is a bug of Answerkey and needs its traceback. A plain
ValueError means that our own code broke a promise.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from answerkey.base.paths import IS_CLONE
from answerkey.base.secrets import hide_secrets, print_traceback

_NEXT_STEPS = {
    errno.EACCES: "run this as a user who may read and write there",
    errno.ENOSPC: "make room on the disk, then run `dvc repro`: what is done is kept",
    errno.ENOENT: "run `dvc repro`, which makes what lies between the stages, or `dvc pull`",
}
OTHER_VERSION = "data/interim is of another version of Answerkey; run `dvc repro`"

# Exit statuses of a process that SIGINT or SIGPIPE ends.
_INTERRUPTED, _READER_LEFT = 130, 141


class InputError(ValueError):
    """An error that a user can fix. The message says what, where, what was expected, and what to do
    next."""


def explain_error(error: Exception) -> str | None:
    """Return the message for a user; None if the error is a bug of Answerkey.

    >>> explain_error(InputError("params.yaml: no key corpus"))
    'params.yaml: no key corpus'
    >>> print(explain_error(OSError(errno.ENOSPC, "No space left on device", "data/questions")))
    data/questions: No space left on device: make room on the disk, then run `dvc repro`: what is \
done is kept
    >>> explain_error(ValueError("not enough values to unpack"))
    """
    if isinstance(error, MemoryError):
        return "Out of memory: set execution.workers in params.yaml to fewer processes"
    if isinstance(error, OSError) and error.errno is not None:
        step = _NEXT_STEPS.get(error.errno, "run `dvc repro` again once it is mended")
        path = error.filename2 or error.filename
        words = f"{error.strerror or error}: {step}"
        words = words if path is None else f"{path}: {words}"
    elif isinstance(error, InputError | OSError) or type(error) is sqlite3.DatabaseError:
        words = str(error)
    else:
        return None
    return "\n".join([words, *getattr(error, "__notes__", ())])


def explain_install(extra: str) -> str:
    """Return how to install an extra, from a clone or from an index."""
    if IS_CLONE:
        return f"in a clone of Answerkey, pip install '.[{extra}]'"
    return f"pip install 'answerkey[{extra}]'"


@contextlib.contextmanager
def exit_on_error(name: str, *, label: str = "") -> Iterator[None]:
    """Exit with status 1: print a message if the user can fix the error, or a traceback if it is a
    bug of Answerkey. Secrets are hidden in both. Two more exits are no errors, and have the status
    that shells give them: 130 and one line on Ctrl-C; 141 and no output if the reader of standard
    output has left, as `head` does."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        sys.exit(_READER_LEFT)
    except KeyboardInterrupt:
        print(f"{name}: interrupted; run it again: what is done is kept", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except Exception as error:
        message = explain_error(error)
        if message is None:
            print_traceback(error)
        else:
            print(hide_secrets(f"{name}: {label}{message}"), file=sys.stderr)
        raise SystemExit(1) from error


@contextlib.contextmanager
def raise_input_errors(path: Path) -> Iterator[None]:
    """Raise InputError for errors of the system or of a user's file, which another `dvc repro`
    would not fix. path: the file to name if the system names none."""
    try:
        yield
    except (OSError, ValueError) as error:
        words = str(error)
        if isinstance(error, OSError) and error.errno is not None:
            words = f"{error.filename or path}: {error.strerror}"
        raise InputError(words) from error
