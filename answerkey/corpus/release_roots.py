"""A root that is no release of its corpus is called that, with what a release has there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_SHOWN = 5


def describe_root(
    corpus: str, root: Path, missing: str, expected: Iterable[str], *, section: str
) -> str:
    """What is wrong with the root of a corpus that lacks a file or folder of a section of its
    entry: that there is no such directory, or what it has instead, with the directory in it that
    would be the right one."""
    key = f"corpora.{corpus}.root"
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        found = f"The root of corpus {corpus} {what}: {root} ({key} in params.yaml)"
    else:
        names = sorted(path.name for path in root.iterdir())
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        found = (
            f"No {root / missing}: the root of corpus {corpus} has {shown or 'nothing'}"
            f" ({key} and .{section} in params.yaml)"
        )
        if inner := next((name for name in names if (root / name / missing).exists()), None):
            found += f"; {root / inner} has it: set that"
    return f"{found}; expected a directory with {', '.join(expected)}"
