"""negation_mismatch: the query denies what its question does not."""

import pytest

from answerkey.probes.negation import find_negation_mismatch
from tests.shared.probe_world import HARBOUR, ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("negations"), HARBOUR) as world:
        yield world


DENIED = [
    ("Ships of Ito.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Ships that came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("Ships with an a.", "SELECT name FROM ship WHERE name NOT LIKE '%a%'"),
]

AS_ASKED = [
    ("Ships that never came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("Ships of an abnormal crew.", "SELECT name FROM ship WHERE crew NOT BETWEEN 3 AND 9"),
    ("Names, in a column.", "SELECT CASE WHEN owner <> 'Ito' THEN name ELSE owner END FROM ship"),
    ("Ships, those of Ito aside.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Ships of other owners.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Names of ships.", "SELECT name FROM ship WHERE owner IS NOT NULL"),
    ("Names of owners.", "SELECT owner FROM ship WHERE owner <> ''"),
    ("Pairs of ships.", "SELECT a.name, b.name FROM ship a JOIN ship b ON a.id <> b.id"),
]


@pytest.mark.parametrize(("question", "sql"), DENIED)
def test_negation_of_the_query_alone_is_found(world, question, sql):
    assert world.ask(find_negation_mismatch, question, sql) is not None


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_negation_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_negation_mismatch, question, sql) is None


def test_evidence_of_the_corpus_decides(world):
    text, sql = "Odd ships.", "SELECT name FROM ship WHERE owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql)
    evidence = "odd refers to owner NOT IN ('Ito', 'Lee')"
    assert world.ask(find_negation_mismatch, text, sql, evidence=evidence) is None
