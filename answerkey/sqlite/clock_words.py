"""Clock words: by which words SQL reads the clock, or the time zone of the machine.

`names_clock` sees them in a text. It does not see a word that no text spells out, as in date('n' ||
'ow'), or in date(born) where a row of born holds 'now'. `reads_clock` sees the values that a call
is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.sqlite.tokens import Kind, read_tokens

# How many arguments stand before the time, which is now where it is left out. All those of timediff
# are times.
_BEFORE_TIME = {
    **dict.fromkeys(("date", "time", "datetime", "julianday", "unixepoch", "timediff"), 0),
    "strftime": 1,
}
CLOCK_FUNCTIONS = frozenset(_BEFORE_TIME)
# Words that read the clock or the time zone wherever they stand; and as the time alone.
_ANYWHERE = {"now", "localtime", "utc"}
_AS_TIME = {"subsec", "subsecond"}


@dataclass(slots=True)
class _Parenthesis:
    """One that is open: the clock function that it calls, or None; how many commas it has; and
    whether what stands in it is the time of a call around it."""

    function: str | None
    is_in_time: bool
    commas: int = 0
    is_empty: bool = True

    def is_time(self) -> bool:
        """Whether what comes next is, or is part of, the time of a clock function."""
        if self.function is None:
            return self.is_in_time
        return self.commas == _BEFORE_TIME[self.function] or self.function == "timediff"

    def lacks_time(self) -> bool:
        """Whether it calls a clock function and, closed here, would give it no time."""
        arguments = 0 if self.is_empty else self.commas + 1
        return self.function is not None and arguments <= _BEFORE_TIME[self.function]


def names_clock(sql: str) -> bool:
    """Whether SQL spells out how to read the clock.

    >>> names_clock("SELECT date('now')"), names_clock("SELECT strftime(lower('%Y, %M'))")
    (True, True)
    """
    opened = [_Parenthesis(None, is_in_time=False)]
    word = ""
    for kind, text in read_tokens(sql):
        inner, called, word = opened[-1], word, ""
        if kind is not Kind.MARK:
            inner.is_empty = False
            word = text.strip().lower()
            if kind in (Kind.TEXT, Kind.DOUBLE_QUOTED) and (
                word in _ANYWHERE or (word in _AS_TIME and inner.is_time())
            ):
                return True
        elif text == ",":
            inner.commas += 1
        elif text == "(":
            inner.is_empty = False
            function = called if called in CLOCK_FUNCTIONS else None
            opened.append(_Parenthesis(function, is_in_time=inner.is_time()))
        elif text != ")":
            inner.is_empty = False
        elif inner.lacks_time():
            return True
        elif len(opened) > 1:
            opened.pop()
    return False


def reads_clock(function: str, arguments: Sequence[Any]) -> bool:
    """Whether a call of a clock function with these values reads the clock.

    >>> reads_clock("date", ["now"]), reads_clock("date", ["2020-02-29", "+1 year"])
    (True, False)
    """
    before = _BEFORE_TIME[function]
    words = [_read_word(value) for value in arguments[before:]]
    times = words if function == "timediff" else words[:1]
    return not words or not _ANYWHERE.isdisjoint(words) or not _AS_TIME.isdisjoint(times)


def _read_word(value: Any) -> str:
    text = value.replace(b"\0", b"").decode(errors="replace") if isinstance(value, bytes) else value
    return str(text).strip().lower()
