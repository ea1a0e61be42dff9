"""Facts: what all real rows keep beside keys and references. Variants keep it, too.

A schema allows more than its world does. Columns that copy or compute others, links stored in both
directions, closed vocabularies and formats are found once a database, and `settle` brings the rows
of a draft back to them. What few rows keep may be chance: a rule counts from `MIN_ROWS_OF_RULE`
rows on, and a rule between columns only if values drawn by chance would keep it less than once in a
million times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import exp, isclose, log
from typing import Any, NamedTuple

from answerkey.engines.references import Family, Reference
from answerkey.engines.schema import Column
from answerkey.engines.typed_values import ColumnType, RefusedValueError
from answerkey.variants.constants import read_number
from answerkey.variants.rows import Row, Rows, TableRows

MIN_ROWS_OF_RULE = 20
_MIN_SURPRISE = -log(1e-6)  # of what values drawn by chance would keep
_MAX_SUMMED_COLUMNS = 8  # columns of a table among which sums are looked for
_MIN_REPEATS = 10  # how often the values of a closed vocabulary come on average
_CENT = 0.005  # half of one: amounts are rounded to cents
_MIN_SHARE_OF_SAMPLE = 0.8  # a sample is of short runs of rows
_MIN_SHARE_BOOKED = 0.9  # of the parents, where money was booked late or by hand
_MIN_DIFFERENT = 5  # values, or sums: where there are fewer, many columns are equal by chance
DANGLING = -1  # the index of a parent that is not there
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The kind of the values of a column.

    column_type: what its declared type means.
    kinds: the types of its values.
    closed: all of them, if they are a vocabulary.
    shape: their common format, and `example` a value of it.
    is_positive: whether none is below zero.
    """

    column: Column
    column_type: ColumnType
    kinds: frozenset[type]
    closed: tuple[Any, ...] | None = None
    shape: str | None = None
    example: str = ""
    is_positive: bool = False

    def fit(self, value: Any) -> Any:
        """Return a constant as the column would hold it; None if it would hold none like it.

        '2019' fits a column of dates as '2019-05-01', if a value of the column ends so.
        """
        kind = self.column_type.affinity
        if isinstance(value, str) and str not in self.kinds and kind not in ("TEXT", "BLOB"):
            value = read_number(value)
        if isinstance(value, int | float) and (kind == "TEXT" or self.kinds == {str}):
            value = str(value)
        if self.shape is not None and isinstance(value, str):
            value += self.example[len(value) :]
            if read_shape(value) != self.shape:
                return None
        if self.closed is not None and value not in self.closed:
            return None
        if self.is_positive and isinstance(value, int | float) and value < 0:
            return None
        try:
            value = self.column_type.read(value)
        except RefusedValueError:
            return None
        return value if isinstance(value, str | int | float) else None


def read_shape(value: str) -> str:
    """The format of a text: a 9 for each digit, an a for each letter.

    >>> read_shape("2019-10-08T12:00"), read_shape("K-7b")
    ('9999-99-99a99:99', 'a-9a')
    """
    return _LETTER.sub("a", _DIGIT.sub("9", value))


class Derived(NamedTuple):
    """A column that follows from others of its row.

    kind: "known" (each value of the source comes with one value, as in `known`), "equal", "plus",
    "minus" or "times" (of the two sources), "order" (the two columns in ascending order).
    """

    kind: str
    column_index: int
    sources: tuple[int, ...]
    known: dict[Any, Any]


class Copied(NamedTuple):
    """A column of a row that repeats one of the row that it refers to."""

    reference: Reference
    column_index: int
    parent_column_index: int


class Totalled(NamedTuple):
    """A column of a parent that sums up a column of the rows that refer to it.

    column_index: the summed column; None counts the rows. empty: the values of parents without
        any.
    """

    reference: Reference
    column_index: int | None
    parent_column_index: int
    empty: frozenset[Any]


