"""parquet_files: rows come back as what they were, and those that do not fit are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyarrow import parquet

from answerkey.base.records import hash_file
from answerkey.exports.parquet_files import Table, write_tables

TEXT = pa.schema({"text": pa.string()})


def test_row_that_does_not_fit_is_an_error_and_leaves_what_was(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(pa.ArrowException, match="from string to number"):
        write_tables([1], {path: Table(TEXT, lambda value: {"text": value})})
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_tables_of_the_same_questions_are_written_at_once(tmp_path):
    count = 12_345
    whole = Table(pa.schema({"whole": pa.int64()}), lambda n: {"whole": n})
    tables = {
        tmp_path / "text": Table(TEXT, lambda n: {"text": f"row {n}"}),
        tmp_path / "again": Table(TEXT, lambda n: {"text": f"row {n}"}),
        tmp_path / "whole": whole,
    }
    written = write_tables(iter(range(count)), tables)
    for path, file in written.items():
        read = parquet.read_table(path)
        assert file.rows == read.num_rows == count
        assert file.size_bytes == pytest.approx(read.nbytes, rel=0.05)
        assert (file.file_bytes, file.sha256) == (path.stat().st_size, hash_file(path))
    assert parquet.read_table(tmp_path / "whole")["whole"].to_pylist() == [*range(count)]
    assert (tmp_path / "text").read_bytes() == (tmp_path / "again").read_bytes()


def test_without_a_question_there_is_no_file(tmp_path):
    assert write_tables([], {tmp_path / "a": Table(TEXT, dict)}) == {}
    assert not list(tmp_path.iterdir())
