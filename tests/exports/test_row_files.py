"""row_files: rows come back as what they were, and those that do not fit are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from answerkey.base.records import hash_file
from answerkey.exports.row_files import Format, Lines, ParquetTable, write_files

TEXT = pa.schema({"text": pa.string()})


def test_row_that_does_not_fit_is_an_error_and_leaves_what_was(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(pa.ArrowException, match="from string to number"):
        write_files([1], {path: ParquetTable(TEXT, lambda value: {"text": value})})
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_tables_of_the_same_questions_are_written_at_once(tmp_path):
    count = 12_345
    whole = ParquetTable(pa.schema({"whole": pa.int64()}), lambda n: {"whole": n})
    tables = {
        tmp_path / "text": ParquetTable(TEXT, lambda n: {"text": f"row {n}"}),
        tmp_path / "again": ParquetTable(TEXT, lambda n: {"text": f"row {n}"}),
        tmp_path / "whole": whole,
    }
    written = write_files(iter(range(count)), tables)
    for path, file in written.items():
        read = parquet.read_table(path)
        assert file.rows == read.num_rows == count
        assert file.size_bytes == pytest.approx(read.nbytes, rel=0.05)
        assert (file.file_bytes, file.sha256) == (path.stat().st_size, hash_file(path))
    assert parquet.read_table(tmp_path / "whole")["whole"].to_pylist() == [*range(count)]
    assert (tmp_path / "text").read_bytes() == (tmp_path / "again").read_bytes()


def test_lines_are_written_beside_tables_of_the_same_questions(tmp_path):
    lines, table = tmp_path / "lines", tmp_path / "table"
    formats: dict[Path, Format] = {
        lines: Lines(lambda n: {"n": n, "text": "é"}, takes=lambda n: n % 2),
        table: ParquetTable(TEXT, lambda n: {"text": f"row {n}"}),
    }
    written = write_files(range(5), formats, group_rows=2)
    assert lines.read_text("utf-8") == '{"n": 1, "text": "é"}\n{"n": 3, "text": "é"}\n'
    assert (written[lines].rows, written[table].rows) == (2, 5)
    assert written[lines].size_bytes == written[lines].file_bytes == lines.stat().st_size
    assert written[lines].sha256 == hash_file(lines)


@pytest.mark.parametrize("format_", [ParquetTable(TEXT, dict), Lines(dict)], ids=["table", "lines"])
def test_without_a_question_there_is_no_file(tmp_path, format_):
    nothing = replace(format_, takes=lambda _: False)
    assert write_files([], {tmp_path / "a": format_}) == {}
    assert write_files([1, 2], {tmp_path / "a": nothing}) == {}
    assert not list(tmp_path.iterdir())
