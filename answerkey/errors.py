"""What ends a run with a message, and what with a traceback.

`InputError`, and what the machine refuses (a file, the network, memory), is for the user to mend,
and ends a run with its message: what, where, what was expected, what to do next. Any other
exception is a fault of ours, which needs its traceback. So code that checks what a user wrote, or
what lies on the disk, raises InputError with these words; a plain ValueError says that our own
code broke a promise.
"""

from __future__ import annotations

import contextlib
import errno
import io
import sqlite3
import sys
from collections.abc import Iterator

_NEXT_STEPS = {
    errno.ENOSPC: "make room on the disk, then run `dvc repro`: what is done is kept",
    errno.EDQUOT: "make room on the disk, then run `dvc repro`: what is done is kept",
    errno.ENOENT: "run `dvc repro`, which makes what lies between the stages, or `dvc pull`",
    errno.EACCES: "expected to be allowed to read and write there: look at its owner and mode",
    errno.EPERM: "expected to be allowed to read and write there: look at its owner and mode",
    errno.EROFS: "expected to be allowed to write there: it is mounted read-only",
    errno.ENOTDIR: "expected a directory on the way to it: move away the file that is in its place",
    errno.EEXIST: "expected a directory, or nothing: move away the file that is in its place",
    errno.EISDIR: "expected a file: move away the directory that is in its place",
}
_OF_MACHINE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}


class _Leavable(io.FileIO):
    """A file whose reader may have left."""

    def write(self, text: bytes) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            return len(text)


@contextlib.contextmanager
def let_reader_leave() -> Iterator[None]:
    """Let whoever reads standard output stop, as `head` does: what is left to say is dropped, the
    work goes on, and its exit status is what it would have been."""
    said = sys.stdout
    try:
        number = said.fileno()
    except (AttributeError, OSError):  # there is no standard output, or it is no file
        yield
        return
    said.flush()
    file = io.BufferedWriter(_Leavable(number, "w", closefd=False))
    with io.TextIOWrapper(
        file, said.encoding, said.errors, line_buffering=said.line_buffering
    ) as sys.stdout:
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stdout = said


class InputError(ValueError):
    """Something that a user can mend; the message says what, where, what was expected, and what to
    do next."""


def explain_error(error: Exception) -> str | None:
    """What to tell a user; None: a fault of ours.

    >>> explain_error(InputError("params.yaml: no key corpus"))
    'params.yaml: no key corpus'
    >>> explain_error(FileNotFoundError("No corpus/dev.json: set corpora.local.root"))
    'No corpus/dev.json: set corpora.local.root'
    >>> print(explain_error(OSError(errno.ENOSPC, "No space left on device", "data/questions")))
    data/questions: No space left on device: make room on the disk, then run `dvc repro`: what is \
done is kept
    >>> explain_error(ValueError("not enough values to unpack"))
    """
    if isinstance(error, MemoryError):
        return "Out of memory: set execution.workers in params.yaml to fewer processes"
    if isinstance(error, OSError) and error.errno is not None:
        words = _explain_refusal(error)
    elif isinstance(error, InputError | OSError) or _is_of_machine(error):
        words = str(error)
    else:
        return None
    return "\n".join([words, *getattr(error, "__notes__", ())])


def _explain_refusal(error: OSError) -> str:
    """The system's words, where it was, and what to do next."""
    path = error.filename2 or error.filename
    words = error.strerror or str(error)
    words = words if path is None else f"{path}: {words}"
    return f"{words}: {_NEXT_STEPS.get(error.errno, 'run `dvc repro` again once it is mended')}"


def _is_of_machine(error: Exception) -> bool:
    """Whether SQLite says that a file, the disk or memory is at fault, not what it was asked."""
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", None)  # none where our own code raises it
    return type(error) is sqlite3.DatabaseError if code is None else code & 0xFF in _OF_MACHINE
