"""The clock in the text of a statement: words of SQL that are no calls become calls.

    SELECT CURRENT_DATE - 7  -->  SELECT "current_date"() - 7

The calls are those of functions that `privileges` makes in each database. Without an instant nobody
may call them, so that Postgres refuses what reads the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from answerkey.base.reasons import Reason
from answerkey.engines.postgres.embedded import CLOCK_WORDS

_CALLED = ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
# What tells who asks. CURRENT_SCHEMA is a part of the database.
_WHO = ("current_user", "current_role", "session_user", "system_user", "user", "current_catalog")
_SAMPLE = "tablesample"
_MARKS = (*_CALLED, *_WHO, _SAMPLE, *CLOCK_WORDS)
_TIME_TYPES = ("date", "timestamp", "timestamptz", "time", "timetz")

_QUOTED = r"'(?:[^']|'')*(?:'|\Z)"
_ESCAPED = r"'(?:[^'\\]|\\.|'')*(?:'|\Z)"
# A string goes on in another line, and so do its escapes.
_GAP = r"(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:\s|--[^\n\r]*[\n\r])*"
_LETTER = r"A-Za-z_\x80-\U0010ffff"
_PIECE = re.compile(
    rf"""(?P<blank>\s+|--[^\n\r]*)
    | (?P<comment>/\*)
    | (?P<escaped>[eE]{_ESCAPED}(?:{_GAP}{_ESCAPED})*)
    | (?P<string>(?:[nNbBxX]|[uU]&)?{_QUOTED})
    | (?P<dollar>\$(?P<tag>[{_LETTER}][{_LETTER}0-9]*)?\$)
    | (?P<quoted>(?:[uU]&)?"(?:[^"]|"")*(?:"|\Z))
    | (?P<word>[{_LETTER}][{_LETTER}0-9$]*)
    | (?P<number>\.?[0-9][0-9A-Za-z_.]*)
    | (?P<sign>::|.)""",
    re.DOTALL | re.VERBOSE,
)
_COMMENT_PART = re.compile(r"/\*|\*/")


class Piece(NamedTuple):
    """A piece of SQL. Its kind: blank, string, dollar, quoted, word, number or sign."""

    kind: str
    text: str


def list_pieces(sql: str) -> Iterator[Piece]:
    """Yield the pieces of a text as Postgres reads it, if a backslash in '...' is no escape.

    >>> [piece.text for piece in list_pieces("SELECT $$a b$$ -- c")]
    ['SELECT', ' ', '$$a b$$', ' ', '-- c']

    Source: the lexer of PostgreSQL (scan.l).
    """
    at = 0
    while at < len(sql):
        found = _PIECE.match(sql, at)
        assert found is not None
        kind, end = found.lastgroup or "", found.end()
        if kind == "tag":
            kind = "dollar"
        if kind == "comment":
            end, kind = _end_comment(sql, end), "blank"
        elif kind == "dollar":
            stop = sql.find(found[0], end)
            end = len(sql) if stop < 0 else stop + len(found[0])
        elif kind == "escaped":
            kind = "string"
        yield Piece(kind, sql[at:end])
        at = end


def _end_comment(sql: str, at: int) -> int:
    depth = 1
    while depth:
        found = _COMMENT_PART.search(sql, at)
        if found is None:
            return len(sql)
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at


class Clock:
    """Writes the clock of statements.

    now: the instant, in UTC; None: there is none.
    zone: the time zone of the session, in which a date begins.
    """

    def __init__(self, now: str | None, zone: str) -> None:
        self._words: dict[str, str] = {}
        if now is not None:
            instant = datetime.fromisoformat(now).replace(tzinfo=UTC)
            place = UTC if zone == "UTC" else ZoneInfo(zone)
            local = instant.astimezone(place).replace(tzinfo=None)
            day = local.replace(hour=0, minute=0, second=0, microsecond=0)
            self._words = {
                "now": local.isoformat(" "),
                "today": f"{day.date()}",
                "tomorrow": f"{day.date() + timedelta(days=1)}",
                "yesterday": f"{day.date() - timedelta(days=1)}",
            }

    def call_clock(self, sql: str, *, has_bodies: bool = False) -> str:
        """Return a statement in which the words of the clock are calls.

        has_bodies: a text in dollars is SQL, too: the body of a function.

        >>> Clock("2025-01-30", "UTC").call_clock("SELECT CURRENT_DATE, 'today'::date, a.localtime")
        'SELECT "current_date"(), \\'2025-01-30\\'::date, a.localtime'
        """
        if not _has_mark(sql):
            return sql
        pieces = [*list_pieces(sql)]
        solid = [number for number, piece in enumerate(pieces) if piece.kind != "blank"]
        written = [piece.text for piece in pieces]
        for place, number in enumerate(solid):
            kind, text = pieces[number]
            before = [pieces[each].text.lower() for each in solid[max(0, place - 5) : place]]
            after = [pieces[each].text.lower() for each in solid[place + 1 : place + 3]]
            if kind == "word" and text.lower() in _CALLED and not _is_name(before):
                written[number] = f'"{text.lower()}"' + "()" * (after[:1] != ["("])
            elif kind == "string" and text[1:-1].strip().lower() in self._words:
                if _is_time(before, after):
                    written[number] = f"'{self._words[text[1:-1].strip().lower()]}'"
            elif kind == "dollar" and has_bodies:
                mark = text[: text.index("$", 1) + 1]
                body = text[len(mark) : -len(mark)]
                written[number] = mark + self.call_clock(body, has_bodies=True) + mark
        return "".join(written)


def _has_mark(sql: str) -> bool:
    lowered = sql.lower()
    return any(mark in lowered for mark in _MARKS)


def _is_name(before: list[str]) -> bool:
    return before[-1:] in (["."], ["as"])


def _is_time(before: list[str], after: list[str]) -> bool:
    """Return whether a text is read as a time: `date 'today'`, `'today'::date`, or
    `CAST('today' AS date)`."""
    if after[:1] == ["::"] or before[-2:] == ["cast", "("]:
        return after[1:2] != [] and after[1] in _TIME_TYPES
    if before[-1:] and before[-1] in _TIME_TYPES:
        return True
    return before[-2:] == ["time", "zone"] and before[-4:-3] != [] and before[-4] in _TIME_TYPES


def find_refusal(sql: str) -> tuple[Reason, str] | None:
    """Return why a query is refused by its text alone: it asks who it is, or takes a random sample.

    >>> find_refusal("SELECT current_user")[1]
    'function current_user depends on more than the database'
    """
    if not _has_mark(sql):
        return None
    pieces = [piece for piece in list_pieces(sql) if piece.kind != "blank"]
    for index, (kind, text) in enumerate(pieces):
        name = text.lower()
        before = [piece.text.lower() for piece in pieces[max(0, index - 1) : index]]
        if kind == "word" and name in (*_WHO, _SAMPLE) and not _is_name(before):
            detail = f"function {name} depends on more than the database"
            return Reason.NONDETERMINISTIC_FUNCTION, detail
    return None
