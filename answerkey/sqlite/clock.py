"""The clock: SQLite's functions of date and time at one instant, or without a clock.

    SELECT date('now', '-1 day'), CURRENT_DATE  -->  2025-01-29, 2025-01-30   at 2025-01-30

A corpus may have rows that were made at an instant, and questions that ask for the last 30 days. At
that instant (`corpora.NAME.now`) they have one answer for ever; without one, a query that reads the
clock has none.

`julianday('n' || 'ow')` reads it, and no text says so. So each function is one of ours that looks
at the values of a call, and asks SQLite's own for the result.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import Any

NOW_KEYWORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
_CLOCK_FUNCTIONS = {
    "date",
    "time",
    "datetime",
    "julianday",
    "unixepoch",
    "timediff",
    "strftime",
}
_NOW = "now"
# Words that mean the time of the clock with its milliseconds, where a time is expected.
_SUBSEC = {"subsec", "subsecond"}
# Modifiers between UTC and the zone of the machine.
_ZONES = {"localtime", "utc"}
_NO_CHANGE = "+0 seconds"
_KEPT_DATES = 4096  # results of these functions, of a database
_LONGEST_KEPT = 64  # characters of an argument: no date has more, and a value may have a million

EXPECTED_INSTANT = (
    "a date, or a time in UTC, such as '2025-01-30', '2025-01-30 09:30:00' or"
    " '2025-01-30T10:30:00+01:00'"
)


def read_instant(value: object) -> str:
    """Return a date, or a time in UTC, in the words of SQLite.

    >>> read_instant("2025-01-30"), read_instant(date(2025, 1, 30))
    ('2025-01-30', '2025-01-30')
    >>> read_instant("2025-01-30T10:30:00+01:00"), read_instant("2025-01-30 09:30:00.25")
    ('2025-01-30 09:30:00', '2025-01-30 09:30:00.250')

    A date is its first moment. SQLite counts milliseconds, and no less.

    Raises:
        ValueError: it is something else.
    """
    instant = value
    try:
        if isinstance(instant, str):
            text = instant.strip()
            is_date = len(text) == len("2025-01-30")
            instant = date.fromisoformat(text) if is_date else datetime.fromisoformat(text)
        if isinstance(instant, datetime):
            if instant.tzinfo is not None:
                instant = instant.astimezone(UTC).replace(tzinfo=None)
            return instant.isoformat(" ", "milliseconds" if instant.microsecond else "seconds")
        if isinstance(instant, date):
            return instant.isoformat()
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"expected {EXPECTED_INSTANT}, found {value!r:.80}")


class Clock:
    """The functions of date and time of a connection.

    now: the instant that they read, in UTC, which is the local time, too: `localtime` and `utc`
        change nothing. None: for a call that would read the clock, or the time zone, `refuse` is
        called with its name, and the query fails.

    Results are kept, since each query meets the same dates; they depend on the arguments alone.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        refuse: Callable[[str], None],
        *,
        now: str | None = None,
    ) -> None:
        self._refuse = refuse
        self._now = now
        self._compute_once = lru_cache(_KEPT_DATES, typed=True)(self._compute)
        self._own: sqlite3.Connection | None = None  # where SQLite's functions are as they were
        for name, arguments in _list_functions():
            call = partial(self._call, name)
            connection.create_function(name, arguments, call, deterministic=True)
        # SQLite calls a function for these words. Without an instant its own is there, which the
        # authorizer refuses.
        for word, name in NOW_KEYWORDS.items() if now is not None else ():
            read_now = partial(self._compute_once, name, now)
            connection.create_function(word, 0, read_now, deterministic=True)

    def close(self) -> None:
        if self._own is not None:
            self._own.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        for value in arguments:
            if isinstance(value, str | bytes) and len(value) > _LONGEST_KEPT:
                return self._compute(name, *arguments)
        return self._compute_once(name, *arguments)

    def _compute(self, name: str, *arguments: Any) -> Any:
        if self._now is not None:
            arguments = set_clock(name, arguments, self._now)
        elif reads_clock(name, arguments):
            self._refuse(name)
            raise ValueError(f"{name}() would read the clock")
        if self._own is None:
            self._own = sqlite3.connect(":memory:")
        parameters = ", ".join("?" * len(arguments))
        return self._own.execute(f"SELECT {name}({parameters})", arguments).fetchone()[0]


@lru_cache(maxsize=1)
def _list_functions() -> list[tuple[str, int]]:
    """The name and the number of arguments (-1: any) of those that this SQLite has."""
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute("SELECT name, narg FROM pragma_function_list").fetchall()
    return sorted({(name, arguments) for name, arguments in rows if name in _CLOCK_FUNCTIONS})


def reads_clock(function: str, arguments: Sequence[Any]) -> bool:
    """Whether a call with these values reads the clock, or the time zone of the machine; any word
    that could, with blanks round it or where no time is expected, is taken for one that does.

    >>> reads_clock("date", ["now"]), reads_clock("date", ["2020-02-29", "+1 year"])
    (True, False)
    """
    words = [_read_word(value).strip() for value in arguments[_find_time(function) :]]
    times = words if function == "timediff" else words[:1]
    return not words or not {_NOW, *_ZONES}.isdisjoint(words) or not _SUBSEC.isdisjoint(times)


def set_clock(function: str, arguments: Sequence[Any], now: str) -> tuple[Any, ...]:
    """The arguments of a call with an instant in the place of the clock, and UTC as the zone of the
    machine: so SQLite's own function reads neither.

    >>> set_clock("date", [], "2025-01-30"), set_clock("strftime", ["%Y", "NOW"], "2025-01-30")
    (('2025-01-30',), ('%Y', '2025-01-30'))
    >>> set_clock("datetime", ["subsec", "localtime"], "2025-01-30")
    ('2025-01-30', '+0 seconds', 'subsec')

    Source: parseDateOrTime, isDate and parseModifier of SQLite (date.c), which compare whole words
    in any case.
    """
    if function == "timediff":
        return tuple(now if _read_word(value) in {_NOW, *_SUBSEC} else value for value in arguments)
    place = _find_time(function)
    before, times, modifiers = arguments[:place], arguments[place:][:1], arguments[place + 1 :]
    if not times and len(before) == place:
        times = [now]
    changed = [_NO_CHANGE if _read_word(value) in _ZONES else value for value in modifiers]
    word = _read_word(times[0]) if times else ""
    if word == _NOW or word in _SUBSEC:
        times = [now]
        changed += [word] if word in _SUBSEC else []
    return *before, *times, *changed


def _find_time(function: str) -> int:
    """The place of the time among arguments: the format of strftime stands before it."""
    return 1 if function == "strftime" else 0


def _read_word(value: Any) -> str:
    """A value as these functions read it, up to the first zero byte."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text.partition("\0")[0].lower()
