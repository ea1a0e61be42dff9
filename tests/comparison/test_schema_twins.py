"""Databases of different splits that are one schema under two names."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.comparison.compare import find_schema_twins, list_columns
from answerkey.sqlite.schema import Schema, read_schema


def make_schema(sql: str) -> Schema:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(sql)
        return read_schema(connection)


FLEET = "CREATE TABLE ship (id INT, name TEXT); CREATE TABLE crew (ship_id INT, name TEXT);"
WIDE = ", ".join(f"c{number} INT" for number in range(19))
TWINS = {
    "the same, in another case and order": (
        FLEET,
        "CREATE TABLE CREW (Name TEXT, ship_ID int); CREATE TABLE Ship (id INT, name TEXT);",
        {"share": 1.0, "same_types": True, "count": 1},
    ),
    "other types": (
        FLEET,
        "CREATE TABLE ship (id TEXT, name TEXT); CREATE TABLE crew (ship_id INT, name TEXT);",
        {"share": 1.0, "same_types": False, "count": 1},
    ),
    "a view more": (
        FLEET,
        f"{FLEET} CREATE VIEW v AS SELECT * FROM ship;",
        {"share": 1.0, "same_types": True, "count": 1},
    ),
    "a column more among many": (
        f"CREATE TABLE t ({WIDE})",
        f"CREATE TABLE t ({WIDE}, more INT)",
        {"share": 0.95, "same_types": False, "count": 1},
    ),
    "a column more among few": (FLEET, FLEET.replace("id INT,", "id INT, flag TEXT,", 1), None),
    "the same columns in other tables": (FLEET, FLEET.replace("ship (", "boat ("), None),
    "nothing in common": (FLEET, "CREATE TABLE cat (id INT)", None),
    "two empty databases": ("", "", None),
}


@pytest.mark.parametrize(("left", "right", "evidence"), TWINS.values(), ids=TWINS)
def test_schemas_of_both_splits(left, right, evidence):
    fleet, zoo = (
        list_columns("fleet", make_schema(left)),
        list_columns("zoo", make_schema(right)),
    )
    expected = {}
    if evidence:
        expected = {
            "fleet": {"database": "zoo", **evidence},
            "zoo": {"database": "fleet", **evidence},
        }
    found = find_schema_twins([fleet], [zoo])
    assert {name: finding.evidence for name, finding in found.items()} == expected
    assert find_schema_twins([zoo], [fleet]) == found
    assert all(finding.code == "schema_in_both_splits" for finding in found.values())


def test_twins_inside_one_split_are_no_leak():
    columns = [list_columns(name, make_schema(FLEET)) for name in ("a", "b")]
    assert not find_schema_twins(columns, [])
    assert not find_schema_twins([], columns)


def test_most_alike_of_several_twins_is_named():
    wide, wider = (make_schema(f"CREATE TABLE t ({WIDE}{more})") for more in ("", ", more INT"))
    held = [
        list_columns("near", wider),
        list_columns("c", wide),
        list_columns("b", wide),
    ]
    found = find_schema_twins([list_columns("a", wide)], held)
    assert found["a"].evidence == {"database": "b", "share": 1.0, "same_types": True, "count": 3}
    assert found["near"].evidence["share"] == 0.95


@given(
    schemas=st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 12), min_size=1)), max_size=8),
    min_share=st.sampled_from([0.5, 0.8, 0.9, 1.0]),
)
def test_no_twin_is_missed(schemas, min_share):
    sides = defaultdict(list)
    for number, (is_eval, drawn) in enumerate(schemas):
        names = ", ".join(f"c{column}" for column in sorted(drawn))
        schema = make_schema(f"CREATE TABLE t ({names})")
        sides[is_eval].append(list_columns(f"d{number}", schema))
    pairs = [
        (one.database_name, other.database_name)
        for one in sides[False]
        for other in sides[True]
        if len(one.types.keys() & other.types.keys())
        >= min_share * len(one.types.keys() | other.types.keys())
    ]
    found = find_schema_twins(sides[False], sides[True], min_share=min_share)
    assert {name: finding.evidence["count"] for name, finding in found.items()} == Counter(
        name for pair in pairs for name in pair
    )
