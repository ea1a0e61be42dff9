"""Shards: one file a database, each made again only when what it is made from has changed.

What each was made from stands in a file of keys beside the directory, which is an out of the same
stage: a clone that has pulled the shards makes only those again that a change concerns.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.base.params import load_yaml
from answerkey.base.records import (
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
    and content. Docstrings and comments count for nothing: DVC runs the stage again for one, and no
    shard is made.

    >>> hash_code("parse_gold_sql") == hash_code("audit_gold_answers")
    False

    Raises:
        FileNotFoundError: if there is no dvc.yaml, or a module that it lists is missing.
    """
    deps = load_yaml(root / "dvc.yaml")["stages"][stage]["deps"]
    files = sorted({path for dep in deps for path in _list_code(root / dep)})
    return hash_value([(path.relative_to(root).as_posix(), _hash_module(path)) for path in files])


def _hash_module(path: Path) -> str:
    if path.suffix != ".py":
        return hash_file(path)
    return hash_value(drop_words(path.read_text(encoding="utf-8")))


def drop_words(source: str) -> str:
    """Return a module without its docstrings and comments.

    >>> drop_words("def two():\\n    'A number.'\\n    # Even.\\n\\n    return 2")
    'def two():\\n    return 2'
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [statement for statement in body if not _is_text(statement)]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
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
            if file.is_file() and "__pycache__" not in file.parts:
                yield file


class ShardDirectory:
    """The shards of one stage, with their keys in `NAME.keys` beside the directory.

    A shard is fresh when it was written under the same key and has the bytes that it had then. The
    keys are appended to as shards are written, so that a run that was killed leaves what it
    finished.
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

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove every other file of the directory; sort the keys."""
        kept = set(names)
        for path in sorted(self.directory.iterdir()):
            if path.suffix != ".jsonl" or path.stem not in kept:
                path.unlink()
        left = sorted(kept & self._identities.keys())
        self._identities = {name: self._identities[name] for name in left}
        self._write_identities()

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
        FileNotFoundError: if a shard is missing.
    """
    for name in names:
        yield from read_jsonl(directory / f"{name}.jsonl")


def _read_identities(path: Path) -> dict[str, str]:
    """The last entry of each shard, up to a line that is torn by a kill."""
    identities: dict[str, str] = {}
    if path.is_file():
        with path.open("rb") as file, contextlib.suppress(ValueError):
            for line in file:
                entry = json.loads(line)
                identities[entry["name"]] = entry["identity"]
    return identities
