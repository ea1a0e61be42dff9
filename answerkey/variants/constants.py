"""Constants and conditions: the values with which a query compares columns, to be planted in
variants, and values that meet each comparison and miss it; and new values of the same kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain, count, pairwise
from math import isfinite
from typing import Any, NamedTuple
from uuid import UUID

from sqlglot import exp

from answerkey.engines.references import find_positions
from answerkey.engines.schema import Column, Table
from answerkey.engines.typed_values import LOOSE, ColumnType, Kind, read_type
from answerkey.sql.conditions import COMPARISONS, Comparison, list_comparisons, read_text
from answerkey.sql.query_tree import (
    find_with,
    first_select,
    is_aggregate,
    make_limit,
    selects_of,
    speaks_sqlite,
    to_sql,
    write_with,
)
from answerkey.sql.scopes import Scopes
from answerkey.variants.rows import Rows

_LAST_DIGITS = re.compile(r"([0-9]{1,18})(\D*)\Z")
_DIGITS = re.compile(r"[0-9]{1,18}")  # of a number that SQLite holds as an integer
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MAX_INTEGER = (1 << 63) - 1
_MAX_EXACT = 1 << 53  # above, a float has no next whole number
_FIRST_DAY = date(2001, 1, 1)


def read_number(text: str) -> int | float | None:
    """The number that a text spells, as SQLite holds it; None for none, and for infinity.

    >>> read_number("9223372036854775807"), read_number("9223372036854775808"), read_number("5.0")
    (9223372036854775807, 9.223372036854776e+18, 5)
    >>> read_number("1e300"), read_number("1e999"), read_number("12 May")
    (1e+300, None, None)

    An integer of more than 64 bits is a float there. One that is spelled as a float is an integer
    here as long as a float holds it exactly: a column of integers would hold it so.
    """
    try:
        integer = int(text)
    except ValueError:  # also one of more digits than Python reads
        pass
    else:
        if -_MAX_INTEGER <= integer <= _MAX_INTEGER:
            return integer
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < _MAX_EXACT else number


def make_new(value: Any, taken: Container[Any], column_type: ColumnType = LOOSE) -> Any:
    """A value after this one that is not taken: the next number, or a text with the next number.
    The same value, if its column takes no other.

    >>> make_new(7, {7, 8}), make_new("A09", {"A09"}), make_new("Sun", {"Sun"})
    (9, 'A10', 'Sun 2')
    """
    if (known := _list_known(column_type)) is not None:
        return next((other for other in known if other not in taken), value)
    if column_type.kind is Kind.UUID:
        codes = (str(UUID(int=number % _UUIDS)) for number in count(UUID(value).int + 1))
        return next(code for code in codes if code not in taken)
    if isinstance(value, int):
        numbers = count(value + 1) if value < _MAX_INTEGER // 2 else count(value - 1, -1)
        return next(number for number in numbers if number not in taken)
    if isinstance(value, float):
        start = int(value) if abs(value) < _MAX_EXACT else 0
        return next(float(number) for number in count(start + 1) if number not in taken)
    if isinstance(value, bytes):
        return next(new for n in count() if (new := value + b"%d" % n) not in taken)
    texts = chain(_count_days(value), _count_texts(value))
    return next(text for text in texts if text not in taken)


_LAST_DAY = date.max.toordinal()


def _read_day(text: str) -> int | None:
    """The number of the day that a text begins with, from 1 for 0001-01-01; None for no day."""
    if not _DATE.fullmatch(text[:10]):
        return None
    try:
        return date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        return None


def _write_day(day: int, text: str) -> str:
    return date.fromordinal(day).isoformat() + text[10:]


def _count_days(text: str) -> Iterator[str]:
    """The days after the one that a text begins with, and then those before it."""
    day = _read_day(text)
    if day is not None:
        for other in chain(range(day + 1, _LAST_DAY + 1), range(day - 1, 0, -1)):
            yield _write_day(other, text)


def move_day(text: str, days: int) -> str | None:
    """A text that begins with a day, so many days later, but not before year 1 or after year 9999;
    None for another text.

    >>> move_day("2020-03-01 10:00", -1), move_day("0001-01-02", -400), move_day("soon", 1)
    ('2020-02-29 10:00', '0001-01-01', None)
    """
    day = _read_day(text)
    return None if day is None else _write_day(min(max(day + days, 1), _LAST_DAY), text)


def _count_texts(text: str) -> Iterator[str]:
    """The texts after one: with the next numbers instead of its last one, or after it."""
    last = _LAST_DIGITS.search(text)
    if last is None:
        yield from (f"{text or 'x'} {number}" for number in count(2))
        return
    start, (digits, end) = text[: last.start()], last.groups()
    yield from (f"{start}{number:0{len(digits)}}{end}" for number in count(int(digits) + 1))


_UUIDS = 1 << 128  # how many there are


def _list_known(column_type: ColumnType) -> Sequence[Any] | None:
    """The only values that a column of a type takes; None if they are not few."""
    return (0, 1) if column_type.kind is Kind.BOOLEAN else column_type.allowed or None


def list_near(value: Any, column_type: ColumnType = LOOSE) -> list[Any]:
    """The values just beside a constant that its column takes: a number or a date less and more
    one, and a text with something before and after it; of a boolean or an enum, other values.

    >>> list_near(10), list_near("2020-03-01"), list_near("099"), list_near("Sun")
    ([9, 11], ['2020-02-29', '2020-03-02'], ['098', '100'], ['x Sun', 'Sun x'])
    >>> list_near(0, read_type("boolean", "postgres"))
    [1]
    """
    if (known := _list_known(column_type)) is not None:
        return [other for other in known if other != value][:2]
    return list(filter(column_type.takes, _list_near_any(value)))


def _list_near_any(value: Any) -> list[Any]:
    if isinstance(value, int | float):
        return [near for near in (value - 1, value + 1) if -_MAX_INTEGER <= near <= _MAX_INTEGER]
    if not isinstance(value, str):
        return []
    if _DATE.fullmatch(value[:10]):
        days = (move_day(value, -1), move_day(value, 1))
        return [near for near in days if near is not None and near != value]
    if _DIGITS.fullmatch(value):
        number = int(value)
        return [f"{near:0{len(value)}}" for near in (number - 1, number + 1) if near >= 0]
    return [f"x {value}", f"{value} x"]


def invent_value(column: Column, column_type: ColumnType, number: int) -> Any:
    """A value for a column of which no value is known, from its name and type; None if only its
    engine can read one.

    >>> types = ("INT", "date", "text")
    >>> [invent_value(Column("a", name, False, 0), read_type(name, "sqlite"), 3) for name in types]
    [3, '2001-01-04', 'a 3']
    """
    if (known := _list_known(column_type)) is not None:
        return known[number % len(known)]
    special = _SPECIAL.get(column_type.kind)
    if special is not None:
        return special(number)
    value = _invent_any(column, column_type.affinity, number)
    return column_type.read(value) if column_type.takes(value) else None


_SPECIAL: Mapping[Kind, Callable[[int], Any]] = {
    Kind.OTHER: lambda number: None,
    Kind.UUID: lambda number: str(UUID(int=number)),
    Kind.JSON: lambda number: f'{{"number": {number}}}',
    Kind.TIME: lambda number: f"{number % 24:02}:00:00",
}


def _invent_any(column: Column, kind: str, number: int) -> Any:
    declared, name = column.type.upper(), column.name.lower()
    if "BOOL" in declared:
        return number % 2
    if "DATE" in declared or "TIME" in declared or (kind == "TEXT" and "date" in name):
        day = (_FIRST_DAY + timedelta(days=number)).isoformat()
        return f"{day} 10:00:00" if "TIME" in declared else day
    if "year" in name:
        return 2000 + number
    if kind in ("INTEGER", "NUMERIC"):
        return number
    return number + 0.5 if kind == "REAL" else f"{column.name} {number}"


# What a query compares columns with, and what it asks of the rows behind its answer.


_MAX_ROWS_PER_GROUP = 25  # of a group are planted
_MAX_ROWS_AT_LAST = 250  # for questions that have no suite without
_MAX_WITNESSES = 5  # real rows of a SELECT: with one alone, each variant would have the same

Constant = tuple[str, int, Any]  # a table, the index of a column, and a value to compare it with
Slot = tuple[int, int]  # the index of a row among those of a query, and that of a column
Rowids = dict[str, set[int]]  # by table
FindRows = Callable[[str], list[tuple[Any, ...]] | None]


class Conditions(NamedTuple):
    """The rows behind a row that a query gives, and what they must be like.

    tables: the table of each row, one for each member of a FROM.
    values: for each comparison of a column with a literal, a value that meets it, and one that
        misses it.
    equal: the columns that must be equal: those that joins, IN and INTERSECT hold together.
    shared: the columns by which the query groups.
    group_size: how many rows a group must have.
    is_ranked: whether the query takes the first of its groups.
    """

    tables: tuple[str, ...]
    values: tuple[tuple[Slot, Any, Any], ...]
    equal: tuple[tuple[Slot, Slot], ...] = ()
    shared: tuple[Slot, ...] = ()
    group_size: int = 1
    is_ranked: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked of the rows: any row will do, and none needs to be planted."""
        return not (self.values or self.equal or self.group_size > 1 or self.is_ranked)


