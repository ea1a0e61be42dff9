"""Keys: which columns tell the rows of a table apart, and which rows belong to which others.

Declared keys and foreign keys hold in every variant of a database, and so do these:

- A column is a key de facto where at least three rows have values that all differ, it is no part of
  a declared key, and either its name is that of an id, or another table refers to it.
- Where such a column refers to another table itself, it is a key only if all rows of its table were
  read, and if parents drawn by chance would all differ less than once in twenty times.
- A table of a key and a column of texts alone lists these texts, each once: where they all differ,
  they are a key, too.
- The columns of a table without a key that refer to two tables or more are a key together where
  their values differ in each row.
- A column refers de facto to such a key of another table where all its values are among the key's,
  and the two are named alike. A reference that no row lacks is not lacked by any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from answerkey.engines.references import Reference, find_positions, list_declared
from answerkey.engines.schema import fold_name
from answerkey.engines.sqlite.collations import BINARY, FOLDS, list_collations
from answerkey.sql.keys import has_id_name, join_name, list_names
from answerkey.variants.facts import DANGLING, MIN_ROWS_OF_RULE, Facts, find_facts
from answerkey.variants.rows import Row, Rows, TableRows

_MIN_ROWS_OF_KEY = 3  # values that differ, to tell a rule from chance
Keys = dict[str, dict[int, set[Any]]]  # by table and position of the column, the values of a key
Key = tuple[int, ...]  # positions of columns
_MAX_CHANCE = 0.05  # that drawn parents would all differ
_MIN_PAIRS_BY_CHANCE = 7  # pairs equal by chance: less than once in a thousand times none is
Link = tuple[str, int]  # a table, and the index of a row of it


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """The keys and references that hold in the rows of a database.

    keys: by table, the columns whose values differ in each row that has them.
    references: all of them, declared ones first.
    parents: by reference, the index of each row's parent in its table; DANGLING where there is
        none, None if a value is NULL.
    links: the rows that a row refers to.
    free: by table, the columns that are in no key and no reference, and are not generated.
    alone: by table, the columns that are a key each, and in no reference.
    nullable: by table, the columns that may be NULL: in no key, and where they refer to another
        table, with a NULL in the database; never those without a NULL in many rows.
    kept: what else holds of the rows.
    """

    keys: dict[str, tuple[Key, ...]]
    references: tuple[Reference, ...]
    parents: tuple[list[int | None], ...]
    links: dict[Link, list[Link]]
    free: dict[str, tuple[int, ...]]
    alone: dict[str, tuple[int, ...]]
    nullable: dict[str, tuple[int, ...]]
    kept: Facts

    def without_keys(self, rows: Rows, columns: Collection[tuple[str, int]]) -> KeyFacts:
        """The same where these columns, by table and index, are no keys by themselves, unless they
        are declared as one or others refer to them."""
        keys, free, alone = dict(self.keys), dict(self.free), dict(self.alone)
        for name, columns_alone in self.alone.items():
            table = rows.tables[name].table
            sure = {find_positions(table, key) for key in table.unique_keys}
            loose = {
                index
                for index in columns_alone
                if (name, index) in columns and (index,) not in sure
            }
            keys[name] = tuple(key for key in keys[name] if not (len(key) == 1 and loose & {*key}))
            free[name] = tuple(sorted({*free[name], *loose}))
            alone[name] = tuple(index for index in columns_alone if index not in loose)
        return replace(self, keys=keys, free=free, alone=alone)


def find_key_facts(rows: Rows) -> KeyFacts:
    """The keys and references of a database, declared and de facto."""
    declared = list_declared([table.table for table in rows.tables.values()])
    keys = {
        name: [key for own in table.table.unique_keys if (key := find_positions(table.table, own))]
        for name, table in rows.tables.items()
    }
    columns = {name: _read_unique_columns(table) for name, table in rows.tables.items()}
    for name, table in rows.tables.items():
        for column_index in {column_index for key in keys[name] for column_index in key}:
            columns[name].pop(column_index, None)
        singles = {key[0] for key in keys[name] if len(key) == 1}
        columns[name] |= {index: set(table.values(index)) for index in sorted(singles)}
    references = [*declared, *_find_de_facto(rows, declared, columns)]
    for name, table in rows.tables.items():
        referred = {reference.referred for reference in references if reference.parent == name}
        for column_index in sorted(columns[name]):
            own_name = table.table.columns[column_index].name
            is_named = has_id_name(own_name) or _are_names(table, column_index)
            is_key = is_named and _is_no_chance(rows, name, column_index, references)
            if is_key or (column_index,) in referred:
                keys[name].append((column_index,))
        keys[name] += [(index,) for index in columns[name] if _is_list(table, index, keys[name])]
        keys[name] += [key for key in sorted(referred) if len(key) > 1 and _tells_apart(table, key)]
        keys[name] += [*_find_name_key(table), *_find_link_key(rows, table, references)]
        keys[name] = list(dict.fromkeys(keys[name]))
    parents = [_find_parents(rows, reference) for reference in references]
    free, alone, nullable = _list_changeable(rows, keys, references)
    kept = find_facts(rows, references, parents, free)
    return KeyFacts(
        keys={name: tuple(own) for name, own in keys.items()},
        references=tuple(references),
        parents=tuple(parents),
        links=_list_links(references, parents),
        free=free,
        alone=alone,
        nullable={
            name: tuple(index for index in may_be_null if index not in kept.never_null[name])
            for name, may_be_null in nullable.items()
        },
        kept=kept,
    )


def _find_de_facto(rows: Rows, declared: Sequence[Reference], keys: Keys) -> list[Reference]:
    """The references that are not declared. Of two columns that hold the same values, the one of
    the table that was made later refers to the other."""
    by_name: dict[str, dict[tuple[str, int], None]] = {}
    for name, columns in keys.items():
        for key in columns:
            for other in list_names(name, rows.tables[name].table.columns[key].name):
                by_name.setdefault(other, {})[name, key] = None
    known = {(reference.table, reference.columns) for reference in declared}
    linked = {(reference.table, reference.parent) for reference in declared}
    references = []
    for name in reversed(rows.tables):
        table = rows.tables[name]
        for column_index, column in enumerate(table.table.columns):
            values = set(table.values(column_index))
            kinds = set(map(type, values))
            if (name, (column_index,)) in known or kinds not in ({int}, {str}):
                continue
            for parent, key in by_name.get(join_name(column.name), ()):
                is_new = parent != name and (parent, name) not in linked
                held = keys[parent][key]
                if is_new and values <= held and kinds == set(map(type, held)):
                    linked.add((name, parent))
                    references.append(Reference(name, (column_index,), parent, (key,)))
    return references


def _read_unique_columns(table: TableRows) -> dict[int, set[Any]]:
    unique = {}
    for column_index in range(
        len(table.table.columns) if len(table.rows) >= _MIN_ROWS_OF_KEY else 0
    ):
        values = set(table.values(column_index))
        if len(values) == len(table.rows) and not any(isinstance(v, float) for v in values):
            unique[column_index] = values
    return unique


def _tells_apart(table: TableRows, key: Key) -> bool:
    values = [tuple(row[column_index] for column_index in key) for row in table.rows]
    return len(values) >= _MIN_ROWS_OF_KEY and len(set(values)) == len(values)


def _is_list(table: TableRows, column_index: int, keys: Sequence[Key]) -> bool:
    """Whether a table has a column of texts, and beside it a key and nothing else."""
    has_key = len(table.table.columns) == 2 and (1 - column_index,) in keys
    return has_key and all(isinstance(value, str) for value in table.values(column_index))


def _is_no_chance(
    rows: Rows, name: str, column_index: int, references: Sequence[Reference]
) -> bool:
    """Whether a column refers to no other table, or to one where rows that differ mean something:
    the birthday problem."""
    table = rows.tables[name]
    for reference in references:
        if reference.table == name and column_index in reference.columns:
            parents = len(rows.tables[reference.parent].rows)
            chance = prod(1 - number / max(parents, 1) for number in range(len(table.rows)))
            if chance > _MAX_CHANCE or not table.is_whole:
                return False
    return True


def _are_names(table: TableRows, column_index: int) -> bool:
    """Whether a column has many words, all of which differ: names that nobody gives twice."""
    return len(table.rows) >= MIN_ROWS_OF_RULE and all(
        isinstance(value, str) and any(map(str.isalpha, value))
        for value in table.values(column_index)
    )


def _find_name_key(table: TableRows) -> list[Key]:
    """The first and the last name of many people, if no two have both in common."""
    key = tuple(
        index
        for index, column in enumerate(table.table.columns)
        if "name" in fold_name(column.name) and table.types[index].affinity == "TEXT"
    )
    is_key = len(key) > 1 and len(table.rows) >= MIN_ROWS_OF_RULE and _tells_apart(table, key)
    is_full = all(row[column_index] is not None for column_index in key for row in table.rows)
    return [key] if is_key and is_full else []


def _find_link_key(rows: Rows, table: TableRows, references: Sequence[Reference]) -> list[Key]:
    """The columns that refer to two tables or more, if they tell all rows apart: in a table without
    a key, or where parents drawn by chance would hardly do so."""
    own = [reference for reference in references if reference.table == table.name]
    key = tuple(sorted({index for reference in own for index in reference.columns}))
    parents = {reference.parent for reference in own}
    if len(parents) < 2 or not _tells_apart(table, key):
        return []
    possible = prod(max(len(rows.tables[name].rows), 1) for name in parents)
    has_key = bool(table.table.unique_keys)
    is_rule = table.is_whole and len(table.rows) ** 2 / 2 > _MIN_PAIRS_BY_CHANCE * possible
    return [key] if is_rule or not has_key else []


def _find_parents(rows: Rows, reference: Reference) -> list[int | None]:
    fold = make_fold(rows, reference)
    row_indexes: dict[Row, int] = {}
    for row_index, row in enumerate(rows.tables[reference.parent].rows):
        row_indexes.setdefault(fold(row, reference.referred), row_index)
    referring = (fold(row, reference.columns) for row in rows.tables[reference.table].rows)
    return [None if None in values else row_indexes.get(values, DANGLING) for values in referring]


def _list_links(
    references: Sequence[Reference], parents: Sequence[list[int | None]]
) -> dict[Link, list[Link]]:
    links: dict[Link, list[Link]] = {}
    for reference, row_indexes in zip(references, parents, strict=True):
        for row_index, parent in enumerate(row_indexes):
            if parent is not None and parent != DANGLING:
                link = reference.parent, parent
                links.setdefault((reference.table, row_index), []).append(link)
    return links


def make_fold(rows: Rows, reference: Reference) -> Callable[[Sequence[Any], Key], Row]:
    """A function that takes the values of a reference out of a row as SQLite compares them: with
    the affinities and the collations of the parent's columns.

    Source: section 3 of the SQLite manual's page on foreign keys.
    """
    types = rows.tables[reference.parent].types
    parent = rows.tables[reference.parent].table
    collations = list_collations(parent.sql)
    names = [fold_name(parent.columns[column_index].name) for column_index in reference.referred]
    kinds = [
        (types[column_index].affinity, FOLDS[collations.get(name, BINARY)])
        for column_index, name in zip(reference.referred, names, strict=True)
    ]

    def fold(row: Sequence[Any], key: Key) -> Row:
        return tuple(_fold_value(row[index], *kind) for index, kind in zip(key, kinds, strict=True))

    return fold


def _fold_value(value: Any, kind: str, fold_text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        if kind not in ("TEXT", "BLOB"):
            try:
                return float(value)
            except ValueError:
                pass
        return fold_text(value)
    return str(value) if kind == "TEXT" and isinstance(value, int | float) else value


def _list_changeable(
    rows: Rows, keys: dict[str, list[Key]], references: Sequence[Reference]
) -> tuple[dict[str, Key], dict[str, Key], dict[str, Key]]:
    free, alone, nullable = {}, {}, {}
    for name, table in rows.tables.items():
        referred = {
            index
            for reference in references
            if reference.parent == name
            for index in reference.referred
        }
        referring = {
            index
            for reference in references
            if reference.table == name
            for index in reference.columns
        }
        fixed = {column_index for key in keys[name] for column_index in key} | referred
        full = {index for index in referring if all(row[index] is not None for row in table.rows)}
        free[name] = tuple(index for index in table.stored if index not in fixed | referring)
        alone[name] = tuple(
            index
            for index in table.stored
            if (index,) in keys[name] and index not in referred | referring
        )
        nullable[name] = tuple(
            index
            for index in table.stored
            if index not in fixed | full and not table.table.columns[index].is_not_null
        )
    return free, alone, nullable
