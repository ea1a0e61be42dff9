"""Word sets: words that a rule about English looks for, written as one text."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import NamedTuple

import snowballstemmer


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which spaces separate.

    >>> sorted(word_set("many number count"))
    ['count', 'many', 'number']
    """
    return frozenset(text.split())


# Quotations: what stands in quotation marks, which is a value and no English.


_QUOTED = re.compile(
    r"""(?<!\w)(?:"[^"]{1,80}"|“[^”]{1,80}”|'[^']{1,80}'(?!\w)|[‘`][^’'`]{1,80}[’'](?!\w))"""
)


def mask_quotations(text: str) -> str:
    """The text in small letters, each quotation in it as blanks of the same length.

    >>> mask_quotations("Films named 'No Way' or not")
    'films named          or not'
    """
    masked = _QUOTED.sub(lambda match: " " * len(match.group()), text).replace("’", "'")
    lower = masked.lower()
    return lower if len(lower) == len(text) else masked


# Questions as words: the text of a question, and the evidence that its corpus gives with it.


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_STEMMER = snowballstemmer.stemmer("english")


class Word(NamedTuple):
    """A word of a text, in small letters, its stem, and where it starts and ends."""

    text: str
    stem: str
    start: int
    end: int


class Question:
    """A question in English, with what its corpus says to help (None where it says nothing).

    >>> [word.stem for word in Question("Which ships' ports?").words]
    ['which', 'ship', 'port']
    """

    def __init__(self, text: str, evidence: str | None = None) -> None:
        self.text = text
        self.evidence = evidence

    @cached_property
    def words(self) -> list[Word]:
        """The words of the question, in order."""
        return list_words(self.text)

    @cached_property
    def plain_text(self) -> str:
        """The question in small letters, with blanks for what stands in quotation marks."""
        return mask_quotations(self.text)

    @cached_property
    def plain_words(self) -> list[Word]:
        """The words of the question that stand in no quotation marks, in order."""
        text = self.plain_text
        return [word for word in self.words if text[word.start] != " "]

    @cached_property
    def evidence_words(self) -> list[Word]:
        """The words of its evidence, in order."""
        return list_words(self.evidence or "")


def list_words(text: str) -> list[Word]:
    """The words of a text, in order: letters and digits, apostrophes within them included.

    >>> [word.text for word in list_words("The pilot's 2 first_names")]
    ['the', "pilot's", '2', 'first', 'names']
    """
    found = []
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        found.append(Word(word, stem_word(word), *match.span()))
    return found


@lru_cache(maxsize=100_000)
def stem_word(word: str) -> str:
    """The stem of a word in small letters, by the Snowball stemmer (Porter2).

    >>> stem_word("ships'"), stem_word("largest"), stem_word("countries")
    ('ship', 'largest', 'countri')
    """
    return _STEMMER.stemWord(word)
