"""What a question counts: the nouns after "how many", "number of", "most" or "at least 2"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from answerkey.english.phrases import FOR_EACH
from answerkey.english.question import (
    AUXILIARIES,
    PREPOSITIONS,
    QUESTION_WORDS,
    Question,
    Word,
    word_set,
)
from answerkey.english.stated_numbers import ORDINAL, list_numbers

_COUNTING = {("how", "many"), *((word, "of") for word in ("number", "numbers", "count", "amount"))}
_DEGREES = {"most", "fewest", "least", "fewer", "more", "than", "only", "exactly"}
_BOUNDS = {"most", "least", "than", "only", "exactly", "has", "have", "had"}
_STOPS = AUXILIARIES | PREPOSITIONS | QUESTION_WORDS
_STOPS |= word_set("a an and as each every if it its not or that the their there they this")
_MAX_NOUN_WORDS = 4  # farther on, a plural is of another phrase


class Counted(NamedTuple):
    """A plural noun that is counted: its stem and those of the words before it, and the phrase of
    the question that says so."""

    stems: tuple[str, ...]
    phrase: str


def list_counted(question: Question) -> Iterator[Counted]:
    """The plural nouns that a question counts, in its order, each once.

    >>> [counted.stems for counted in list_counted(Question("How many old ships visit two ports?"))]
    [('old', 'ship')]
    """
    words = question.words
    known: set[tuple[str, ...]] = set()
    for word_index in range(1, len(words)):
        if _is_counting([word.text for word in words[max(word_index - 2, 0) : word_index]]):
            noun = _read_noun(question, words[word_index : word_index + _MAX_NOUN_WORDS])
            stems = tuple(word.stem for word in noun)
            if stems and stems not in known:
                known.add(stems)
                start = words[max(word_index - 2, 0)].start
                yield Counted(stems, question.text[start : noun[-1].end])


def _is_counting(before: list[str]) -> bool:
    """Whether what follows two words is counted. A bare number may be a code, or a size; behind
    "has" or "at least" it counts."""
    if tuple(before) in _COUNTING or before[-1] in _DEGREES:
        return True
    is_number = any(number.form != ORDINAL for number in list_numbers(before[-1]))
    return is_number and before[0] in _BOUNDS


def _read_noun(question: Question, words: list[Word]) -> list[Word]:
    """The words up to the first plural; none if the phrase ends before."""
    for word_index, word in enumerate(words):
        gap = question.text[words[word_index - 1].end : word.start] if word_index else ""
        if word.text in _STOPS or gap.strip(" -"):
            return []
        is_plural = word.text.endswith("s") and not word.text.endswith("ss")
        if is_plural or word.text == "people":
            return words[: word_index + 1]
    return []


_COUNT_WORDS = word_set(
    "many much number numbers count counts total amount quantity sum size no times several few "
    "multiple single once twice often frequency frequent frequently common popular popularity "
    "population busy busiest active regular regularly repeatedly crowded enumerate tally most least"
)
_EACH = FOR_EACH | word_set("different distinct unique respective respectively various all")
_HOW_MANY = re.compile(
    r"\W*(?:how many|(?:what is|find|give|show|return) the (?:total )?(?:number|count) of)\b"
)


def mentions_count(question: Question) -> bool:
    """Return whether a word of a question or its evidence may ask for a count.

    >>> mentions_count(Question("How common is red?")), mentions_count(Question("Which are red?"))
    (True, False)
    """
    return not _COUNT_WORDS.isdisjoint(word.text for word in question.said_words)


def asks_how_many(question: Question) -> bool:
    """Return whether a question begins with "how many" or "the number of", and names the things.

    >>> asks_how_many(Question("Find the number of red ships."))
    True
    >>> asks_how_many(Question("Give the number of the keeper."))
    False
    """
    counted = (counted.phrase.lower() for counted in list_counted(question))
    is_counted = any(phrase.startswith(("how many", "number of", "count of")) for phrase in counted)
    return is_counted and _HOW_MANY.match(question.plain_text) is not None


def asks_for_each(question: Question) -> bool:
    """Return whether a word of a question or its evidence may ask for several values.

    >>> asks_for_each(Question("The weight of each ship")), asks_for_each(Question("Its weight"))
    (True, False)
    """
    return not _EACH.isdisjoint(word.text for word in question.said_words)


def is_yes_or_no(question: Question) -> bool:
    """Return whether a question begins with a verb, so that yes or no answers it.

    >>> is_yes_or_no(Question("Did Ada win?")), is_yes_or_no(Question("Who won?"))
    (True, False)
    """
    return any(word.text in AUXILIARIES for word in question.words[:1])
