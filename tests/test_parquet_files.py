"""parquet_files: rows come back as what they were, and pandas is not loaded for them."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from stages.exports.parquet_files import make_tables, open_parquet
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


@given(st.lists(ROW, max_size=7), st.integers(1, 3))
def test_tables_hold_what_the_rows_hold(rows, size):
    tables = list(make_tables(iter(rows), SCHEMA, size))
    assert [row for table in tables for row in table.to_pylist()] == rows
    assert all(table.num_rows == size for table in tables[:-1])
    assert all(table.schema == SCHEMA for table in tables)


@pytest.mark.parametrize("text", ["2020-01-01", "12", "true", "null", "", "[1]", "a\0b", "\u2028"])
def test_text_stays_text_whatever_it_looks_like(text):
    (table,) = make_tables([{"text": text}], SCHEMA, 1)
    assert table["text"].to_pylist() == [text]


@pytest.mark.parametrize("row", [{"unknown": 1}, {"text": 1}, {"whole": 1.5}, {"names": "a"}])
def test_row_that_does_not_fit_the_schema_is_an_error(row):
    with pytest.raises(pa.ArrowInvalid):
        list(make_tables([row], SCHEMA, 1))


def test_row_longer_than_a_block_of_the_reader_is_written(tmp_path):
    path = tmp_path / "long.parquet"
    rows = [{"text": "x" * 3_000_000}, {"text": "y"}]
    with open_parquet(path, SCHEMA) as file:
        for table in make_tables(rows, SCHEMA, len(rows)):
            file.write(table)
    assert parquet.read_table(path)["text"].to_pylist() == [row["text"] for row in rows]


def test_file_takes_its_own_columns_of_a_wider_table(tmp_path):
    path = tmp_path / "narrow.parquet"
    (table,) = make_tables([{"text": "a", "whole": 1}], SCHEMA, 1)
    narrow = pa.schema([("whole", pa.int64())])
    with open_parquet(path, narrow) as file:
        file.write(table)
    assert parquet.read_table(path).to_pylist() == [{"whole": 1}]
    assert (file.rows, file.size_bytes) == (1, table.select(["whole"]).nbytes)


_WRITE = """
import sys
from pathlib import Path
from stages.exports.parquet_files import leave_out_numpy, make_tables, open_parquet
path, without_numpy = sys.argv[1:]
if without_numpy == "True":
    leave_out_numpy()
import pyarrow as pa
schema = pa.schema([("text", pa.string()), ("names", pa.list_(pa.string()))])
rows = [{"text": f"row {n % 7}", "names": ["a", "b"][: n % 3]} for n in range(3000)]
with open_parquet(Path(path), schema) as file:
    for table in make_tables(rows, schema, 1000):
        file.write(table)
print([name for name in ("numpy", "pandas") if sys.modules.get(name)])
"""


def test_numpy_and_pandas_are_not_loaded_and_bytes_do_not_depend_on_it(tmp_path):
    loaded = []
    for without_numpy in (True, False):
        command = [sys.executable, "-c", _WRITE, str(tmp_path / f"{without_numpy}")]
        done = subprocess.run(
            [*command, str(without_numpy)], cwd=ROOT, capture_output=True, text=True
        )
        loaded.append((done.stdout.strip(), done.stderr))
    assert loaded == [("[]", ""), ("['numpy']", "")]
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()
