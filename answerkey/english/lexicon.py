"""Lexicon: words of general English that stand for the numbers and values that databases hold."""

from __future__ import annotations

_MONTH_NAMES = """
january february march april may june july august september october november december
"""
_DAY_NAMES = "sunday monday tuesday wednesday thursday friday saturday"  # 0 to 6, as strftime
_EMPTY_WORDS = "a an and as at by for from in is of on or the to with"
_YES_NO = "y n t f yes no true false null none nil na nan n/a 0 1"
_MONTHS, _DAYS = _MONTH_NAMES.split(), _DAY_NAMES.split()
EMPTY_WORDS = frozenset(_EMPTY_WORDS.split())
YES_NO = frozenset(_YES_NO.split())

# The numbers that a word may stand for, apart from those that name a number.
HINTS: dict[str, tuple[float, ...]] = {
    "once": (1,),
    "single": (1,),
    "twice": (2,),
    "double": (2,),
    "couple": (2,),
    "pair": (2,),
    "pairs": (2,),
    "both": (2,),
    "several": (2,),
    "multiple": (2,),
    "thrice": (3,),
    "triple": (3,),
    "half": (0.5, 50),
    "quarter": (0.25, 25),
    "decade": (10,),
    "century": (100,),
    "adult": (18, 21),
    "adults": (18, 21),
    "minor": (18,),
    "minors": (18,),
    "teenager": (13, 19, 20),
    "teenagers": (13, 19, 20),
    "weekend": (0, 5, 6, 7),
    "weekends": (0, 5, 6, 7),
}
for _place, _month in enumerate(_MONTHS, start=1):
    HINTS[_month] = HINTS[_month[:3]] = HINTS[_month[:4]] = (_place,)
for _place, _day in enumerate(_DAYS):
    # Sunday is 0, or 7, or the first of seven.
    HINTS[_day] = HINTS[_day[:3]] = HINTS[f"{_day}s"] = (_place, _place or 7, _place + 1)
CALENDAR = frozenset(
    form for name in (*_MONTHS, *_DAYS) for form in (name, name[:3], name[:4], f"{name}s")
)

# What a number of a unit is in other units: an hour is 60 minutes or 3600 seconds.
UNITS: dict[str, tuple[float, ...]] = {
    "second": (1000, 1 / 60),
    "minute": (60, 60_000, 1 / 60),
    "hour": (60, 3600, 3_600_000, 1 / 24),
    "day": (24, 1440, 86_400, 1 / 7),
    "week": (7, 168),
    "month": (30, 1 / 12),
    "year": (12, 365),
    "decade": (10,),
    "century": (100,),
    "meter": (100, 1000, 1 / 1000),
    "metre": (100, 1000, 1 / 1000),
    "kilometer": (1000,),
    "kilometre": (1000,),
    "km": (1000,),
    "gram": (1 / 1000,),
    "kilogram": (1000,),
    "kg": (1000,),
    "ton": (1000,),
    "tonne": (1000,),
    "dollar": (100, 1 / 1000, 1e-6, 1e-9),
    "euro": (100, 1 / 1000, 1e-6, 1e-9),
    "million": (1 / 1000, 1e-9),
    "billion": (1000, 1e-6),
    "percent": (0.01,),
}

# Words of a line stand for each other.
_GROUPS = """
female woman women girl girls lady ladies she her mother mothers wife actress f w
male man men boy boys gentleman gentlemen he him father fathers husband m
american americans usa us u.s. u.s.a states america
british uk u.k. england english britain kingdom gb
french france
german germany germans
spanish spain
dutch netherlands holland
greek greece
swiss switzerland
danish denmark
polish poland
irish ireland
swedish sweden
welsh wales
turkish turkey
"""
SYNONYMS = {
    word: frozenset(group.split())
    for group in _GROUPS.strip().splitlines()
    for word in group.split()
}