def fold_dates(query: exp.Expr, find_rows: FindRows) -> exp.Expr:
    """A copy of a query whose comparisons have the value of what calls a function of no column, as
    at the instant of its corpus the last 30 days begin on a day.

    `day >= date('now', '-30 days')` -> `day >= '2024-12-31'`

    find_rows: gives the rows of a query on the real database.
    """
    copy = query.copy()
    for node in list(copy.find_all(*COMPARISONS, exp.Like, exp.Between, exp.In)):
        operands = [node.this, node.args.get("expression"), *node.args.get("expressions", ())]
        for operand in (*operands, node.args.get("low"), node.args.get("high")):
            if operand is None or not _is_constant_call(operand):
                continue
            rows = find_rows(f"SELECT {to_sql(operand)}")
            if rows is not None and isinstance(value := rows[0][0], int | float | str):
                operand.replace(exp.convert(value))
    return copy


def _is_constant_call(node: exp.Expr) -> bool:
    nodes = list(node.walk())
    return any(isinstance(each, exp.Func) for each in nodes) and not any(
        isinstance(each, exp.Column | exp.Query | exp.Star | exp.Window | exp.Placeholder)
        or is_aggregate(each)
        for each in nodes
    )


_LIKES = ("LIKE", "ILIKE")


def _is_any_case(operator: str) -> bool:
    """Whether a pattern finds a text in capitals or not, as LIKE does in SQLite alone."""
    return operator == "ILIKE" or (operator == "LIKE" and speaks_sqlite())


