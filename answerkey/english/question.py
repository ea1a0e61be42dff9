"""Questions as words: the text of a question, and the evidence that its corpus gives with it."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import NamedTuple

import snowballstemmer

from answerkey.english.quotations import mask_quotations

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
