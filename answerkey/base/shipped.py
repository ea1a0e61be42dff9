"""Files that the package has for projects: templates, counts of precision, corrections, verdicts.

They lie in the repository where it uses them itself, and the wheel has copies (setup.py). A project
that has a file at the same place uses its own.
"""

from __future__ import annotations

from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.base.paths import PIPELINE, SHIPPED
from answerkey.base.yaml_files import load_yaml


def find_file(path: Path) -> Path:
    """The file of the project at this place, or the package's. If neither is there: the place."""
    shipped = SHIPPED / path
    return shipped if not path.exists() and shipped.is_file() else path


def find_dep(path: Path, *, stage: str) -> Path:
    """The same for a file that a stage depends on.

    Raises:
        InputError: DVC would not notice a change in the project's file, with the line to add.
    """
    found = find_file(path)
    if found == path and path.exists() and PIPELINE.is_file():
        deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
        places = {Path(dep).absolute() for dep in deps}
        is_param = any(dep.startswith(f"${{{stage}.") for dep in deps)
        if not is_param and places.isdisjoint([path.absolute(), *path.absolute().parents]):
            raise InputError(
                f"{PIPELINE}: DVC would not notice changes in {path}: expected - {path.as_posix()}"
                f" among deps of {stage}"
            )
    return found
