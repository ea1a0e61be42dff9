"""code.yaml: the digests of the code by stage, and what was written into a project.

The digests are for DVC and for the stages, which refuse to run with other code
(answerkey/base/digests.py). The rest tells the next upgrade which files nobody has edited, which
keys of params.yaml an owner has taken out, and why a stage runs again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from answerkey.base.digests import SQLGLOT, digest_stage, hash_part, list_parts
from answerkey.base.paths import PIPELINE
from answerkey.project.files import without_own_deps

_HEAD = """\
# Which code of Answerkey made this dataset. `answerkey init` and `answerkey upgrade` write this
# file: commit it, and do not edit it. A stage runs again where its digest changes.
"""


@dataclass(frozen=True, slots=True)
class Record:
    """
    versions: of answerkey and sqlglot.
    stages: the digest of each stage. parts: the hash of each room or file that these are made of.
    files: what was written, by path, as `identify` names it.
    params: the keys of params.yaml that were written or offered.
    """

    versions: dict[str, str]
    stages: dict[str, str]
    parts: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    params: list[str] = field(default_factory=list)

    def encode(self) -> str:
        """The text of code.yaml. Hashes stand in quotes, since 12e456 is a number for some readers
        of YAML, and a text for others."""
        lines = [*_quote(self.versions), *_quote(self.stages)]
        for name in ("parts", "files"):
            lines += [f"{name}:", *(f"  {line}" for line in _quote(getattr(self, name)))]
        lines += ["params:", *(f"  - {key}" for key in self.params)]
        return _HEAD + "".join(f"{line}\n" for line in lines)


def _quote(values: Mapping[str, str]) -> list[str]:
    return [f"{name}: {json.dumps(value)}" for name, value in values.items()]


def decode(known: Mapping[str, Any]) -> Record:
    """The record of what code.yaml holds."""
    rest = dict(known)
    versions = {name: str(rest.pop(name)) for name in ("answerkey", SQLGLOT)}
    parts, files, params = rest.pop("parts"), rest.pop("files"), rest.pop("params")
    return Record(versions, rest, parts, files, params)


def record_installed(*, files: Mapping[str, str], params: list[str]) -> Record:
    """The record of the installed code, with what is written into the project."""
    parts = list_parts()
    named = sorted({part for of_stage in parts.values() for part in of_stage})
    return Record(
        {name: version(name) for name in ("answerkey", SQLGLOT)},
        {name: digest_stage(parts[name]) for name in parts},
        {part: hash_part(part) for part in named},
        {path: identify(path, text) for path, text in files.items()},
        params,
    )


def identify(path: str, text: str) -> str:
    """What tells a file that was edited: a hash of its text, of dvc.yaml without the deps that
    follow from what the project has."""
    if path == PIPELINE.as_posix():
        text = without_own_deps(text)
    return sha256(text.encode()).hexdigest()[:16]
