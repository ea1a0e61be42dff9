"""What frameworks of trainers take as folders: they are in the package, and a project may have
copies, to edit and to push."""

from __future__ import annotations

import shutil
from pathlib import Path

from answerkey.base.paths import SHIPPED

ENVIRONMENTS, EXAMPLES = "environments", "examples"  # the second one has the locks of the first


def bring_environments(folder: Path) -> str:
    """Copy the environments into a project, unless they are there, and say what was done."""
    told = []
    for name in (ENVIRONMENTS, EXAMPLES):
        if (folder / name).exists():
            told.append(f"kept as it is: {name}; for that of this version, move it away first")
            continue
        partial = folder / f".{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(SHIPPED / name, partial, ignore=ignored)
        partial.rename(folder / name)
        told.append(f"{name}: new; docs/environments.md says how each is used")
    return "\n".join(told)
