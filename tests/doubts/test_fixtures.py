"""The fixture of each doubt: queries that it doubts and queries that it does not, audited as the
pipeline audits them.

`fixtures/NAME.yaml` belongs to the doubt NAME of the catalogue:

database: SQL text, or the name of a database of tests/shared/probe_world.py.
doubted, sound: cases that have the flag, and cases that do not have it.

A case has:

sql: the gold query.
question, evidence: what is asked. Without a question only the query is looked at.
kind: the kind in the evidence of the flag.
shows: entries that the evidence of the flag has beside others.
fix: what the repair is. A text is its SQL, a list is the rows that it answers, and null says that
    there is none. Without `fix` the repair is not looked at.
database: another database than that of the fixture.
meanings: the words that the corpus has for columns.
thresholds: other values than those of params.yaml.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.doubts.audit import audit_query, report_question
from answerkey.doubts.catalogue import DOUBTS
from answerkey.engines.answers import shape_answer
from answerkey.english.question import Question
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sql.query_tree import parse_sql, to_sql
from tests.shared.probe_world import DATABASES, ProbeWorld

FIXTURES = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "fixtures").glob("*.yaml"))
}
KEYS = {"sql", "question", "evidence", "database", "meanings", "thresholds"}
KEYS_OF_DOUBTED = KEYS | {"kind", "shows", "fix"}

Case = dict[str, Any]


def list_cases(group: str) -> list[Any]:
    """All cases of one group, each with the name of its doubt."""
    return [
        pytest.param(name, {"database": fixture["database"], **case}, id=f"{name}-{index}")
        for name, fixture in FIXTURES.items()
        for index, case in enumerate(fixture[group])
    ]


class Worlds(ExitStack):
    """The databases of the fixtures, each made when a case first asks it."""

    def __init__(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        super().__init__()
        self._folders = tmp_path_factory
        self._worlds: dict[str, ProbeWorld] = {}

    def open(self, database: str) -> ProbeWorld:
        sql = DATABASES.get(database, database)
        if sql not in self._worlds:
            world = self.enter_context(ProbeWorld(self._folders.mktemp("fixture"), sql))
            self.enter_context(world.copied())
            self._worlds[sql] = world
        return self._worlds[sql]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    with Worlds(tmp_path_factory) as opened:
        yield opened


def audit(world: ProbeWorld, case: Case) -> dict[str, Any]:
    """The report of the audit of one question and its gold query."""
    audited = audit_query(
        world.real,
        world.copy,
        case["sql"],
        shape_answer(world.database.execute(case["sql"])),
        schema=world.schema,
        thresholds=Thresholds(**case.get("thresholds", {})),
    )
    question = Question(case.get("question", ""), case.get("evidence"), case.get("meanings", {}))
    report = report_question(audited, question)
    assert audited.inspection is not None, report["flags"]
    assert to_sql(audited.inspection.tree) == to_sql(parse_sql(case["sql"])), "the tree has changed"
    return report


def read_evidence(report: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [flag["evidence"] for flag in report["flags"] if flag["code"] == name]


def test_each_doubt_has_a_fixture_and_each_fixture_a_doubt():
    names = {doubt.name for doubt in DOUBTS}
    assert names - FIXTURES.keys() == set(), "no file of fixtures has this name"
    assert FIXTURES.keys() - names == set(), "no doubt of the catalogue has this name"


@pytest.mark.parametrize("name", FIXTURES)
def test_each_fixture_has_cases_of_both_groups_and_no_unknown_key(name):
    fixture = FIXTURES[name]
    assert fixture.keys() == {"database", "doubted", "sound"}
    assert fixture["doubted"]
    assert fixture["sound"]
    for group, known in (("doubted", KEYS_OF_DOUBTED), ("sound", KEYS)):
        assert set().union(*fixture[group]) - known == set(), f"unknown keys of {group}"


@pytest.mark.parametrize(("name", "case"), list_cases("doubted"))
def test_doubted_query_has_the_flag(worlds, name, case):
    world = worlds.open(case["database"])
    report = audit(world, case)
    evidence, *_ = read_evidence(report, name) or pytest.fail(f"no flag {name}")
    assert evidence.get("kind") == case.get("kind")
    assert case.get("shows", {}).items() <= evidence.items()
    if "fix" in case:
        check_repair(world, report, evidence, case["fix"])


def check_repair(
    world: ProbeWorld, report: dict[str, Any], evidence: dict[str, Any], fix: str | list | None
) -> None:
    repairs = {repair["rule"]: repair["sql"] for repair in reversed(report["repairs"])}
    sql = repairs.get(evidence.get("repair"))
    if isinstance(fix, str):
        assert sql == to_sql(parse_sql(fix))
    else:
        rows = world.database.execute(sql) if sql is not None else None
        assert (rows and [list(row) for row in rows]) == fix


@pytest.mark.parametrize(("name", "case"), list_cases("sound"))
def test_sound_query_lacks_the_flag(worlds, name, case):
    assert read_evidence(audit(worlds.open(case["database"]), case), name) == []
