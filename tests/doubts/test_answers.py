"""Probes that look at the answer alone: its rows, its values, its size."""

import pytest

from answerkey.doubts.answers import (
    find_all_null,
    find_boolean_answer,
    find_duplicate_rows,
    find_empty_answer,
    find_many_rows,
    find_too_large,
)
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, port TEXT);
INSERT INTO ship VALUES (1, NULL), (2, NULL);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("answers"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "evidence"),
    [
        ("SELECT 'a' FROM ship", {"rows": 2, "distinct": 1}),
        ("SELECT port FROM ship", {"rows": 2, "distinct": 1}),
        ("SELECT id, 1 FROM ship UNION ALL VALUES (1, 1.0)", {"rows": 3, "distinct": 2}),
        ("SELECT 1 UNION ALL SELECT '1' UNION ALL SELECT NULL", None),
        ("SELECT id FROM ship WHERE id > 2", None),
    ],
)
def test_rows_that_are_equal_are_counted(world, sql, evidence):
    finding = world.find(find_duplicate_rows, sql)
    assert (finding and finding.evidence) == evidence


@pytest.mark.parametrize(
    ("sql", "empty", "null"),
    [
        ("SELECT id FROM ship WHERE id > 2", {"rows": 0}, None),
        ("SELECT port FROM ship", None, {"rows": 2, "columns": 1}),
        ("SELECT max(port), min(port) FROM ship", None, {"rows": 1, "columns": 2}),
        ("SELECT 0", None, None),
    ],
)
def test_answer_of_nothing_is_found(world, sql, empty, null):
    findings = [world.find(probe, sql) for probe in (find_empty_answer, find_all_null)]
    assert [finding and finding.evidence for finding in findings] == [empty, null]


@pytest.mark.parametrize("answer", ["1", "0", "'Yes'", "' TRUE '"])
def test_answer_that_is_one_of_two_is_boolean(world, answer):
    assert world.find(find_boolean_answer, f"SELECT {answer}") is not None


@pytest.mark.parametrize("answer", ["2", "1.0", "'1'", "NULL", "1, 0"])
def test_other_answer_is_not_boolean(world, answer):
    assert world.find(find_boolean_answer, f"SELECT {answer}") is None


def test_more_rows_than_allowed_is_found(world):
    assert world.find(find_many_rows, "SELECT id FROM ship", max_rows=2) is None
    finding = world.find(find_many_rows, "SELECT id FROM ship", max_rows=1)
    assert finding.evidence == {"rows": 2}


def test_bytes_of_the_json_answer_are_counted(world):
    sql = "SELECT 'Zoë'"  # four bytes of text in two quotes
    assert world.find(find_too_large, sql, max_bytes=6) is None
    assert world.find(find_too_large, sql, max_bytes=5).evidence == {"bytes": 6}
