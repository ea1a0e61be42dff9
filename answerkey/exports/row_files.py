"""Write files of rows, Parquet or JSON Lines: the same rows give the same bytes.

Each kind of file is a class that makes a row from a question, and writes rows. Another kind is
another class.

For Parquet, Arrow reads the rows as JSON. It refuses the number 1 in a column of text, which
`Dataset.from_list` would turn into "1". It does not import pandas, as it would to read Python's
objects. It compresses with zstd; `Dataset.to_parquet` knows only snappy, and its files of prompts
are three times as large.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import json

from answerkey.base.records import encode_compactly, encode_json, hash_file, replace_file

_GROUP_ROWS = 5000
_GROUP_CHARACTERS = 200_000_000  # of prompts: one with a large schema has a quarter of a million


Row = dict[str, Any]
WriteRows = Callable[[list[Row]], int]  # returns their size in memory, in bytes


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file: the types of its columns, the function that makes a row of a question, and
    the one that says whether a question has a row."""

    schema: pa.Schema
    make_row: Callable[[Any], Row]
    takes: Callable[[Any], bool] = lambda _: True
    suffix: ClassVar[str] = ".parquet"

    @contextmanager
    def open(self, file: BinaryIO) -> Iterator[WriteRows]:
        with pq.ParquetWriter(file, self.schema, compression="zstd") as writer:

            def write(rows: list[Row]) -> int:
                table = _make_rows(rows, self.schema)
                writer.write_table(table)
                size_bytes: int = table.nbytes
                return size_bytes

            yield write


@dataclass(frozen=True)
class Lines:
    """A file of JSON Lines: the same, with an object in place of a row."""

    make_row: Callable[[Any], Row]
    takes: Callable[[Any], bool] = lambda _: True
    suffix: ClassVar[str] = ".jsonl"

    @contextmanager
    def open(self, file: BinaryIO) -> Iterator[WriteRows]:
        yield lambda rows: file.write(b"".join(encode_json(row) + b"\n" for row in rows))


Format = ParquetTable | Lines


class WrittenFile(NamedTuple):
    """The facts of a file for a card: its rows, their size in memory, its own size and checksum."""

    rows: int
    size_bytes: int
    file_bytes: int
    sha256: str


def write_files(
    questions: Iterable[Any], formats: Mapping[Path, Format], *, group_rows: int = _GROUP_ROWS
) -> dict[Path, WrittenFile]:
    """Write the files of the same questions. At most `group_rows` questions are in memory, fewer if
    their prompts are long.

    If no question has a row in a file, the file is not written: readers fail on one without rows.

    Raises:
        pyarrow.ArrowException: a value has another type than its column.
    """
    remaining = iter(questions)
    group = _take_group(remaining, group_rows)
    if not group:
        return {}
    rows, sizes = (dict.fromkeys(formats, 0) for _ in range(2))
    with ExitStack() as stack:
        writers: dict[Path, WriteRows] = {}
        for path, format_ in formats.items():
            file = stack.enter_context(replace_file(path))
            writers[path] = stack.enter_context(format_.open(file))
        while group:
            for path, format_ in formats.items():
                chosen = [
                    format_.make_row(question) for question in group if format_.takes(question)
                ]
                if chosen:
                    sizes[path] += writers[path](chosen)
                    rows[path] += len(chosen)
            group = _take_group(remaining, group_rows)
    for path in [path for path, count in rows.items() if not count]:
        path.unlink()
        del rows[path]
    return {
        path: WrittenFile(count, sizes[path], path.stat().st_size, hash_file(path))
        for path, count in rows.items()
    }


def _take_group(questions: Iterator[Any], most: int) -> list[Any]:
    group, characters = [], 0
    for question in islice(questions, most):
        group.append(question)
        characters += len(getattr(question, "prompt", ""))
        if characters >= _GROUP_CHARACTERS:
            break
    return group


def _make_rows(rows: list[Row], schema: pa.Schema) -> pa.Table:
    """Return the rows as an Arrow table. Files, which JSON cannot hold, are added to it."""
    files = [field for field in schema if field.type == pa.binary()]
    contents = [[row.pop(field.name) for row in rows] for field in files]
    text = "\n".join(map(encode_compactly, rows)).encode()
    table = json.read_json(
        BytesIO(text),
        json.ReadOptions(block_size=len(text) + 1),
        json.ParseOptions(
            explicit_schema=pa.schema([field for field in schema if field not in files]),
            unexpected_field_behavior="error",
        ),
    )
    for field, values in zip(files, contents, strict=True):
        table = table.append_column(field, _pack(values))
    return table.select(schema.names)


def _pack(contents: list[bytes | None]) -> pa.Array:
    files = [content for content in contents if content is not None]
    if len(files) < len(contents):
        return pa.nulls(len(contents), pa.binary())
    ends = array("i", accumulate(map(len, files), initial=0))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(files))]
    return pa.Array.from_buffers(pa.binary(), len(contents), buffers)
