"""A query of another dialect that means the same in SQLite on all rows, or a reason why it may not.

Rows that agree today prove little: `CAST(x AS INTEGER)` rounds in DuckDB and cuts in SQLite, which
shows only where x has a fraction, and test suites have other rows. So each part of a query is one
that is known to mean the same, or gets other words here, or the query is refused. What it means
depends on the kinds of its values: of columns, and of what is computed from them.

Left aside: an error there (a division by zero in Postgres, an integer that is too large) may be
NULL here; and equality of decimals that are computed, which are floats here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.intake.engines import DUCKDB, MYSQL, POSTGRES

# Kinds of values. A whole number of Postgres is BIG where a sum of it is a decimal; DIGITS are
# numbers that are text here. A text of LABEL is one of an enum, and one of PADDED is of char(n),
# whose blanks at the end mean nothing there. MIDNIGHT is a moment that is a date here, as what
# DATE_TRUNC gives. What is OTHER, or None, has a type that SQLite has not, or is not known. What is
# LOOSE is equal there to what is written otherwise: 'a' and 'A', 1 day and 24 hours.
INTEGER, BIG, DECIMAL, FLOAT, BOOLEAN = ("integer", "big", "decimal", "float", "boolean")
TEXT, LABEL, DATE, MOMENT, NULL, OTHER = ("text", "label", "date", "moment", "null", "other")
MIDNIGHT, HOURS, PADDED, DIGITS = "midnight", "time of day", "padded text", "digits"
LOOSE = "loose"
LETTERS = (TEXT, PADDED)
WHOLE, NUMBERS = (INTEGER, BIG), (INTEGER, BIG, DECIMAL, FLOAT)
DAYS, TIMES = (DATE, MIDNIGHT), (DATE, MIDNIGHT, MOMENT)
Kind = str | None

_Type = exp.DataType.Type
_SMALL = {_Type.TINYINT, _Type.SMALLINT, _Type.INT, _Type.MEDIUMINT, _Type.UTINYINT}
_KINDS = {
    **dict.fromkeys(exp.DataType.INTEGER_TYPES, BIG),
    **dict.fromkeys(_SMALL, INTEGER),
    **dict.fromkeys((_Type.FLOAT, _Type.DOUBLE), FLOAT),
    **dict.fromkeys((_Type.DECIMAL, _Type.BIGDECIMAL), DECIMAL),
    **dict.fromkeys((_Type.TEXT, _Type.VARCHAR), TEXT),
    **dict.fromkeys((_Type.CHAR, _Type.BPCHAR), PADDED),
    **dict.fromkeys((_Type.DATE, _Type.DATE32), DATE),
    **dict.fromkeys((_Type.TIMESTAMP, _Type.TIMESTAMPTZ, _Type.TIMESTAMPNTZ), MOMENT),
    **dict.fromkeys((_Type.DATETIME, _Type.TIMESTAMP_S, _Type.TIMESTAMP_MS), MOMENT),
    _Type.TIME: HOURS,
    _Type.BOOLEAN: BOOLEAN,
    _Type.ENUM: LABEL,
}
_LOOSE = re.compile(
    r"citext|interval|jsonb|timetz|time(\(\d\))? with time zone|(numeric|decimal).*\[\]",
    re.IGNORECASE,
)
_PAIR = 2
_MOST_DIGITS = 15  # that a float holds
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MIDNIGHT = " 00:00:00"
_HOURS = re.compile(r"\d\d:\d\d:\d\d(\.\d*[1-9])?")
_MOMENT = re.compile(rf"{_DAY.pattern} {_HOURS.pattern}")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
# A regular expression that looks for words: ab, ^ab$, ab|cd, ^(ab|cd).
_WORD = r"[A-Za-z0-9 ,;:@#/&'!-]+"
_WORDS = re.compile(rf"(\^?)(\()?({_WORD}(?:\|{_WORD})*)(?(2)\))(\$?)")
_FORMAT = re.compile(r"(%[YmdHMS]|[^%])*")


class MeaningError(ValueError):
    """A part of a query may mean something else in SQLite."""


class Meanings(NamedTuple):
    """What a query must be read with.

    kinds: of the columns of each table, by names in small letters; None, if a name has several.
    sorts_bytes: whether the engine compares text by its bytes, as SQLite does.
    folds_ascii: whether its `lower` knows ASCII alone, as that of SQLite.
    """

    dialect: str
    kinds: Mapping[str, Mapping[str, Kind]]
    sorts_bytes: bool = True
    folds_ascii: bool = False


def read_kind(declared: str, dialect: str, *, labels: Iterable[str] = ()) -> str:
    """Return the kind of a column of a type. labels: names of types that are enums.

    >>> [read_kind(each, "postgres") for each in ("bigint", "numeric(9,2)", "char(3)", "citext")]
    ['big', 'decimal', 'padded text', 'loose']
    """
    if declared in labels:
        return LABEL
    if _LOOSE.match(declared):
        return LOOSE
    try:
        built = exp.DataType.build(declared, dialect=dialect, udt=True)
    except SqlglotError:
        return OTHER
    kind = _KINDS.get(built.this, OTHER)
    return OTHER if kind == PADDED and (dialect != POSTGRES or '"' in declared) else kind


def join_kinds(columns: Iterable[tuple[str, Kind]]) -> dict[str, Kind]:
    """Return the kind of each name; None, if columns of that name have several.

    >>> join_kinds([("Id", "integer"), ("id", "integer"), ("d", "date"), ("d", "text")])
    {'id': 'integer', 'd': None}
    """
    kinds: dict[str, Kind] = {}
    for name, kind in columns:
        name = name.lower()
        kinds[name] = kind if kinds.get(name, kind) == kind else None
    return kinds


def keep_meaning(query: exp.Expr, meanings: Meanings) -> dict[str, Kind]:
    """Change a query so that it means the same in SQLite, and return the kinds of its columns.

    >>> import sqlglot
    >>> query = sqlglot.parse_one("SELECT CAST(a AS INTEGER) FROM t WHERE b LIKE 'x%'")
    >>> _ = keep_meaning(query, Meanings("duckdb", {"t": {"a": "float", "b": "text"}}))
    >>> print(query.sql("sqlite").partition(" FROM ")[2])
    t WHERE b GLOB 'x*'

    Raises:
        MeaningError: if it may mean something else, with the part.
    """
    return _Reader(query, meanings).read()


class _Reader:
    def __init__(self, query: exp.Expr, meanings: Meanings) -> None:
        self._query = query
        self._meanings = meanings
        self.dialect = meanings.dialect
        for text in list(query.find_all(*_STRINGS)):
            text.replace(exp.Literal.string(text.name))
        self._aliases: dict[str, list[exp.Expr]] = {}
        for alias in query.find_all(exp.Alias):
            self._aliases.setdefault(alias.alias.lower(), []).append(alias.this.copy())
        for names in query.find_all(exp.TableAlias):  # c(a, b), of which a is the first column
            named = names.parent.this if names.parent is not None else None
            values = named.selects if isinstance(named, exp.Query) else []
            for place, column in enumerate(names.args.get("columns") or ()):
                value = values[place].unalias().copy() if place < len(values) else exp.Placeholder()
                self._aliases.setdefault(column.name.lower(), []).append(value)
        tables = list(query.find_all(exp.Table))
        self._tables = [meanings.kinds.get(table.name.lower(), {}) for table in tables]
        self._of_tables: dict[str, set[str]] = {}
        for table in tables:
            self._of_tables.setdefault(table.alias_or_name.lower(), set()).add(table.name.lower())
        self._of_names: dict[str, Kind] = {}
        self._put: dict[int, tuple[exp.Expr, Kind]] = {}  # what is here instead, and its kind

    def read(self) -> dict[str, Kind]:
        nodes = list(self._query.dfs())
        columns = [node for node in nodes if isinstance(node, exp.Column)]
        kinds = join_kinds((column.name, self.find(column)) for column in columns)
        for node in reversed(nodes):  # parts before what they are parts of
            rule = _RULES.get(type(node))
            if rule is not None:
                rule(self, node)
            elif not isinstance(node, _SAME):
                raise MeaningError(f"{_show(node)}: no rule says what {node.key} is in SQLite")
        return kinds

    # --- kinds

    def find_column(self, column: exp.Column) -> Kind:
        """The kind of a column: of its table, if that is named, or of all that may be meant."""
        name = column.name.lower()
        named = self._of_tables.get(column.table.lower(), set())
        if column.table and len(named) == 1:
            kinds_of_table = self._meanings.kinds.get(next(iter(named)), {})
            if name in kinds_of_table:
                return kinds_of_table[name]
        return self._find_name(name)

    def _find_name(self, name: str) -> Kind:
        if name not in self._of_names:
            own = {kinds[name] for kinds in self._tables if name in kinds}
            self._of_names[name] = next(iter(own)) if len(own) == 1 else None
            # While this is found, sum(a) AS a is made of the column.
            kinds = own | {self.find(made) for made in self._aliases.get(name, ())}
            is_one = len(kinds) == 1 or kinds == {*DAYS}
            is_one |= kinds <= {*WHOLE} and self.dialect == DUCKDB
            self._of_names[name] = max(kinds, key=str) if kinds and is_one else None
        return self._of_names[name]

    def put(self, node: exp.Expr, new: exp.Expr, kind: Kind = None) -> None:
        """Put an expression in the place of one, whose kind it has, if none is given."""
        self._put[id(new)] = (new, kind or self.find(node))
        node.replace(new)

    def find(self, node: exp.Expr | None) -> Kind:
        """The kind of the values of an expression; None: not known."""
        if id(node) in self._put:
            return self._put[id(node)][1]
        finder = _FINDERS.get(type(node))
        if node is None or finder is None:
            return None
        return finder(self, node)

    def find_all(self, nodes: Iterable[exp.Expr | None]) -> Kind:
        """The kind of values that are one of several."""
        kinds = {self.find(node) for node in nodes if node is not None} - {NULL}
        if len(kinds) == 1:
            return kinds.pop()
        if not kinds:
            return NULL
        if kinds == {*DAYS}:
            return MIDNIGHT
        if kinds == {*LETTERS}:
            return TEXT
        if not kinds <= {*NUMBERS}:
            return None
        return next(kind for kind in reversed(NUMBERS) if kind in kinds)

    # --- what is refused

    def need(self, node: exp.Expr, value: exp.Expr | None, kinds: Sequence[Kind]) -> None:
        kind = self.find(value)
        if kind not in (*kinds, NULL):
            words = f"of {kind}" if kind else "of a value whose type is not known"
            raise MeaningError(f"{_show(node)}: {node.key} {words} may be another in SQLite")

    def check_text(self, node: exp.Expr, kinds: Iterable[Kind], *, is_order: bool = False) -> None:
        """Refuse values that SQLite compares otherwise, as equal ones or by their order."""
        for kind in kinds:
            if kind == LOOSE:
                words = "holds values equal that are written in two ways"
            elif kind in (OTHER, None) or (kind in (LABEL, DIGITS) and is_order):
                words = f"compares {kind or 'a value whose type is not known'}"
            elif kind not in LETTERS or (self.dialect != MYSQL and not is_order):
                continue
            elif self.dialect == MYSQL:
                words = "compares text without regard to case, accents and trailing blanks"
            elif not self._meanings.sorts_bytes:
                words = "sorts text by its language, and SQLite by its bytes"
            else:
                continue
            raise MeaningError(f"{_show(node)}: {self.dialect} {words}")

    @property
    def folds_ascii(self) -> bool:
        return self._meanings.folds_ascii


def _show(node: exp.Expr) -> str:
    return f"{node.sql():.80}"


# --- rules: refuse a node, or replace it


def _cast(reader: _Reader, node: exp.Expr) -> None:
    target, value, kind = node.args["to"], node.this, reader.find(node.this)
    to = _KINDS.get(target.this)
    digits = [part.name for part in target.expressions]
    if isinstance(value, exp.Literal) and value.is_string:
        _cast_literal(node, to)
        return
    if to in WHOLE:
        reader.need(node, value, (*NUMBERS, BOOLEAN))
        if kind == FLOAT and reader.dialect == MYSQL:
            raise MeaningError(f"{_show(node)}: which way a float is rounded is the machine's")
        if kind == FLOAT:
            node.set("this", _round_even(value))
        elif kind == DECIMAL:
            node.set("this", exp.func("ROUND", _settle(value)))
    elif to == FLOAT:
        reader.need(node, value, NUMBERS)
    elif to == DECIMAL:
        reader.need(node, value, NUMBERS)
        default = {DUCKDB: "3", MYSQL: "0"}.get(reader.dialect)
        scale = digits[1] if len(digits) == 2 else "0" if digits else default
        if kind == FLOAT and scale is not None and reader.dialect != POSTGRES:
            raise MeaningError(f"{_show(node)}: how a float becomes a decimal is not known")
        if scale is None or (kind in WHOLE and scale == "0"):
            reader.put(node, exp.cast(value.copy(), "DOUBLE"))
        else:
            reader.put(node, _round_decimal(value, int(scale)))
    elif to == TEXT:
        reader.need(node, value, (*LETTERS, LABEL, *WHOLE, DIGITS, DATE))
        if digits:
            raise MeaningError(f"{_show(node)}: text is cut there, and not in SQLite")
    elif to in TIMES:
        reader.need(node, value, TIMES)
        if to == MOMENT and kind in DAYS:
            reader.put(node, _add_midnight(value))
        elif to == MOMENT:  # SQLite's function drops what is below a second
            reader.put(node, value.copy())
    elif to is None or kind != to:
        raise MeaningError(f"{_show(node)}: SQLite has no such type")


def _cast_literal(node: exp.Expr, to: Kind) -> None:
    """'2024-01-31'::date, DATE '2024-01-31', '5'::int"""
    text = node.this.name
    if to in TIMES and (_DAY.fullmatch(text) or (to == MOMENT and _MOMENT.fullmatch(text))):
        whole = text if to == DATE or " " in text else text + _MIDNIGHT
        node.this.replace(exp.Literal.string(whole))
    elif to not in (TEXT, LABEL) and not (to in NUMBERS and re.fullmatch(r"-?\d{1,15}", text)):
        raise MeaningError(f"{_show(node)}: this text may be another value in SQLite")


def _round(reader: _Reader, node: exp.Expr) -> None:
    value, kind = node.this, reader.find(node.this)
    reader.need(node, value, NUMBERS)
    digits = _read_whole(node.args.get("decimals") or exp.Literal.number(0))
    if digits is None or abs(digits) > _MOST_DIGITS:
        raise MeaningError(f"{_show(node)}: expected a whole number of digits")
    if kind in WHOLE and digits >= 0:
        is_place = isinstance(value.unnest(), exp.Literal | exp.Neg)  # in ORDER BY
        reader.put(node, exp.cast(value.copy(), "BIGINT") if is_place else value.copy())
    elif kind not in (*WHOLE, FLOAT):
        reader.put(node, _round_decimal(value, digits))
    elif kind in WHOLE or (reader.dialect == DUCKDB and digits <= 0):
        rounded = _scale(exp.func("ROUND", _scale(value, digits)), -digits)
        reader.put(node, exp.cast(rounded, "BIGINT") if kind in WHOLE else rounded)
    elif reader.dialect == POSTGRES and digits == 0:
        reader.put(node, _round_even(value))
    else:
        words = "which way a float goes that is near a half is not known; leave ROUND out"
        raise MeaningError(f"{_show(node)}: {words}")


def _cut_number(reader: _Reader, node: exp.Expr) -> None:
    """Floor, ceil and trunc: of a decimal that is computed, 2.9999999999999996 here is 3 there."""
    reader.need(node, node.this, NUMBERS)
    if node.args.get("decimals") is not None:
        raise MeaningError(f"{_show(node)}: SQLite has no digits there")
    if reader.find(node.this) == DECIMAL:
        node.this.replace(_settle(node.this))


def _divide(reader: _Reader, node: exp.Expr) -> None:
    value, divisor = node.this, node.expression
    for part in (value, divisor):
        reader.need(node, part, NUMBERS)
    if reader.dialect == POSTGRES:
        is_whole = reader.find(value) in (*WHOLE, NULL) and reader.find(divisor) in (*WHOLE, NULL)
        node.set("typed", is_whole)
    if reader.dialect == DUCKDB and not _is_never_zero(value, divisor):
        if not _is_only_shown(node):
            words = "by 0 it is infinite, or no number, there, and NULL in SQLite"
            raise MeaningError(f"{_show(node)}: {words}; expected NULLIF(..., 0)")
        # What is no number, 0 / 0, is NULL in an answer, as 0 * 9e999 is.
        infinite = exp.Mul(this=_wrap(value), expression=exp.Literal.number("9e999"))
        is_zero = exp.EQ(this=_wrap(divisor), expression=exp.Literal.number(0))
        made = exp.If(this=is_zero, true=infinite, false=node.copy())
        reader.put(node, exp.Paren(this=made))


def _is_only_shown(node: exp.Expr) -> bool:
    """Whether a value is part of the answer, and nothing else is made of it."""
    child = node
    while isinstance(child.parent, exp.Paren | exp.Mul | exp.Add | exp.Sub | exp.Alias):
        child = child.parent
    select = child.parent
    if (
        not isinstance(select, exp.Select)
        or select.parent is not None
        or select.args.get("distinct")
    ):
        return False
    order = select.args.get("order")
    sorted_by = [each.this for each in order.expressions] if order else []
    named = any(
        column.name.lower() == child.alias.lower() for column in select.find_all(exp.Column)
    )
    is_place = any(isinstance(value, exp.Literal) for value in sorted_by)
    return child in select.expressions and not is_place and not (child.alias and named)


def _is_never_zero(value: exp.Expr, divisor: exp.Expr) -> bool:
    """Whether the divisor is not zero, or only where what is divided is 0 or NULL, too."""
    divisor = divisor.unnest()
    if isinstance(divisor, exp.Cast):
        divisor = divisor.this.unnest()
    if isinstance(divisor, exp.Literal):
        return not divisor.is_string and float(divisor.name) != 0
    if isinstance(divisor, exp.Nullif):
        return bool(divisor.expression.name == "0")
    is_count = isinstance(divisor, exp.Count) and isinstance(divisor.this, exp.Star)
    return is_count and value.find(exp.AggFunc) is not None


def _need_numbers(reader: _Reader, node: exp.Expr) -> None:
    for part in (node.this, node.args.get("expression")):
        if part is not None:
            reader.need(node, part, NUMBERS)


def _need_whole(reader: _Reader, node: exp.Expr) -> None:
    for part in (node.this, node.expression):
        reader.need(node, part, WHOLE)


def _add(reader: _Reader, node: exp.Expr) -> None:
    """Numbers, days, and days between two dates."""
    amount, kind = node.expression, reader.find(node.this)
    if isinstance(amount, exp.Interval):
        _move(reader, node, amount.this, amount.text("unit"))
    elif kind == DATE and reader.find(amount) in WHOLE:
        _move(reader, node, amount, "DAY")
        days = exp.Interval(this=amount.copy(), unit=exp.var("DAY"))
        reader.put(node, type(node)(this=node.this.copy(), expression=days), DATE)
    elif isinstance(node, exp.Sub) and kind == DATE and reader.find(amount) == DATE:
        first, last = (exp.func("JULIANDAY", each.copy()) for each in (node.this, amount))
        difference = exp.Paren(this=exp.Sub(this=first, expression=last))
        reader.put(node, exp.cast(difference, "BIGINT"), INTEGER)
    elif isinstance(node.parent, exp.Paren) and isinstance(node.parent.parent, exp.Extract):
        reader.need(node, node.this, TIMES)
        reader.need(node, amount, TIMES)
    else:
        _need_numbers(reader, node)


def _add_units(reader: _Reader, node: exp.Expr) -> None:
    amount = node.expression
    if isinstance(amount, exp.Interval):
        amount = amount.this
    _move(reader, node, amount, node.text("unit"))


def _move(reader: _Reader, node: exp.Expr, count: exp.Expr, unit: str) -> None:
    known = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    if reader.find(node.this) not in TIMES or unit.upper().removesuffix("S") not in known:
        raise MeaningError(f"{_show(node)}: no rule says what {node.key} is in SQLite")
    if re.fullmatch(r"-?\d{1,6}", _spell_count(count)) is None:
        raise MeaningError(f"{_show(node)}: expected a whole number of units")


def _spell_count(count: exp.Expr) -> str:
    return f"-{count.this.name}" if isinstance(count, exp.Neg) else count.name


def _compare(reader: _Reader, node: exp.Expr) -> None:
    """=, <, IN, BETWEEN: both sides of one kind; a literal is written as the other side is."""
    is_order = isinstance(node, _ORDERS)
    parts = [node.this, *node.expressions]
    parts += [node.args.get(name) for name in ("expression", "low", "high")]
    if isinstance(query := node.args.get("query"), exp.Expr):
        parts.append(query)
    _match(reader, node, [part for part in parts if part is not None], is_order=is_order)


def _match(
    reader: _Reader, node: exp.Expr, parts: Sequence[exp.Expr], *, is_order: bool = False
) -> None:
    values = [part for part in parts if not _is_text_literal(part)]
    kinds = {reader.find(value) for value in values} - {NULL}
    literals = [part for part in parts if _is_text_literal(part)]
    if not kinds:
        kinds = {TEXT}
    if len(kinds) == 1 or kinds <= {*NUMBERS}:
        for literal in literals:
            _write_literal(node, literal, kinds)
    if kinds <= {*NUMBERS} or kinds == {BOOLEAN}:
        return
    if kinds <= {DIGITS, *WHOLE, DECIMAL} and not literals and not is_order:
        return  # a number becomes text where it is written
    if kinds == {PADDED}:
        for literal in literals:
            literal.replace(exp.Literal.string(literal.name.rstrip(" ")))
    elif kinds == {*LETTERS}:
        kinds = {TEXT}
    if MOMENT in kinds and kinds <= {*TIMES}:
        for value in values:
            if reader.find(value) in DAYS:
                reader.put(value, _add_midnight(value), MOMENT)
        for literal in literals:
            _write_literal(node, literal, {MOMENT})
        return
    if kinds == {*DAYS}:
        kinds = {MIDNIGHT}
        for literal in literals:
            _write_literal(node, literal, kinds)
    if len(kinds - {LABEL}) > 1 or (None in kinds and len(kinds) > 1):
        names = " and ".join(sorted(kind or "an unknown type" for kind in kinds))
        raise MeaningError(f"{_show(node)}: compares {names}")
    is_join = not literals and kinds == {OTHER} and not is_order
    if not is_join:
        reader.check_text(node, kinds, is_order=is_order)


def _write_literal(node: exp.Expr, literal: exp.Expr, kinds: set[Kind]) -> None:
    text = literal.name
    if kinds <= {*NUMBERS}:
        if _NUMBER.fullmatch(text) is None:
            raise MeaningError(f"{_show(node)}: compares a number and text")
        literal.replace(exp.Literal.number(text))
    elif kinds <= {*DAYS}:
        if _DAY.fullmatch(text.removesuffix(_MIDNIGHT)) is None:
            raise MeaningError(f"{_show(node)}: expected a date as 2024-01-31")
        literal.replace(exp.Literal.string(text.removesuffix(_MIDNIGHT)))
    elif kinds == {MOMENT}:
        whole = text + _MIDNIGHT if _DAY.fullmatch(text) else text
        if _MOMENT.fullmatch(whole) is None:
            raise MeaningError(f"{_show(node)}: expected a time as 2024-01-31 10:00:00")
        literal.replace(exp.Literal.string(whole))
    elif kinds == {HOURS}:
        whole = text + ":00" if re.fullmatch(r"\d\d:\d\d", text) else text
        if _HOURS.fullmatch(whole) is None:
            raise MeaningError(f"{_show(node)}: expected a time as 10:00:00")
        literal.replace(exp.Literal.string(whole))
    elif kinds == {BOOLEAN}:
        raise MeaningError(f"{_show(node)}: compares a boolean and text")


def _is_text_literal(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _be_one_kind(reader: _Reader, node: exp.Expr, values: Iterable[exp.Expr | None]) -> None:
    """Refuse values that there become one type, and stay as they are here: a day and a time."""
    kinds = {reader.find(value) for value in values if value is not None} - {NULL}
    if len(kinds) > 1 and not kinds <= {*NUMBERS} and kinds not in ({*DAYS}, {*LETTERS}):
        names = " and ".join(sorted(kind or "an unknown type" for kind in kinds))
        raise MeaningError(f"{_show(node)}: gives {names}")


def _coalesce(reader: _Reader, node: exp.Expr) -> None:
    _be_one_kind(reader, node, [node.this, *node.expressions])


def _choose(reader: _Reader, node: exp.Expr) -> None:
    _be_one_kind(reader, node, [node.args.get("true"), node.args.get("false")])


def _case(reader: _Reader, node: exp.Expr) -> None:
    branches = [branch.args["true"] for branch in node.args["ifs"]]
    _be_one_kind(reader, node, [*branches, node.args.get("default")])
    if node.this is not None:  # CASE a WHEN 1 THEN ...
        _match(reader, node, [node.this, *(branch.this for branch in node.args["ifs"])])


def _nullif(reader: _Reader, node: exp.Expr) -> None:
    _match(reader, node, [node.this, node.expression])


def _like(reader: _Reader, node: exp.Expr) -> None:
    """a LIKE 'x%' -> a GLOB 'x*', which tells x from X as LIKE does there."""
    reader.need(node, node.this, (*LETTERS, LABEL))
    reader.check_text(node, [reader.find(node.this)])
    pattern = node.expression
    is_escaped = isinstance(node.parent, exp.Escape) or (
        "\\" in pattern.name and reader.dialect == POSTGRES
    )
    if not _is_text_literal(pattern) or is_escaped:
        raise MeaningError(f"{_show(node)}: expected a pattern without ESCAPE")
    if reader.find(node.this) == PADDED and not re.fullmatch(r"[^_ ]*%", pattern.name):
        raise MeaningError(f"{_show(node)}: blanks at the end count there, and are not in SQLite")
    if isinstance(node, exp.ILike):
        if not pattern.name.isascii():
            raise MeaningError(f"{_show(node)}: SQLite folds the case of ASCII alone")
        reader.put(node, _negate(node, exp.Like(this=node.this.copy(), expression=pattern.copy())))
        return
    marks = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    written = "".join(marks.get(letter, letter) for letter in pattern.name)
    glob = exp.Glob(this=node.this.copy(), expression=exp.Literal.string(written))
    reader.put(node, _negate(node, glob))


def _search(reader: _Reader, node: exp.Expr) -> None:
    """s ~ '^(AM|GO)' -> s GLOB 'AM*' OR s GLOB 'GO*'"""
    reader.need(node, node.this, (TEXT, LABEL))
    pattern = node.expression
    found = _WORDS.fullmatch(pattern.name) if _is_text_literal(pattern) else None
    start, is_open, words, end = found.groups() if found else ("", "", "", "")
    is_cut = (start or end) and "|" in words and not is_open  # ^a|b: only a is at the start
    if reader.dialect != POSTGRES or not words or is_cut:
        raise MeaningError(f"{_show(node)}: a regular expression, which SQLite has not")
    is_folded = isinstance(node, exp.RegexpILike)
    many, form = ("%", exp.Like) if is_folded else ("*", exp.Glob)
    before, after = ("" if anchor else many for anchor in (start, end))
    texts = (exp.Literal.string(f"{before}{word}{after}") for word in words.split("|"))
    looked_for = [form(this=node.this.copy(), expression=text) for text in texts]
    reader.put(node, exp.Paren(this=exp.or_(*looked_for)))


def _negate(node: exp.Expr, new: exp.Expr) -> exp.Expr:
    return exp.Not(this=new) if node.args.get("negate") else new


def _fold(reader: _Reader, node: exp.Expr) -> None:
    """lower(a) = 'x': SQLite folds ASCII alone, which is enough beside a text of ASCII."""
    reader.need(node, node.this, LETTERS)
    if reader.folds_ascii:
        return
    beside = node.parent
    is_compared = isinstance(beside, _BESIDE)
    others = [part for part in (beside.iter_expressions() if beside else ()) if part is not node]
    if not is_compared or not all(
        _is_text_literal(part) and part.name.isascii() for part in others
    ):
        raise MeaningError(f"{_show(node)}: SQLite folds the case of ASCII alone")


def _cut_text(reader: _Reader, node: exp.Expr) -> None:
    """Substring, left, right: places that count from the end are read otherwise."""
    reader.need(node, node.this, (*LETTERS, LABEL, DATE))
    if isinstance(node, exp.Substring):
        start, length = node.args.get("start"), node.args.get("length")
        is_plain = (_read_whole(start) or 0) >= 1
        is_plain &= length is None or (_read_whole(length) or -1) >= 0
    else:
        is_plain = (_read_whole(node.expression) or 0) >= 1
    if not is_plain:
        raise MeaningError(f"{_show(node)}: expected places from 1 on, as numbers")


def _join_texts(reader: _Reader, node: exp.Expr) -> None:
    parts = node.expressions if isinstance(node, exp.Concat) else [node.this, node.expression]
    for part in parts:
        kinds = (TEXT, LABEL, *WHOLE, DATE)
        # What joins any values joins their blanks, too.
        reader.need(node, part, kinds if isinstance(node, exp.Concat) else (*kinds, PADDED))


def _trim(reader: _Reader, node: exp.Expr) -> None:
    reader.need(node, node.this, LETTERS)
    if node.expression and (reader.dialect == MYSQL or not _is_text_literal(node.expression)):
        raise MeaningError(f"{_show(node)}: what is trimmed may be other letters in SQLite")


def _replace(reader: _Reader, node: exp.Expr) -> None:
    reader.need(node, node.this, LETTERS)
    reader.check_text(node, [TEXT])


def _length(reader: _Reader, node: exp.Expr) -> None:
    reader.need(node, node.this, (*LETTERS, LABEL))
    if node.args.get("binary"):
        raise MeaningError(f"{_show(node)}: bytes there, and letters in SQLite")


def _sum(reader: _Reader, node: exp.Expr) -> None:
    distinct = node.this if isinstance(node.this, exp.Distinct) else None
    value = distinct.expressions[0] if distinct else node.this
    reader.need(node, value, (*NUMBERS, BOOLEAN))


def _extreme(reader: _Reader, node: exp.Expr) -> None:
    if node.expressions:
        raise MeaningError(f"{_show(node)}: several values")
    reader.check_text(node, [reader.find(node.this)], is_order=True)


def _choose_extreme(reader: _Reader, node: exp.Expr) -> None:
    """greatest(a, b) -> MAX(COALESCE(a, b), COALESCE(b, a)), which passes NULL over, too."""
    values = [node.this, *node.expressions]
    kind = reader.find_all(values)
    if kind not in (*NUMBERS, DATE, MOMENT) or reader.dialect == MYSQL or len(values) < _PAIR:
        raise MeaningError(f"{_show(node)}: {node.key} of {kind} may be another in SQLite")
    orders = [values[place:] + values[:place] for place in range(len(values))]
    parts = [exp.func("COALESCE", *(value.copy() for value in order)) for order in orders]
    made = exp.Max if isinstance(node, exp.Greatest) else exp.Min
    reader.put(node, made(this=parts[0], expressions=parts[1:]))


def _find_text(reader: _Reader, node: exp.Expr) -> None:
    """position('a' in s) -> INSTR(s, 'a')"""
    others = {name for name, value in node.args.items() if value} - {"this", "substr"}
    needle = node.args["substr"]
    reader.need(node, node.this, (TEXT,))
    reader.check_text(node, [TEXT])
    if others or not _is_text_literal(needle):
        raise MeaningError(f"{_show(node)}: expected a text that is looked for")
    called = exp.Anonymous(this="INSTR", expressions=[node.this.copy(), needle.copy()])
    reader.put(node, called)


def _join_truths(reader: _Reader, node: exp.Expr) -> None:
    """bool_or(a) -> MAX(a), since true is 1"""
    reader.need(node, node.this, (BOOLEAN,))
    made = exp.Max if isinstance(node, exp.LogicalOr) else exp.Min
    reader.put(node, made(this=node.this.copy()))


def _sort(reader: _Reader, node: exp.Expr) -> None:
    value = node.this
    place = _read_whole(value)
    select = node.find_ancestor(exp.Select, exp.SetOperation)
    if place is not None and select is not None and 0 < place <= len(select.selects):
        value = select.selects[place - 1].unalias()
    reader.check_text(node, [reader.find(value)], is_order=True)


def _make_distinct(reader: _Reader, node: exp.Expr) -> None:
    """What counts equal values: DISTINCT, GROUP BY, and UNION."""
    if isinstance(node, exp.SetOperation):
        for left, right in zip(node.left.selects, node.right.selects, strict=False):
            _be_one_kind(reader, node, [left.unalias(), right.unalias()])
    values = list(node.expressions)
    select = node.find_ancestor(exp.Select)
    if isinstance(node, exp.SetOperation):
        values = list(node.selects)
    elif isinstance(node, exp.Distinct) and isinstance(node.parent, exp.Select):
        values = list(node.parent.selects)
    elif isinstance(node, exp.Group) and select is not None:
        places = [_read_whole(value) for value in values]
        values = [
            select.selects[place - 1] if place else value
            for place, value in zip(places, values, strict=True)
        ]
    kinds = [reader.find(value.unalias()) for value in values]
    reader.check_text(node, [k for k in kinds if k == LOOSE or reader.dialect == MYSQL])


def _take_part(reader: _Reader, node: exp.Expr) -> None:
    value = node.expression if isinstance(node, exp.Extract) else node.this
    if isinstance(value, exp.TsOrDsToDate):
        value = value.this
    is_epoch = isinstance(node, exp.Extract) and node.this.name.upper() == "EPOCH"
    if is_epoch and isinstance(value.unnest(), exp.Sub):
        return  # whose parts are looked at where it is
    part = node.this.name.upper() if isinstance(node, exp.Extract) else ""
    is_of_hours = part in ("HOUR", "MINUTE") or isinstance(node, _TIME_PARTS)
    reader.need(node, value, (*TIMES, HOURS) if is_of_hours else TIMES)


def _cut_time(reader: _Reader, node: exp.Expr) -> None:
    reader.need(node, node.this, TIMES)
    if node.text("unit").upper() in ("HOUR", "MINUTE"):
        reader.need(node, node.this, (MOMENT,))


def _number_day(reader: _Reader, node: exp.Expr) -> None:
    """dayofweek(d) -> EXTRACT(DOW FROM d) in DuckDB, where Sunday is 0; in MySQL it is 1"""
    if reader.dialect != DUCKDB:
        raise MeaningError(f"{_show(node)}: no rule says what {node.key} is in SQLite")
    value = node.this.this if isinstance(node.this, exp.TsOrDsToDate) else node.this
    reader.need(node, value, TIMES)
    reader.put(node, exp.Extract(this=exp.var("DOW"), expression=value.copy()), BIG)


def _count_days(reader: _Reader, node: exp.Expr) -> None:
    if node.text("unit").upper() not in ("", "DAY"):
        raise MeaningError(f"{_show(node)}: SQLite counts days alone")
    for part in (node.this, node.expression):
        value = part.this if isinstance(part, exp.TsOrDsToDate) else part
        reader.need(node, value, TIMES if reader.dialect == DUCKDB else (DATE,))
        if reader.find(value) == MOMENT:  # midnights are counted, and no hours
            reader.put(part, exp.Anonymous(this="DATE", expressions=[value.copy()]), DATE)


def _need_time(reader: _Reader, node: exp.Expr) -> None:
    reader.need(node, node.this, TIMES)


def _format_time(reader: _Reader, node: exp.Expr) -> None:
    value = node.this.this if isinstance(node.this, exp.TsOrDsToTimestamp) else node.this
    reader.need(node, value, TIMES)
    if _FORMAT.fullmatch(node.text("format")) is None:
        raise MeaningError(f"{_show(node)}: a format that SQLite has not")


def _join(reader: _Reader, node: exp.Expr) -> None:
    """a ANTI JOIN b USING (x) -> a ANTI JOIN b ON b.x = a.x, which becomes NOT EXISTS. SQLite reads
    the name of a join that it has not as an alias of the table before it."""
    method, kind = node.text("method").upper(), node.text("kind").upper()
    if method not in ("", "NATURAL"):
        raise MeaningError(f"{_show(node)}: SQLite has no {method} JOIN")
    if kind not in ("SEMI", "ANTI"):
        return
    select = node.parent
    if not isinstance(select, exp.Select):
        raise MeaningError(f"{_show(node)}: no rule says what a join in parentheses is in SQLite")
    joins, using = select.args["joins"], node.args.get("using") or ()
    source = select.args["from_"].this
    if using and len(joins) == 1 and isinstance(source, exp.Table):
        sides = (node.this.alias_or_name, source.alias_or_name)
        pairs = [[exp.column(name.copy(), side) for side in sides] for name in using]
        equal = [exp.EQ(this=here, expression=there) for here, there in pairs]
        for each in equal:
            _compare(reader, each)
        node.set("using", None)
        node.set("on", exp.and_(*equal))
    is_sided = any(join.text("side").upper() in ("RIGHT", "FULL") for join in joins)
    if node.args.get("on") is None or not node.this.alias_or_name or is_sided:
        raise MeaningError(f"{_show(node)}: SQLite has no {kind} JOIN; write EXISTS")


def _qualify(_: _Reader, node: exp.Expr) -> None:
    """QUALIFY becomes WHERE around a subquery, whose columns need a name each."""
    select = node.parent
    if not isinstance(select, exp.Select) or select.is_star:
        raise MeaningError(f"{_show(node)}: QUALIFY where * is selected; name the columns")
    for name in ("distinct", "order", "limit", "offset"):
        if select.args.get(name) is not None:
            words = f"QUALIFY beside {name.upper()}; write a subquery, and WHERE"
            raise MeaningError(f"{_show(node)}: {words}")
    names = [value.alias_or_name.lower() for value in select.selects]
    for place, value in enumerate(select.selects):
        if names[place] in names[:place]:
            value.replace(exp.alias_(value.unalias().copy(), f"{names[place]}_{place + 1}"))


def _exists(_: _Reader, node: exp.Expr) -> None:
    """EXISTS (SELECT FROM t) -> EXISTS (SELECT 1 FROM t)"""
    if isinstance(node.this, exp.Select) and not node.this.expressions:
        node.this.set("expressions", [exp.Literal.number(1)])


def _call(_: _Reader, node: exp.Expr) -> None:
    if node.name.lower() != "count_star":  # as DuckDB writes COUNT(*) in views
        raise MeaningError(f"{_show(node)}: no rule says what {node.name.lower()} is in SQLite")


def _collate(_: _Reader, node: exp.Expr) -> None:
    raise MeaningError(f"{_show(node)}: a collation that SQLite has not")


# --- words of SQLite


def _read_whole(node: exp.Expr | None) -> int | None:
    sign = 1
    while isinstance(node, exp.Neg | exp.Paren):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    is_whole = isinstance(node, exp.Literal) and node.is_int
    return sign * int(node.name) if is_whole and node is not None else None


def _wrap(value: exp.Expr) -> exp.Expr:
    plain = isinstance(value, exp.Column | exp.Literal | exp.Paren | exp.Func)
    return value.copy() if plain else exp.Paren(this=value.copy())


def _scale(value: exp.Expr, digits: int) -> exp.Expr:
    """The value times 10 ^ digits, as a float."""
    if digits == 0:
        return value.copy()
    power = exp.Literal.number(f"1{'0' * abs(digits)}.0")
    made = exp.Mul if digits > 0 else _divide_floats
    return made(this=_wrap(value), expression=power)


def _divide_floats(this: exp.Expr, expression: exp.Expr) -> exp.Expr:
    # What divides is a float: the generator adds no cast to an operation that it holds typed.
    return exp.Div(this=this, expression=expression, typed=True, safe=True)


def _add_midnight(value: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.DPipe(this=_wrap(value), expression=exp.Literal.string(_MIDNIGHT)))


def _settle(value: exp.Expr) -> exp.Expr:
    """A decimal that is a float here, without what a float has beyond 15 digits: 100.49999999999999
    is 100.5."""
    form = exp.Literal.string(f"%.{_MOST_DIGITS - 1}e")
    printed = exp.Anonymous(this="PRINTF", expressions=[form, value.copy()])
    is_null = exp.Is(this=_wrap(value), expression=exp.Null())
    number = exp.cast(printed, "DOUBLE")
    return exp.If(this=is_null, true=exp.Null(), false=number)


def _round_decimal(value: exp.Expr, digits: int) -> exp.Expr:
    """A half goes away from zero."""
    rounded = exp.Anonymous(this="ROUND", expressions=[_settle(_scale(value, digits))])
    return _scale(rounded, -digits)


def _round_even(value: exp.Expr) -> exp.Expr:
    """A half goes to the even number: 2 * ROUND(x / 2) is even, and ROUND(x) is right elsewhere."""
    cut = exp.cast(value.copy(), "BIGINT")
    rest = exp.Abs(this=exp.Sub(this=_wrap(value), expression=cut))
    is_half = exp.EQ(this=rest, expression=exp.Literal.number("0.5"))
    half = _divide_floats(_wrap(value), exp.Literal.number("2.0"))
    even = exp.Mul(this=exp.func("ROUND", half), expression=exp.Literal.number(2))
    return exp.If(this=is_half, true=even, false=exp.func("ROUND", value.copy()))


# --- kinds of expressions


def _of_column(reader: _Reader, node: exp.Expr) -> Kind:
    return reader.find_column(node) if isinstance(node, exp.Column) else None


def _of_literal(reader: _Reader, node: exp.Expr) -> Kind:
    if node.is_string:
        return TEXT
    if node.is_int:
        return INTEGER if abs(int(node.name)) < 2**31 else BIG
    return FLOAT if "e" in node.name.lower() and reader.dialect != POSTGRES else DECIMAL


def _of_cast(reader: _Reader, node: exp.Expr) -> Kind:
    return _KINDS.get(node.args["to"].this, OTHER)


def _of_numbers(reader: _Reader, node: exp.Expr) -> Kind:
    kind, other = reader.find(node.this), reader.find(node.expression)
    if kind in TIMES:
        if isinstance(node.expression, exp.Interval):
            return _of_moved(reader, kind, node.expression.text("unit"))
        if other in WHOLE:
            return kind if kind == DATE else None
        return INTEGER if isinstance(node, exp.Sub) and kind == other == DATE else None
    return reader.find_all([node.this, node.expression])


def _of_moved(reader: _Reader, kind: Kind, unit: str) -> Kind:
    is_day = unit.upper().removesuffix("S") in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
    if kind == DATE and reader.dialect != MYSQL:
        kind = MIDNIGHT
    return kind if is_day else MOMENT


def _of_cut(_: _Reader, node: exp.Expr) -> Kind:
    return MOMENT if node.text("unit").upper() in ("HOUR", "MINUTE") else MIDNIGHT


def _of_units(reader: _Reader, node: exp.Expr) -> Kind:
    return _of_moved(reader, reader.find(node.this), node.text("unit"))


def _of_division(reader: _Reader, node: exp.Expr) -> Kind:
    kind = reader.find_all([node.this, node.expression])
    if kind not in NUMBERS:
        return None
    if reader.dialect == DUCKDB:
        return FLOAT
    return DECIMAL if kind in WHOLE and reader.dialect == MYSQL else kind


def _of_sum(reader: _Reader, node: exp.Expr) -> Kind:
    value = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    kind = reader.find(value)
    if kind in (*WHOLE, BOOLEAN):
        is_decimal = kind == BIG and reader.dialect == POSTGRES
        return DECIMAL if is_decimal or reader.dialect == MYSQL else BIG
    return kind if kind in NUMBERS else None


def _of_average(reader: _Reader, node: exp.Expr) -> Kind:
    kind = _of_sum(reader, node)
    return FLOAT if reader.dialect == DUCKDB or kind == FLOAT else DECIMAL


def _of_round(reader: _Reader, node: exp.Expr) -> Kind:
    kind = reader.find(node.this)
    if kind in WHOLE and reader.dialect == POSTGRES:
        return FLOAT if node.args.get("decimals") is None else DECIMAL
    return kind


def _of_part(reader: _Reader, node: exp.Expr) -> Kind:
    if isinstance(node, exp.Extract) and node.this.name.upper() == "EPOCH":
        return DECIMAL if reader.dialect == POSTGRES else FLOAT
    return DECIMAL if reader.dialect == POSTGRES and isinstance(node, exp.Extract) else BIG


def _of_this(reader: _Reader, node: exp.Expr) -> Kind:
    return reader.find(node.this)


def _of_query(reader: _Reader, node: exp.Expr) -> Kind:
    values = node.selects if isinstance(node, exp.Query) else []
    return reader.find(values[0].unalias()) if len(values) == 1 else None


def _of_case(reader: _Reader, node: exp.Expr) -> Kind:
    return reader.find_all(
        [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    )


def _of_if(reader: _Reader, node: exp.Expr) -> Kind:
    return reader.find_all([node.args.get("true"), node.args.get("false")])


def _of_several(reader: _Reader, node: exp.Expr) -> Kind:
    return reader.find_all([node.this, *node.expressions])


def _be(kind: Kind) -> Callable[[_Reader, exp.Expr], Kind]:
    return lambda _reader, _node: kind


_Nodes = tuple[type[exp.Expr], ...]
_ORDERS: _Nodes = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
_EQUALS: _Nodes = (exp.EQ, exp.NEQ, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ)
_COMPARISONS = _ORDERS + _EQUALS
_LIKES: _Nodes = (exp.Like, exp.ILike)
_REGULAR: _Nodes = (exp.RegexpLike, exp.RegexpILike)
_BESIDE = _COMPARISONS + _LIKES
_DATE_PARTS: _Nodes = (exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth, exp.DayOfYear)
_TIME_PARTS: _Nodes = (exp.Hour, exp.Minute)
_PARTS = _DATE_PARTS + _TIME_PARTS
_RANKS: _Nodes = (exp.RowNumber, exp.Rank, exp.DenseRank)
_CUT_TEXTS: _Nodes = (exp.Substring, exp.Left, exp.Right)
_TEXTS: _Nodes = (exp.Lower, exp.Upper, exp.Trim, exp.Concat, exp.DPipe, exp.Replace, exp.TimeToStr)
_CLOCKS: _Nodes = (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp)
_WITH_EQUALS: _Nodes = (exp.Distinct, exp.Group, exp.Union, exp.Except, exp.Intersect)

_FINDERS: dict[type | None, Callable[[_Reader, exp.Expr], Kind]] = {
    exp.Column: _of_column,
    exp.Literal: _of_literal,
    exp.Null: _be(NULL),
    exp.Cast: _of_cast,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _of_numbers),
    exp.Div: _of_division,
    exp.IntDiv: _of_numbers,
    exp.Round: _of_round,
    **dict.fromkeys((exp.Floor, exp.Ceil, exp.Trunc, exp.Abs, exp.Neg, exp.Paren), _of_this),
    **dict.fromkeys((exp.Min, exp.Max, exp.Window, exp.Filter, exp.Subquery), _of_this),
    **dict.fromkeys((exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue), _of_this),
    **dict.fromkeys((exp.Select, exp.Union, exp.Except, exp.Intersect), _of_query),
    exp.Sum: _of_sum,
    exp.Avg: _of_average,
    **dict.fromkeys((exp.Count, exp.Length, exp.DateDiff, exp.DayOfWeek, *_RANKS), _be(BIG)),
    **dict.fromkeys((exp.Extract, *_PARTS), _of_part),
    **dict.fromkeys((*_COMPARISONS, exp.And, exp.Or, exp.Not, exp.Is, exp.Exists), _be(BOOLEAN)),
    **dict.fromkeys((*_REGULAR, exp.Like, exp.ILike, exp.Glob, exp.Boolean), _be(BOOLEAN)),
    **dict.fromkeys(_CUT_TEXTS + _TEXTS, _be(TEXT)),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _of_cut),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _of_units),
    **dict.fromkeys((exp.Date, exp.TsOrDsToDate, exp.CurrentDate), _be(DATE)),
    exp.CurrentTimestamp: _be(MOMENT),
    exp.Case: _of_case,
    exp.If: _of_if,
    exp.Nullif: _of_this,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _of_several),
    **dict.fromkeys((exp.LogicalOr, exp.LogicalAnd), _be(BOOLEAN)),
    exp.StrPosition: _be(BIG),
}

_RULES: dict[type, Callable[[_Reader, exp.Expr], None]] = {
    exp.Cast: _cast,
    exp.Round: _round,
    **dict.fromkeys((exp.Floor, exp.Ceil, exp.Trunc), _cut_number),
    exp.Div: _divide,
    **dict.fromkeys((exp.Mod, exp.IntDiv, exp.BitwiseAnd, exp.BitwiseOr), _need_whole),
    **dict.fromkeys((exp.Add, exp.Sub), _add),
    **dict.fromkeys((exp.Mul, exp.Abs, exp.Neg), _need_numbers),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _add_units),
    **dict.fromkeys(_COMPARISONS, _compare),
    exp.Case: _case,
    exp.If: _choose,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    **dict.fromkeys((exp.Like, exp.ILike), _like),
    **dict.fromkeys(_REGULAR, _search),
    **dict.fromkeys((exp.Lower, exp.Upper), _fold),
    **dict.fromkeys((exp.Substring, exp.Left, exp.Right), _cut_text),
    **dict.fromkeys((exp.Concat, exp.DPipe), _join_texts),
    exp.Trim: _trim,
    exp.Replace: _replace,
    exp.Length: _length,
    **dict.fromkeys((exp.Sum, exp.Avg), _sum),
    **dict.fromkeys((exp.Min, exp.Max), _extreme),
    **dict.fromkeys((exp.Greatest, exp.Least), _choose_extreme),
    **dict.fromkeys((exp.LogicalOr, exp.LogicalAnd), _join_truths),
    exp.StrPosition: _find_text,
    exp.Ordered: _sort,
    **dict.fromkeys(_WITH_EQUALS, _make_distinct),
    **dict.fromkeys((exp.Extract, *_PARTS), _take_part),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _cut_time),
    exp.DateDiff: _count_days,
    exp.DayOfWeek: _number_day,
    exp.Join: _join,
    exp.Qualify: _qualify,
    exp.Exists: _exists,
    **dict.fromkeys((exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp), _need_time),
    exp.TimeToStr: _format_time,
    exp.Collate: _collate,
    exp.Anonymous: _call,
}

# What means the same as it stands: the frame of a query, logic, and functions of any value.
_CLAUSES: _Nodes = (exp.Select, exp.From, exp.Where, exp.Having, exp.Order, exp.With)
_LIMITS: _Nodes = (exp.Limit, exp.Offset, exp.Fetch, exp.LimitOptions, exp.Values)
_TABLES: _Nodes = (exp.Subquery, exp.CTE, exp.Table, exp.TableAlias, exp.Alias, exp.Star)
_NAMES: _Nodes = (
    exp.Column,
    exp.Identifier,
    exp.DataType,
    exp.DataTypeParam,
    exp.Interval,
    exp.Var,
)
_STRINGS: _Nodes = (exp.RawString, exp.National)  # $$a$$, N'a'
_VALUES: _Nodes = (exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Tuple)
_LOGIC: _Nodes = (exp.And, exp.Or, exp.Not, exp.Is, exp.Count, exp.Filter)
_WINDOWS: _Nodes = (exp.Window, exp.WindowSpec, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_SHARES: _Nodes = (exp.Ntile, exp.PercentRank, exp.CumeDist)
_SAME = _CLAUSES + _LIMITS + _TABLES + _NAMES + _VALUES + _LOGIC + _WINDOWS + _SHARES
_SAME += _RANKS + _CLOCKS
