"""text_arithmetic and date_text_order: text that is taken for numbers, and for points in time."""

import pytest

from answerkey.probes.types import find_date_text_order, find_text_arithmetic
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE voyage (
    id INTEGER PRIMARY KEY, began DATE, ended DATE, length TEXT, crew TEXT, cargo TEXT,
    paid TEXT, told TEXT, empty TEXT
);
INSERT INTO voyage VALUES
    (1, '2001-03-01', '2001-04-09', '4:32', '9', '85', '31.12.2019', 'May 4, 2001', NULL),
    (2, '2003-01-01', '2004-02-28', '12:05', '10', 'unknown', '02.01.1990', 'June 9, 1999', NULL);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("texts"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT ended - began FROM voyage", "no_number"),
        ("SELECT id FROM voyage WHERE (ended) - began > 1", "no_number"),
        ("SELECT avg(length) FROM voyage", "no_number"),
        ("SELECT sum(DISTINCT length) FROM voyage", "no_number"),
        ("SELECT sum(cargo), avg(length) FROM voyage", "no_number"),
        ("SELECT sum(cargo) FROM voyage", "some_text"),
        ("SELECT avg(t) FROM (SELECT cargo AS t FROM voyage)", "some_text"),
        ("SELECT sum(crew) FROM voyage", None),
        ("SELECT julianday(ended) - julianday(began) FROM voyage", None),
        ("SELECT max(length), count(cargo) FROM voyage", None),
        ("SELECT sum(empty) FROM voyage", None),
    ],
)
def test_text_is_calculated_with(world, sql, kind):
    finding = world.find(find_text_arithmetic, sql)
    assert (finding and finding.evidence["kind"]) == kind
    if kind is not None:
        assert finding.evidence["values"]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT id FROM voyage ORDER BY paid", "sorted"),
        ("SELECT id FROM voyage ORDER BY told DESC LIMIT 1", "sorted"),
        ("SELECT max(paid) FROM voyage", "extreme"),
        ("SELECT id FROM voyage WHERE paid > '01.01.2000'", "range"),
        ("SELECT id FROM voyage WHERE told BETWEEN 'May 1, 2001' AND 'May 9, 2001'", "range"),
        ("SELECT id FROM voyage ORDER BY began", None),
        ("SELECT id FROM voyage ORDER BY length", None),
        ("SELECT id FROM voyage WHERE paid = '31.12.2019'", None),
        ("SELECT paid FROM voyage", None),
    ],
)
def test_dates_are_sorted_as_text(world, sql, kind):
    finding = world.find(find_date_text_order, sql)
    assert (finding and finding.evidence["kind"]) == kind
