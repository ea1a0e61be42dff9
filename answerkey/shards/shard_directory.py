"""Shards: one file a database, each made again only when what it is made from has changed.

The journal that knows what each shard was made from lies beside the pipeline's outs, not among
them: it names this machine's SQLite, and the data must not. Losing it costs time, nothing else.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.core.records import (
    encode_json,
    hash_file,
    hash_value,
    read_jsonl,
    replace_file,
    write_jsonl,
)

JOURNAL_DIRECTORY = Path(".answerkey")


class ShardDirectory:
    """The shards of one stage.

    A shard is fresh when the journal has its key and its bytes are those that the journal saw: an
    edited or torn shard is not. The journal is appended to as shards are written, so that a run
    that was killed leaves what it finished.
    """

    def __init__(self, directory: Path, journal_path: Path) -> None:
        self.directory = directory
        self.journal_path = journal_path
        self._journal = _read_journal(journal_path)
        journal_path.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(parents=True, exist_ok=True)
        self._write_journal()  # a torn last line would spoil the next one

    def shard_path(self, name: str) -> Path:
        """Where the shard of a database lies."""
        return self.directory / f"{name}.jsonl"

    def is_fresh(self, name: str, key: str) -> bool:
        """Whether the shard was made from what `key` stands for, and is as it was made."""
        known, path = self._journal.get(name), self.shard_path(name)
        return known is not None and path.is_file() and known == _identify(path, key)

    def write_shard(self, name: str, key: str, records: Iterable[dict[str, Any]]) -> None:
        """Write a shard and note in the journal what it was made from."""
        path = self.shard_path(name)
        write_jsonl(path, records)
        self._journal[name] = _identify(path, key)
        with self.journal_path.open("ab") as file:
            file.write(self._encode_entry(name))

    def keep_only(self, names: Iterable[str]) -> int:
        """Remove every other file of the directory; how many there were. Compacts the journal."""
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
        self._journal = {name: self._journal[name] for name in sorted(kept & set(self._journal))}
        self._write_journal()
        return len(strangers)

    def _write_journal(self) -> None:
        with replace_file(self.journal_path) as file:
            file.writelines(map(self._encode_entry, self._journal))

    def _encode_entry(self, name: str) -> bytes:
        return encode_json({"name": name, "identity": self._journal[name]}) + b"\n"


def _identify(path: Path, key: str) -> str:
    """What the journal knows of a shard: a hash of its bytes and of what it was made from."""
    return hash_value([hash_file(path), key])


def read_shards(directory: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The records of the named shards, one shard after another.

    Raises:
        FileNotFoundError: where a shard is missing.
    """
    for name in names:
        yield from read_jsonl(directory / f"{name}.jsonl")


def _read_journal(path: Path) -> dict[str, str]:
    """The last entry of each shard; what is no entry, as a line torn by a kill, is passed over."""
    journal: dict[str, str] = {}
    if not path.is_file():
        return journal
    with path.open("rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
                journal[entry["name"]] = str(entry["identity"])
            except (ValueError, TypeError, KeyError):
                continue
    return journal
