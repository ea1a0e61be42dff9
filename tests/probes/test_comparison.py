"""comparison_mismatch: at least for more than."""

import pytest

from answerkey.probes.comparison import find_comparison_mismatch
from tests.shared.probe_world import HARBOUR, ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("comparisons"), HARBOUR) as world:
        yield world


def _ships(condition: str) -> str:
    return f"SELECT name FROM ship WHERE {condition}"


OTHERWISE = [
    ("Ships with at least 5 crew.", _ships("crew > 5")),
    ("Ships with five or more crew.", _ships("crew > 5")),
    ("Ships with more than 5 crew.", _ships("5 <= crew")),
    ("Ships with no more than 1,000 tons.", _ships("gross_tonnage < 1000")),
    ("Ships of crews over 3 and under 9.", _ships("crew BETWEEN 3 AND 9")),
    ("Homes of two or more ships.",
     "SELECT home FROM ship GROUP BY home HAVING count(*) > 2"),
    ("Ships that came more than once.",
     "SELECT ship FROM visit GROUP BY ship HAVING count(*) >= 1"),
    ("Ships with less than 5 crew.", _ships("crew > 5")),
    ("Ships with at least 5 crew.", _ships("crew <= 5")),
]  # fmt: skip

AS_ASKED = [
    ("Ships with at least 5 crew.", _ships("crew >= 5")),
    ("Ships ranked above 2.", _ships("rank < 2")),
    ("Ships with at least 5 crew.", _ships("crew > 4")),  # the same in whole numbers
    ("Ships with 5 crew.", _ships("crew > 5")),  # another probe reads values
    ("Ships that do not have more than 5 crew.", _ships("crew <= 5")),
    ("Ships without over 5 crew.", _ships("NOT crew > 5")),
    ("Ships with more than 5 crew.",
     "SELECT name FROM ship EXCEPT SELECT name FROM ship WHERE crew <= 5"),
    ("Visits after 2011.", "SELECT ship FROM visit WHERE day >= '2011-12-31'"),
    ("Ships between 10 and 25 years.", _ships("age BETWEEN 10 AND 25")),
    ("Ships of on and above 5 crew.", _ships("crew >= 5")),
    ("Ships called 'over 5' with 5 or less crew.", _ships("crew <= 5")),
    ("Crew below 3 or above 3?", _ships("crew < 3 OR crew > 3")),
    ("Ships of No.5 or more.", _ships("crew > 5")),
    ("Visits after 2011/5/1.", "SELECT ship FROM visit WHERE substr(day, 1, 4) >= '2011'"),
    ("Visits between 2010 and 2011, year by year.",
     "SELECT sum(day LIKE '2010%'), sum(day LIKE '2011%') FROM visit"),
    ("Ports with at least 5 berths.", "SELECT name FROM port WHERE berths = 5"),  # a code?
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql"), OTHERWISE)
def test_other_comparison_is_found(world, question, sql):
    assert world.ask(find_comparison_mismatch, question, sql) is not None


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_comparison_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_comparison_mismatch, question, sql) is None


def test_evidence_of_the_corpus_decides(world):
    text, sql = "Ships with over 5 crew.", _ships("crew >= 5")
    assert world.ask(find_comparison_mismatch, text, sql, evidence="over 5: crew >= 5") is None


def test_long_question_is_read_in_time(world):
    text = "more than 5 " * 100_000
    assert world.ask(find_comparison_mismatch, text, _ships("crew >= 5")) is not None
