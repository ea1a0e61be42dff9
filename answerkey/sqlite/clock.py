"""The clock: SQLite's functions of date and time at one instant, or without a clock.

    SELECT date('now', '-1 day'), CURRENT_DATE  -->  2025-01-29, 2025-01-30   at 2025-01-30

A corpus may have rows that were made at an instant, and questions that ask for the last 30 days. At
that instant (`corpora.NAME.now`) they have one answer for ever; without one, a query that reads the
clock has none.

`julianday('n' || 'ow')` reads it, and no text says so. So each function is one of ours that looks
at the values of a call, and asks SQLite's own for the result.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
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
_ANYWHERE = {_NOW, *_ZONES}
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


def tell_clock(now: str | None) -> str:
    """The words for people and models who read a question of a corpus with a clock.

    >>> tell_clock("2025-01-30"), tell_clock("2025-01-30 09:30:00"), tell_clock(None)
    ('The current date is 2025-01-30.', 'The current date is 2025-01-30 09:30:00 (UTC).', '')
    """
    if now is None:
        return ""
    return f"The current date is {now}{' (UTC)' if len(now) > len('2025-01-30') else ''}."


def tell_clock_readers(failures: Iterable[str]) -> str:
    """How many queries failed since they read the clock, and what would give it to them; "" for
    none.

    >>> failures = ["function date depends on more than the database (...)", "no such column: b"]
    >>> tell_clock_readers(failures)[:46]
    'read a clock, which their corpus has not: 1; s'
    """
    names = "|".join([*_CLOCK_FUNCTIONS, *NOW_KEYWORDS])
    pattern = re.compile(rf"function ({names}) depends on more than the database", re.IGNORECASE)
    count = sum(pattern.search(line) is not None for line in failures)
    where = "set corpora.NAME.now in params.yaml (docs/corpora.md, A clock)"
    return f"read a clock, which their corpus has not: {count}; {where}" if count else ""


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
        values: Sequence[Any] = arguments
        if self._now is not None:
            values = set_clock(name, arguments, self._now)
        elif reads_clock(name, arguments):
            self._refuse(name)
            raise ValueError(f"{name}() would read the clock")
        if self._own is None:
            self._own = sqlite3.connect(":memory:")
        return self._own.execute(_write_call(name, len(values)), values).fetchone()[0]


@lru_cache
def _write_call(name: str, count: int) -> str:
    return f"SELECT {name}({', '.join('?' * count)})"


@contextmanager
def set_clock_of(connection: sqlite3.Connection, now: str | None) -> Iterator[None]:
    """Let a connection of our own stand at an instant: a CHECK may read CURRENT_DATE. None: it has
    the clock of the machine."""
    if now is None:
        yield
        return
    with closing(Clock(connection, lambda name: None, now=now)):
        yield


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
    place = _find_time(function)
    for index, value in enumerate(arguments[place:]):
        word = _read_word(value).strip()
        if word in _ANYWHERE or (word in _SUBSEC and (index == 0 or function == "timediff")):
            return True
    return len(arguments) <= place


def set_clock(function: str, arguments: Sequence[Any], now: str) -> Sequence[Any]:
    """The arguments of a call with an instant in the place of the clock, and UTC as the zone of the
    machine: so SQLite's own function reads neither.

    >>> set_clock("date", [], "2025-01-30"), set_clock("strftime", ["%Y", "NOW"], "2025-01-30")
    (['2025-01-30'], ['%Y', '2025-01-30'])
    >>> set_clock("datetime", ["subsec", "localtime"], "2025-01-30")
    ['2025-01-30', '+0 seconds', 'subsec']

    Source: parseDateOrTime, isDate and parseModifier of SQLite (date.c), which compare whole words
    in any case.
    """
    place, changed = _find_time(function), [*arguments]
    if len(changed) == place:
        changed.append(now)
    for index in range(place, len(changed)):
        word = _read_word(changed[index])
        is_time = index == place or function == "timediff"
        if is_time and (word == _NOW or word in _SUBSEC):
            changed[index] = now
            if word != _NOW and function != "timediff":
                changed.append(word)  # the milliseconds are shown, as by this modifier
        elif not is_time and word in _ZONES:
            changed[index] = _NO_CHANGE
    return changed


def _find_time(function: str) -> int:
    """The place of the time among arguments: the format of strftime stands before it."""
    return 1 if function == "strftime" else 0


def _read_word(value: Any) -> str:
    """A text as these functions read it, up to the first zero byte; of a number nothing."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str):
        return ""
    return (value.partition("\0")[0] if "\0" in value else value).lower()
