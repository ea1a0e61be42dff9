"""parquet_files: rows come back as what they were, and pandas is not loaded for them."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from stages.exports.parquet_files import make_table, open_parquet
from tests.worlds import ROOT

SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("whole", pa.int64()),
        ("real", pa.float64()),
        ("is_so", pa.bool_()),
        ("names", pa.list_(pa.string())),
        ("chat", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
    ]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ROW = st.fixed_dictionaries(
    {
        "text": st.none() | TEXT,
        "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
        "real": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "is_so": st.booleans(),
        "names": st.lists(TEXT, max_size=3),
        "chat": st.lists(st.fixed_dictionaries({"role": TEXT, "content": TEXT}), max_size=2),
    }
)


@given(st.lists(ROW, min_size=1, max_size=5))
def test_table_holds_what_the_rows_hold(rows):
    table = make_table(rows, SCHEMA)
    assert table.to_pylist() == rows
    assert table.schema == SCHEMA


@pytest.mark.parametrize("text", ["2020-01-01", "12", "true", "null", "", "[1]", "a\0b", "\u2028"])
def test_text_stays_text_whatever_it_looks_like(text):
    assert make_table([{"text": text}], SCHEMA)["text"].to_pylist() == [text]


@pytest.mark.parametrize("row", [{"unknown": 1}, {"text": 1}, {"whole": 1.5}, {"names": "a"}])
def test_row_that_does_not_fit_the_schema_is_an_error(row):
    with pytest.raises(pa.ArrowInvalid):
        make_table([row], SCHEMA)


def test_row_longer_than_a_block_of_the_reader_is_written(tmp_path):
    path = tmp_path / "long.parquet"
    rows = [{"text": "x" * 3_000_000}, {"text": "y"}]
    with open_parquet(path, SCHEMA) as file:
        file.write(rows)
    assert parquet.read_table(path)["text"].to_pylist() == [row["text"] for row in rows]


def test_pandas_is_not_loaded():
    code = (
        "import sys, pyarrow as pa\n"
        "from stages.exports.parquet_files import make_table\n"
        "make_table([{'a': 1}], pa.schema([('a', pa.int64())]))\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