Way = tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """The rules that the rows of a database keep, by table.

    meetings: two ways from a row to a third table, by one reference or two each, that end in one
        row.
    mirrored: the two columns of a table each of whose rows comes again with them exchanged.
    spelled: the references whose value a key of the row begins with, and the index of the key.
    quotas: those by which each parent that has rows has so many.
    served: those by which each parent has rows, though some would have none by chance.
    """

    columns: dict[str, tuple[ColumnFacts, ...]]
    never_null: dict[str, frozenset[int]]
    derived: dict[str, tuple[Derived, ...]]
    copied: tuple[Copied, ...]
    totalled: tuple[Totalled, ...]
    meetings: tuple[tuple[Way, Way], ...]
    mirrored: dict[str, tuple[int, int]]
    spelled: dict[Reference, int]
    quotas: dict[Reference, int]
    served: tuple[Reference, ...]


Free = dict[str, tuple[int, ...]]  # by table, the columns in no key and no reference
Parents = Sequence[list[int | None]]  # by reference, the index of each row's parent


def find_facts(rows: Rows, references: Sequence[Reference], parents: Parents, free: Free) -> Facts:
    """The facts of a database, given its references and its free columns."""
    by_reference = dict(zip(references, parents, strict=True))
    known = _Known(rows.tables, by_reference, free, rows.families)
    copied = tuple(known.list_copied())
    taken = {(fact.reference.table, fact.column_index) for fact in copied}
    totalled = tuple(known.list_totalled(taken))
    taken |= {(fact.reference.parent, fact.parent_column_index) for fact in totalled}
    return Facts(
        columns={
            name: tuple(_describe_columns(table, free[name])) for name, table in rows.tables.items()
        },
        never_null={
            name: frozenset(
                index
                for index in range(
                    len(table.table.columns) if len(table.rows) >= MIN_ROWS_OF_RULE else 0
                )
                if all(row[index] is not None for row in table.rows)
            )
            for name, table in rows.tables.items()
        },
        derived={name: tuple(known.list_derived(name, taken)) for name in rows.tables},
        copied=copied,
        totalled=totalled,
        meetings=tuple(known.list_meetings()),
        mirrored=dict(known.list_mirrored()),
        spelled=dict(known.list_spelled()),
        quotas=dict(known.list_quotas()),
        served=tuple(known.list_served()),
    )


def _describe_columns(table: TableRows, free: Sequence[int]) -> Iterator[ColumnFacts]:
    for column_index, column in enumerate(table.table.columns):
        values = list(table.values(column_index))
        kinds = frozenset(map(type, values))
        distinct = dict.fromkeys(values)
        is_closed = (
            column_index in free  # what refers to a table may refer to each of its rows
            and len(values) >= max(MIN_ROWS_OF_RULE, _MIN_REPEATS * len(distinct))
            and float not in kinds
        )
        shapes = {read_shape(value) for value in distinct} if kinds == {str} else set()
        has_shape = len(values) >= MIN_ROWS_OF_RULE and len(shapes) == 1 and "9" in min(shapes)
        yield ColumnFacts(
            column,
            table.types[column_index],
            kinds,
            tuple(distinct) if is_closed else None,
            min(shapes) if has_shape else None,
            values[0] if has_shape else "",
            len(values) >= MIN_ROWS_OF_RULE and kinds <= {int, float} and min(values) >= 0,
        )


