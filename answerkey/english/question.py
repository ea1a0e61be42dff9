"""Questions: their words and stems, their quotations, and what their evidence says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import NamedTuple

import snowballstemmer


def word_set(text: str) -> frozenset[str]:
    """The words of a text, which spaces separate."""
    return frozenset(text.split())


AUXILIARIES = word_set("is are was were do does did has have had can could will would")
QUESTION_WORDS = word_set("who whose whom what which when where")
PREPOSITIONS = word_set(
    "about after among at before between by during for from in of on over per since through to "
    "under with within without"
)
EMPTY_WORDS = word_set("a an and as at by for from in is of on or the to with")


_QUOTED = re.compile(  # a value, and no English
    r"""(?<!\w)(?:"[^"]{1,80}"|“[^”]{1,80}”|'[^']{1,80}'(?!\w)|[‘`][^’'`]{1,80}[’'](?!\w))"""
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SIGNS = re.compile(r"\s*([<>=!(),]+)\s*")
_STEMMER = snowballstemmer.stemmer("english")


def mask_quotations(text: str) -> str:
    """The text in small letters, each quotation in it as blanks of the same length.

    >>> mask_quotations("Films named 'No Way' or not")
    'films named          or not'
    """
    masked = _QUOTED.sub(lambda match: " " * len(match.group()), text).replace("’", "'")
    lower = masked.lower()
    return lower if len(lower) == len(text) else masked


def has_phrase(text: str, phrase: str) -> bool:
    """Return whether a text has a phrase, as whole words.

    >>> has_phrase("a barge in port", "barge"), has_phrase("barges in port", "barge")
    (True, False)
    """
    return phrase in text and find_phrase(text, phrase) is not None  # few texts have it at all


def find_phrase(text: str, phrase: str, flags: int = 0) -> str | None:
    """Return a phrase as a text has it, as whole words; None if the text lacks it.

    >>> find_phrase("a Barge in port", "barge", re.IGNORECASE)
    'Barge'
    """
    match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, flags)
    return match[0] if match is not None else None


class Word(NamedTuple):
    """A word of a text, in small letters, its stem, and where it starts and ends."""

    text: str
    stem: str
    start: int
    end: int


class Question:
    """A question in English, with what its corpus says to help: BIRD's evidence.

    The evidence is part of the question: what it names is asked for, and a value or a formula in it
    is said. `meanings` has what the corpus says of columns, by their names in small letters: these
    words name a column as well (answerkey.english.columns.name_column).

    >>> question = Question("Which ships' ports?", "port refers to harbour_name")
    >>> [word.stem for word in question.words]
    ['which', 'ship', 'port']
    >>> question.explains("harbour_name")
    True
    """

    def __init__(
        self,
        text: str,
        evidence: str | None = None,
        meanings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.text = text
        self.evidence = evidence or ""
        self.meanings = meanings

    @cached_property
    def words(self) -> list[Word]:
        """The words of the question, in order."""
        return list_words(self.text)

    @cached_property
    def plain_text(self) -> str:
        """The question in small letters, with blanks for its quotations."""
        return mask_quotations(self.text)

    @cached_property
    def plain_words(self) -> list[Word]:
        """The words of the question outside of its quotations, in order."""
        text = self.plain_text
        return [word for word in self.words if text[word.start] != " "]

    @cached_property
    def said_words(self) -> list[Word]:
        """The words of the question and of its evidence."""
        return self.words + list_words(self.evidence)

    def explains(self, *texts: str) -> bool:
        """Whether the evidence has one of some texts, such as a column or `sex = 'F'`, whatever its
        case and the spaces at its signs."""
        return any(_stands_in(self._closed, _close(text)) for text in texts)

    @cached_property
    def _closed(self) -> str:
        return _close(self.evidence)


def _close(text: str) -> str:
    """The text in small letters, without quotes and the spaces at its signs."""
    return _SIGNS.sub(r"\1", re.sub(r"[\"'`]", "", text.lower())).strip()


def _stands_in(text: str, part: str) -> bool:
    before = r"(?<!\w)" if part[:1].isalnum() else ""
    after = r"(?!\w)" if part[-1:].isalnum() else ""
    return bool(part) and re.search(before + re.escape(part) + after, text) is not None


def list_words(text: str) -> list[Word]:
    """The words of a text, in order: letters and digits, apostrophes within them included.

    >>> [word.text for word in list_words("The pilot's 2 first_names")]
    ['the', "pilot's", '2', 'first', 'names']
    """
    words = []
    for match in _WORD.finditer(text):
        word = match.group().lower().replace("’", "'")
        words.append(Word(word, stem_word(word), *match.span()))
    return words


@lru_cache(maxsize=100_000)
def stem_word(word: str) -> str:
    """The stem of a word in small letters, by the Snowball stemmer (Porter2).

    >>> stem_word("ships'"), stem_word("largest"), stem_word("countries")
    ('ship', 'largest', 'countri')
    """
    stem: str = _STEMMER.stemWord(word)
    return stem
