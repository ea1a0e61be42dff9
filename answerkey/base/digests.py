"""Digests of the installed code per stage, for projects that are not clones.

In a clone a stage depends on files of the library, which dvc.yaml lists. A project that `answerkey
init` made has none of these files. There a stage depends on its key in code.yaml instead. The key
is a digest of the same code, of the package's own copies of files that the project lacks, and of
the version of sqlglot, if the code imports it. `answerkey upgrade` writes code.yaml for the
installed version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from answerkey.base.code import ROOT, hash_module
from answerkey.base.errors import InputError
from answerkey.base.paths import CODE, PIPELINE, SHIPPED
from answerkey.base.records import hash_file, hash_value
from answerkey.base.yaml_files import load_yaml

# The file or folder of the package for each dep of the repository's dvc.yaml that a project lacks.
_SHIPPED_PARTS = {
    "data/corrections": "data/corrections/spider.yaml",
    "data/verdicts": "data/verdicts/spider.jsonl",
    "templates/card.md.j2": "templates",
    "${compare_questions.flag_precision}": "data/flag_precision.json",
    "${export_trainers.prompt_template}": "templates",
}
SQLGLOT = "sqlglot"
_IMPORTS_SQLGLOT = re.compile(r"^\s*(?:from|import) sqlglot\b", re.MULTILINE)
_KEYS = {"answerkey", SQLGLOT, "parts", "files", "params"}
_DIGITS = 16  # of a hash: enough to distinguish versions, and short enough to read


def list_parts() -> dict[str, list[str]]:
    """Return the rooms and files of the package that each stage depends on.

    >>> list_parts()["compute_gold_answers"][:2]
    ['answerkey/base/code.py', 'answerkey/base/kinds.py']
    """
    stages = load_yaml(SHIPPED / PIPELINE)["stages"]
    return {name: sorted(filter(None, map(_find_part, stages[name]["deps"]))) for name in stages}


def _find_part(dep: str) -> str | None:
    return dep if dep.startswith("answerkey/") else _SHIPPED_PARTS.get(dep)


def digest_stage(parts: list[str]) -> str:
    """Return the digest of a stage that depends on these parts of the installed package."""
    made_of: list[Any] = [[part, hash_part(part)] for part in parts]
    if imports_sqlglot(parts):
        made_of.append(version(SQLGLOT))
    return hash_value(made_of)[:_DIGITS]


@cache
def hash_part(part: str) -> str:
    """Return a hash of a file or folder of the installed package; only statements of Python
    count."""
    return hash_value([[name, _hash_content(path)] for name, path in _list_files(part)])[:_DIGITS]


def imports_sqlglot(parts: list[str]) -> bool:
    """Return whether some parts import sqlglot, whose version decides their results."""
    return any(
        _IMPORTS_SQLGLOT.search(path.read_text(encoding="utf-8"))
        for part in parts
        for _, path in _list_files(part)
        if path.suffix == ".py"
    )


def _list_files(part: str) -> list[tuple[str, Path]]:
    root = (ROOT if part.startswith("answerkey/") else SHIPPED) / part
    if root.is_file():
        return [("", root)]
    names = {path.relative_to(root): path for path in root.rglob("*") if path.is_file()}
    return [
        (name.as_posix(), names[name])
        for name in sorted(names)
        if "__pycache__" not in name.parts and not name.name.startswith(".")
    ]


def _hash_content(path: Path) -> str:
    return hash_module(path) if path.suffix == ".py" else hash_file(path)


def read_code() -> Mapping[str, Any] | None:
    """Return the content of the project's code.yaml; None in a clone, which has no such file.

    Raises:
        InputError: the file was not written by `answerkey upgrade`.
    """
    if not CODE.is_file():
        return None
    known = load_yaml(CODE)
    if not isinstance(known, dict) or not known.keys() >= _KEYS:
        raise InputError(
            f"{CODE}: expected what `answerkey init` and `answerkey upgrade` write: take it from"
            " git, then run `answerkey upgrade`"
        )
    return known


def check_code(*stages: str) -> None:
    """Check that the installed code is that of code.yaml, for some stages or for all.

    A project without code.yaml is not checked, nor is a stage that the user added.

    Raises:
        InputError: the code differs; the message says what to do.
    """
    if (known := read_code()) is None:
        return
    parts = list_parts()
    names = [name for name in stages or parts if name in parts]
    changed = [name for name in names if digest_stage(parts[name]) != known.get(name)]
    if changed:
        here = {name: version(name) for name in ("answerkey", SQLGLOT)}
        installed = ", ".join(f"{name} {number}" for name, number in here.items())
        of_project = ", ".join(f"{name} {known[name]}" for name in here)
        raise InputError(
            f"the installed code ({installed}) is not that of {CODE} ({of_project}) for"
            f" {', '.join(changed)}: run `answerkey upgrade`, or install from the lock"
        )
