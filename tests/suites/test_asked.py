"""What variants say of a question: an answer with what is killed, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from answerkey.engines.database import Limits
from answerkey.engines.executions import Executions
from answerkey.rewrites.trees import Change
from answerkey.suites.asked import AskedVariants
from answerkey.suites.gate import GoldAnswer
from answerkey.suites.questions import NoSuite, SuiteQuestion
from answerkey.suites.rivals import Case, RealDatabase, make_guess, read_cases
from answerkey.variants.rows import Row, read_rows
from tests.suites.real import open_real

SHIPS = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tons INTEGER);
INSERT INTO ship VALUES (1, 'Sun', 10), (2, 'Tern', 20), (3, 'Kite', 30);
"""


class Pool:
    """A question on the ships, and variants of them."""

    def __init__(self, path: Path, real: RealDatabase, asked: AskedVariants) -> None:
        self.rows = read_rows(path)
        self.real = real
        self.asked = asked

    def ask(self, question: SuiteQuestion, *variants: list[Row]) -> Case:
        """Ask some variants, each the rows of its ships, from number 0 on."""
        (case,) = read_cases([question], self.real, max_neighbors=60)
        for number, rows in enumerate(variants):
            self.asked.add(number, self.rows.with_rows({"ship": rows}), [case])
        return case


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Pool]:
    path = tmp_path / "ships.sqlite"
    with open_real(path, SHIPS) as real, AskedVariants(real, Limits(), now=None) as asked:
        yield Pool(path, real, asked)


HEAVY = SuiteQuestion("q", "SELECT name FROM ship WHERE tons > 15", order=False)


def test_variant_kills_the_rivals_that_have_another_answer_there(pool):
    case = pool.ask(HEAVY, [(1, "Sun", 16), (2, "Tern", 2)], [(1, "Sun", 15), (2, "Tern", 16)])
    first, second = pool.asked.list_answers([case], {})[case].values()
    assert (first.gold.rows, second.gold.rows) == ([("Sun",)], [("Tern",)])
    at_least = next(rival for rival in case.survivors if rival.sql.endswith("tons >= 15"))
    assert at_least not in first.killed
    assert at_least in second.killed
    assert case.gold.by_heart in first.killed & second.killed


def test_variant_that_a_guard_may_take_for_the_real_database_kills_nothing_behind_one(pool):
    """The second has as many ships as the real database, and gold's answer of there."""
    alike = [(1, "Kite", 20), (2, "Tern", 30), (3, "Sun", 15)]
    case = pool.ask(HEAVY, [(1, "Sun", 20)], alike)
    guess = make_guess([("Tern",)])
    answers = pool.asked.list_answers([case], {case: (guess, *case.survivors)})[case]
    assert [answer.passes for answer in answers.values()] == [False, True]
    assert guess in answers[0].killed
    assert answers[1].killed == set()
    alone = pool.asked.list_answers([case], {})[case]
    assert alone[1].killed
    waiting = {case: [guess]}
    assert pool.asked.list_survivors(waiting, {case: [0]}) == {case: []}
    assert pool.asked.list_survivors(waiting, {case: [1]}) == {case: [guess]}


@pytest.mark.parametrize(
    ("question", "rows", "reason"),
    [
        (HEAVY, [(1, "Sun", 2)], NoSuite.SAYS_NOTHING),
        (
            HEAVY._replace(gold_sql="SELECT name FROM ship ORDER BY tons DESC LIMIT 1"),
            [(1, "Sun", 9), (2, "Tern", 9)],
            NoSuite.TIES,
        ),
        (
            HEAVY._replace(readings=(Change("from", "SELECT name FROM ship WHERE tons >= 15"),)),
            [(1, "Sun", 15), (2, "Tern", 16)],
            NoSuite.OTHER_READING,
        ),
    ],
)
def test_variant_that_does_not_count_says_why(pool, question, rows, reason):
    case = pool.ask(question, rows)
    assert pool.asked.list_answers([case], {}) == {case: {}}
    refusal = pool.asked.refusals[case][0]
    assert refusal.reason is reason
    assert (refusal.reading,) == (question.readings or (None,))


def test_variants_are_asked_as_if_each_were_stored_alone(pool):
    """Going back to one finds its rows again."""
    variants = [[(1, f"ship {tons}", tons)] for tons in (16, 17, 18)]
    pool.ask(HEAVY, *variants)
    for number in (2, 0, 1, 0):
        assert pool.asked.open(number).find_rows("SELECT * FROM ship") == variants[number]


class Endless(Executions):
    """A database of an engine without steps, where no query but gold ends."""

    asked = 0

    def tells_apart(self, *_: Any, **__: Any) -> None:
        self.asked += 1


def test_rival_that_does_not_end_is_asked_twice_by_engines_without_steps(pool, monkeypatch):
    case = pool.ask(HEAVY)
    rival = next(rival for rival in case.survivors if rival.rows is None)
    gold = GoldAnswer([("Sun",)], order=False)
    for steps, asked in ((None, 2), (100, 4)):
        endless = Endless(SimpleNamespace(steps=steps, limits=Limits()))
        monkeypatch.setattr(pool.asked, "open", lambda _, database=endless: database)
        pool.asked._stops.clear()
        pool.asked._kills.clear()
        assert not any(pool.asked._is_killed(number, case, gold, rival) for number in range(4))
        assert endless.asked == asked
