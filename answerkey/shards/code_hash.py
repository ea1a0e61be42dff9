"""The hash of a stage's code, which is part of what its shards are made from.

The code of a stage is what dvc.yaml lists among its deps: modules, and packages with all of their
files. So a shard is made again exactly where DVC runs the stage again for its code. The hash goes
into the keys of the shards, and never into their records.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from answerkey.core.params import load_yaml
from answerkey.core.records import hash_file, hash_value

ROOT = Path(__file__).resolve().parents[2]  # of the code that runs, wherever it runs


def hash_code(stage: str, *, root: Path = ROOT) -> str:
    """sha256 over the modules and packages that the dvc.yaml of `root` lists for a stage, by name
    and content; what Python compiled of them is left out.

    >>> hash_code("parse_gold_sql") == hash_code("audit_gold_answers")
    False

    Raises:
        FileNotFoundError: where there is no dvc.yaml, or a module that it lists is missing.
    """
    deps = load_yaml(root / "dvc.yaml")["stages"][stage]["deps"]
    files = sorted({path for dep in deps for path in _list_code(root / dep)})
    return hash_value([(path.relative_to(root).as_posix(), hash_file(path)) for path in files])


def _list_code(path: Path) -> Iterator[Path]:
    """A module, or the files of a package; none for any other path."""
    if path.suffix == ".py":
        yield path
    elif (path / "__init__.py").is_file():
        for file in path.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc":
                yield file
