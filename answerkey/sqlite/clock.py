"""The clock: SQLite's functions of date and time, which refuse here to read it.

`julianday('n' || 'ow')` gives something else at each run, and no text says so. So each function is
one of ours that looks at the values of a call, whatever they come from, and asks SQLite's own for
the result. A call takes some microseconds more; a query without one pays nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache, partial
from typing import Any

# How many arguments stand before the time, which is now where it is left out. All those of timediff
# are times.
_BEFORE_TIME = {
    **dict.fromkeys(("date", "time", "datetime", "julianday", "unixepoch", "timediff"), 0),
    "strftime": 1,
}
# Words that read the clock or the time zone wherever they stand; and as the time alone.
_ANYWHERE = {"now", "localtime", "utc"}
_AS_TIME = {"subsec", "subsecond"}


class Clock:
    """The functions of a connection that might read the clock; `refuse` is called with the name of
    one that would, and the query fails."""

    def __init__(self, connection: sqlite3.Connection, refuse: Callable[[str], None]) -> None:
        self._refuse = refuse
        self._own: sqlite3.Connection | None = None  # where SQLite's functions are as they were
        for name, arguments in _list_functions():
            call = partial(self._call, name)
            connection.create_function(name, arguments, call, deterministic=True)

    def close(self) -> None:
        """Close what was opened to call SQLite's own functions."""
        if self._own is not None:
            self._own.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        if reads_clock(name, arguments):
            self._refuse(name)
            raise ValueError(f"{name}() would read the clock")
        if self._own is None:
            self._own = sqlite3.connect(":memory:")
        places = ", ".join("?" * len(arguments))
        return self._own.execute(f"SELECT {name}({places})", arguments).fetchone()[0]


@lru_cache(maxsize=1)
def _list_functions() -> list[tuple[str, int]]:
    """The name and the number of arguments (-1: any) of those that this SQLite has."""
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute("SELECT name, narg FROM pragma_function_list").fetchall()
    return sorted({(name, arguments) for name, arguments in rows if name in _BEFORE_TIME})


def reads_clock(function: str, arguments: Sequence[Any]) -> bool:
    """Whether a call with these values reads the clock, or the time zone of the machine.

    >>> reads_clock("date", ["now"]), reads_clock("date", ["2020-02-29", "+1 year"])
    (True, False)
    """
    before = _BEFORE_TIME[function]
    words = [_read_word(value) for value in arguments[before:]]
    times = words if function == "timediff" else words[:1]
    return not words or not _ANYWHERE.isdisjoint(words) or not _AS_TIME.isdisjoint(times)


def _read_word(value: Any) -> str:
    """A value as these functions read it, up to the first zero byte."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text.partition("\0")[0].strip().lower()