@dataclass
class _Known:
    """The rows in which facts are looked for."""

    tables: dict[str, TableRows]
    parents: dict[Reference, list[int | None]]  # the index of each row's parent
    free: Free
    families: Mapping[Reference, Family]

    def pair(self, reference: Reference) -> list[tuple[Row, int]]:
        """Each row that has a parent, with the index of that."""
        pairs = zip(self.tables[reference.table].rows, self.parents[reference], strict=True)
        return [(row, index) for row, index in pairs if index is not None and index >= 0]

    def list_own(self, table: TableRows) -> list[int]:
        """The columns of a table that are in no declared key, and in no reference."""
        keys = {name for key in table.table.unique_keys for name in key}
        referring = {
            index
            for reference in self.parents
            if reference.table == table.name
            for index in reference.columns
        }
        return [
            index
            for index in table.stored
            if index not in referring and table.table.columns[index].name not in keys
        ]

    def list_copied(self) -> Iterator[Copied]:
        """The columns that equal a column of the parent in all rows. What a parent is called may be
        a key there, or among its children, where no two have one parent."""
        own = {name: self.list_own(table) for name, table in self.tables.items()}
        for reference in self.parents:
            others = self.tables[reference.parent].rows
            pairs = [(row, others[parent_index]) for row, parent_index in self.pair(reference)]
            for column_index in own[reference.table] if len(pairs) >= MIN_ROWS_OF_RULE else ():
                if _is_no_chance([row[column_index] for row, _ in pairs]):
                    for other in own[reference.parent]:
                        if all(row[column_index] == parent[other] for row, parent in pairs):
                            yield Copied(reference, column_index, other)
                            break

    def list_totalled(self, taken: set[tuple[str, int]]) -> Iterator[Totalled]:
        """The numbers of parents that sum up a column of their children, or count them."""
        for reference in self.parents:
            child, parent = self.tables[reference.table], self.tables[reference.parent]
            if not (child.is_whole and parent.is_whole) or child is parent:
                continue
            children: dict[int, list[Any]] = {}
            for row, parent_index in self.pair(reference):
                children.setdefault(parent_index, []).append(row)
            summed_columns = (None, *_list_numbers(child, self.free[child.name]))
            for summed in summed_columns:  # None counts rows
                sums = {
                    at: len(own) if summed is None else sum(row[summed] or 0 for row in own)
                    for at, own in children.items()
                }
                if len(set(sums.values())) < _MIN_DIFFERENT:
                    continue
                for other in _list_numbers(parent, self.free[parent.name]):
                    booked = ((parent.rows[at][other], total) for at, total in sums.items())
                    same = sum(_is_near(value, total) for value, total in booked)
                    if (parent.name, other) not in taken and same >= _MIN_SHARE_BOOKED * len(sums):
                        rest = {row[other] for at, row in enumerate(parent.rows) if at not in sums}
                        yield Totalled(reference, summed, other, frozenset(rest))
                        break

    def list_meetings(self) -> Iterator[tuple[Way, Way]]:
        ways: dict[tuple[str, str], list[Way]] = {}
        for reference in self.parents:
            ways.setdefault((reference.table, reference.parent), []).append((reference,))
            for other in self.parents:
                if other.table == reference.parent and other.parent != reference.table:
                    ways.setdefault((reference.table, other.parent), []).append((reference, other))

        def follow(way: Way, row: int | None) -> int | None:
            for reference in way:
                row = self.parents[reference][row] if row is not None and row >= 0 else None
            return row

        for (name, _end), reaching in ways.items():
            for left, right in combinations(reaching, 2):
                if left[0] == right[0] or len(left) == len(right) == 1:
                    continue
                rows = range(len(self.tables[name].rows))
                ends = [(follow(left, row), follow(right, row)) for row in rows]
                ends = [pair for pair in ends if None not in pair and DANGLING not in pair]
                is_rule = len(ends) >= MIN_ROWS_OF_RULE and _is_no_chance([end for end, _ in ends])
                if is_rule and all(end == other for end, other in ends):
                    yield left, right

    def list_mirrored(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for left, right in combinations(self.parents, 2):
            table = self.tables[left.table]
            is_pair = (right.table, right.parent) == (left.table, left.parent)
            if is_pair and len(left.columns) == 1 == len(right.columns):
                low, high = sorted((*left.columns, *right.columns))
                known = set(table.rows)
                count = sum(mirror_row(row, low, high) in known for row in table.rows)
                # of a sample, the other row of a pair may not have been read
                share = 1 if table.is_whole else _MIN_SHARE_OF_SAMPLE
                if len(table.rows) >= MIN_ROWS_OF_RULE and count >= share * len(table.rows):
                    yield table.name, (low, high)

    def list_spelled(self) -> Iterator[tuple[Reference, int]]:
        """'TR01_2' is of 'TR01'."""
        for reference in self.parents:
            rows = self.tables[reference.table].rows
            own = {*reference.columns, *self.free[reference.table]}
            for column_index in range(len(rows[0]) if len(rows) >= MIN_ROWS_OF_RULE else 0):
                pairs = [(row[column_index], row[reference.columns[0]]) for row in rows]
                if column_index not in own and all(
                    isinstance(key, str) and isinstance(text, str) and key.startswith(text)
                    for key, text in pairs
                ):
                    yield reference, column_index
                    break

    def count_family(self, reference: Reference) -> Family | None:
        """How many rows refer to how many others; None if it is not known."""
        child, parent = self.tables[reference.table], self.tables[reference.parent]
        if not (child.is_whole and parent.is_whole):
            return self.families.get(reference)
        pairs = self.pair(reference)
        referred = {parent_index for _, parent_index in pairs}
        return Family(len(pairs), len(referred), len(parent.rows))

    def list_quotas(self) -> Iterator[tuple[Reference, int]]:
        for reference in self.parents:
            children = Counter(parent_index for _, parent_index in self.pair(reference))
            counts = Counter(children.values())
            family, most = self.count_family(reference), max(counts, default=1)
            # of a sample, not all rows of a parent may have been read
            share = 1 if self.tables[reference.table].is_whole else _MIN_SHARE_OF_SAMPLE
            is_rule = counts.total() >= MIN_ROWS_OF_RULE and counts[most] >= share * counts.total()
            is_each = family is not None and family.children == most * family.referred
            if is_rule and is_each and most > 1:
                yield reference, most

    def list_served(self) -> Iterator[Reference]:
        """Each atom has a bond. That each of ten shops has one of a thousand sales is chance."""
        for reference in self.parents:
            family = self.count_family(reference)
            if reference.table == reference.parent or family is None:
                continue
            if family.referred == family.parents >= MIN_ROWS_OF_RULE:
                # that one of the parents has rows
                chance = 1 - exp(-family.children / family.parents)
                if family.parents * -log(chance) > _MIN_SURPRISE:
                    yield reference

    def list_derived(self, name: str, taken: set[tuple[str, int]]) -> Iterator[Derived]:
        """The columns of a table that follow from others, in the order of their derivation."""
        table, free = self.tables[name], self.free[name]
        if len(table.rows) < MIN_ROWS_OF_RULE:
            return
        columns = list(zip(*table.rows, strict=True))
        done = {index for index in range(len(columns)) if index not in free}
        done |= {index for index in free if (name, index) in taken}
        numbers = _list_numbers(table, free)[:_MAX_SUMMED_COLUMNS]
        computed = list(_list_computed(columns, numbers, done))
        done |= {derived.column_index for derived in computed}
        yield from _list_determined(columns, done)
        yield from _list_ordered(columns, [index for index in free if index not in done])
        yield from computed


def _list_numbers(table: TableRows, columns: Sequence[int]) -> list[int]:
    kinds = {index: set(map(type, table.values(index))) for index in columns}
    return [index for index in columns if kinds[index] and kinds[index] <= {int, float}]


def _is_near(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return isclose(left, right, rel_tol=1e-9, abs_tol=_CENT)


def _is_no_chance(values: Sequence[Any]) -> bool:
    """Whether as many pairs of values drawn by chance would hardly all be equal."""
    alike = _share_alike(values)
    return alike < 1 and len(values) * -log(alike) > _MIN_SURPRISE


def _share_alike(values: Sequence[Any]) -> float:
    return sum((number / len(values)) ** 2 for number in Counter(values).values())


def _list_computed(
    columns: Sequence[Sequence[Any]], numbers: Sequence[int], done: set[int]
) -> Iterator[Derived]:
    """`total = price + tax` and `total = price * count`, each column once."""
    used: set[int] = set()
    for total, left, right in permutations(numbers, 3):
        if left > right or used & {total, left, right}:
            continue
        for kind in ("plus", "times"):
            values = list(zip(columns[total], columns[left], columns[right], strict=True))
            if all(_is_near(row[0], compute(kind, *row[1:])) for row in values) and all(
                len(set(columns[index])) >= _MIN_DIFFERENT for index in (total, left, right)
            ):
                used |= {total, left, right}
                if total not in done:
                    yield Derived(kind, total, (left, right), {})
                elif kind == "plus" and right not in done:
                    yield Derived("minus", right, (total, left), {})
                elif kind == "plus" and left not in done:
                    yield Derived("minus", left, (total, right), {})
                break


def compute(kind: str, left: Any, right: Any) -> Any:
    """The sum, the difference or the product of two numbers; None of NULL.

    >>> compute("minus", 75, 21.19), compute("plus", None, 1)
    (53.81, None)
    """
    if not all(isinstance(value, int | float) for value in (left, right)):
        return None
    value = {"plus": left + right, "minus": left - right, "times": left * right}[kind]
    return round(value, 6) if isinstance(value, float) else value


def _list_determined(columns: Sequence[Sequence[Any]], done: set[int]) -> Iterator[Derived]:
    """The columns of which another one knows the value, such as a city's state."""
    counts = [len(set(values)) for values in columns]
    rows = len(columns[0])
    derived: dict[int, Derived] = {}
    coarse_first = sorted(range(len(columns)), key=lambda at: (counts[at], -at))
    for column_index, values in enumerate(columns):
        if column_index in done or counts[column_index] == 1:
            continue
        fewest = _MIN_SURPRISE / -log(_share_alike(values))
        for source in coarse_first:
            is_twin = counts[source] == counts[column_index] and source < column_index
            if counts[source] > counts[column_index] or is_twin:
                if rows - counts[source] < fewest:
                    break
                known = _map(columns[source], values)
                if known is not None:
                    is_equal = all(left == right for left, right in known.items())
                    kind = "equal" if is_equal else "known"
                    derived[column_index] = Derived(kind, column_index, (source,), known)
                    break

    def rank(column: Derived) -> tuple[int, tuple[int, ...], int]:
        return -counts[column.sources[0]], column.sources, column.column_index

    yield from sorted(derived.values(), key=rank)


def _map(sources: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any] | None:
    """The value that comes with each value of the source; None if one comes with two."""
    known: dict[Any, Any] = {}
    for source, value in zip(sources, values, strict=True):
        if known.setdefault(source, value) != value:
            return None
    return known


def _list_ordered(columns: Sequence[Sequence[Any]], free: Sequence[int]) -> Iterator[Derived]:
    """The pairs of columns of which the first is never greater, as a start and an end."""
    used: set[int] = set()
    for low, high in permutations(free, 2):
        pairs = list(zip(columns[low], columns[high], strict=True))
        if used & {low, high} or not all(_is_ordered(*pair) for pair in pairs if None not in pair):
            continue
        count = sum(None not in pair for pair in pairs)
        half = len(pairs) // 2  # neighbors may be alike
        turned = zip(columns[low], [*columns[high][half:], *columns[high][:half]], strict=True)
        chance = [_is_ordered(*pair) for pair in turned if None not in pair]
        share = sum(chance) / max(len(chance), 1)
        if count >= MIN_ROWS_OF_RULE and 0 < share < 1 and count * -log(share) > _MIN_SURPRISE:
            used |= {low, high}
            yield Derived("order", low, (low, high), {})


def _is_ordered(low: Any, high: Any) -> bool:
    if isinstance(low, str) and isinstance(high, str):
        return low <= high and read_shape(low) == read_shape(high)
    return isinstance(low, int | float) and isinstance(high, int | float) and low <= high


def mirror_row(row: Sequence[Any], left: int, right: int) -> tuple[Any, ...]:
    """The row with the values of two columns exchanged."""
    turned = list(row)
    turned[left], turned[right] = row[right], row[left]
    return tuple(turned)
