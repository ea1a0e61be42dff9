"""Tracked roots: DVC watches the files of every chosen corpus, so that none changes unnoticed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.params import load_yaml
from answerkey.corpus.corpora import Corpus, DirectoryDatabases, DirectoryQuestions

PIPELINE = Path("dvc.yaml")
_ROOT_OF_ENTRY = re.compile(r"\$\{corpora\.([\w-]+)\.root\}")


def check_roots(corpora: Iterable[Corpus], entries: Mapping[str, Any], *, stage: str) -> None:
    """Make sure that the root of each corpus is among the deps of a stage in dvc.yaml, or below one
    of them; nothing where there is no dvc.yaml, as where a stage runs without DVC.

    Raises:
        InputError: with the line to add.
    """
    if not PIPELINE.is_file():
        return
    deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
    tracked = {_resolve(dep, entries) for dep in deps}
    for name, root in _list_roots(corpora):
        place = root.absolute()
        if tracked.isdisjoint([place, *place.parents]):
            raise InputError(
                f"{PIPELINE}: DVC would not notice changes in {root}, the root of corpus {name}:"
                f' expected - "${{corpora.{name}.root}}" among deps of {stage}'
            )


def _resolve(dep: str, entries: Mapping[str, Any]) -> Path:
    found = _ROOT_OF_ENTRY.fullmatch(dep)
    root = entries.get(found[1], {}).get("root") if found else None
    return Path(root or dep).absolute()


def _list_roots(corpora: Iterable[Corpus]) -> list[tuple[str, Path]]:
    """The directories that corpora are read from, each with the entry that names it."""
    roots = []
    for corpus in corpora:
        if isinstance(corpus.questions, DirectoryQuestions):
            roots.append((corpus.name, corpus.questions.root))
        if isinstance(corpus.databases, DirectoryDatabases):
            roots.append((corpus.owner, corpus.databases.root))
    return roots
