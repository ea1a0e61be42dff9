"""Superlatives: the words of a question that ask for the least or for the most of something."""

from __future__ import annotations

import re
from typing import NamedTuple

from answerkey.english.measures import AGE, DATE, SIZE
from answerkey.english.question import Question, Word, word_set
from answerkey.english.stated_numbers import ORDINAL, Number, list_numbers

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
# adjectives of which the most is the least of what a column measures: "the most inexpensive"
_DOWN = word_set("cheap inexpensive small low short young poor poorly light few seldom rarely")
_RECENT = frozenset({"recent", "recently"})
_COMPASS = frozenset({"south", "southern", "west", "western"})  # the least latitude
_MAX_WORDS_AFTER = 3  # of `most`, which may say of what


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

    >>> question = Question("the oldest of those with at least 2 of the fewest")
    >>> [(asked.text, asked.pole, asked.measure) for asked in find_superlatives(question)]
    [('oldest', 'most', 'age'), ('fewest', 'least', 'size')]
    """
    words = question.plain_words
    superlatives = []
    for word_index, word in enumerate(words):
        after = words[word_index + 1 : word_index + 1 + _MAX_WORDS_AFTER]
        if word.text in (LEAST, MOST):
            before = words[word_index - 1].text if word_index else ""
            following = after[0].text if after else ""
            is_other = before == "at" or following == "of"  # at least 5; most of them
            if not is_other and not list_numbers(following):
                superlatives.append(_read_adverb(word.text, following, tuple(after)))
        elif word.text in _LEXICON and _COMPASS.isdisjoint(other.text for other in after[:2]):
            superlatives.append(Superlative(word.text, *_LEXICON[word.text]))
    return superlatives


def _read_adverb(pole: str, adjective: str, words: tuple[Word, ...]) -> Superlative:
    text = f"{pole} {adjective}".strip()
    if adjective in _RECENT:
        return Superlative(text, pole, DATE)
    return Superlative(text, _OPPOSITE[pole] if adjective in _DOWN else pole, SIZE, words)


_TOP = re.compile(r"\b(?:top|bottom) $")  # "the last 3" may be years
_NEXT_WORD = re.compile(r" ([a-z]+)\b")
_SUPERLATIVES = _LEXICON.keys() | {LEAST, MOST, "best", "worst", "expensive"}


def list_extremes(question: Question) -> list[int]:
    """Return the indexes of the words of a question that ask for the least or the most.

    >>> list_extremes(Question("the oldest of those with the most berths"))
    [1, 6]
    """
    return [index for index, word in enumerate(question.words) if word.text in _SUPERLATIVES]


def list_limits(question: Question) -> list[Number]:
    """Return the numbers of rows that a question asks for.

    >>> question = Question("Show the top 3 ports, and the two oldest ships of the last 5 years.")
    >>> [number.values for number in list_limits(question)]
    [(3,), (2,)]
    """
    text = question.plain_text
    return [
        number
        for number in list_numbers(text)
        if number.form != ORDINAL  # "the second highest" is one
        and (_TOP.search(text[: number.start]) or _is_before_superlative(text, number))
    ]


def _is_before_superlative(text: str, number: Number) -> bool:
    following = _NEXT_WORD.match(text, number.end)
    return following is not None and following[1] in _SUPERLATIVES