class _Compared(NamedTuple):
    operator: str
    column: exp.Column
    value: int | float | str


def list_constants(scopes: Scopes, spelling: Spelling | None = None) -> list[Constant]:
    """The values with which a query compares columns; those of LIKE in the spelling of the rows.

    `SELECT name FROM ship WHERE tons > 9 AND flag LIKE '%Peru%'` -> ('ship', 2, 9), ('ship', 1,
    'Peru')
    """
    constants: list[Constant] = []
    compared = [*_list_values(scopes, list_comparisons(scopes)), *_list_truths([scopes.tree])]
    for operator, column, value in compared:
        base = scopes.resolve(column)
        if base is not None and base.table is not None and base.column is not None:
            name, column_index = base.table.name, base.table.columns.index(base.column)
            if spelling is not None and _is_any_case(operator):
                value = spelling.spell(name, column_index, value)
            constants.append((name, column_index, value))
    return constants


class Spelling:
    """How the rows of a database spell what LIKE looks for: it finds 'Ada' by 'ada'."""

    def __init__(self, rows: Rows) -> None:
        self._tables = rows.tables
        self._known: dict[tuple[str, int], dict[str, list[str]]] = {}

    def spell(self, table: str, column_index: int, value: Any) -> Any:
        """The value as its column has it, if it has it in one spelling alone."""
        if not isinstance(value, str) or table not in self._tables:
            return value
        if (table, column_index) not in self._known:
            known = self._known[table, column_index] = {}
            for text in dict.fromkeys(self._tables[table].values(column_index)):
                if isinstance(text, str):
                    known.setdefault(text.lower(), []).append(text)
        spellings = self._known[table, column_index].get(value.lower(), ())
        return spellings[0] if len(spellings) == 1 else value


def _list_outputs(query: exp.Expr | None) -> list[exp.Expr]:
    select = first_select(query) if query is not None else None
    return [output.unalias() for output in select.expressions] if select is not None else []


def list_conditions(
    scopes: Scopes, tables: Container[str], spelling: Spelling | None = None
) -> list[Conditions]:
    """The rows of `tables` behind a row of each SELECT of the query, or of those that set
    operations join, and of the sides of an INTERSECT together. One that asks nothing of its rows is
    left out.

    `SELECT name FROM ship WHERE tons > 9` -> [(('ship',), [((0, 2), 10, 9)])]
    """
    sides = [[select] for select in selects_of(scopes.tree)]
    sides += [selects_of(node) for node in scopes.nodes.find_all(exp.Intersect)]
    read = [_ConstantReader(scopes, tables, selects, spelling).read() for selects in sides]
    return [conditions for conditions in read if not conditions.is_empty]


