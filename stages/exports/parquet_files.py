"""Parquet files that grow batch by batch: the same rows give the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.records import replace_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

Record = dict[str, Any]

ROWS_PER_GROUP = 5000


class ParquetFile:
    """An open file. `rows` is how many it holds so far, `size_bytes` their size in memory."""

    def __init__(self, writer: pq.ParquetWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self.rows = 0
        self.size_bytes = 0

    def write(self, rows: list[Record]) -> None:
        """Add rows as one row group; each has the columns of the schema."""
        import pyarrow as pa

        table = pa.Table.from_pylist(rows, schema=self._schema)
        self._writer.write_table(table)
        self.rows += table.num_rows
        self.size_bytes += table.nbytes


@contextmanager
def open_parquet(path: Path, schema: pa.Schema) -> Iterator[ParquetFile]:
    """A file that takes the place of `path` when the block ends well, and only then."""
    import pyarrow.parquet as pq

    with (
        replace_file(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        yield ParquetFile(writer, schema)


def take_batches(rows: Iterable[Any], size: int = ROWS_PER_GROUP) -> Iterator[list[Any]]:
    """The rows in lists of so many, the last one shorter.

    >>> list(take_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(rows)
    while batch := list(islice(remaining, size)):
        yield batch
