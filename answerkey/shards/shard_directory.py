"""The hash of a stage's code, which is part of what its shards are made from.

The code of a stage is what dvc.yaml lists among its deps: modules, and packages with all of their
files. Docstrings, comments and blank lines count for nothing: DVC runs the stage again for one, and
no shard is made. The hash goes into the keys of the shards, and never into their records.
"""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.params import load_yaml
from answerkey.records import (
    encode_json,
    hash_file,
    hash_value,
    read_jsonl,
    replace_file,
    write_jsonl,
)
from answerkey.sqlite.files import find_inside

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
    return hash_value([(path.relative_to(root).as_posix(), _hash_module(path)) for path in files])


def _hash_module(path: Path) -> str:
    if path.suffix != ".py":
        return hash_file(path)
    return hash_value(drop_words(path.read_text(encoding="utf-8")))


def drop_words(source: str) -> list[str]:
    """Return the lines of a module without its docstrings, comments and blank lines. They are text,
    no tree, and so the same on every version of Python.

    >>> drop_words("def two():\\n    'A number.'\\n    # Even.\\n\\n    return 2")
    ['def two():', '    return 2']
    """
    dropped: set[int] = set()
    texts: set[int] = set()  # lines inside of a string that is no docstring
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if _is_text(first) and first.lineno > getattr(node, "lineno", 0):
                dropped.update(range(first.lineno, first.end_lineno + 1))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno > node.lineno:
            texts.update(range(node.lineno, node.end_lineno + 1))
    return [
        line
        for number, line in enumerate(source.splitlines(), start=1)
        if number not in dropped
        and (number in texts or (line.strip() and not line.lstrip().startswith("#")))
    ]


def _is_text(node: ast.stmt | None) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _list_code(path: Path) -> Iterator[Path]:
    """A module, or the files of a package; none for any other path."""
    if path.suffix == ".py":
        yield path
    elif (path / "__init__.py").is_file():
        for file in path.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc":
                yield file


# Shards: one file a database, each made again only when what it is made from has changed.
#
# What each was made from stands in a file of keys beside the directory, which is an out of the
# same stage: it travels with the shards, so that a clone that has pulled them makes only those
# again that a change concerns. No stage has it among its deps, since a key changes with the code,
# and the records may stay. It has facts alone, which are the same on every machine: not the
# version of SQLite, which comes with Python.


class ShardDirectory:
    """The shards of one stage, with their keys in `NAME.keys` beside the directory.

    A shard is fresh when it was written under the same key and has the bytes that it had then: an
    edited or torn shard is not. The keys are appended to as shards are written, so that a run that
    was killed leaves what it finished.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys_path = directory.with_name(f"{directory.name}.keys")
        self._identities = _read_identities(self.keys_path)
        directory.mkdir(parents=True, exist_ok=True)
        self._write_identities()  # a torn last line would spoil the next; a link is not added to

    def shard_path(self, name: str) -> Path:
        """Where the shard of a database lies."""
        return find_inside(self.directory, f"{name}.jsonl")

    def is_fresh(self, name: str, key: str) -> bool:
        """Whether the shard was made from what `key` stands for, and is as it was made."""
        known, path = self._identities.get(name), self.shard_path(name)
        return known is not None and path.is_file() and known == _identify(path, key)

    def write_shard(self, name: str, key: str, records: Iterable[dict[str, Any]]) -> None:
        """Write a shard and note what it was made from."""
        path = self.shard_path(name)
        write_jsonl(path, records)
        self._identities[name] = _identify(path, key)
        with self.keys_path.open("ab") as file:
            file.write(self._encode_entry(name))

    def keep_only(self, names: Iterable[str]) -> int:
        """Remove every other file of the directory; how many there were. Sorts the keys."""
        kept = set(names)
        strangers = [
            path
            for path in sorted(self.directory.iterdir())
            if path.suffix != ".jsonl" or path.stem not in kept
        ]
        for path in strangers:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        left = sorted(kept & self._identities.keys())
        self._identities = {name: self._identities[name] for name in left}
        self._write_identities()
        return len(strangers)

    def _write_identities(self) -> None:
        with replace_file(self.keys_path) as file:
            file.writelines(map(self._encode_entry, self._identities))

    def _encode_entry(self, name: str) -> bytes:
        return encode_json({"name": name, "identity": self._identities[name]}) + b"\n"


def _identify(path: Path, key: str) -> str:
    """A hash of the bytes of a shard and of what it was made from."""
    return hash_value([hash_file(path), key])


def read_shards(directory: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The records of the named shards, one shard after another.

    Raises:
        FileNotFoundError: where a shard is missing.
    """
    for name in names:
        yield from read_jsonl(directory / f"{name}.jsonl")


def _read_identities(path: Path) -> dict[str, str]:
    """The last entry of each shard; what is no entry, as a line torn by a kill, is passed over."""
    identities: dict[str, str] = {}
    if not path.is_file():
        return identities
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
                identities[entry["name"]] = str(entry["identity"])
            except (ValueError, TypeError, KeyError):
                continue
    return identities
