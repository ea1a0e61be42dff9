"""Fingerprints: the sha256 of every database, as the stage that fetched it wrote it down."""

from __future__ import annotations

import json
from pathlib import Path


def read_database_hashes(databases_dir: Path) -> dict[str, str]:
    """sha256 by database id.

    Raises:
        FileNotFoundError: where there is no manifest.
    """
    path = databases_dir / "manifest.json"
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro download_databases`, which makes it")
    databases = json.loads(path.read_text(encoding="utf-8"))["databases"]
    return {db_id: entry["sha256"] for db_id, entry in databases.items()}
