"""Shown rows: of two answers that differ, the few rows that show it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from answerkey.sqlite.answers import shape_answer, write_order
from answerkey.sqlite.guard import GuardedDatabase, Limits, Row
from answerkey.suites.neighbors import Neighbor
from answerkey.suites.questions import BY_HEART, Asked, Executions, SuiteQuestion

_MOST_ROWS = 3
_MOST_CHARACTERS = 200


def show_rows(rows: list[Row], others: list[Row] | None) -> list[list[Any]]:
    """The first rows of an answer, those before all that the other answer lacks.

    >>> show_rows([(1,), (2,), (3,), (4,), (4,)], [(1,), (2,), (3,), (4,)])
    [[4], [1], [2]]

    Where both have the same rows, those from the first that stands elsewhere. Long texts are cut.
    `others` is None where the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    others = others or []
    if Counter(rows) == Counter(others):
        pairs = enumerate(zip(rows, others, strict=True))
        start = next((place for place, (row, other) in pairs if row != other), 0)
        return [_cut(row) for row in rows[start:][:_MOST_ROWS]]
    lacking = Counter(rows) - Counter(others)
    first, after = [], []
    for row in reversed(rows):  # of equal rows, the last are those that the other answer lacks
        (first if lacking[row] > 0 else after).append(row)
        lacking[row] -= 1
    return [_cut(row) for row in [*reversed(first), *reversed(after)][:_MOST_ROWS]]


def _cut(row: Row) -> list[Any]:
    return [value[:_MOST_CHARACTERS] if isinstance(value, str) else value for value in row]


# Records: what is told of the suite of a question.


SUITES = "data/test_suites"
_SHOWN_NEIGHBORS = 3

Record = dict[str, Any]


class SuiteRecords:
    """The databases that are kept, by their numbers in the pool: they get new ones, from 1."""

    def __init__(
        self, name: str, used: list[int], find_path: Callable[[int], Path], limits: Limits
    ) -> None:
        self._limits = limits
        self._paths = {number: find_path(number) for number in used}
        self._find_path = find_path
        self._facts = {
            number: {
                "path": f"{SUITES}/{name}/{name}.{place:02}.sqlite",
                "sha256": hashlib.sha256(self._paths[number].read_bytes()).hexdigest(),
            }
            for place, number in enumerate(used, start=1)
        }

    def open(self, number: int, stack: ExitStack) -> Executions:
        """What queries give on a variant."""
        database = GuardedDatabase(self._find_path(number), self._limits)
        return Executions(stack.enter_context(database))

    def describe(self, number: int) -> Record:
        """Path and checksum of a database."""
        return self._facts[number]


def make_records(
    records: SuiteRecords,
    questions: list[SuiteQuestion],
    asked: list[Asked],
    suites: Mapping[str, list[int]],
) -> list[Record]:
    """A record for each question, in their order; without neighbors for one that has no suite."""
    by_id = {one.question.question_id: one for one in asked}
    found = []
    with ExitStack() as stack:
        opened: dict[int, Executions] = {}

        def run_on(number: int) -> Executions:
            if number not in opened:
                opened[number] = records.open(number, stack)
            return opened[number]

        for question in questions:
            one = by_id.get(question.question_id)
            record: Record = {"question_id": question.question_id}
            if one is None:
                nothing = {"operators": {}, "alive": [], "databases": []}
                record |= {"mutation_score": None, **nothing, "latent_ambiguity": None}
            else:
                suite = suites[question.question_id]
                record |= _count(one, suite)
                record["databases"] = _list_databases(one, suite, records, run_on)
                record["latent_ambiguity"] = _show_latent(one, run_on)
            found.append(record)
    return found


def _count(one: Asked, suite: list[int]) -> Record:
    """The mutation score, the counts by operator, and some neighbors that live."""
    alive = one.list_alive()
    by_suite = frozenset().union(*(one.kills[number] for number in suite))
    by_pool = one.list_told()
    operators: dict[str, Counter[str]] = {}
    for neighbor in one.query.killed:
        operators.setdefault(neighbor.operator, Counter())["killed"] += 1
    for place, neighbor in alive.items():
        fate = "killed" if place in by_suite else "alive" if place in by_pool else "undecided"
        operators.setdefault(neighbor.operator, Counter())[fate] += 1
    total = len(one.query.killed) + len(by_pool)
    killed = len(one.query.killed)
    scores = {
        "database": round(killed / total, 4) if total else None,
        "suite": round((killed + len(by_suite)) / total, 4) if total else None,
    }
    lives = [neighbor for place, neighbor in alive.items() if place in by_pool - by_suite]
    return {
        "mutation_score": scores if total else None,
        "operators": {
            name: {fate: counts[fate] for fate in ("killed", "alive", "undecided")}
            for name, counts in sorted(operators.items())
        },
        "alive": [_show(neighbor) for neighbor in lives[:_SHOWN_NEIGHBORS]],
    }


def _list_databases(
    one: Asked, suite: list[int], records: SuiteRecords, run_on: Callable[[int], Executions]
) -> list[Record]:
    found = []
    told: frozenset[int] = frozenset()
    for number in suite:
        variant = run_on(number)
        rows = variant.find_rows(one.query.sql) or []
        new = one.kills[number] - told or one.kills[number]
        told |= one.kills[number]
        found.append(
            {
                **records.describe(number),
                "gold_answer": shape_answer(rows),
                **write_order(one.query.orders[number]),
                **_list_others(one, variant),
                "kill": _show_kill(one, min(new), rows, variant) if new else None,
            }
        )
    return found


def _list_others(one: Asked, variant: Executions) -> Record:
    """The answers of the other queries that are right, if there are any."""
    answers = ((sql, variant.find_rows(sql)) for sql in one.question.other_sql)
    found = [
        {"sql": sql, "answer": shape_answer(rows)} for sql, rows in answers if rows is not None
    ]
    return {"other_answers": found} if found else {}


def _show_kill(one: Asked, place: int, rows: list[Row], variant: Executions) -> Record:
    neighbor = one.query.alive[place]
    by_heart = neighbor.operator == BY_HEART
    others = one.query.rows if by_heart else variant.run(neighbor.sql).rows
    return {
        **_show(neighbor),
        "gold_rows": show_rows(rows, others),
        "neighbor_rows": None if others is None else show_rows(others, rows),
    }


def _show_latent(one: Asked, run_on: Callable[[int], Executions]) -> Record | None:
    if one.latent is None:
        return None
    number, reading = one.latent
    variant = run_on(number)
    rows, others = variant.find_rows(one.query.sql) or [], variant.find_rows(reading.sql)
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": show_rows(rows, others),
        "reading_rows": None if others is None else show_rows(others, rows),
    }


def _show(neighbor: Neighbor) -> Record:
    return {"operator": neighbor.operator, "sql": neighbor.sql[:2000]}
