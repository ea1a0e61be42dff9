"""Measures: what the name of a column says of its values, and a word of what it compares.

The youngest has the least age and the greatest date of birth; the first rank is the best.
"""

from __future__ import annotations

import re
from functools import lru_cache

SIZE, AGE, DATE, RANK = "size", "age", "date", "rank"

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DATES = frozenset(
    [
        "date",
        "datetime",
        "day",
        "year",
        "time",
        "timestamp",
        "dob",
        "birth",
        "birthday",
        "birthdate",
        "birthyear",
        "born",
        "founded",
        "founding",
        "established",
        "built",
        "opened",
        "opening",
        "since",
        "start",
        "started",
        "end",
        "ended",
        "from",
        "to",
        "hired",
        "joined",
        "released",
        "created",
        "updated",
        "inception",
    ]
)
_RANKS = frozenset(["rank", "ranking", "position", "place", "standing", "seed", "grade"])


@lru_cache(maxsize=65_536)
def split_name(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters.

    >>> split_name("dateOfBirth"), split_name("Built_in_2nd")
    (('date', 'of', 'birth'), ('built', 'in', '2', 'nd'))
    """
    return tuple(part.lower() for part in _PART.findall(name))


@lru_cache(maxsize=65_536)
def read_measure(name: str, declared_type: str = "") -> str | None:
    """AGE, DATE or RANK, by the name of a column and by its declared type; None for others.

    >>> read_measure("Birth_Year"), read_measure("age"), read_measure("years_worked")
    ('date', 'age', None)
    """
    words = split_name(name)
    if "age" in words:
        return AGE
    if _RANKS.intersection(words):
        return RANK
    is_date = (
        not _DATES.isdisjoint(words)
        or (words and words[-1].endswith(("date", "year")))
        or declared_type.upper().startswith(("DATE", "TIME", "YEAR"))
    )
    return DATE if is_date else None
