"""Things that a question counts: the nouns after "how many", "number of", "most", "at least 2"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from answerkey.english.question import Question, Word, stem_word

_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_COUNTING = {("how", "many"), *((word, "of") for word in ("number", "numbers", "count", "amount"))}
_DEGREES = {"most", "fewest", "least", "fewer", "more", "than", "only", "exactly"}
_BOUNDS = {"most", "least", "than", "only", "exactly", "has", "have", "had"}
_NUMBERS = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_STOP_WORDS = (
    "a about after among an and are as at before between by can could did do does during each every"
    " for from had has have if in is it its not of on or over per since that the their there they"
    " this through to under was were what when where which who whose will with within without would"
)
_ENDS = frozenset(_STOP_WORDS.split())
_MOST_WORDS = 4


class Counted(NamedTuple):
    """A plural noun that is counted: its stem and those of the words before it, and the phrase of
    the question that says so."""

    stems: tuple[str, ...]
    phrase: str


def list_counted(question: Question) -> Iterator[Counted]:
    """The plural nouns that a question counts, in its order, each once.

    >>> [found.stems for found in list_counted(Question("How many old ships visit two ports?"))]
    [('old', 'ship')]
    """
    words = question.words
    known: set[tuple[str, ...]] = set()
    for place in range(1, len(words)):
        if _is_counting([word.text for word in words[max(place - 2, 0) : place]]):
            noun = _read_noun(question, words[place : place + _MOST_WORDS])
            stems = tuple(word.stem for word in noun)
            if stems and stems not in known:
                known.add(stems)
                start = words[max(place - 2, 0)].start
                yield Counted(stems, question.text[start : noun[-1].end])


def _is_counting(before: list[str]) -> bool:
    if tuple(before) in _COUNTING or before[-1] in _DEGREES:
        return True
    is_number = before[-1].isdigit() or before[-1] in _NUMBERS
    return is_number and before[0] in _BOUNDS


def _read_noun(question: Question, words: list[Word]) -> list[Word]:
    """The words up to the first plural; none where the phrase ends before."""
    for place, word in enumerate(words):
        gap = question.text[words[place - 1].end : word.start] if place else ""
        if word.text in _ENDS or gap.strip(" -"):
            return []
        is_plural = word.text.endswith("s") and not word.text.endswith("ss")
        if is_plural or word.text == "people":
            return words[: place + 1]
    return []


@lru_cache(maxsize=100_000)
def stem_name(name: str) -> tuple[str, ...]:
    """The stems of the words of a name in a schema.

    >>> stem_name("CarMakers"), stem_name("singer_in_concert")
    (('car', 'maker'), ('singer', 'in', 'concert'))
    """
    return tuple(stem_word(part.lower()) for part in _NAME_PART.findall(name))


def is_table_of(stems: tuple[str, ...], table: str) -> bool:
    """Whether a table has the name of a noun, of which it may leave out adjectives.

    >>> is_table_of(("old", "ship"), "ships"), is_table_of(("ship",), "ship_visit")
    (True, False)
    """
    parts = stem_name(table)
    return bool(parts) and parts[-1] == stems[-1] and set(parts) <= set(stems)
