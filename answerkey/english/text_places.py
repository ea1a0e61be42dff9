"""Text places: where in a text a question wants a word to stand: anywhere, at its start or end."""

from __future__ import annotations

import re

ANYWHERE, START, END = "anywhere", "start", "end"

_BEFORE = 60  # characters before a value that say where it is to stand
_AFTER = 30
_QUOTES = " '\"“”‘’`%"
_TO_VALUE = r"(?:\W+(?!(?:and|or)\b)\w+){0,3}\W*$"
_PLACES = tuple(
    (place, re.compile(rf"\b(?:{words}){_TO_VALUE}", re.IGNORECASE))
    for place, words in (
        (START, r"(?:start|begin)\w* (?:with|by)|prefix"),
        (END, r"end(?:s|ed|ing)? (?:with|in|by)|suffix"),
        (
            ANYWHERE,
            r"contain(?:s|ed|ing)?|includ(?:e|es|ed|ing)|substrings?"
            r"|(?:ha(?:s|ve|ving|d)|with) (?:the )?(?:word|phrase|string|letters?)",
        ),
    )
)
_IN_ITS_NAME = re.compile(r"\W*\s(?:in|within)\s+(?:its|their|his|her|the)\s+\w*(?:name|title)")


def find_asked_place(text: str, start: int, end: int) -> tuple[str, str] | None:
    """Where a text says that the value between two of its places is to stand, and the words that
    say so; None where it says nothing.

    >>> text = "Ships whose name starts with 'Sun'"
    >>> find_asked_place(text, 29, 34)
    ('start', 'starts with')
    """
    before = text[max(0, start - _BEFORE) : start]
    for place, pattern in _PLACES:
        match = pattern.search(before)
        if match is not None:
            return place, match.group().strip(_QUOTES)
    after = _IN_ITS_NAME.match(text[end : end + _AFTER])
    return (ANYWHERE, after.group().strip(_QUOTES)) if after is not None else None
