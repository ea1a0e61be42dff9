"""Measures: what the name of a column says of its values, and a word of what it compares.

The youngest has the least age and the greatest date of birth; the first rank is the best.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from answerkey.english.columns import split_words
from answerkey.english.numbers import ORDINAL, list_numbers
from answerkey.english.question import Question, Word, word_set

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


# Comparatives: whether a question leaves out the number that it compares with, or takes it in.
#
# >>> [(one.is_strict, one.value) for one in find_comparatives(Question("at least 3, under 20"))]
# [(False, 3), (True, 20)]


_MOST_NUMBERS = 100  # of a text: it may be hostile
_LONGEST_TEXT = 10_000
_WINDOW = 64  # characters before a number in which its comparative stands

_COMPARED = (
    "more|greater|larger|higher|bigger|taller|longer|heavier|wider|deeper|less|fewer|smaller|lower"
    "|shorter|lighter|cheaper|narrower"
)
_NO = r"(?:no|not|n't|never)"
_MONTHS = (
    r"jan\w*|feb\w*|mar|march|apr\w*|may|jun|june|jul|july|aug|august|sep\w*|oct\w*|nov\w*|dec\w*"
)
_FILLER = (
    r"(?:\s+(?:the|a|an|age|ages|aged|year|years|season|of|in|date|day|grade|level|about|number|"
    rf"size|score|value|{_MONTHS}|[0-9]{{1,2}}(?:st|nd|rd|th)?),?)*[\s$£€]*$"
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
_NEGATION = re.compile(r"\b(?:not|never|no|without|except|neither|cannot|excluding)\b|n't\b")
_MORE = word_set("more greater larger higher over above exceeding exceeds least")
_LESS = word_set("less fewer smaller lower under below most")


class Comparative(NamedTuple):
    """A comparison with a number that a question states: its words, whether the number itself is
    left out, the number, and whether a negation stands before it."""

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
    """Return the comparisons with a number that a question states, in order of their numbers."""
    text = question.plain_text[:_LONGEST_TEXT]
    found: list[Comparative] = []
    range_end = None
    numbers = [n for n in list_numbers(text) if n.is_alone and n.form != ORDINAL]
    for number in numbers[:_MOST_NUMBERS]:
        before = text[max(0, number.start - _WINDOW) : number.start]
        is_end = range_end is not None and _BETWEEN_AND.match(text[range_end : number.start])
        if is_end or _BETWEEN.search(before):
            found.append(Comparative("between", False, number.values[0]))
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
        found.append(Comparative(text[start:end], is_strict, number.values[0], is_negated))
    return found


def _is_negated(text: str, start: int) -> bool:
    clause = re.split(r"[,;.?!]|\b(?:and|or|but)\b", text[max(0, start - _WINDOW) : start])[-1]
    return _NEGATION.search(clause) is not None


# Superlatives: which words of a question ask for the least or for the most of something.


LEAST, MOST = "least", "most"
_OPPOSITE = {LEAST: MOST, MOST: LEAST}

_WORDS_SUPERLATIVES = {
    (MOST, SIZE): "largest biggest highest greatest maximum max maximal longest tallest heaviest"
    " priciest richest busiest widest deepest farthest furthest strongest costliest",
    (LEAST, SIZE): "smallest lowest fewest minimum min minimal shortest lightest cheapest tiniest"
    " narrowest shallowest nearest closest weakest",
    (MOST, AGE): "oldest eldest",
    (LEAST, AGE): "youngest newest",
    (MOST, DATE): "latest",
    (LEAST, DATE): "earliest",
}
_LEXICON = {word: sense for sense, words in _WORDS_SUPERLATIVES.items() for word in words.split()}
_DOWN = word_set("cheap inexpensive small low short young poor poorly light few seldom rarely")
_RECENT = frozenset({"recent", "recently"})
_BOUND_BEFORE = frozenset({"at"})  # at least, at most: a comparison
_COMPASS = frozenset({"south", "southern", "west", "western"})  # the least latitude
_PART_AFTER = frozenset({"of"})  # most of them: nearly all
_WORDS_AFTER = 3


class Superlative(NamedTuple):
    """A superlative of a question.

    text: its words. pole: LEAST or MOST. measure: SIZE, AGE or DATE.
    words: the words after `most` or `least` that may say of what; none if the word itself says it.
    """

    text: str
    pole: str
    measure: str
    words: tuple[Word, ...] = ()


def find_superlatives(question: Question) -> list[Superlative]:
    """Return the superlatives of a question outside of its quotations, in order.

    >>> found = find_superlatives(Question("the oldest of those with at least 2 of the fewest"))
    >>> [(one.text, one.pole, one.measure) for one in found]
    [('oldest', 'most', 'age'), ('fewest', 'least', 'size')]
    """
    words = question.plain_words
    found = []
    for place, word in enumerate(words):
        after = words[place + 1 : place + 1 + _WORDS_AFTER]
        if word.text in (LEAST, MOST):
            before = words[place - 1].text if place else ""
            following = after[0].text if after else ""
            is_number = bool(list_numbers(following))
            if before not in _BOUND_BEFORE and following not in _PART_AFTER and not is_number:
                found.append(_read_adverb(word.text, following, tuple(after)))
        elif word.text in _LEXICON and not _COMPASS.intersection(one.text for one in after[:2]):
            found.append(Superlative(word.text, *_LEXICON[word.text]))
    return found


def _read_adverb(pole: str, adjective: str, words: tuple[Word, ...]) -> Superlative:
    text = f"{pole} {adjective}".strip()
    if adjective in _RECENT:
        return Superlative(text, pole, DATE)
    return Superlative(text, _OPPOSITE[pole] if adjective in _DOWN else pole, SIZE, words)