def list_witnesses(
    scopes: Scopes, tables: Container[str], find_rows: FindRows, *, has_rowids: bool
) -> tuple[list[Conditions], Rowids]:
    """The conditions of each SELECT of the query with the values of real rows that meet them,
    whatever they are: `strftime('%Y', built) = '1999'`, `tons > price`, `name IS NULL`; and the
    rowids of these rows.

    find_rows: gives the rows of a query on the real database, None if that takes too much.
    has_rowids: whether a query can name the rowid of a row; without, there are none.
    """
    witnesses: list[Conditions] = []
    rowids: Rowids = {}
    for select in selects_of(scopes.tree):
        reader = _ConstantReader(scopes, tables, [select])
        for conditions, real_rows in reader.read_witnesses(find_rows, has_rowids=has_rowids):
            if not conditions.is_empty:
                witnesses.append(conditions)
            for name, own in real_rows.items():
                rowids.setdefault(name, set()).update(own)
    return list(dict.fromkeys(witnesses)), rowids


def _find_ctes(select: exp.Select) -> exp.With | None:
    """The WITH whose tables a SELECT may use, without the one that it is a part of itself: a query
    that held itself would have no end."""
    with_ = find_with(select)
    node: exp.Expr | None = select
    while node is not None and node.parent is not with_:
        node = node.parent
    if with_ is None or node is None or node is select:
        return with_
    others = [cte.copy() for cte in with_.expressions if cte is not node]
    return exp.With(expressions=others, recursive=with_.recursive) if others else None


