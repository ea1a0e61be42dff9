"""The build: the wheel gets copies of the files that projects take from this repository.

They stay where the repository uses them (answerkey/base/shipped.py), and MANIFEST.in lists them, so
that the source distribution, of which a wheel is built, has them too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


def list_shipped() -> list[Path]:
    """The files that MANIFEST.in includes, by its lines `include FILES` and `graft FOLDER`."""
    files: list[Path] = []
    for line in Path("MANIFEST.in").read_text(encoding="utf-8").splitlines():
        action, _, path = line.partition(" ")
        if action == "include":
            files += sorted(Path().glob(path))
        elif action == "graft":
            files += (file for file in sorted(Path(path).rglob("*")) if file.is_file())
    return [file for file in files if "__pycache__" not in file.parts]


class BuildWithShipped(build_py):
    """Python's files, and the copies in answerkey/shipped."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # it reads the clone itself
            return
        for file in list_shipped():
            copy = Path(self.build_lib, "answerkey/shipped", file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


setup(cmdclass={"build_py": BuildWithShipped})
