"""Parquet files that grow batch by batch: the same rows give the same bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answerkey.core.records import replace_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Record = dict[str, Any]


class ParquetFile:
    """An open file. `rows` is how many it holds so far, `size_bytes` their size in memory."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self.rows = 0
        self.size_bytes = 0

    def write(self, table: pa.Table) -> None:
        """Add a table, which may have more columns than the file, as one row group."""
        table = table.select(self._schema.names)
        self._writer.write_table(table)
        self.rows += table.num_rows
        self.size_bytes += table.nbytes


def write_rows(
    rows: Iterable[Record], files: Sequence[ParquetFile], schema: pa.Schema, *, group_rows: int
) -> None:
    """Add rows to files in row groups of so many, the last one smaller; each file takes the columns
    that it has. Where a row has no value it is null.

    Rows go through JSON: given Python's lists, Arrow loads pandas to ask whether they are of its
    kind, which takes longer than everything else here together.

    Raises:
        pyarrow.ArrowInvalid: on a column that the schema has not, and on a value of another type.
    """
    import orjson
    import pyarrow as pa
    from pyarrow import json

    remaining = iter(rows)
    while lines := b"\n".join(map(orjson.dumps, islice(remaining, group_rows))):
        table = json.read_json(
            pa.BufferReader(lines),
            # One block, so that rows of any length fit into it.
            read_options=json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="error"
            ),
        )
        del lines
        for file in files:
            file.write(table)
        del table  # or it would lie beside the lines of the next one


def lighten_arrow() -> None:
    """Let Arrow go without numpy and take its memory from the system, in a process that has not
    imported it yet and does nothing but write files.

    Arrow asks for numpy when it is imported; nothing here needs it, and it doubles the time that
    the import takes. Its own allocator keeps what it once had, half as much again as is in use.
    """
    sys.modules.setdefault("numpy", None)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


@contextmanager
def open_parquet(path: Path, schema: pa.Schema) -> Iterator[ParquetFile]:
    """A file that takes the place of `path` when the block ends well, and only then."""
    import pyarrow.parquet as pq

    with (
        replace_file(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        yield ParquetFile(writer, schema)
