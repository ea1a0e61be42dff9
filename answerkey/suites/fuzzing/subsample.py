"""Subsample: some rows of each table, with the rows that they refer to.

Half of the rows are any. The others are those whose parents are there already, so that parents have
several children: with rows drawn one by one, no group would have two.
"""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.suites.fuzzing.draft import Draft, DraftRow
from answerkey.suites.keys import Link


def choose_rows(draft: Draft, wanted: Iterable[Link]) -> None:
    """Fill a draft with about `max_rows` rows a table, at most twice as many; `wanted` ones first,
    up to a third."""
    links = draft.facts.links
    chosen: dict[str, set[int]] = {name: set() for name in draft.rows}

    def take(link: Link, *, most_new: int) -> None:
        """Take a row and what it refers to, if there is room for all and not more is new."""
        new, waiting = {link}, [link]
        while waiting and len(new) <= most_new:
            for parent in links.get(waiting.pop(), ()):
                if parent[1] not in chosen[parent[0]] and parent not in new:
                    new.add(parent)
                    waiting.append(parent)
        counts = dict.fromkeys((name for name, _ in new), 0)
        for name, _ in new:
            counts[name] += 1
        if len(new) <= most_new and all(
            len(chosen[name]) + counts[name] <= 2 * draft.max_rows for name in counts
        ):
            for name, place in new:
                chosen[name].add(place)

    everything = 1 + sum(len(table.rows) for table in draft.source.tables.values())
    by_table: dict[str, list[Link]] = {name: [] for name in draft.rows}
    for link in wanted:
        by_table[link[0]].append(link)
    for name in sort_children_first(draft):
        few = draft.random.sample(by_table[name], len(by_table[name]))[: draft.max_rows // 3]
        for link in few:
            take(link, most_new=everything)
        places = list(range(len(draft.source.tables[name].rows)))
        draft.random.shuffle(places)
        half, full = draft.max_rows // 2, draft.max_rows
        for most, most_new in ((half, everything), (full, 1), (full, everything)):
            for place in places:
                if len(chosen[name]) >= most:
                    break
                if place not in chosen[name]:
                    take((name, place), most_new=most_new)
    for name, rows in chosen.items():
        source = draft.source.tables[name].rows
        draft.rows[name] = [DraftRow(source[place], place) for place in sorted(rows)]


def sort_children_first(draft: Draft) -> list[str]:
    """The tables so that each stands before those it refers to, as far as no circle forbids it."""
    parents: dict[str, set[str]] = {name: set() for name in draft.rows}
    for reference in draft.facts.references:
        parents[reference.table].add(reference.parent)
    reached = {}
    for name in parents:
        found, waiting = {name}, [name]
        while waiting:
            new = parents[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        reached[name] = len(found)
    return sorted(reached, key=lambda name: -reached[name])
