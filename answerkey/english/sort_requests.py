"""Sort requests: where a question asks for an order, and in which direction."""

from __future__ import annotations

import re
from typing import NamedTuple

from answerkey.english.question import Question

ASCENDING, DESCENDING = "ascending", "descending"

_HIGH = "highest|high|largest|large|most|oldest|old|longest|long|biggest|big|newest|greatest"
_LOW = "lowest|low|smallest|small|least|fewest|youngest|young|shortest|short"
_DIRECTION = re.compile(
    r"\b(?:(?P<down>descend(?:ing|ingly|s)?|decreas(?:ing|ingly)|desc|reversed?"
    rf"|(?:{_HIGH}|latest) to (?:the )?(?:{_LOW}|earliest|oldest))"
    rf"|(?P<up>ascend(?:ing|ingly|s)?|increasing|asc"
    rf"|(?:{_LOW}|earliest) to (?:the )?(?:{_HIGH}|latest))"
    r"|(?P<letters>alphabetic\w*|lexicograph\w*)|(?P<time>chronological\w*))\b"
)
_NAMES = (
    "ascending|descending|increasing|decreasing|alphabetical|alphabetic|lexicographical"
    "|chronological"
)
_REQUEST = re.compile(
    r"\b(?:sort(?:ed|ing)? (?:\w+ ){0,6}?(?:by|in|on|according|from|using|alphabetically)\b"
    r"|sorted\b"
    r"|order(?:ed|ing)? (?:\w+ ){0,4}?by\b"
    r"|(?:in|by) (?:the )?order of\b"
    rf"|(?:in|with) (?:\w+ ){{0,2}}(?:{_NAMES}) (?:\w+ )?order"
    r"|ranked by\b|rank \w+ by\b)"
)


class SortRequest(NamedTuple):
    """What a question says of the order of its answer.

    text: the words that ask for it.
    directions: ASCENDING and DESCENDING as they are asked for, in order.
    by_letters: whether it is the order of the alphabet.
    by_age: whether old and young give the direction, which dates of birth have the other way.
    """

    text: str
    directions: tuple[str, ...]
    by_letters: bool
    by_age: bool


def find_sort_request(question: Question) -> SortRequest | None:
    """What a question says of the order of its answer; None where it says nothing.

    >>> find_sort_request(Question("Names of ports, sorted by depth, descending."))
    SortRequest(text='sorted by', directions=('descending',), by_letters=False, by_age=False)
    """
    text = question.plain_text
    directions: list[str] = []
    by_letters, by_age, first = False, False, None
    for match in _DIRECTION.finditer(text):
        first = first or match
        if match["letters"]:
            by_letters = True
        elif not match["time"]:
            by_age = by_age or "old" in match.group() or "young" in match.group()
            directions.append(DESCENDING if match["down"] else ASCENDING)
    request = _REQUEST.search(text)
    if request is None and first is None:
        return None
    return SortRequest((request or first).group(), tuple(directions), by_letters, by_age)
