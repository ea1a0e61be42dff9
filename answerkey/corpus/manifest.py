"""The manifest of a databases' directory: what each file is, and what does not belong there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from answerkey.core.records import decode_json, hash_file
from answerkey.corpus.database_sources import DatabaseSource
from answerkey.corpus.databases import locate_database


def read_manifest(path: Path) -> dict[str, dict[str, Any]]:
    """The entries of a manifest by id; none where there is no manifest: then nothing is kept."""
    try:
        databases = decode_json(path.read_bytes())["databases"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {db_id: entry for db_id, entry in databases if isinstance(entry, dict)}


def describe_database(
    path: Path, origin: dict[str, str], *, sha256: str | None = None
) -> dict[str, Any]:
    """The manifest's entry for a file, whose sha256 is computed where it is not yet known."""
    return {
        "sha256": sha256 or hash_file(path),
        "size_bytes": path.stat().st_size,
        "origin": origin,
    }


def find_current(
    sources: dict[str, DatabaseSource],
    output_dir: Path,
    manifest: dict[str, dict[str, Any]],
    *,
    hash_file: Callable[[Path], str] = hash_file,
) -> dict[str, str]:
    """sha256 of the databases that are, byte for byte, what manifest and sources want, by id."""
    current = {}
    for db_id, source in sources.items():
        entry, path = manifest.get(db_id, {}), locate_database(output_dir, db_id)
        is_wanted = entry.get("origin") == source.origin and path.is_file()
        if is_wanted and (sha256 := hash_file(path)) == entry.get("sha256"):
            current[db_id] = sha256
    return current


def remove_foreign_entries(output_dir: Path, db_ids: Collection[str], kept: Collection[str]) -> int:
    """Remove what is neither a listed database nor a kept file; how many folders or files that was
    at the top: databases no longer listed, and leftovers of a run that was cut short.

    A link is removed itself, never what it points to.
    """
    if not output_dir.is_dir():
        return 0
    removed = 0
    for entry in sorted(output_dir.iterdir()):
        is_folder = entry.is_dir() and not entry.is_symlink()
        if is_folder and entry.name in db_ids:
            for file in entry.iterdir():
                if file.name != f"{entry.name}.sqlite" or (file.is_dir() and not file.is_symlink()):
                    _remove(file)
        elif entry.name not in kept:
            _remove(entry)
            removed += 1
    return removed


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()
