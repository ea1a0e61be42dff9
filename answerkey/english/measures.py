"""What the name of a column says of its values.

The youngest has the least age and the greatest date of birth. The first rank is the best.
"""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.english.columns import split_words
from answerkey.english.question import word_set

SIZE, AGE, DATE, RANK = "size", "age", "date", "rank"

_DATES = word_set(
    "date datetime day year time timestamp dob birth birthday birthdate birthyear born founded "
    "founding established built opened opening since start started end ended from to hired joined "
    "released created updated inception"
)
_RANKS = word_set("rank ranking position place standing seed grade")


@lru_cache(maxsize=65_536)
def read_measure(name: str, declared_type: str = "") -> str | None:
    """AGE, DATE or RANK, by the name of a column and by its declared type; None for others.

    >>> read_measure("Birth_Year"), read_measure("age"), read_measure("years_worked")
    ('date', 'age', None)
    """
    words = split_words(name)
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


_NEVER_ZERO = word_set("height weight age year length width depth distance temperature diameter")


def is_never_zero(name: str) -> bool:
    """Return whether a column measures what nothing has none of, by its name: a person of height 0
    is one whom nobody measured.

    >>> is_never_zero("height_cm"), is_never_zero("goals")
    (True, False)
    """
    return not _NEVER_ZERO.isdisjoint(re.findall("[a-z]+", name.lower()))
