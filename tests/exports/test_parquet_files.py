"""parquet_files: rows come back as what they were, and those that do not fit are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from answerkey.exports.parquet_files import BOOLEAN, CHAT, REAL, TEXT, WHOLE, Table, write_tables
from answerkey.records import hash_file

SCHEMA = pa.schema(
    {
        "text": TEXT,
        "whole": WHOLE,
        "real": REAL,
        "is_so": BOOLEAN,
        "names": pa.list_(TEXT),
        "chat": CHAT,
    }
)
EMPTY = dict.fromkeys(SCHEMA.names)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
ROW = st.fixed_dictionaries(
    {
        "text": st.none() | WORDS,
        "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
        "real": st.none() | st.floats(allow_nan=False),
        "is_so": st.none() | st.booleans(),
        "names": st.lists(WORDS, max_size=3),
        "chat": st.lists(
            st.builds(lambda role, content: {"role": role, "content": content}, WORDS, WORDS),
            max_size=2,
        ),
    }
)


def write_and_read(path: Path, rows: list[dict[str, Any]]) -> pa.Table:
    write_tables(rows, {path: Table(SCHEMA, lambda row: row)})
    return parquet.read_table(path)


@settings(max_examples=40)
@given(st.lists(ROW, min_size=1, max_size=7))
def test_file_holds_what_the_rows_hold(tmp_path_factory, rows):
    table = write_and_read(tmp_path_factory.mktemp("rows") / "rows.parquet", rows)
    assert table.to_pylist() == rows
    assert table.schema == SCHEMA


@pytest.mark.parametrize("text", ["2020-01-01", "12", "true", "null", "", "[1]", "a\0b", "\u2028"])
def test_text_stays_text_whatever_it_looks_like(tmp_path, text):
    assert write_and_read(tmp_path / "a", [EMPTY | {"text": text}])["text"].to_pylist() == [text]


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (EMPTY | {"text": 1}, pa.ArrowException, "got a 'int' object"),
        (EMPTY | {"whole": "1"}, pa.ArrowException, "to int64"),
        (EMPTY | {"whole": 2**63}, OverflowError, "too large"),
        (EMPTY | {"text": "\ud800"}, UnicodeEncodeError, "surrogates not allowed"),
        (EMPTY | {"other": 1}, ValueError, "Expected the columns .*, found .*'other'"),
        ({"text": "a"}, ValueError, r"Expected the columns .*, found \['text'\]"),
    ],
)
def test_row_that_does_not_fit_is_an_error_and_leaves_what_was(tmp_path, row, error, words):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(error, match=words):
        write_and_read(path, [row])
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_tables_of_the_same_questions_are_written_at_once(tmp_path):
    count = 12_345
    tables = {
        tmp_path / "text": Table(pa.schema({"text": TEXT}), lambda n: {"text": f"row {n}"}),
        tmp_path / "again": Table(pa.schema({"text": TEXT}), lambda n: {"text": f"row {n}"}),
        tmp_path / "whole": Table(pa.schema({"whole": WHOLE}), lambda n: {"whole": n}),
    }
    written = write_tables(iter(range(count)), tables)
    assert list(written) == list(tables)
    for path, file in written.items():
        read = parquet.read_table(path)
        assert file.rows == read.num_rows == count
        assert read.column(0).to_pylist() == [
            f"row {n}" if read.column_names == ["text"] else n for n in range(count)
        ]
        assert file.size_bytes == pytest.approx(read.nbytes, rel=0.05)
        assert (file.file_bytes, file.sha256) == (path.stat().st_size, hash_file(path))
    assert (tmp_path / "text").read_bytes() == (tmp_path / "again").read_bytes()


def test_without_a_question_there_is_no_file(tmp_path):
    table = Table(pa.schema({"text": TEXT}), lambda text: {"text": text})
    assert write_tables([], {tmp_path / "a": table}) == {}
    assert not list(tmp_path.iterdir())
