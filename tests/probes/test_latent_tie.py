"""latent_tie: what is alone in these rows, and need not be in others."""

import pytest

from answerkey.probes.order import find_latent_tie
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT UNIQUE, weight INTEGER, crew INTEGER,
    masts INTEGER
);
INSERT INTO ship VALUES
    (1, 'Sun', 10, 1, 1), (2, 'Tern', 20, 2, 3), (3, 'Wren', 20, 3, 3), (4, 'Gull', 30, 3, 3),
    (5, 'Knot', 40, 5, 3), (6, 'Smew', 50, 6, 3);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("ties"), WORLD) as world:
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
        ("SELECT id FROM ship WHERE crew = (SELECT crew FROM ship WHERE name = 'Sun')", None),
        ("SELECT id FROM ship WHERE crew = (SELECT max(crew) FROM ship)", None),
        ("SELECT id FROM ship WHERE crew IN (SELECT crew FROM ship WHERE weight = 10)", None),
    ],
)  # fmt: skip
def test_one_row_is_taken_of_what_may_be_several(world, sql, kind):
    finding = world.find(find_latent_tie, sql)
    assert (finding and finding.evidence["kind"]) == kind