class _ConstantReader:
    """Reads what some SELECTs, which INTERSECT holds together, ask of the rows behind them."""

    def __init__(
        self,
        scopes: Scopes,
        tables: Container[str],
        selects: list[exp.Select],
        spelling: Spelling | None = None,
    ) -> None:
        self._scopes = scopes
        self._spelling = spelling
        self._selects = selects
        self._inner = [inner for select in selects for inner in select.find_all(exp.Select)]
        self._tables: list[Table] = []
        self._rows: dict[int, int] = {}
        for inner in self._inner:
            for source in scopes.scope_of(inner).sources.values():
                if source.table is not None and source.table.name in tables:
                    self._rows[id(source)] = len(self._tables)
                    self._tables.append(source.table)

    def read(self, *, most_rows: int = _MAX_ROWS_PER_GROUP) -> Conditions:
        values: dict[Slot, tuple[Any, Any]] = {}
        comparisons = list_comparisons(self._scopes, self._selects)
        compared = _list_values(self._scopes, comparisons)
        for operator, column, value in chain(compared, _list_truths(self._selects)):
            slot = self._find_slot(column)
            if slot is not None:
                # one for the text 0: -1 is none of its kind
                near = list_near(value, self._type_of(slot)) or [value]
                less, more = near[0], near[-1]
                pairs: dict[str, tuple[Any, Any]] = {
                    "!=": (more, value),
                    "IS NOT": (more, value),
                    ">": (more, value),
                    "<": (less, value),
                    "<=": (value, more),
                }
                meets, misses = pairs.get(operator, (value, less))
                if operator in _LIKES and isinstance(value, str):
                    misses = value[:-1]
                    if self._spelling is not None and _is_any_case(operator):
                        row, column_index = slot
                        meets = self._spelling.spell(self._tables[row].name, column_index, value)
                    if operator == "ILIKE" and meets == value:
                        low = value.lower()  # a LIKE would not find it
                        meets = low if low != value else value.upper()
                if self._is_negated(column, column):
                    meets, misses = misses, meets
                values.setdefault(slot, (meets, misses))
        equal = [*self._list_joined(), *self._list_looked_up()]
        for outputs in zip(*(_list_outputs(select) for select in self._selects), strict=False):
            equal += self._intersect(outputs, values)
        groups = [inner for inner in self._inner if inner.args.get("having") is not None]
        group_size = max((self._count_rows(inner, most_rows) for inner in groups), default=1)
        ranked = [*filter(_is_ranked, self._inner)]
        groups += ranked
        keys = [group for inner in groups if (group := inner.args.get("group")) is not None]
        columns = (column for key in keys for column in key.find_all(exp.Column))
        shared = {slot: None for column in columns if (slot := self._find_slot(column)) is not None}
        return Conditions(
            tuple(table.name for table in self._tables),
            tuple((slot, *pair) for slot, pair in values.items()),
            tuple((left, right) for left, right in equal if left is not None and right is not None),
            tuple(shared),
            group_size,
            bool(ranked),
        )

    def read_witnesses(
        self, find_rows: FindRows, *, has_rowids: bool
    ) -> Iterator[tuple[Conditions, Rowids]]:
        """The same, each time with what real rows behind the answer have where the query looks, and
        the rowids of these rows."""
        known = self.read(most_rows=_MAX_ROWS_AT_LAST)
        joined = {slot for pair in known.equal for slot in pair}
        witnesses_of = [
            self._find_witnesses(inner, joined, find_rows, has_rowids=has_rowids)
            for inner in self._inner
        ]
        for number in range(max([1, *map(len, witnesses_of)])):
            values = {slot: (meets, misses) for slot, meets, misses in known.values}
            rowids: Rowids = {}
            for witnesses in filter(None, witnesses_of):
                own, real_rows = witnesses[number % len(witnesses)]
                for slot, value in own.items():
                    near = list_near(value, self._type_of(slot))
                    _, misses = values.get(slot, (None, next(iter(near), None)))
                    values[slot] = (value, misses)
                for name, rowid in real_rows:
                    rowids.setdefault(name, set()).add(rowid)
            yield (
                known._replace(values=tuple((slot, *pair) for slot, pair in values.items())),
                rowids,
            )

    def _find_witnesses(
        self,
        select: exp.Select,
        joined: Container[Slot],
        find_rows: FindRows,
        *,
        has_rowids: bool,
    ) -> list[tuple[dict[Slot, Any], list[tuple[str, int]]]]:
        """Some real rows that a SELECT asks for: their values in the columns that it asks about,
        but for those that joins hold together, and their rowids."""
        sources = [
            source
            for source in self._scopes.scope_of(select).sources.values()
            if id(source) in self._rows
        ]
        clauses = [select.args.get("where"), select.args.get("having")]
        clauses += [join.args.get("on") for join in select.args.get("joins") or ()]
        asked: dict[Slot, exp.Column] = {}
        for column in (
            node for clause in filter(None, clauses) for node in clause.find_all(exp.Column)
        ):
            slot, resolved = self._find_slot(column), self._scopes.resolve(column)
            is_own = resolved is not None and resolved.source in sources
            if slot is not None and slot not in joined and is_own:
                asked.setdefault(slot, column)
        if not asked:
            return []
        names: list[str] = []
        rowids: list[exp.Expr] = []
        for source in sources if has_rowids else ():
            table = source.table
            if table is not None and table.has_rowid and table.rowid_name is not None:
                names.append(table.name)
                rowids.append(exp.column(table.rowid_name, table=source.name, quoted=True))
        rows = find_rows(
            write_with(
                select,
                with_=_find_ctes(select),
                expressions=[*rowids, *asked.values()],
                **dict.fromkeys(("distinct", "group", "having", "order", "offset")),
                limit=make_limit(_MAX_WITNESSES),
            )
        )
        return [
            (
                dict(zip(asked, row[len(names) :], strict=True)),
                [pair for pair in zip(names, row, strict=False) if pair[1] is not None],
            )
            for row in rows or ()
        ]

    def _count_rows(self, select: exp.Select, most: int) -> int:
        """How many rows HAVING asks for in a group: 1 where it does not say, or more than the
        most."""
        counts = [1]
        for comparison in list_comparisons(self._scopes, [select.args["having"]]):
            number = _read_value(comparison.right, self._scopes)
            if isinstance(comparison.left, exp.Count) and isinstance(number, int):
                at_least = {"=": number, ">=": number, ">": number + 1}
                counts.append(at_least.get(comparison.operator, 1))
        return max(counts) if max(counts) <= most else 1

    def _find_all(self, *types: type[exp.Expr]) -> Iterator[exp.Expr]:
        for select in self._selects:
            yield from select.find_all(*types)

    def _type_of(self, slot: Slot) -> ColumnType:
        row, column_index = slot
        declared = self._tables[row].columns[column_index].type
        return read_type(declared, self._scopes.schema.engine)

    def _find_slot(self, node: exp.Expr | None) -> Slot | None:
        """The row and the column that an expression passes on; None if it does not."""
        if not isinstance(node, exp.Column):
            return None
        if (direct := self._scopes.find_direct(node)) is not None:
            row = self._rows.get(id(direct.source))
            return None if row is None else (row, direct.table.columns.index(direct.column))
        resolution = self._scopes.resolve(node)
        return self._find_slot(resolution.expression) if resolution is not None else None

    def _is_negated(self, node: exp.Expr | None, *columns: exp.Expr | None) -> bool:
        """Whether NOT stands between a comparison and the SELECT whose rows it is about."""
        names = (column for column in columns if isinstance(column, exp.Column))
        resolved = map(self._scopes.resolve, names)
        waiting = {id(resolution.scope.select) for resolution in resolved if resolution is not None}
        while waiting and node is not None:
            if isinstance(node, exp.Not) or node.args.get("negate"):  # NOT LIKE is a LIKE
                return True
            waiting.discard(id(node))
            node = node.parent
        return False

    def _list_joined(self) -> Iterator[tuple[Slot | None, Slot | None]]:
        for node in self._find_all(exp.EQ):
            if not self._is_negated(node, node.this, node.expression):
                yield self._find_slot(node.this), self._find_slot(node.expression)

    def _list_looked_up(self) -> Iterator[tuple[Slot | None, Slot | None]]:
        """The columns that are looked up in a subquery, with what it shows."""
        for node in self._find_all(exp.In, exp.EQ):
            sides = (node.this, node.args.get("query") or node.args.get("expression"))
            for column, query in (sides, sides[::-1]):
                if isinstance(query, exp.Subquery) and not self._is_negated(node, column):
                    for output in _list_outputs(query.this)[:1]:
                        yield self._find_slot(column), self._find_slot(output)

    def _intersect(
        self, outputs: Sequence[exp.Expr], values: dict[Slot, tuple[Any, Any]]
    ) -> Iterator[tuple[Slot, Slot]]:
        """The columns that the sides of an INTERSECT show beside each other; and the keys of their
        tables, where one row may be behind both sides."""
        slots = [slot for output in outputs if (slot := self._find_slot(output)) is not None]
        for left, right in pairwise(slots):
            yield left, right
            table = self._tables[left[0]]
            meets = [
                {column: meets for (row, column), (meets, _) in values.items() if row == wanted}
                for wanted in (left[0], right[0])
            ]
            own, other = meets
            is_one_row = all(other.get(index, value) == value for index, value in own.items())
            if is_one_row and table is self._tables[right[0]] and left[1] == right[1]:
                for column_index in find_positions(table, next(iter(table.unique_keys), ())) or ():
                    yield (left[0], column_index), (right[0], column_index)


