"""Shards: one file a database, each made again only when what it is made from has changed.

What each was made from stands in a file of keys beside the directory, which is an out of the same
stage: it travels with the shards, so that a clone that has pulled them makes only those again that
a change concerns. No stage has it among its deps, since a key changes with the code, and the
records may stay. It has facts alone, which are the same on every machine: not the version of
SQLite, which comes with Python.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.core.database_ids import find_inside
from answerkey.core.records import (
    encode_json,
    hash_file,
    hash_value,
    read_jsonl,
    replace_file,
    write_jsonl,
)


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
