"""How a question compares with a number: whether it includes the number, and which side it asks
for."""

from __future__ import annotations

import re
from typing import NamedTuple

from answerkey.english.question import Question, word_set
from answerkey.english.stated_numbers import ORDINAL, list_numbers

_DEGREES = word_set(
    "large big great huge major small little tiny high low old young new recent modern long short "
    "famous popular successful good bad normal abnormal typical"
)
_MAX_NUMBERS = 100  # of a text: it may be hostile
_MAX_CHARACTERS = 10_000  # of a text, for the same reason
_WINDOW = 64  # characters before a number that may hold its comparative

_GREATER = word_set("more greater larger higher bigger taller longer heavier wider deeper")
_SMALLER = word_set("less fewer smaller lower shorter lighter cheaper narrower")
_COMPARED = "|".join(sorted(_GREATER | _SMALLER))
_NO = r"(?:no|not|n't|never)"
_MONTH = (
    r"jan\w*|feb\w*|mar|march|apr\w*|may|jun|june|jul|july|aug|august|sep\w*|oct\w*|nov\w*|dec\w*"
)
_FILLER = (
    r"(?:\s+(?:the|a|an|age|ages|aged|year|years|season|of|in|date|day|grade|level|about|number|"
    rf"size|score|value|{_MONTH}|[0-9]{{1,2}}(?:st|nd|rd|th)?),?)*[\s$£€]*$"
)
_TAKES_IN = re.compile(
    rf"(?<!\w)(at least|at most|{_NO} (?:{_COMPARED}|earlier|later|younger|older) than"
    rf"|(?:{_COMPARED}) than or equals? to|(?:max|min)(?:imum)? of|up to|not exceed(?:ing)?"
    rf"|(?:on|at|to) (?:and|or) (?:above|over|below|under|(?:{_COMPARED}) than)|>=|<="
    rf"|reach(?:es|ed|ing)?|(?:on )?or (?:after|before)|since|until|starting (?:from|in)){_FILLER}"
)
_LEAVES_OUT = re.compile(
    rf"(?<!\w)((?:{_COMPARED}) (?:\w+ ){{0,3}}?than|(?:older|younger|later|earlier|newer) than"
    rf"|more recent(?:ly)? than|over|above|exceed(?:s|ed|ing)?|beyond|in excess of|under|below"
    rf"|beneath|after|before|prior to|>|<){_FILLER}"
)
_OR_MORE = re.compile(
    rf"\s*(?:[a-z]+ )?(?:or|and) (?:{_COMPARED}|above|over|up|below|under|older|younger|later|after"
    r"|newer|earlier|before)\b"
    r"(?! than)(?!\s+[$£€]?[0-9])"
)
_BETWEEN = re.compile(r"\bbetween(?:\s+(?:the|years?|ages?|ids?))*[\s$£€]*$")
_BETWEEN_AND = re.compile(r"\s*(?:and|to|-)\s*(?:the )?[\s$£€]*$")
_EXCLUSIVE = re.compile(r"\b(?:exclusive(?:ly)?|strictly)\b")
_NEGATION = re.compile(r"\b(?:not|never|no|without|except|neither|cannot|excluding)\b|n't\b")
_MORE = _GREATER | {"over", "above", "exceeding", "exceeds", "least"}
_LESS = _SMALLER | {"under", "below", "most"}


class Comparative(NamedTuple):
    """A comparison with a number that a question states.

    text: its words. is_strict: whether the number itself is left out. value: the number.
    is_negated: whether a negation is before it.
    """

    text: str
    is_strict: bool
    value: float
    is_negated: bool = False

    @property
    def way(self) -> str | None:
        """`<` or `>`, if the comparison begins with a word of size."""
        word = self.text.removeprefix("at ").split()[0]
        return ">" if word in _MORE else "<" if word in _LESS else None


def find_comparatives(question: Question) -> list[Comparative]:
    """Return the comparisons with a number that a question states, in order of their numbers.

    >>> comparatives = find_comparatives(Question("at least 3, under 20"))
    >>> [(comparative.is_strict, comparative.value) for comparative in comparatives]
    [(False, 3), (True, 20)]
    """
    text = question.plain_text[:_MAX_CHARACTERS]
    comparatives: list[Comparative] = []
    range_end = None
    numbers = [n for n in list_numbers(text) if n.is_alone and n.form != ORDINAL]
    for number in numbers[:_MAX_NUMBERS]:
        before = text[max(0, number.start - _WINDOW) : number.start]
        is_end = range_end is not None and _BETWEEN_AND.match(text[range_end : number.start])
        if is_end or _BETWEEN.search(before):
            is_strict = _EXCLUSIVE.search(text) is not None
            comparatives.append(Comparative("between", is_strict, number.values[0]))
            range_end = None if is_end else number.end
            continue
        range_end = None
        match = _TAKES_IN.search(before) or _LEAVES_OUT.search(before)
        start, end = number.start, number.end
        if match is not None:
            start += match.start(1) - len(before)
        elif (after := _OR_MORE.match(text, end, end + _WINDOW)) is not None:
            end = after.end()
        else:
            continue
        is_strict = match is not None and match.re is _LEAVES_OUT
        is_negated = _is_negated(text, start)
        comparatives.append(Comparative(text[start:end], is_strict, number.values[0], is_negated))
    return comparatives


def _is_negated(text: str, start: int) -> bool:
    clause = re.split(r"[,;.?!]|\b(?:and|or|but)\b", text[max(0, start - _WINDOW) : start])[-1]
    return _NEGATION.search(clause) is not None


def mentions_degree(question: Question) -> bool:
    """Return whether a question or its evidence has a word that may set a bound on many things.

    >>> mentions_degree(Question("Which large ships are there?"))
    True
    """
    return not _DEGREES.isdisjoint(word.text for word in question.said_words)
