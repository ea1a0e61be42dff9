"""Comparatives: how a question compares something with a number or with an average.

>>> [(one.operator, one.value) for one in find_comparatives(Question("at least 3, under 20"))]
[('>=', 3.0), ('<', 20.0)]
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from answerkey.english.measures import AGE, DATE, SIZE
from answerkey.english.question import Question

_MOST_NUMBERS = 100  # of a text: it may be hostile
_WINDOW = 64  # characters before a number in which its comparative stands

_MORE = "more|greater|larger|higher|bigger|taller|longer|heavier|wider|deeper"
_LESS = "less|fewer|smaller|lower|shorter|lighter|cheaper|narrower"
_NO = r"(?:no|not|n't|never)"
_NOUNS = r"(?:\w+ ){0,3}?"
_MONTHS = (
    r"jan\w*|feb\w*|mar|march|apr\w*|may|jun|june|jul|july|aug|august|sep\w*|oct\w*|nov\w*|dec\w*"
)
_FILLER = (
    r"(?:\s+(?:the|a|an|age|ages|aged|year|years|season|of|in|date|day|grade|level|about|number|"
    rf"size|score|value|{_MONTHS}|[0-9]{{1,2}}(?:st|nd|rd|th)?),?)*[\s$£€]*$"
)
_PHRASES = [
    (">=", SIZE, rf"at least|{_NO} (?:{_LESS}) than|(?:{_MORE}) than or equals? to|min(?:imum)? of"
     rf"|(?:on|at|to) (?:and|or) (?:above|over|(?:{_MORE}) than)"),
    ("<=", SIZE, rf"at most|{_NO} (?:{_MORE}) than|(?:{_LESS}) than or equals? to|max(?:imum)? of"
     rf"|(?:on|at|to) (?:and|or) (?:below|under|(?:{_LESS}) than)|up to|not exceed(?:ing)?"),
    (">=", SIZE, r">=|reach(?:es|ed|ing)?"),
    ("<=", SIZE, "<="),
    (">", SIZE, ">"),
    ("<", SIZE, "<"),
    (">=", DATE, rf"on or after|since|{_NO} earlier than|starting (?:from|in)|or after"),
    ("<=", DATE, rf"on or before|until|{_NO} later than|or before"),
    (">=", AGE, rf"{_NO} younger than"),
    ("<=", AGE, rf"{_NO} older than"),
    (">", AGE, "older than"),
    ("<", AGE, "younger than"),
    (">", DATE, r"after|later than|newer than|more recent(?:ly)? than"),
    ("<", DATE, r"before|earlier than|prior to"),
    (">", SIZE, rf"(?:{_MORE}) {_NOUNS}than|over|above|exceed(?:s|ed|ing)?|beyond|in excess of"),
    ("<", SIZE, rf"(?:{_LESS}) {_NOUNS}than|under|below|beneath"),
]  # fmt: skip
_BEFORE = [
    (operator, measure, re.compile(rf"(?<!\w)({phrase}){_FILLER}"))
    for operator, measure, phrase in _PHRASES
]
_AFTER = re.compile(
    r"\s*(?:[a-z]+ )?(?:or|and) (?:(?P<ge>more|above|over|greater|higher|larger|bigger|longer|up)"
    r"|(?P<le>less|fewer|below|under|lower|smaller|shorter|cheaper)"
    r"|(?P<ge_age>older)|(?P<le_age>younger)"
    r"|(?P<ge_date>later|after|newer)|(?P<le_date>earlier|before))\b(?! than)(?!\s+[$£€]?[0-9])"
)
_BETWEEN = re.compile(r"\bbetween(?:\s+(?:the|years?|ages?|ids?))*[\s$£€]*$")
_BETWEEN_AND = re.compile(r"\s*(?:and|to|-)\s*(?:the )?[\s$£€]*$")
_NEGATION = re.compile(r"\b(?:not|never|no|without|except|neither|cannot|excluding)\b|n't\b")
_AVERAGE = re.compile(
    rf"(?<!\w)(?:(?P<le>{_NO} (?:{_MORE}) than)|(?P<ge>{_NO} (?:{_LESS}) than|at least)"
    rf"|(?P<gt>(?:{_MORE}) {_NOUNS}than|over|above|exceed(?:s|ed|ing)?)"
    rf"|(?P<lt>(?:{_LESS}) {_NOUNS}than|under|below)"
    r"|(?P<gt_age>older than)|(?P<lt_age>younger than))"
    r" (?:(?:the|its|their|all|of|overall) ){0,3}(?:average|mean|avg)\b"
)
_THAN = re.compile(
    rf"\b(?:older|younger|{_MORE}|{_LESS}) (?:\w+ ){{0,3}}?than "
    r"(?:(?P<all>all|every|each)|some|at least one)\b"
)
_PLAIN = re.compile(
    rf"\b(?:(?P<more>{_MORE})|(?P<less>{_LESS})|(?P<older>older)|(?P<younger>younger))"
    r" (?:\w+ ){0,3}?than\b"
)
_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
_WORDS = {word: value for value, word in enumerate(_COUNTED.split())}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS.split(), start=3)}
_WORDS |= {"once": 1, "twice": 2}
_NUMBER = re.compile(
    rf"(?<![\w.])(?:{'|'.join(_WORDS)}|[0-9]{{1,3}}(?:,[0-9]{{3}}){{1,4}}(?:\.[0-9]+)?"
    r"|[0-9]{1,15}(?:\.[0-9]{1,15})?)(?!\w|-\w|[.,][0-9])"
    r"|(?<!\w)[0-9]{4}(?=-[0-9]{2}-[0-9]{2}(?!\w))"  # the year of a date
)
_OPERATORS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


class Comparative(NamedTuple):
    """A comparison that a question states.

    text: its words. operator: >, >=, < or <=, of which "between" has two.
    measure: SIZE, AGE (older) or DATE (after). value: the number; None for an average.
    is_negated: whether a negation stands before it.
    """

    text: str
    operator: str
    measure: str
    value: float | None
    is_negated: bool


def find_comparatives(question: Question) -> list[Comparative]:
    """The comparisons with a number that a question states, in order of their numbers."""
    text = question.plain_text
    found: list[Comparative] = []
    range_end = None
    for number in islice(_NUMBER.finditer(text), _MOST_NUMBERS):
        value = read_number(number.group())
        before = text[max(0, number.start() - _WINDOW) : number.start()]
        if range_end is not None and _BETWEEN_AND.match(text[range_end : number.start()]):
            found.append(Comparative("between", "<=", SIZE, value, False))
            range_end = None
        elif _BETWEEN.search(before):
            found.append(Comparative("between", ">=", SIZE, value, False))
            range_end = number.end()
        else:
            range_end = None
            one = _read_before(text, before, number) or _read_after(text, number)
            if one is not None:
                found.append(one)
    return found


def find_average_comparatives(question: Question) -> list[Comparative]:
    """The comparisons with an average that a question states.

    >>> found = find_average_comparatives(Question("ships with more crew than the average"))
    >>> [(one.operator, one.text) for one in found]
    [('>', 'more crew than the average')]
    """
    text = question.plain_text
    found = []
    for match in _AVERAGE.finditer(text):
        kind, _, measure = match.lastgroup.partition("_")
        is_negated = _is_negated(text, match.start())
        operator = _OPERATORS[kind]
        found.append(Comparative(match.group(), operator, measure or SIZE, None, is_negated))
    return found


def find_plain_comparatives(question: Question) -> list[Comparative]:
    """The comparisons with "than" that a question states, whatever with.

    >>> [one.operator for one in find_plain_comparatives(Question("deeper than the port of Alda"))]
    ['>']
    """
    text = question.plain_text
    return [
        Comparative(
            match.group(),
            ">" if match["more"] or match["older"] else "<",
            AGE if match["older"] or match["younger"] else SIZE,
            None,
            _is_negated(text, match.start()),
        )
        for match in _PLAIN.finditer(text)
    ]


def find_quantified_comparatives(question: Question) -> list[tuple[str, bool]]:
    """The comparisons with several things: its words, and whether with all of them or with some.

    >>> find_quantified_comparatives(Question("ships that are older than all ships of Alda"))
    [('older than all', True)]
    """
    return [
        (match.group(), match["all"] is not None) for match in _THAN.finditer(question.plain_text)
    ]


def read_number(text: str) -> float | None:
    """The number that a text is, in digits or as a word; None where it is none.

    >>> read_number("1,200.5"), read_number("twelve"), read_number("twice"), read_number("A4")
    (1200.5, 12.0, 2.0, None)
    """
    if _NUMBER.fullmatch(text) is None:
        return None
    return float(_WORDS[text] if text in _WORDS else text.replace(",", ""))


def _read_before(text: str, before: str, number: re.Match[str]) -> Comparative | None:
    for operator, measure, pattern in _BEFORE:
        match = pattern.search(before)
        if match is not None:
            start = number.start() - len(before) + match.start(1)
            shown, value = text[start : number.end()], read_number(number.group())
            return Comparative(shown, operator, measure, value, _is_negated(text, start))
    return None


def _read_after(text: str, number: re.Match[str]) -> Comparative | None:
    match = _AFTER.match(text, number.end(), number.end() + _WINDOW)
    if match is None:
        return None
    kind, _, measure = match.lastgroup.partition("_")
    shown, value = text[number.start() : match.end()], read_number(number.group())
    is_negated = _is_negated(text, number.start())
    return Comparative(shown, _OPERATORS[kind], measure or SIZE, value, is_negated)


def _is_negated(text: str, start: int) -> bool:
    clause = re.split(r"[,;.?!]|\b(?:and|or|but)\b", text[max(0, start - _WINDOW) : start])[-1]
    return _NEGATION.search(clause) is not None
