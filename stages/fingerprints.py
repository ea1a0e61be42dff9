"""Fingerprints: the sha256 of every database, as the stage that fetched it wrote it down."""

from __future__ import annotations

from pathlib import Path

from stages.manifest_file import read_entries


def read_database_hashes(databases_dir: Path) -> dict[str, str]:
    """sha256 by database id.

    Raises:
        FileNotFoundError: where there is no manifest.
    """
    entries = read_entries(databases_dir / "manifest.json")
    return {db_id: entry["sha256"] for db_id, entry in entries}
