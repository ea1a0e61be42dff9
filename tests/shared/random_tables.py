"""Tables of any few values, in columns of each affinity."""

import tempfile
from pathlib import Path

from hypothesis import strategies as st

from tests.shared.probe_world import ProbeWorld

VALUES = ["NULL", "0", "1", "7", "1.5", "'7'", "'007'", "'a'", "'A'", "'a '", "''", "x'61'"]
COLUMNS = {"i": "INTEGER", "r": "REAL", "n": "NUMERIC", "t": "TEXT", "c": "TEXT COLLATE NOCASE"}
SCHEMA = f"CREATE TABLE t ({', '.join(f'{n} {kind}' for n, kind in COLUMNS.items())}, u)"
NAMES = st.sampled_from([*COLUMNS, "u"])
ROWS = st.lists(st.tuples(*[st.sampled_from(VALUES)] * 6), max_size=6)


def open_world(rows, schema: str = SCHEMA) -> ProbeWorld:
    """A world of one table, in a folder that is gone with its name: SQLite has the file open."""
    with tempfile.TemporaryDirectory() as folder:
        inserts = [f"INSERT INTO t VALUES ({', '.join(row)})" for row in rows]
        return ProbeWorld(Path(folder), "; ".join([schema, *inserts]))


def without_blobs(rows) -> list[tuple[str, ...]]:
    return [tuple("2" if value.startswith("x") else value for value in row) for row in rows]
