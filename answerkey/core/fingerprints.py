"""Fingerprints: the sha256 of every database, as the stage that fetched it wrote it down."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from answerkey.core.errors import InputError
from answerkey.core.manifest_file import read_entries


class Fingerprints(dict[str, str]):
    """sha256 by database id, which says where it looked for one that is not there."""

    def __init__(self, manifest: Path) -> None:
        super().__init__((db_id, entry["sha256"]) for db_id, entry in read_entries(manifest))
        self.manifest = manifest

    def __missing__(self, db_id: str) -> NoReturn:
        raise InputError(
            f"{self.manifest}: expected an entry for database {db_id}, which has questions, found"
            " none: run `dvc repro download_databases`, which makes it"
        )


def read_database_hashes(databases_dir: Path) -> Fingerprints:
    """sha256 by database id.

    Raises:
        FileNotFoundError: where there is no manifest.
        InputError: with the path, where it is no manifest.
        InputError: with the path, once a database is asked for that it does not have.
    """
    return Fingerprints(databases_dir / "manifest.json")
