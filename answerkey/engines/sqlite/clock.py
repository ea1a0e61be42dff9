"""The clock: SQLite's functions of date and time at a fixed instant, or without a clock.

    SELECT date('now', '-1 day'), CURRENT_DATE  -->  2025-01-29, 2025-01-30   at 2025-01-30

A corpus may have rows that were made at some instant, and questions that ask for the last 30 days.
At that instant (`corpora.NAME.now`) their answer never changes. Without one, a query that reads the
clock has no answer.

The text of a query does not show whether it reads the clock: `julianday('n' || 'ow')` does. So each
function is replaced by one that checks the values of a call and then calls SQLite's own.
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
# Words for the time of the clock with milliseconds, if they are used as a time.
_SUBSEC = {"subsec", "subsecond"}
# Modifiers between UTC and the zone of the machine.
_ZONES = {"localtime", "utc"}
_ANYWHERE = {_NOW, *_ZONES}
_NO_CHANGE = "+0 seconds"
_KEPT_DATES = 4096  # results of these functions, per database
_LONGEST_KEPT = 64  # characters of an argument: longer ones are no dates, and cost memory

EXPECTED_INSTANT = (
    "a date, or a time in UTC, such as '2025-01-30', '2025-01-30 09:30:00' or"
    " '2025-01-30T10:30:00+01:00'"
)


def read_instant(value: object) -> str:
    """Return a date, or a time in UTC, as SQLite writes it.

    >>> read_instant("2025-01-30"), read_instant(date(2025, 1, 30))
    ('2025-01-30', '2025-01-30')
    >>> read_instant("2025-01-30T10:30:00+01:00"), read_instant("2025-01-30 09:30:00.25")
    ('2025-01-30 09:30:00', '2025-01-30 09:30:00.250')

    A date means its first moment. SQLite counts milliseconds and nothing smaller.

    Raises:
        ValueError: it is neither.
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


def describe_clock(now: str | None) -> str:
    """Return the sentence for people and models who read a question of a corpus with a clock.

    >>> describe_clock("2025-01-30"), describe_clock("2025-01-30 09:30:00"), describe_clock(None)
    ('The current date is 2025-01-30.', 'The current date is 2025-01-30 09:30:00 (UTC).', '')
    """
    if now is None:
        return ""
    return f"The current date is {now}{' (UTC)' if len(now) > len('2025-01-30') else ''}."


def describe_clock_readers(failures: Iterable[str]) -> str:
    """Return how many queries failed because they read the clock, and which setting gives them one;
    "" if none.

    >>> failures = ["function date depends on more than the database (...)", "no such column: b"]
    >>> describe_clock_readers(failures)[:46]
    'read a clock, which their corpus has not: 1; s'
    """
    names = "|".join([*_CLOCK_FUNCTIONS, *NOW_KEYWORDS])
    pattern = re.compile(rf"function ({names}) depends on more than the database", re.IGNORECASE)
    count = sum(pattern.search(line) is not None for line in failures)
    where = "set corpora.NAME.now in params.yaml (docs/corpora.md, A clock)"
    return f"read a clock, which their corpus has not: {count}; {where}" if count else ""


class Clock:
    """The functions of date and time of a connection.

    now: the instant that they read, in UTC. The local zone is UTC as well: `localtime` and `utc`
        change nothing. None: a call that would read the clock or the time zone fails, after
        `refuse` was called with the function's name.

    Results are cached, since many rows have the same dates. They depend only on the arguments.
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
        self._own: sqlite3.Connection | None = None  # it still has SQLite's functions
        for name, arguments in _list_functions():
            call = partial(self._call, name)
            connection.create_function(name, arguments, call, deterministic=True)
        # SQLite calls a function for these words. Without an instant the authorizer refuses
        # SQLite's own.
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
    """Set the clock of a connection of our own to an instant: a CHECK may read CURRENT_DATE. None:
    the machine's clock."""
    if now is None:
        yield
        return
    with closing(Clock(connection, lambda name: None, now=now)):
        yield


@lru_cache(maxsize=1)
def _list_functions() -> list[tuple[str, int]]:
    """Return name and number of arguments (-1: any) of the functions that this SQLite has."""
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute("SELECT name, narg FROM pragma_function_list").fetchall()
    return sorted({(name, arguments) for name, arguments in rows if name in _CLOCK_FUNCTIONS})


def reads_clock(function: str, arguments: Sequence[Any]) -> bool:
    """Return whether a call with these values reads the clock or the machine's time zone. A word
    that might, with blanks around it or in another position, counts as one that does.

    >>> reads_clock("date", ["now"]), reads_clock("date", ["2020-02-29", "+1 year"])
    (True, False)
    """
    time_index = _find_time(function)
    for index, value in enumerate(arguments[time_index:]):
        word = _read_word(value).strip()
        if word in _ANYWHERE or (word in _SUBSEC and (index == 0 or function == "timediff")):
            return True
    return len(arguments) <= time_index


def set_clock(function: str, arguments: Sequence[Any], now: str) -> Sequence[Any]:
    """Return the arguments of a call with an instant in place of the clock, and UTC in place of the
    machine's time zone, so that SQLite's own function reads neither.

    >>> set_clock("date", [], "2025-01-30"), set_clock("strftime", ["%Y", "NOW"], "2025-01-30")
    (['2025-01-30'], ['%Y', '2025-01-30'])
    >>> set_clock("datetime", ["subsec", "localtime"], "2025-01-30")
    ['2025-01-30', '+0 seconds', 'subsec']

    Source: parseDateOrTime, isDate and parseModifier of SQLite (date.c), which compare whole words
    without regard to case.
    """
    time_index, changed = _find_time(function), [*arguments]
    if len(changed) == time_index:
        changed.append(now)
    for index in range(time_index, len(changed)):
        word = _read_word(changed[index])
        is_time = index == time_index or function == "timediff"
        if is_time and (word == _NOW or word in _SUBSEC):
            changed[index] = now
            if word != _NOW and function != "timediff":
                changed.append(word)  # this modifier shows the milliseconds
        elif not is_time and word in _ZONES:
            changed[index] = _NO_CHANGE
    return changed


def _find_time(function: str) -> int:
    """Return the position of the time among the arguments; strftime has its format first."""
    return 1 if function == "strftime" else 0


def _read_word(value: Any) -> str:
    """Return a text as these functions read it, up to the first zero byte; "" for a number."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str):
        return ""
    return (value.partition("\0")[0] if "\0" in value else value).lower()
