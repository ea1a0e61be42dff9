"""sha256 of large files, read again only where something about a file has changed.

A release may have tens of gigabytes of databases, and a stage runs whenever its params change.
What is remembered lies beside the pipeline's outs and names this machine's files; losing it costs
time, nothing else.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType

from answerkey.core.records import decode_json, hash_file, write_json

LEAST_BYTES = 1 << 24  # of a file that is remembered: hashing a smaller one takes no time
_SETTLED_S = 2  # a file that changed later than so long ago may change again within one clock tick


class FileHashes:
    """`hashes(path)` is the sha256 of a file, as `hash_file`; what was asked for is remembered
    when the block ends.

    A file is taken for the same while its path, size, inode and both of its times are.
    """

    def __init__(self, path: Path, *, least_bytes: int = LEAST_BYTES) -> None:
        self._path = path
        self._least_bytes = least_bytes
        self._known = _read(path)
        self._asked: dict[str, list[str]] = {}

    def __enter__(self) -> FileHashes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._asked != self._known:
            write_json(self._path, self._asked)

    def __call__(self, path: Path) -> str:
        """sha256 of a file's bytes, as 64 hex digits."""
        before = path.stat()
        if before.st_size < self._least_bytes:
            return hash_file(path)
        name = str(path.absolute())
        times = (before.st_mtime_ns, before.st_ctime_ns)
        mark = " ".join(map(str, (before.st_size, before.st_ino, *times)))
        known_mark, sha256 = self._known.get(name, ("", ""))
        if known_mark != mark:
            sha256 = hash_file(path)
        if time.time_ns() - max(times) > _SETTLED_S * 10**9:
            self._asked[name] = [mark, sha256]
        return sha256


def _read(path: Path) -> dict[str, list[str]]:
    """What was remembered; nothing where the file is missing or is not ours."""
    try:
        found = decode_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(found, dict) and all(
        isinstance(pair, list) and len(pair) == 2 for pair in found.values()
    )
    return found if is_ours else {}
