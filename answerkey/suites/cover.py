"""Cover: few databases that tell as many neighbors from gold as the whole pool does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

_FILLED = 3  # each database costs a prediction half of the time that the real one takes
_HEAVY = 10  # times as much counts what must be told

Kills = Mapping[int, frozenset[int]]  # by the number of a database, what it tells from gold


def choose_databases(
    questions: Sequence[Kills],
    *,
    most: int,
    heavy: Collection[tuple[int, int]] = (),
    spare: int = 0,
) -> list[int]:
    """The numbers of databases, at most so many, each the one that adds most to those before it.

    >>> one, other = {1: frozenset({0}), 2: frozenset({0, 1})}, {1: frozenset({0}), 3: frozenset()}
    >>> choose_databases([one, other], most=8)
    [1, 2]

    heavy: places of questions, each with a neighbor that counts as much as ten others.
    spare: how many other neighbors may live, where that spares databases.

    Source: the greedy algorithm for set cover (Chvatal, "A greedy heuristic for the set-covering
    problem", Mathematics of Operations Research 4, 1979).
    """
    killed_by: dict[int, set[tuple[int, int]]] = {}
    for place, kills in enumerate(questions):
        for number, neighbors in kills.items():
            found = killed_by.setdefault(number, set())
            found.update((place, neighbor) for neighbor in neighbors)

    waiting = set().union(*killed_by.values())

    def weigh(number: int) -> int:
        return sum(_HEAVY if pair in heavy else 1 for pair in killed_by[number])

    chosen: list[int] = []
    while len(chosen) < most and (len(waiting) > spare or waiting & set(heavy)):
        number = max(sorted(killed_by), key=weigh)
        killed = killed_by.pop(number)
        chosen.append(number)
        waiting -= killed
        for others in killed_by.values():
            others -= killed
    return chosen


def choose_suite(
    kills: Kills, databases: Sequence[int], *, most: int, heavy: Collection[int] = ()
) -> list[int]:
    """Which of the databases a question is tested on: those that it needs, and others until it
    has three, since wrong queries are more than neighbors. The ones that tell most come first.

    >>> choose_suite({1: frozenset({0}), 2: frozenset({0, 1})}, [1, 2], most=5)
    [2, 1]
    """
    own = {number: kills[number] for number in databases if number in kills}
    must = {(0, neighbor) for neighbor in heavy}
    needed = choose_databases([own], most=most, heavy=must)
    others = sorted(own.keys() - set(needed), key=lambda number: (-len(own[number]), number))
    return [*needed, *others[: max(0, min(_FILLED, most) - len(needed))]]
