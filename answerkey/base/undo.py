"""Remove what a command has made if the command fails."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def undoing() -> Iterator[list[Path]]:
    """Give a list for the paths that are made. If the block fails, they are removed, the last
    first."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in reversed(made):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


def make_folders(folder: Path, made: list[Path]) -> None:
    """Make a folder and those above it, and add to `made` which of them are new."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    made += reversed(missing)
    folder.mkdir(parents=True, exist_ok=True)
