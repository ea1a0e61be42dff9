"""Measures: what the name of a column says of its values, and a word of what it compares.

The youngest has the least age and the greatest date of birth; the first rank is the best.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from answerkey.english.question import Question

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
def split_words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters.

    >>> split_words("dateOfBirth"), split_words("Built_in_2nd")
    (('date', 'of', 'birth'), ('built', 'in', '2', 'nd'))
    """
    return tuple(part.lower() for part in _PART.findall(name))


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


# Comparatives: how a question compares something with a number or with an average.
#
# >>> [(one.operator, one.value) for one in find_comparatives(Question("at least 3, under 20"))]
# [('>=', 3.0), ('<', 20.0)]


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


# Superlatives: which words of a question ask for the least or for the most of something.


LEAST, MOST = "least", "most"
OPPOSITE = {LEAST: MOST, MOST: LEAST}

_WORDS_SUPERLATIVES = {
    (MOST, SIZE): "largest biggest highest greatest maximum max maximal longest tallest heaviest"
    " priciest richest busiest widest deepest farthest furthest strongest costliest top",
    (LEAST, SIZE): "smallest lowest fewest minimum min minimal shortest lightest cheapest tiniest"
    " narrowest shallowest nearest closest weakest",
    (MOST, AGE): "oldest eldest",
    (LEAST, AGE): "youngest newest",
    (MOST, DATE): "latest",
    (LEAST, DATE): "earliest",
}
_LEXICON = {word: sense for sense, words in _WORDS_SUPERLATIVES.items() for word in words.split()}
_DOWN = frozenset(
    [
        "cheap",
        "inexpensive",
        "small",
        "low",
        "short",
        "young",
        "poor",
        "poorly",
        "light",
        "few",
        "seldom",
        "rarely",
    ]
)
_RECENT = frozenset({"recent", "recently"})
_BOUND_BEFORE = frozenset({"at"})  # at least, at most: a comparison
_COMPASS = frozenset({"south", "southern", "west", "western"})  # the least latitude
_PART_AFTER = frozenset({"of"})  # most of them: nearly all


class Superlative(NamedTuple):
    """A superlative: its text, whether it asks for the LEAST or the MOST, of SIZE, AGE or DATE, and
    which of the question's words it is."""

    text: str
    pole: str
    measure: str
    place: int


def find_superlatives(question: Question) -> list[Superlative]:
    """The superlatives of a question outside of its quotations, in order.

    >>> found = find_superlatives(Question("the oldest of those with at least 2 of the fewest"))
    >>> [(one.text, one.pole, one.measure) for one in found]
    [('oldest', 'most', 'age'), ('fewest', 'least', 'size')]
    """
    words = question.plain_words
    found = []
    for place, word in enumerate(words):
        if word.text in (LEAST, MOST):
            before = words[place - 1].text if place else ""
            after = words[place + 1].text if place + 1 < len(words) else ""
            if before in _BOUND_BEFORE or after in _PART_AFTER or read_number(after) is not None:
                continue
            found.append(_read_adverb(word.text, after, place))
        elif word.text in _LEXICON and not _COMPASS.intersection(
            other.text for other in words[place + 1 : place + 3]
        ):
            found.append(Superlative(word.text, *_LEXICON[word.text], place))
    return found


def _read_adverb(pole: str, adjective: str, place: int) -> Superlative:
    if adjective in _RECENT:
        return Superlative(f"{pole} {adjective}", pole, DATE, place)
    if adjective in _DOWN:
        return Superlative(f"{pole} {adjective}", OPPOSITE[pole], SIZE, place)
    return Superlative(f"{pole} {adjective}".strip(), pole, SIZE, place)


# Sort requests: where a question asks for an order, and in which direction.


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
