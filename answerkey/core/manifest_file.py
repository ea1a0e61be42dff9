"""The manifest of the databases: what each file is, as the stage that made it wrote it down.

It is JSON, `{"databases": {ID: entry, ...}}`, with each entry on a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from answerkey.core.errors import InputError
from answerkey.core.records import decode_json, encode_json, replace_file

_NEXT_STEP = "run `dvc repro download_databases`, which makes it"


class Fingerprints(dict[str, str]):
    """sha256 by database id; where an id is missing, the error says where it was looked for."""

    def __init__(self, manifest: Path) -> None:
        super().__init__(
            (db_id, entry["sha256"]) for db_id, entry in read_manifest(manifest).items()
        )
        self.manifest = manifest

    def __missing__(self, db_id: str) -> NoReturn:
        raise InputError(
            f"{self.manifest}: expected an entry for database {db_id}, which has questions, found"
            f" none: {_NEXT_STEP}"
        )


def write_manifest(path: Path, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Write entries by id as they come."""
    lines = [encode_json(db_id) + b": " + encode_json(entry) for db_id, entry in entries]
    with replace_file(path) as file:
        file.write(b'{"databases": {\n' + b",\n".join(lines) + (b"\n}}\n" if lines else b"}}\n"))


def read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """The entries by id, in their order.

    Raises:
        FileNotFoundError: where there is no manifest.
        InputError: with the path, where it is no JSON, or another.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: {_NEXT_STEP}")
    try:
        manifest = decode_json(path.read_bytes())
    except ValueError as error:
        raise InputError(f"{path}: no manifest: {error}: {_NEXT_STEP}") from error
    entries = manifest.get("databases") if isinstance(manifest, dict) else None
    if not isinstance(entries, dict) or not all(isinstance(e, dict) for e in entries.values()):
        raise InputError(
            f'{path}: no manifest: expected {{"databases": {{ID: entry, ...}}}}: {_NEXT_STEP}'
        )
    return entries


def read_database_hashes(databases_dir: Path) -> Fingerprints:
    """sha256 by database id.

    Raises:
        FileNotFoundError, InputError: as `read_manifest`; InputError with the path, once a database
            is asked for that it does not have.
    """
    return Fingerprints(databases_dir / "manifest.json")
