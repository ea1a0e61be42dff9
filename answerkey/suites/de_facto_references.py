"""References de facto: a column whose values are all among those of a key of another table.

Numbers are among others by chance, so they count only where the name of the column says so too. So
do the texts of ids: 'A1' may be a code of anything. Other texts, such as names of countries, need
no more than to be three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from answerkey.suites.database_rows import Rows
from answerkey.suites.references import Reference, has_id_name, join_name, list_names

FEWEST = 3  # values that differ, to tell a rule from chance
Keys = dict[str, dict[int, set[Any]]]  # by table and position of the column, the values of a key


def find_de_facto(rows: Rows, declared: Sequence[Reference], keys: Keys) -> list[Reference]:
    """The references that are not declared. Of two columns that hold the same values, the one of
    the table that was made later refers to the other."""
    known = {(reference.table, reference.columns) for reference in declared}
    linked = {(reference.table, reference.parent) for reference in declared}
    candidates = _Candidates(rows, keys)
    found = []
    for name in reversed(rows.tables):
        table = rows.tables[name]
        for place, column in enumerate(table.table.columns):
            values = set(table.values(place))
            kinds = set(map(type, values))
            if (name, (place,)) in known or kinds not in ({int}, {str}):
                continue
            for parent, key in candidates.find(column.name, values):
                is_new = parent != name and (parent, name) not in linked
                held = keys[parent][key]
                if is_new and values <= held and kinds == set(map(type, held)):
                    linked.add((name, parent))
                    found.append(Reference(name, (place,), parent, (key,)))
    return found


class _Candidates:
    """The keys to which a column may refer, by its name and by its texts."""

    def __init__(self, rows: Rows, keys: Keys) -> None:
        self._by_name: dict[str, list[tuple[str, int]]] = {}
        self._by_text: dict[str, list[tuple[str, int]]] = {}
        for table, columns in keys.items():
            for place, values in columns.items():
                key = rows.tables[table].table.columns[place].name
                for name in list_names(table, key):
                    self._by_name.setdefault(name, []).append((table, place))
                for value in () if has_id_name(key) else values:
                    if isinstance(value, str):
                        self._by_text.setdefault(value, []).append((table, place))

    def find(self, column: str, values: set[Any]) -> list[tuple[str, int]]:
        """By table and position of the column, in the order of the tables."""
        named = self._by_name.get(join_name(column), [])
        texts = self._by_text.get(min(values), []) if len(values) >= FEWEST else []
        return list(dict.fromkeys([*named, *texts]))
