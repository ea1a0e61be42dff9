"""Cover: few databases that tell many neighbors from gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

# Each database costs a prediction half of the time that the real one takes.
_MIN_DATABASES_PER_QUESTION = 3
# Weights of the rivals that a suite must kill: the stored answer as a constant, and a rival that
# wins behind a guard. Others weigh 1.
BY_HEART_WEIGHT, GUARDED_WEIGHT = 100, 10

_Rival = TypeVar("_Rival", bound=Hashable)
Kills = Mapping[int, frozenset[_Rival]]  # by the number of a database, the rivals that it kills
_Pair = tuple[int, _Rival]  # the index of a question, and one of its rivals


def choose_databases(
    questions: Sequence[Kills[_Rival]],
    *,
    most: int,
    heavy: Mapping[_Pair[_Rival], int] | None = None,
    spare: int = 0,
) -> list[int]:
    """The numbers of databases, at most so many, each the one that adds most to those before it;
    and then each exchanged for another one, as long as that adds something.

    >>> first = {1: frozenset({0}), 2: frozenset({0, 1})}
    >>> choose_databases([first, {1: frozenset({0}), 3: frozenset()}], most=8)
    [1, 2]

    heavy: indexes of questions, each with a neighbor that must be told; as much as how many others
        it counts.
    spare: how many other neighbors may live, where that spares databases.

    Source: the greedy algorithm for set cover (Chvatal, "A greedy heuristic for the set-covering
    problem", Mathematics of Operations Research 4, 1979).
    """
    killed_by: dict[int, set[_Pair[_Rival]]] = {}
    for question_index, kills in enumerate(questions):
        for number, neighbors in kills.items():
            killed = killed_by.setdefault(number, set())
            killed.update((question_index, neighbor) for neighbor in neighbors)

    waiting = set().union(*killed_by.values())
    weights = heavy or {}
    others = {number: set(killed) for number, killed in killed_by.items()}
    chosen: list[int] = []
    while len(chosen) < most and (len(waiting) > spare or waiting & weights.keys()):
        number = max(sorted(others), key=lambda number: _weigh(others[number], weights))
        killed = others.pop(number)
        chosen.append(number)
        waiting -= killed
        for other in others.values():
            other -= killed
    better = _find_exchange(chosen, killed_by, weights) if waiting and len(chosen) == most else None
    while better is not None:
        position, number = better
        chosen[position] = number
        better = _find_exchange(chosen, killed_by, weights)
    return chosen


def _weigh(pairs: Collection[_Pair[_Rival]], weights: Mapping[_Pair[_Rival], int]) -> int:
    return sum(weights.get(pair, 1) for pair in pairs)


def _find_exchange(
    chosen: Sequence[int],
    killed_by: Mapping[int, set[_Pair[_Rival]]],
    weights: Mapping[_Pair[_Rival], int],
) -> tuple[int, int] | None:
    """The place of a chosen database, and another one that adds most in its place; None if none
    adds anything."""
    counts = Counter(pair for number in chosen for pair in killed_by[number])
    own = [{pair for pair in killed_by[number] if counts[pair] == 1} for number in chosen]
    found, most = None, 0
    for number in sorted(killed_by.keys() - set(chosen)):
        killed = killed_by[number]
        gain = _weigh(killed - counts.keys(), weights)
        for position, alone in enumerate(own if gain > most else ()):
            more = gain - _weigh(alone - killed, weights)
            if more > most:
                found, most = (position, number), more
    return found


def choose_suite(
    kills: Kills[_Rival],
    databases: Sequence[int],
    *,
    most: int,
    heavy: Collection[_Rival] = (),
) -> list[int]:
    """Choose the databases that a question is tested on: those that it needs, and others until it
    has three, since wrong queries are more than neighbors. The ones that tell most come first.

    >>> choose_suite({1: frozenset({0}), 2: frozenset({0, 1})}, [1, 2], most=5)
    [2, 1]
    """
    own = {number: kills[number] for number in databases if number in kills}
    must = {(0, neighbor): GUARDED_WEIGHT for neighbor in heavy}
    needed = choose_databases([own], most=most, heavy=must)
    others = sorted(own.keys() - set(needed), key=lambda number: (-len(own[number]), number))
    return [*needed, *others[: max(0, min(_MIN_DATABASES_PER_QUESTION, most) - len(needed))]]
