"""Whether rows are a right choice where LIMIT cuts through rows that tie.

    ORDER BY weight LIMIT 2 over (a, 5), (b, 7), (c, 7) -> the segments [a], of which one row is in
    every right answer, and [b, c], of which one row is: a and b are right, a and c are, b and c not

A choice is a flow: each predicted row takes a place of an equal row of some segment, a row of a
segment has as many places as it occurs there, and a segment gives as many as are taken of it. The
rows are right where all of them find a place (Ford and Fulkerson, augmenting paths).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from answerkey.sqlite.answers import Row, list_neighbours, match_rows, take_apart

_SINK = "sink"


def rows_are_a_choice(
    predicted: list[Row],
    gold: list[Row],
    segments: Sequence[int],
    takes: Sequence[int],
    *,
    rows: str,
    ordered: bool,
    rel_tol: float,
    abs_tol: float,
) -> bool:
    """Whether the rows are those of some right answer: as a multiset, a set or a subset of one.

    >>> gold = [("a",), ("b",), ("c",)]
    >>> options = {"rows": "multiset", "rel_tol": 0.0, "abs_tol": 0.0}
    >>> rows_are_a_choice([("c",), ("a",)], gold, [0, 1, 1], [1, 1], ordered=False, **options)
    True
    >>> rows_are_a_choice([("c",), ("a",)], gold, [0, 1, 1], [1, 1], ordered=True, **options)
    False

    segments: for each gold row the number of its segment.
    takes: for each segment how many of its rows are in a right answer.
    """
    tolerances = {"rel_tol": rel_tol, "abs_tol": abs_tol}
    counted = Counter(segments)
    parts: dict[Hashable, list[Row]] = defaultdict(list)
    if not ordered:
        # Segments that are taken as a whole are one.
        labels = ["whole" if takes[n] == counted[n] else n for n in range(len(takes))]
        open_places: Counter[Hashable] = Counter()
        for label, take in zip(labels, takes, strict=True):
            open_places[label] += take
        for row, segment in zip(gold, segments, strict=True):
            parts[labels[segment]].append(row)
        return _fill(predicted, parts, open_places, rows=rows, **tolerances)
    for row, segment in zip(gold, segments, strict=True):
        parts[segment].append(row)
    start = 0
    for segment, take in enumerate(takes):
        part = predicted[start : start + take]
        start += take
        whole = parts[segment]
        if rows == "multiset" and take == len(whole):
            if not match_rows(whole, part, ordered=False, **tolerances):
                return False
        elif not _fill(part, {segment: whole}, {segment: take}, rows=rows, **tolerances):
            return False
    return True


def _fill(
    predicted: list[Row],
    segments: dict[Hashable, list[Row]],
    takes: dict[Hashable, int],
    *,
    rows: str,
    rel_tol: float,
    abs_tol: float,
) -> bool:
    places = Counter((name, take_apart(row)) for name, part in segments.items() for row in part)
    wanted = Counter(map(take_apart, predicted))
    near = _list_near_places(wanted, places, rel_tol, abs_tol)
    if rows == "multiset":
        demands = [(near[row], count) for row, count in wanted.items()]
    else:
        # Rows that are close to the same gold rows are one row of a set.
        demands = [(list(group), 1) for group in {tuple(near[row]) for row in wanted}]
    if rows == "set":
        usable: Counter[Hashable] = Counter()
        for place in {place for group, _ in demands for place in group}:
            usable[place[0]] += places[place]
        if any(usable[name] < take for name, take in takes.items()):
            return False
    return _has_flow(demands, places, takes)


def _list_near_places(
    wanted: Counter[Row], places: Counter[tuple[Hashable, Row]], rel_tol: float, abs_tol: float
) -> dict[Row, list[tuple[Hashable, Row]]]:
    """For each predicted row the gold rows, by segment, that it may be."""
    gold: dict[Hashable, dict[Row, list[tuple[Hashable, Row]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for place in places:
        exact, floats = place[1]
        gold[exact][floats].append(place)
    ordered = {exact: sorted(by_floats) for exact, by_floats in gold.items()}
    near: dict[Row, list[tuple[Hashable, Row]]] = {}
    for exact, floats in wanted:
        equal = ordered.get(exact, [])
        if floats:
            (numbers,) = list_neighbours([floats], equal, rel_tol, abs_tol)
            equal = [equal[number] for number in numbers]
        near[exact, floats] = [place for found in equal for place in gold[exact][found]]
    return near


def _has_flow(
    demands: list[tuple[list[tuple[Hashable, Row]], int]],
    places: Counter[tuple[Hashable, Row]],
    takes: dict[Hashable, int],
) -> bool:
    """Whether all that is wanted finds a place. The nodes are numbers of demands, places and names
    of segments; what is left of an edge is how much more may flow along it."""
    left: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)
    for name, take in takes.items():
        left["segment", name][_SINK] = take
    for place, count in places.items():
        left[place]["segment", place[0]] = count
    for number, (group, count) in enumerate(demands):
        for place in group:
            left[number][place] = count
    for number in sorted(range(len(demands)), key=lambda number: len(demands[number][0])):
        wanted = demands[number][1]
        while wanted:
            path = _find_direct_path(left, number) or _find_path(left, number)
            if path is None:
                return False
            amount = min(wanted, *(left[a][b] for a, b in path))
            for a, b in path:
                left[a][b] -= amount
                left[b][a] = left[b].get(a, 0) + amount
            wanted -= amount
    return True


def _find_direct_path(
    left: dict[Hashable, dict[Hashable, int]], start: Hashable
) -> list[tuple[Hashable, Hashable]] | None:
    """A path to the sink that takes no place away from others: nearly always, and much faster."""
    for place, amount in left[start].items():
        segment = "segment", place[0]
        if amount and left[place][segment] and left[segment][_SINK]:
            return [(start, place), (place, segment), (segment, _SINK)]
    return None


def _find_path(
    left: dict[Hashable, dict[Hashable, int]], start: Hashable
) -> list[tuple[Hashable, Hashable]] | None:
    """The edges of a path to the sink along which something may flow."""
    came_from: dict[Hashable, Hashable] = {start: start}
    stack = [start]
    while stack:
        node = stack.pop()
        for following, amount in left[node].items():
            if not amount or following in came_from:
                continue
            came_from[following] = node
            if following == _SINK:
                path = []
                while following != start:
                    path.append((came_from[following], following))
                    following = came_from[following]
                return path
            stack.append(following)
    return None
