"""Superlatives: which words of a question ask for the least or for the most of something."""

from __future__ import annotations

from typing import NamedTuple

from answerkey.english.comparatives import read_number
from answerkey.english.measures import AGE, DATE, SIZE
from answerkey.english.question import Question

LEAST, MOST = "least", "most"
OPPOSITE = {LEAST: MOST, MOST: LEAST}

_WORDS = {
    (MOST, SIZE): "largest biggest highest greatest maximum max maximal longest tallest heaviest"
    " priciest richest busiest widest deepest farthest furthest strongest costliest top",
    (LEAST, SIZE): "smallest lowest fewest minimum min minimal shortest lightest cheapest tiniest"
    " narrowest shallowest nearest closest weakest",
    (MOST, AGE): "oldest eldest",
    (LEAST, AGE): "youngest newest",
    (MOST, DATE): "latest",
    (LEAST, DATE): "earliest",
}
_LEXICON = {word: sense for sense, words in _WORDS.items() for word in words.split()}
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
