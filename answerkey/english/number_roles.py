"""Number roles: what a number of a question is for, by the words beside it."""

from __future__ import annotations

import re

from answerkey.english.numbers import Number

COUNT_OF_FIRST, COMPARED, KNOWN = "count_of_first", "compared", "known"

_BESIDE = 60  # characters before and after a number
_TOP = re.compile(r"\b(?:top|first|last|best|bottom)\s+$", re.IGNORECASE)
_SUPERLATIVE = re.compile(r"\s+(?:\w+\s+)?(?:\w{2,20}est|most|least|top)\b", re.IGNORECASE)
_THE = re.compile(r"\b(?:the|these|those|all|our|their|its)\s+$", re.IGNORECASE)
_LATER_SUPERLATIVE = re.compile(r"\b(?:\w{2,20}est|most|least)\b", re.IGNORECASE)
_THAN = re.compile(
    r"\b(?:than|at (?:least|most)|exactly|only|over|under|above|below|up to|equals?(?: to)?)\s+$",
    re.IGNORECASE,
)
_OR_MORE = re.compile(r"\s+or\s+(?:more|less|fewer|above|below|over|under)\b", re.IGNORECASE)


def find_number_role(text: str, number: Number) -> str | None:
    """Whether a number counts the first rows that are wanted, something is compared with it, or it
    says how many there are, as in "the two names"; None where the words beside it do not tell.

    >>> from answerkey.english.numbers import list_numbers
    >>> text = "the 2 names of the three cheapest ships with at least 2 masts"
    >>> [find_number_role(text, number) for number in list_numbers(text)]
    ['known', 'count_of_first', 'compared']
    """
    before = text[max(0, number.start - _BESIDE) : number.start]
    after = text[number.end : number.end + _BESIDE]
    if _THAN.search(before) or _OR_MORE.match(after):
        return COMPARED
    if _TOP.search(before) or _SUPERLATIVE.match(after):
        return COUNT_OF_FIRST
    if _THE.search(before):
        return COUNT_OF_FIRST if _LATER_SUPERLATIVE.search(after.split(" of ")[0]) else KNOWN
    return None
