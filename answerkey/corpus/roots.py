"""The directories of corpora: what is wrong with one, and whether DVC watches it."""

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
_SHOWN = 5


def describe_root(
    corpus: str, root: Path, missing: str, expected: Iterable[str], *, section: str
) -> str:
    """What is wrong with the root of a corpus that lacks a file or folder of its entry.

    There is no such directory; or it holds something else, and a directory in it would be the right
    one.
    """
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
