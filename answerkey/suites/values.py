"""Values of the same kind as others: new ones, and those near a constant of a query."""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import date, timedelta
from itertools import count
from typing import Any

from answerkey.sqlite.schema import Column, affinity

_LAST_DIGITS = re.compile(r"(\d+)(\D*)\Z")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOST = (1 << 63) - 1
_MOST_EXACT = 1 << 53  # above, a float has no next whole number
_FIRST_DAY = date(2001, 1, 1)


def make_new(value: Any, taken: Container[Any]) -> Any:
    """A value after this one that is not taken: the next number, or a text with the next number.

    >>> make_new(7, {7, 8}), make_new("A09", {"A09"}), make_new("Sun", {"Sun"})
    (9, 'A10', 'Sun 2')
    """
    if isinstance(value, int):
        numbers = count(value + 1) if value < _MOST // 2 else count(value - 1, -1)
        return next(number for number in numbers if number not in taken)
    if isinstance(value, float):
        start = int(value) if abs(value) < _MOST_EXACT else 0
        return next(float(number) for number in count(start + 1) if number not in taken)
    if isinstance(value, bytes):
        return next(new for n in count() if (new := value + b"%d" % n) not in taken)
    if _DATE.fullmatch(value[:10]):
        value, *_ = [*list_near(value)[1:], value]
        if value not in taken:
            return value
    found = _LAST_DIGITS.search(value)
    if found is None:
        return next(new for n in count(2) if (new := f"{value or 'x'} {n}") not in taken)
    start, (digits, end) = value[: found.start()], found.groups()
    numbers = (f"{int(digits) + n:0{len(digits)}}" for n in count(1))
    return next(new for number in numbers if (new := f"{start}{number}{end}") not in taken)


def list_near(value: Any) -> list[Any]:
    """The values just beside a constant: a number or a date less and more one, and a text with
    something before and after it.

    >>> list_near(10), list_near("2020-03-01"), list_near("099"), list_near("Sun")
    ([9, 11], ['2020-02-29', '2020-03-02'], ['098', '100'], ['x Sun', 'Sun x'])
    """
    if isinstance(value, int | float):
        return [near for near in (value - 1, value + 1) if -_MOST <= near <= _MOST]
    if not isinstance(value, str):
        return []
    if _DATE.fullmatch(value[:10]):
        try:
            day = date.fromisoformat(value[:10])
            days = [day - timedelta(days=1), day + timedelta(days=1)]
        except (ValueError, OverflowError):
            days = []
        return [near.isoformat() + value[10:] for near in days]
    if value.isascii() and value.isdigit():
        number = int(value)
        return [f"{near:0{len(value)}}" for near in (number - 1, number + 1) if near >= 0]
    return [f"x {value}", f"{value} x"]


def invent_value(column: Column, number: int) -> Any:
    """A value for a column of which no value is known, from its name and type.

    >>> [invent_value(Column("born", kind, False, 0), 3) for kind in ("INT", "date", "text")]
    [3, '2001-01-04', 'born 3']
    """
    declared, name = column.type.upper(), column.name.lower()
    kind = affinity(column.type)
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
