"""A cache of databases that each machine builds from text: each is built once, under the hash of
what it is made of.

Two processes may build the same one at once. Each builds in a place of its own and renames the
result, so nobody ever opens one that is half built, and the first result stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

# Environment variable with the folder of the cache.
CACHE_VARIABLE = "ANSWERKEY_CACHE"


def find_cache() -> Path:
    """Return the folder of the cache: that of ANSWERKEY_CACHE, or `answerkey` in the folder where
    this system keeps the caches of its user."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder).absolute()
    if sys.platform == "win32":
        caches = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches).absolute() / "answerkey"


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """Return the path of a file or folder in the cache, which is built if it is not there.

    name: its name there, with the hash of everything that it is made of. It may have folders.
    build: makes a file or a folder at a path where nothing is. If it raises, nothing is left.

    Raises:
        OSError: the cache cannot be written.
        what `build` raises.
    """
    path = find_cache() / name
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # The same file system, so that renaming is one step. Nobody else may read the rows.
    building = Path(tempfile.mkdtemp(prefix=".building-", dir=path.parent))
    try:
        built = building / path.name
        build(built)
        # A folder is never replaced. A file is, by another that answers alike; who has it open
        # keeps it.
        with contextlib.suppress(OSError):
            built.rename(path)
        if not path.exists():
            raise OSError(f"{path}: cannot be written: expected a folder, or {CACHE_VARIABLE}")
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return path
