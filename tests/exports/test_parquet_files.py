"""parquet_files: rows come back as what they were, and Arrow loads no more than it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from answerkey.exports.parquet_files import open_parquet, write_rows
from tests.shared.paths import ROOT

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


def write_and_read(path: Path, rows: list[dict[str, Any]], *, group_rows: int = 100) -> pa.Table:
    with open_parquet(path, SCHEMA) as file:
        write_rows(iter(rows), [file], SCHEMA, group_rows=group_rows)
    return parquet.read_table(path)


@given(st.lists(ROW, max_size=7), st.integers(1, 3))
def test_file_holds_what_the_rows_hold_in_groups_of_so_many(tmp_path_factory, rows, group_rows):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    table = write_and_read(path, rows, group_rows=group_rows)
    assert table.to_pylist() == rows
    assert table.schema == SCHEMA
    written = parquet.read_metadata(path)
    groups = [written.row_group(number).num_rows for number in range(written.num_row_groups)]
    assert groups == [len(rows[start:][:group_rows]) for start in range(0, len(rows), group_rows)]


@pytest.mark.parametrize("text", ["2020-01-01", "12", "true", "null", "", "[1]", "a\0b", "\u2028"])
def test_text_stays_text_whatever_it_looks_like(tmp_path, text):
    assert write_and_read(tmp_path / "a", [{"text": text}])["text"].to_pylist() == [text]


@pytest.mark.parametrize("row", [{"unknown": 1}, {"text": 1}, {"whole": 1.5}, {"names": "a"}])
def test_row_that_does_not_fit_the_schema_is_an_error(tmp_path, row):
    with pytest.raises(pa.ArrowInvalid):
        write_and_read(tmp_path / "a", [row])
    assert not list(tmp_path.iterdir())


def test_row_longer_than_a_block_of_the_reader_is_written(tmp_path):
    rows = [{"text": "x" * 3_000_000}, {"text": "y"}]
    table = write_and_read(tmp_path / "a", rows)
    assert table["text"].to_pylist() == [row["text"] for row in rows]


def test_each_file_takes_its_own_columns(tmp_path):
    narrow = pa.schema([("whole", pa.int64())])
    with (
        open_parquet(tmp_path / "wide", SCHEMA) as wide_file,
        open_parquet(tmp_path / "narrow", narrow) as narrow_file,
    ):
        rows = [{"text": "a", "whole": 1}, {"whole": 2}]
        write_rows(rows, [wide_file, narrow_file], SCHEMA, group_rows=1)
    wide, found = (parquet.read_table(tmp_path / name) for name in ("wide", "narrow"))
    assert found.to_pylist() == [{"whole": 1}, {"whole": 2}]
    assert wide["text"].to_pylist() == ["a", None]
    assert narrow_file.rows == wide_file.rows == 2
    assert narrow_file.size_bytes < wide_file.size_bytes


_WRITE = """
import sys
from pathlib import Path
from answerkey.exports.parquet_files import lighten_arrow, open_parquet, write_rows
path, is_light = sys.argv[1:]
if is_light == "True":
    lighten_arrow()
import pyarrow as pa
schema = pa.schema([("text", pa.string()), ("names", pa.list_(pa.string()))])
rows = [{"text": f"row {n % 7}", "names": ["a", "b"][: n % 3]} for n in range(3000)]
with open_parquet(Path(path), schema) as file:
    write_rows(rows, [file], schema, group_rows=1000)
loaded = [name for name in ("numpy", "pandas") if sys.modules.get(name)]
print(loaded, pa.default_memory_pool().backend_name == "system")
"""


def test_light_arrow_loads_neither_numpy_nor_pandas_and_writes_the_same_bytes(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"}
    printed = []
    for is_light in ("True", "False"):
        done = subprocess.run(
            [sys.executable, "-c", _WRITE, str(tmp_path / is_light), is_light],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
        )
        printed.append((done.stdout.strip(), done.stderr))
    assert printed == [("[] True", ""), ("['numpy'] False", "")]
    assert (tmp_path / "True").read_bytes() == (tmp_path / "False").read_bytes()
