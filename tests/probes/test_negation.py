"""negation_mismatch: only one of question and query denies."""

import pytest

from answerkey.probes.negation import find_negation_mismatch
from tests.shared.probe_world import HARBOUR, ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("negations"), HARBOUR) as world:
        yield world


OTHERWISE = [
    ("not_denied", "Ships that don't belong to Ito.", "SELECT name FROM ship WHERE owner = 'Ito'"),
    ("not_denied", "Ships that aren't of Un Oro.", "SELECT name FROM ship WHERE owner = 'Un Oro'"),
    (
        "not_denied",
        "Ships that do not have over 500 tons.",
        "SELECT name FROM ship WHERE gross_tonnage > 500",
    ),
    ("denied", "Ships of Ito.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("denied", "Ships that came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("denied", "Ships with an a.", "SELECT name FROM ship WHERE name NOT LIKE '%a%'"),
]

AS_ASKED = [
    ("Ships that never came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("Ships that never came.", "SELECT name FROM ship JOIN visit ON ship = ship.id"),  # who knows
    ("Ships that are not seaworthy.", "SELECT name FROM ship WHERE owner = '-'"),
    (
        "Ships that are not for Ito in Alda.",
        "SELECT name FROM ship WHERE owner = 'Ito' AND rank = 0",
    ),
    ("Ships of an abnormal crew.", "SELECT name FROM ship WHERE crew NOT BETWEEN 3 AND 9"),
    ("Names, in a column.", "SELECT CASE WHEN owner <> 'Ito' THEN name ELSE owner END FROM ship"),
    ("Ships without an a.", "SELECT name FROM ship WHERE name NOT LIKE '%a%'"),
    ("Ships with no owner.", "SELECT name FROM ship WHERE owner IS NULL"),
    ("Ships with no crew.", "SELECT name FROM ship WHERE crew = 0"),
    ("Ships with no crew of over 5.", "SELECT name FROM ship WHERE crew > 5"),
    ("Ships that are not full.", "SELECT name FROM ship WHERE owner = 'unfilled'"),
    ("Ships with no more than 5 crew.", "SELECT name FROM ship WHERE crew = 5"),
    ("Ships not over 5 crew.", "SELECT name FROM ship WHERE crew <= 5"),
    ("Not only ships.", "SELECT name FROM ship"),
    ("Ships, sunk or not.", "SELECT name FROM ship"),
    ("Ships of Ito (Lee is not asked for).", "SELECT name FROM ship WHERE owner = 'Ito'"),
    ("Owners without repeats.", "SELECT DISTINCT owner FROM ship"),
    ("Owners, 'free' where a ship does not have one.", "SELECT coalesce(owner, 'free') FROM ship"),
    ("Ships, those of Ito aside.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Ships of owner 'No Name'.", "SELECT name FROM ship WHERE owner = 'No Name'"),
    ("Ships of other owners.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Names of ships.", "SELECT name FROM ship WHERE owner IS NOT NULL"),
    ("Names of owners.", "SELECT owner FROM ship WHERE owner <> ''"),
    ("Pairs of ships.", "SELECT a.name, b.name FROM ship a JOIN ship b ON a.id <> b.id"),
    ("Ships that didnt' come.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
]


@pytest.mark.parametrize(("kind", "question", "sql"), OTHERWISE)
def test_negation_on_one_side_is_found(world, kind, question, sql):
    finding = world.ask(find_negation_mismatch, question, sql)
    assert finding.evidence["kind"] == kind


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_negation_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_negation_mismatch, question, sql) is None


def test_evidence_of_the_corpus_decides(world):
    text, sql = "Ships with no owner.", "SELECT name FROM ship WHERE owner = 'Ito'"
    assert world.ask(find_negation_mismatch, text, sql, evidence="no owner: owner = 'Ito'") is None
    text = "Ships that are not carriers."
    sql = "SELECT name FROM ship WHERE owner = 'carriers'"
    assert world.ask(find_negation_mismatch, text, sql)
    evidence = "owner = 'carriers' means that it is not a carrier"
    assert world.ask(find_negation_mismatch, text, sql, evidence=evidence) is None
    text, sql = "Odd ships.", "SELECT name FROM ship WHERE owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql)
    evidence = "odd refers to owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql, evidence=evidence) is None
