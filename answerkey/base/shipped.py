"""Files that the package brings for projects: templates, precisions, corrections, verdicts.

In the repository they are where it uses them itself; the wheel has copies (setup.py). A project
that has a file at the same path uses its own.
"""

from __future__ import annotations

from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.base.paths import PIPELINE, SHIPPED
from answerkey.base.yaml_files import load_yaml


def find_file(path: Path) -> Path:
    """Return the project's file at this path, or the package's; the path itself if both lack it."""
    shipped = SHIPPED / path
    return shipped if not path.exists() and shipped.is_file() else path


def find_dep(path: Path, *, stage: str) -> Path:
    """Return the same for a file that a stage depends on.

    Raises:
        InputError: DVC would not notice a change of the project's file; names the line to add.
    """
    file = find_file(path)
    if file == path and path.exists() and PIPELINE.is_file():
        deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
        places = {Path(dep).absolute() for dep in deps}
        is_param = any(dep.startswith(f"${{{stage}.") for dep in deps)
        if not is_param and places.isdisjoint([path.absolute(), *path.absolute().parents]):
            raise InputError(
                f"{PIPELINE}: DVC would not notice changes in {path}: expected - {path.as_posix()}"
                f" among deps of {stage}"
            )
    return file
