"""Databases out of a Parquet file, into a folder where a reward finds them."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path, PurePosixPath


def unpack_files(packed: Path, cache: Path) -> Path | None:
    """The folder with the files of a table, NAME/FILE.sqlite, which is named by the table's own
    checksum and made once; None where the table has no content. A missing table has no file.

    Raises:
        ValueError: on a file that is not the one of its checksum, or whose path leaves the folder.
    """
    import pyarrow.parquet as pq

    if not packed.is_file():
        sha256 = "none"
    else:
        with packed.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    folder = cache / "files" / sha256
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        if packed.is_file():
            table = pq.ParquetFile(packed)
            for group in range(table.num_row_groups):
                rows = table.read_row_group(group, columns=["path", "sha256", "content"])
                for row in rows.to_pylist():
                    if row["content"] is None:
                        return None
                    _write_file(partial, packed, **row)
        _move_folder(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _write_file(folder: Path, packed: Path, *, path: str, sha256: str, content: bytes) -> None:
    parts = PurePosixPath(path).parts
    if len(parts) != 2 or not {"/", ".", ".."}.isdisjoint(parts):
        raise ValueError(f"{packed}: expected paths such as NAME/NAME.sqlite, found {path!r}")
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(f"{packed}: {path}: expected sha256 {sha256}, found {found}")
    target = folder.joinpath(*parts)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)


def _move_folder(partial: Path, folder: Path) -> None:
    """Give a folder that is complete its name, unless another process was faster."""
    partial.chmod(0o755)
    try:
        partial.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
