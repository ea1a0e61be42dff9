"""The manifest of the databases, of which only the entry that is being read is in memory.

It is JSON, `{"databases": {ID: entry, ...}}`, with each entry on a line of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.records import encode_json, replace_file

_START, _END = b'{"databases": {\n', b"}}\n"


def write_manifest(path: Path, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Write entries by id as they come."""
    with replace_file(path) as file:
        file.write(_START)
        separator = b""
        for db_id, entry in entries:
            file.write(separator + encode_json(db_id) + b": " + encode_json(entry))
            separator = b",\n"
        file.write((b"\n" if separator else b"") + _END)


def read_entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries by id, in their order. JSON that has its lines elsewhere is read as a whole.

    Raises:
        FileNotFoundError: where there is no manifest.
        InputError: with the path, where it is no JSON, or another.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro download_databases`, which makes it")
    with path.open("rb") as file:
        try:
            if file.readline() != _START:
                yield from _read_whole(path)
                return
            while (line := file.readline()) != _END:
                yield from json.loads(b"{" + line.rstrip(b",\n") + b"}").items()
                if not line:
                    raise InputError(f"expected {_END.decode().strip()} at the end")
        except ValueError as error:
            raise InputError(
                f"{path}: no manifest: {error}: run `dvc repro download_databases`, which makes it"
            ) from error


def _read_whole(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    manifest = json.loads(path.read_bytes())
    entries = manifest.get("databases") if isinstance(manifest, dict) else None
    if not isinstance(entries, dict):
        raise InputError('expected {"databases": {ID: entry, ...}}')
    return entries.items()
