"""Records: what is told of the suite of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from answerkey.sqlite.answers import shape_answer, write_order
from answerkey.sqlite.guard import Row
from answerkey.suites.neighbors import Neighbor
from answerkey.suites.questions import BY_HEART, Asked, Executions
from answerkey.suites.readings import Reading

_MOST_ROWS = 3
_MOST_CHARACTERS = 200
_SHOWN_NEIGHBORS = 3

Record = dict[str, Any]
Databases = Mapping[
    int, tuple[Record, Executions]
]  # by number: path and checksum, and queries on it


def show_rows(rows: list[Row], others: list[Row] | None) -> list[list[Any]]:
    """The first rows of an answer, those before all that the other answer lacks.

    >>> show_rows([(1,), (2,), (3,), (4,), (4,)], [(1,), (2,), (3,), (4,)])
    [[4], [1], [2]]

    Where both have the same rows, those from the first that stands elsewhere. Long texts are cut.
    `others` is None where the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    lacking = Counter(rows) - Counter(others or ())
    if lacking or len(rows) < len(others or ()):
        shown = [*lacking.elements(), *(Counter(rows) - lacking).elements()]
    else:
        pairs = enumerate(zip(rows, others or (), strict=True))
        shown = rows[next((place for place, (row, other) in pairs if row != other), 0) :]
    return [
        [value[:_MOST_CHARACTERS] if isinstance(value, str) else value for value in row]
        for row in shown[:_MOST_ROWS]
    ]


def show_latent(reading: Reading, rows: list[Row], others: list[Row] | None) -> Record:
    """What is told of a reading whose rows on a variant are not those of gold."""
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": show_rows(rows, others),
        "reading_rows": None if others is None else show_rows(others, rows),
    }


def make_record(one: Asked | None, suite: Sequence[int], databases: Databases) -> Record:
    """What is told of the suite of a question; without neighbors for one that has none."""
    if one is None:
        nothing = {"operators": {}, "alive": [], "databases": []}
        return {"mutation_score": None, **nothing, "latent_ambiguity": None}
    return {
        **_count(one, suite),
        "databases": _list_databases(one, suite, databases),
        "latent_ambiguity": one.latent,
    }


def _count(one: Asked, suite: Sequence[int]) -> Record:
    """The mutation score, the counts by operator, and some neighbors that live."""
    alive, by_pool = one.list_alive(), one.list_told()
    by_suite = frozenset().union(*(one.kills[number] for number in suite))
    operators: dict[str, Counter[str]] = {}
    for neighbor in one.query.killed:
        operators.setdefault(neighbor.operator, Counter())["killed"] += 1
    for place, neighbor in alive.items():
        fate = "killed" if place in by_suite else "alive" if place in by_pool else "undecided"
        operators.setdefault(neighbor.operator, Counter())[fate] += 1
    killed = len(one.query.killed)
    total = killed + len(by_pool)
    lives = [neighbor for place, neighbor in alive.items() if place in by_pool - by_suite]
    return {
        "mutation_score": {
            "database": round(killed / total, 4),
            "suite": round((killed + len(by_suite)) / total, 4),
        }
        if total
        else None,
        "operators": {
            name: {fate: counts[fate] for fate in ("killed", "alive", "undecided")}
            for name, counts in sorted(operators.items())
        },
        "alive": [_show(neighbor) for neighbor in lives[:_SHOWN_NEIGHBORS]],
    }


def _list_databases(one: Asked, suite: Sequence[int], databases: Databases) -> list[Record]:
    found = []
    told: frozenset[int] = frozenset()
    for number in suite:
        known, variant = databases[number]
        rows = variant.find_rows(one.query.sql) or []
        others = [(sql, variant.find_rows(sql)) for sql in one.question.other_sql]
        answers = [{"sql": sql, "answer": shape_answer(of)} for sql, of in others if of is not None]
        new = one.kills[number] - told or one.kills[number]
        told |= one.kills[number]
        found.append(
            {
                **known,
                "gold_answer": shape_answer(rows),
                **write_order(one.query.orders[number]),
                **({"other_answers": answers} if answers else {}),
                "kill": _show_kill(one, min(new), rows, variant) if new else None,
            }
        )
    return found


def _show_kill(one: Asked, place: int, rows: list[Row], variant: Executions) -> Record:
    neighbor = one.query.alive[place]
    by_heart = neighbor.operator == BY_HEART
    others = one.query.rows if by_heart else variant.run(neighbor.sql).rows
    return {
        **_show(neighbor),
        "gold_rows": show_rows(rows, others),
        "neighbor_rows": None if others is None else show_rows(others, rows),
    }


def _show(neighbor: Neighbor) -> Record:
    return {"operator": neighbor.operator, "sql": neighbor.sql[:2000]}
