"""direction_mismatch: the least for the most."""

import pytest

from answerkey.probes.order import find_direction_mismatch
from tests.shared.probe_world import HARBOUR, ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("directions"), HARBOUR) as world:
        yield world


OTHERWISE = [
    ("The port of the fewest berths?",
     "SELECT name FROM port ORDER BY berths DESC LIMIT 1"),
    ("Name the port with most berths.", "SELECT name FROM port ORDER BY berths LIMIT 1"),
    ("What is the smallest crew?", "SELECT max(crew) FROM ship"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY age DESC LIMIT 1"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year LIMIT 1"),
    ("The oldest port?", "SELECT name FROM port ORDER BY opened DESC LIMIT 1"),
    ("The most recent visit?", "SELECT ship FROM visit ORDER BY day LIMIT 1"),
    ("The home of the fewest ships?",
     "SELECT home FROM ship GROUP BY home ORDER BY count(*) DESC LIMIT 1"),
    ("The top 2 ports of the most depth?",
     "SELECT name FROM port ORDER BY depth LIMIT 2"),
    ("Ports in descending order of depth.", "SELECT name FROM port ORDER BY depth"),
    ("Ports in increasing order of depth.", "SELECT name FROM port ORDER BY depth DESC"),
]  # fmt: skip

AS_ASKED = [
    ("Which port has the fewest berths?", "SELECT name FROM port ORDER BY berths LIMIT 1"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year DESC LIMIT 1"),
    ("The oldest port?", "SELECT name FROM port ORDER BY opened LIMIT 1"),
    ("The most recent visit?", "SELECT max(day) FROM visit"),
    ("The longest service?", "SELECT name FROM port ORDER BY opened LIMIT 1"),
    ("The ship of the highest rank?", "SELECT name FROM ship ORDER BY rank LIMIT 1"),
    ("The furthest south of all ports?", "SELECT name FROM port ORDER BY depth LIMIT 1"),
    ("The shallowest of at least 5 berths.", "SELECT name FROM port ORDER BY depth LIMIT 1"),
    ("Most of the ships, by crew.", "SELECT name FROM ship ORDER BY crew LIMIT 2"),
    ("The ship called 'Largest', and the least crew.", "SELECT min(crew) FROM ship"),
    ("Top three ports in alphabetical order.", "SELECT name FROM port ORDER BY name LIMIT 3"),
    ("Ports by depth, descending.", "SELECT name FROM port ORDER BY depth DESC"),
    ("Ships in ascending order of age.", "SELECT name FROM ship ORDER BY birth_year DESC"),
    ("The most economical ship?", "SELECT name FROM ship ORDER BY crew LIMIT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql"), OTHERWISE)
def test_other_direction_is_found(world, question, sql):
    assert world.ask(find_direction_mismatch, question, sql) is not None


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_direction_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_direction_mismatch, question, sql) is None


def test_evidence_of_the_corpus_decides(world):
    sql = "SELECT name FROM ship ORDER BY crew LIMIT 1"
    text = "The highest class of ships?"
    assert world.ask(find_direction_mismatch, text, sql) is not None
    assert world.ask(find_direction_mismatch, text, sql, evidence="highest is MIN(crew)") is None
    evidence = "the larger the crew, the lower the class"
    assert world.ask(find_direction_mismatch, text, sql, evidence=evidence) is None
