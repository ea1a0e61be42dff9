"""Databases out of a Parquet file, into a folder where a reward finds them."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from answerkey.core.database_ids import find_inside


def unpack_files(packed: Path, cache: Path) -> Path | None:
    """The folder with the files of a table, NAME/FILE.sqlite, which is named by the table's own
    checksum; None where the table has no content. A missing table has no file.

    A file that lies there is read, and written again only where it is not the one of its checksum.

    Raises:
        ValueError: on content that is not that of its checksum, or a path that leaves the folder.
    """
    import pyarrow.parquet as pq

    folder = cache / "files" / (hash_file(packed) if packed.is_file() else "none")
    folder.mkdir(parents=True, exist_ok=True)
    if not packed.is_file():
        return folder
    table = pq.ParquetFile(packed)
    for group in range(table.num_row_groups):
        files = table.read_row_group(group, columns=["path", "sha256"]).to_pylist()
        targets = [find_inside(folder, file["path"]) for file in files]
        if all(
            target.is_file() and hash_file(target) == file["sha256"]
            for target, file in zip(targets, files, strict=True)
        ):
            continue
        contents = table.read_row_group(group, columns=["content"]).to_pylist()
        for target, file, row in zip(targets, files, contents, strict=True):
            if row["content"] is None:
                return None
            found = hashlib.sha256(row["content"]).hexdigest()
            if found != file["sha256"]:
                expected = f"expected sha256 {file['sha256']}, found {found}"
                raise ValueError(f"{packed}: {file['path']}: {expected}")
            _replace(target, row["content"])
    return folder


def hash_file(path: Path) -> str:
    """sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _replace(target: Path, content: bytes) -> None:
    """Write a file, which is never seen half written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / target.name
        partial.write_bytes(content)
        partial.replace(target)
