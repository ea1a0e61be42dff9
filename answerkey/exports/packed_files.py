"""The SQLite files of a dataset as rows of Parquet, so that a repository on a hub holds all that a
reward needs: the databases of its questions, and those of their test suites.

Where the files of a kind together are larger than params allow, their rows have no content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Features, Value

from answerkey.dataset import read_product
from answerkey.errors import InputError
from answerkey.exports.parquet_files import Table, WrittenFile, write_tables
from answerkey.exports.prompts import describe_database
from answerkey.records import SPLITS, read_database_hashes, read_json
from answerkey.sqlite.files import find_inside

Record = dict[str, Any]

DATABASES, TEST_SUITES = "databases", "test_suites"
_TEXT = Value("string")
_FILE = {
    "path": (_TEXT, "where the file belongs in the folder of its kind"),
    "size_bytes": (Value("int64"), "how large it is"),
    "sha256": (_TEXT, "its checksum"),
    "content": (Value("binary"), "the SQLite file; null where it is not in this dataset"),
}
_NAME = {"database_name": (_TEXT, "the database of the questions")}
_SCHEMA = {
    "schema": (_TEXT, "its CREATE statements"),
    "compact_schema": (_TEXT, "its tables, a line each"),
}
# Each table: its columns, with their types and what they hold.
COLUMNS = {DATABASES: {**_NAME, **_SCHEMA, **_FILE}, TEST_SUITES: {**_NAME, **_FILE}}
FEATURES = {
    name: Features({column: kind for column, (kind, _) in columns.items()})
    for name, columns in COLUMNS.items()
}


class PackedFiles(NamedTuple):
    """What was written of a kind of files: how large they are, and whether they are in it."""

    written: WrittenFile
    total_bytes: int
    has_content: bool


def list_paths(product: Path) -> dict[str, list[str]]:
    """The files that the questions of a product need, by their kind, sorted.

    >>> list_paths(Path("data/questions"))[TEST_SUITES]                     # doctest: +SKIP
    ['fleet/fleet.00.sqlite', 'fleet/fleet.03.sqlite']

    Raises:
        InputError: as `read_product`.
    """
    databases: set[str] = set()
    suites: set[str] = set()
    for split in SPLITS:
        for question in read_product(product, split):
            name, suite = question.database_name, question.test_suite
            databases.add(f"{name}/{name}.sqlite")
            suites.update("/".join(Path(database["path"]).parts[-2:]) for database in suite)
    return {DATABASES: sorted(databases), TEST_SUITES: sorted(suites)}


def write_packed_files(
    product: Path, folders: Mapping[str, Path], out: Path, *, max_bytes: int
) -> dict[str, PackedFiles]:
    """Write databases.parquet and test_suites.parquet; what was written, by kind. A kind of which
    there is none has no file.

    Raises:
        FileNotFoundError: where a manifest or a file of it is missing.
        InputError: where a file is not the one of the manifest.
    """
    hashes = {
        DATABASES: {
            f"{name}/{name}.sqlite": sha256
            for name, sha256 in read_database_hashes(folders[DATABASES]).items()
        },
        TEST_SUITES: read_json(folders[TEST_SUITES] / "manifest.json"),
    }
    packed = {}
    for kind, paths in list_paths(product).items():
        files = {path: find_inside(folders[kind], path) for path in paths}
        total = sum(file.stat().st_size for file in files.values())
        has_content = total <= max_bytes
        table = Table(FEATURES[kind].arrow_schema, lambda row: row)
        rows = _read_files(kind, files, hashes[kind], has_content=has_content)
        path = out / f"{kind}.parquet"
        written = write_tables(rows, {path: table}, group_rows=1)
        if written:
            packed[kind] = PackedFiles(written[path], total, has_content)
    return packed


def _read_files(
    kind: str,
    files: Mapping[str, Path],
    hashes: Mapping[str, str],
    *,
    has_content: bool,
) -> Iterator[Record]:
    for path, file in files.items():
        content = file.read_bytes() if has_content else None
        if content is not None and hashlib.sha256(content).hexdigest() != hashes[path]:
            raise InputError(
                f"{file}: expected sha256 {hashes[path]} (the manifest), found another:"
                " run `dvc repro`, or `dvc pull`"
            )
        row = {
            "database_name": path.partition("/")[0],
            "path": path,
            "size_bytes": file.stat().st_size,
            "sha256": hashes[path],
            "content": content,
        }
        if kind == DATABASES:
            texts = describe_database(file, example_rows=0, max_characters=0)
            row |= {"schema": texts.schema, "compact_schema": texts.compact_schema}
        yield row
