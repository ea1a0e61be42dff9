"""Probes that are one short rule each: what they speak of, and what they leave alone."""

import pytest

from answerkey.probes.audit import PROBES
from answerkey.probes.groups import find_each_without_group
from answerkey.probes.order import find_latent_tie
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, port TEXT, weight INTEGER, crew INTEGER
);
CREATE TABLE port (name TEXT PRIMARY KEY, country TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 'Alda', 10, NULL), (2, 'Tern', 'Alda', 20, 4),
    (3, 'Wren', 'Bree', 30, 5), (4, 'Gull', NULL, 20, 6);
INSERT INTO port VALUES ('Alda', 'Norway'), ('Bree', 'Spain');
"""
FOUND = {
    "limit_on_joined_rows": [
        (
            "SELECT s.name FROM ship AS s JOIN port AS p ON s.port = p.name"
            " ORDER BY p.country LIMIT 1",
            "one",
        ),
        (
            "SELECT p.name FROM port AS p JOIN ship AS s ON s.port = p.name"
            " ORDER BY p.country DESC LIMIT 2",
            "several",
        ),
    ],
    "order_without_effect": [
        ("SELECT avg(weight) FROM ship ORDER BY crew DESC LIMIT 1", "order"),
        ("SELECT count(*) FROM ship LIMIT 3", "limit"),
        ("SELECT name FROM ship WHERE weight > (SELECT avg(crew) FROM ship ORDER BY id)", "order"),
    ],
}
LEFT_ALONE = {
    "limit_on_joined_rows": [
        "SELECT p.name FROM ship AS s JOIN port AS p ON s.port = p.name ORDER BY p.country LIMIT 1",
        "SELECT s.name FROM ship AS s JOIN port AS p ON s.port = p.name ORDER BY s.weight LIMIT 2",
        "SELECT DISTINCT p.name FROM ship AS s JOIN port AS p ON s.port = p.name"
        " ORDER BY p.country LIMIT 2",
        "SELECT s.name FROM ship AS s JOIN port AS p ON s.name = p.name ORDER BY p.country LIMIT 1",
        "SELECT s.port FROM ship AS s JOIN port AS p ON s.port = p.name"
        " GROUP BY s.port ORDER BY p.country LIMIT 1",
    ],
    "order_without_effect": [
        "SELECT max(weight) FROM ship LIMIT 1",
        "SELECT port, avg(weight) FROM ship GROUP BY port ORDER BY 2 LIMIT 1",
    ],
}
EACH = [
    ("What is the total weight for each port?", "SELECT sum(weight) FROM ship", True),
    ("What is the average weight in every port?", "SELECT avg(weight) FROM ship", True),
    ("How many captains, each counted once, are there?", "SELECT count(*) FROM ship", False),
    ("Suppose crews of each ship sail. How many are left?", "SELECT count(*) FROM ship", False),
    ("How many ships know of each other?", "SELECT count(*) FROM ship", False),
    ("How many are in each port?", "SELECT port, count(*) FROM ship GROUP BY port", False),
    ("How many crews of each ship?", "SELECT count(crew) / count(*) FROM ship", False),
]


ALL = {probe.__name__.removeprefix("find_"): probe for probe in PROBES}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("short"), WORLD) as world:
        yield world


def _list_cases(table):
    return [(flag, case) for flag, cases in table.items() for case in cases]


@pytest.mark.parametrize(("flag", "case"), _list_cases(FOUND))
def test_probe_speaks(world, flag, case):
    sql, kind = case
    finding = world.find(ALL[flag], sql)
    assert finding is not None
    assert finding.code == flag
    assert finding.evidence.get("kind") == kind


@pytest.mark.parametrize(("flag", "sql"), _list_cases(LEFT_ALONE))
def test_probe_is_silent(world, flag, sql):
    assert world.find(ALL[flag], sql) is None


@pytest.mark.parametrize(("text", "sql", "is_found"), EACH)
def test_number_of_each_needs_a_group(world, text, sql, is_found):
    assert (world.ask(find_each_without_group, text, sql) is not None) is is_found


TIES = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT UNIQUE, weight INTEGER, crew INTEGER,
    masts INTEGER
);
INSERT INTO ship VALUES
    (1, 'Sun', 10, 1, 1), (2, 'Tern', 20, 2, 3), (3, 'Wren', 20, 3, 3), (4, 'Gull', 30, 3, 3),
    (5, 'Knot', 40, 5, 3), (6, 'Smew', 50, 6, 3);
"""


@pytest.fixture(scope="module")
def ties(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("ties"), TIES) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT name FROM ship ORDER BY weight DESC LIMIT 1", "seldom"),
        ("SELECT id, weight AS w FROM ship ORDER BY w LIMIT 1", "seldom"),
        (
            "SELECT name FROM ship WHERE crew > (SELECT crew FROM ship ORDER BY weight LIMIT 1)",
            "seldom",
        ),
        ("SELECT name FROM ship ORDER BY masts LIMIT 1", "often"),
        ("SELECT name FROM ship ORDER BY crew LIMIT 1 OFFSET 2", None),  # tie_at_limit
        ("SELECT weight FROM ship ORDER BY weight DESC LIMIT 1", None),
        ("SELECT name FROM ship ORDER BY weight DESC, id LIMIT 1", None),
        ("SELECT name FROM ship ORDER BY id LIMIT 1", None),
        ("SELECT name FROM ship ORDER BY weight", None),
        ("SELECT weight, max(id) FROM ship GROUP BY weight ORDER BY weight LIMIT 1", None),
    ],
)  # fmt: skip
def test_one_row_is_taken_of_what_may_be_several(ties, sql, kind):
    finding = ties.find(find_latent_tie, sql)
    assert (finding and finding.evidence["kind"]) == kind