def _list_values(scopes: Scopes, comparisons: Iterable[Comparison]) -> Iterator[_Compared]:
    """The comparisons of a column with a literal. The letters of a LIKE are a text that meets it.

    A GLOB is left out: what its brackets mean would have to be read.
    """
    for comparison in comparisons:
        column, value = _uncast(comparison.left), _read_value(comparison.right, scopes)
        if isinstance(value, str) and comparison.operator in _LIKES:
            value = value.replace("%", "").replace("_", "x")
        if isinstance(column, exp.Column) and value is not None and comparison.operator != "GLOB":
            yield _Compared(comparison.operator, column, value)


def _uncast(node: exp.Expr) -> exp.Expr:
    """What is cast to a type, such as `'2020-03-01'::date`, where a cast changes no value that it
    allows: not in SQLite."""
    while not speaks_sqlite() and isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    return node


def _list_truths(parts: Iterable[exp.Expr]) -> Iterator[_Compared]:
    """The columns that are conditions by themselves: `WHERE active AND NOT sold`. SQLite has no
    type of them."""
    for part in () if speaks_sqlite() else parts:
        for column in part.find_all(exp.Column):
            node = column.parent
            while isinstance(node, exp.Paren):
                node = node.parent
            if isinstance(node, exp.Where | exp.Having | exp.And | exp.Or | exp.Not):
                yield _Compared("=", column, 1)


def _is_ranked(select: exp.Select) -> bool:
    """Whether a SELECT takes the first of its groups."""
    return all(select.args.get(name) is not None for name in ("group", "order", "limit"))


def _read_value(node: exp.Expr, scopes: Scopes) -> int | float | str | None:
    """A number or a text; None for what is neither."""
    if isinstance(node, exp.Neg):
        value = _read_value(node.this, scopes)
        return -value if isinstance(value, int | float) else None
    node = _uncast(node)
    if isinstance(node, exp.Boolean) and not speaks_sqlite():
        return int(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        return read_number(node.this)
    return read_text(node, scopes)
