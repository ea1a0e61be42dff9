"""connective_mismatch: or for and."""

import pytest

from answerkey.probes.comparison import find_connective_mismatch
from tests.shared.harbour_world import HARBOUR
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("connectives"), HARBOUR) as world:
        yield world


VISITS = (
    "SELECT ship.name FROM ship JOIN visit ON visit.ship = ship.id"
    " JOIN port ON port.id = visit.port WHERE "
)
BOTH = f"{VISITS} port.name = 'Alda' INTERSECT {VISITS} port.name = 'Cove'"

OTHERWISE = [
    ("impossible", "Ports called Alda and Cove.",
     "SELECT id FROM port WHERE name = 'Alda' AND name = 'Cove'"),
    ("impossible", "Ships of less than 3 or over 5 crew.",
     "SELECT id FROM ship WHERE crew < 3 AND crew > 5"),
    ("or_for_and", "Homes shared by ships of Ito and Lee.",
     "SELECT home FROM ship WHERE owner = 'Ito' OR owner = 'Lee'"),
    ("and_for_or", "Ships of over 3 crew or under 40 years.",
     "SELECT id FROM ship WHERE crew > 3 AND age < 40"),
    ("or_for_and", "Ships that have 3 crew and belong to Ito.",
     "SELECT id FROM ship WHERE crew = 3 OR owner = 'Ito'"),
    ("tautology", "Ports other than Alda or Cove.",
     "SELECT id FROM port WHERE name <> 'Alda' OR name <> 'Cove'"),
    ("precedence", "Ships of 3 crew that belong to Ito or Lee.",
     "SELECT id FROM ship WHERE crew = 3 AND owner = 'Ito' OR owner = 'Lee'"),
    ("or_for_and", "Ships that came to Alda and Cove.",
     VISITS + "port.name = 'Alda' OR port.name = 'Cove'"),
    ("and_for_or", "Ships of Ito or in home 1.",
     "SELECT id FROM ship WHERE owner = 'Ito' AND home = 1"),
    ("and_for_or", "Ships that came to Alda or Cove.", BOTH),
]  # fmt: skip

AS_ASKED = [
    ("Ports called Alda and Cove.", "SELECT id FROM port WHERE name = 'Alda' OR name = 'Cove'"),
    ("Ships that came to Alda and Cove.", BOTH),
    ("Days shared by Alda or Cove.", BOTH),
    ("Ships that came to Alda or Cove.", VISITS + "port.name = 'Alda' OR port.name = 'Cove'"),
    ("Visits of Alda and Cove?",
     "SELECT count(*) FROM visit JOIN port ON port.id = port"
     " WHERE name = 'Alda' OR name = 'Cove'"),
    ("Ships of Ito in home 1.", "SELECT id FROM ship WHERE owner = 'Ito' AND home = 1"),
    ("Ships of 3 crew that belong to Ito or Lee.",
     "SELECT id FROM ship WHERE crew = 3 AND (owner = 'Ito' OR owner = 'Lee')"),
    ("Ships of 3 crew of Ito, or of home 1.",
     "SELECT id FROM ship WHERE crew = 3 AND owner = 'Ito' OR home = 1"),
    ("Ships of 3 or more crew and 20 or more years.",
     "SELECT id FROM ship WHERE crew >= 3 AND age >= 20"),
    ("Ports neither Alda nor Cove.",
     "SELECT id FROM port WHERE name <> 'Alda' AND name <> 'Cove'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "question", "sql"), OTHERWISE)
def test_other_connective_is_found(world, kind, question, sql):
    finding = world.ask(find_connective_mismatch, question, sql)
    assert finding.evidence["kind"] == kind


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_connective_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_connective_mismatch, question, sql) is None


def test_or_far_from_the_values_is_no_finding(world):
    text = "Ito has two or more ships that were at home for a long time: at home 1?"
    sql = "SELECT id FROM ship WHERE owner = 'Ito' AND home = 1"
    assert world.ask(find_connective_mismatch, text, sql) is None
