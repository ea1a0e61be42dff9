"""Questions that ask for other than their query: comparison_mismatch (at least for more than),
direction_mismatch (the least for the most) and negation_mismatch (what the question does not
deny)."""

import pytest

from answerkey.probes.literals import find_comparison_mismatch
from answerkey.probes.negation import find_negation_mismatch
from answerkey.probes.order import find_direction_mismatch
from tests.shared.probe_world import HARBOUR, ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("mismatches"), HARBOUR) as world:
        yield world


def _ships(condition: str) -> str:
    return f"SELECT name FROM ship WHERE {condition}"


OTHERWISE = {
    find_comparison_mismatch: [
        ("Ships with at least 5 crew.", _ships("crew > 5")),
        ("Ships with more than 5 crew.", _ships("5 <= crew")),
        ("Ships with no more than 1,000 tons.", _ships("gross_tonnage < 1000")),
        ("Ships of crews over 3 and under 9.", _ships("crew BETWEEN 3 AND 9")),
        ("Homes of two or more ships.",
         "SELECT home FROM ship GROUP BY home HAVING count(*) > 2"),
        ("Ships with less than 5 crew.", _ships("crew > 5")),
        ("Ships with at least 5 crew.", _ships("crew <= 5")),
    ],
    find_direction_mismatch: [
        ("The port of the fewest berths?",
         "SELECT name FROM port ORDER BY berths DESC LIMIT 1"),
        ("What is the smallest crew?", "SELECT max(crew) FROM ship"),
        ("The youngest ship?", "SELECT name FROM ship ORDER BY age DESC LIMIT 1"),
        ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year LIMIT 1"),
        ("The oldest port?", "SELECT name FROM port ORDER BY opened DESC LIMIT 1"),
        ("The most recent visit?", "SELECT ship FROM visit ORDER BY day LIMIT 1"),
        ("The top 2 ports of the most depth?",
         "SELECT name FROM port ORDER BY depth LIMIT 2"),
        ("Ports in descending order of depth.", "SELECT name FROM port ORDER BY depth"),
    ],
    find_negation_mismatch: [
        ("Ships of Ito.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
        ("Ships that came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
        ("Ships with an a.", "SELECT name FROM ship WHERE name NOT LIKE '%a%'"),
    ],
}  # fmt: skip

AS_ASKED = {
    find_comparison_mismatch: [
        ("Ships with at least 5 crew.", _ships("crew >= 5")),
        ("Ships ranked above 2.", _ships("rank < 2")),
        ("Ships with 5 crew.", _ships("crew > 5")),  # another probe reads values
        ("Ships that do not have more than 5 crew.", _ships("crew <= 5")),
        ("Ships with more than 5 crew.",
         "SELECT name FROM ship EXCEPT SELECT name FROM ship WHERE crew <= 5"),
        ("Ships between 10 and 25 years.", _ships("age BETWEEN 10 AND 25")),
        ("Ships of on and above 5 crew.", _ships("crew >= 5")),
        ("Ships called 'over 5' with 5 or less crew.", _ships("crew <= 5")),
        ("Ships of No.5 or more.", _ships("crew > 5")),
        ("Visits between 2010 and 2011, year by year.",
         "SELECT sum(day LIKE '2010%'), sum(day LIKE '2011%') FROM visit"),
        ("Ports with at least 5 berths.", "SELECT name FROM port WHERE berths = 5"),  # a code?
    ],
    find_direction_mismatch: [
        ("Which port has the fewest berths?", "SELECT name FROM port ORDER BY berths LIMIT 1"),
        ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year DESC LIMIT 1"),
        ("The oldest port?", "SELECT name FROM port ORDER BY opened LIMIT 1"),
        ("The ship of the highest rank?", "SELECT name FROM ship ORDER BY rank LIMIT 1"),
        ("The furthest south of all ports?", "SELECT name FROM port ORDER BY depth LIMIT 1"),
        ("The shallowest of at least 5 berths.", "SELECT name FROM port ORDER BY depth LIMIT 1"),
        ("Most of the ships, by crew.", "SELECT name FROM ship ORDER BY crew LIMIT 2"),
        ("The ship called 'Largest', and the least crew.", "SELECT min(crew) FROM ship"),
        ("Ships in ascending order of age.", "SELECT name FROM ship ORDER BY birth_year DESC"),
        ("Ports by depth, descending.", "SELECT name FROM port ORDER BY depth DESC"),
        ("The most economical ship?", "SELECT name FROM ship ORDER BY crew LIMIT 1"),
    ],
    find_negation_mismatch: [
        ("Ships that never came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
        ("Ships of an abnormal crew.", "SELECT name FROM ship WHERE crew NOT BETWEEN 3 AND 9"),
        ("Names, in a column.",
         "SELECT CASE WHEN owner <> 'Ito' THEN name ELSE owner END FROM ship"),
        ("Ships, those of Ito aside.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
        ("Names of ships.", "SELECT name FROM ship WHERE owner IS NOT NULL"),
        ("Names of owners.", "SELECT owner FROM ship WHERE owner <> ''"),
        ("Pairs of ships.", "SELECT a.name, b.name FROM ship a JOIN ship b ON a.id <> b.id"),
    ],
}  # fmt: skip


def list_cases(tables):
    return [(probe, *case) for probe, cases in tables.items() for case in cases]


@pytest.mark.parametrize(("probe", "question", "sql"), list_cases(OTHERWISE))
def test_what_the_question_does_not_ask_is_found(world, probe, question, sql):
    assert world.ask(probe, question, sql) is not None


@pytest.mark.parametrize(("probe", "question", "sql"), list_cases(AS_ASKED))
def test_what_the_question_asks_is_no_finding(world, probe, question, sql):
    assert world.ask(probe, question, sql) is None


def test_evidence_of_the_corpus_decides_a_comparison(world):
    text, sql = "Ships with over 5 crew.", _ships("crew >= 5")
    assert world.ask(find_comparison_mismatch, text, sql, evidence="over 5: crew >= 5") is None


def test_long_question_is_read_in_time(world):
    text = "more than 5 " * 100_000
    assert world.ask(find_comparison_mismatch, text, _ships("crew >= 5")) is not None


def test_evidence_of_the_corpus_decides_a_direction(world):
    sql = "SELECT name FROM ship ORDER BY crew LIMIT 1"
    text = "The highest class of ships?"
    assert world.ask(find_direction_mismatch, text, sql) is not None
    assert world.ask(find_direction_mismatch, text, sql, evidence="highest is MIN(crew)") is None
    evidence = "the larger the crew, the lower the class"
    assert world.ask(find_direction_mismatch, text, sql, evidence=evidence) is None


def test_evidence_of_the_corpus_decides_a_negation(world):
    text, sql = "Odd ships.", "SELECT name FROM ship WHERE owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql)
    evidence = "odd refers to owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql, evidence=evidence) is None
