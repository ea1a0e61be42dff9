"""Support: whether the words of a question can stand for a value as a database spells it."""

from __future__ import annotations

import math
import re
from functools import cached_property

from answerkey.english.names import EMPTY_WORDS, HINTS, SYNONYMS, UNITS, YES_NO
from answerkey.english.numbers import list_numbers
from answerkey.english.question import Question, Word, list_words, stem_word

_SHORT_CODE = 4  # letters: CA, USA, Comp
_MOST_WORDS = 500  # in which words of another form are looked for
_JOINED_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_COMMON_START = 4  # letters: failed, failure


class Wording:
    """The text of a question and its evidence, made ready to look values up.

    >>> wording = Wording(Question("Which American women study computer science since May?"))
    >>> [wording.supports(value) for value in ("USA", "F", "CompSci", "5/", "Biology")]
    [True, True, True, True, False]
    """

    def __init__(self, question: Question) -> None:
        self.text = f"{question.text}\n{question.evidence}"
        self.words = question.said_words
        self.texts = {word.text for word in self.words}
        self.stems = {word.stem for word in self.words}

    @cached_property
    def squeezed(self) -> str:
        """The text with nothing but its letters and digits, small."""
        return squeeze(self.text)

    @cached_property
    def numbers(self) -> set[float]:
        """All numbers of the text and of its codes, and those that its words hint at: 5 for May, 2
        for twice."""
        found = {value for number in list_numbers(self.text) for value in number.values}
        for word in self.texts:
            found.update(HINTS.get(word, ()))
        return found

    def has_number(self, *values: float) -> bool:
        """Return whether the text has one of some numbers, or one that is the same in another unit.

        >>> Wording(Question("longer than 2 hours")).has_number(120)
        True
        """
        if not self.numbers.isdisjoint(values):
            return True
        return any(
            math.isclose(value, number * factor, rel_tol=1e-9)
            for factor in self._factors
            for number in self.numbers | {1}
            for value in values
        )

    def says(self, value: str) -> bool:
        """Return whether the words of a value stand in the text, one after the other."""
        words = " ".join(word.text for word in list_words(value))
        return bool(words) and f" {words} " in self._spoken

    def supports(self, value: str) -> bool:
        """Return whether the question can mean a value: all its words are there."""
        return not self.list_missing(value)

    def list_missing(self, value: str) -> list[str]:
        """The words of a value for which the question has none; empty if it can mean it."""
        if value.strip().lower() in YES_NO:
            return []
        small = squeeze(value)
        words = list_value_words(value)
        if len(small) >= _SHORT_CODE and small in self.squeezed:
            return []
        if self._is_abbreviated(words):
            return []
        return [word.text for word in words if not self._supports_word(word)]

    @cached_property
    def _factors(self) -> list[float]:
        """The factors of the units that the text names."""
        named = self.stems | self.texts
        return sorted({factor for unit in named & set(UNITS) for factor in UNITS[unit]})

    @cached_property
    def _spoken(self) -> str:
        return f" {' '.join(word.text for word in self.words)} "

    @cached_property
    def _vocabulary(self) -> set[str]:
        """The words, and other words for them."""
        found = self.texts | self.stems
        for word in self.texts | self.stems:
            found |= SYNONYMS.get(word, frozenset())
        return found | {stem_word(word) for word in found}

    @cached_property
    def _first_words(self) -> list[str]:
        return list(dict.fromkeys(word.text for word in self.words[:_MOST_WORDS]))

    def _supports_word(self, word: Word) -> bool:
        if not self._vocabulary.isdisjoint((word.text, word.stem)):
            return True
        if word.text.isdecimal():
            return word.text in self.squeezed or float(word.text) in self.numbers
        return any(is_same_word(word.text, other) for other in self._first_words)

    def _is_abbreviated(self, words: list[Word]) -> bool:
        """Return whether one stands for the first letters of the other: LA, Los Angeles."""
        if len(words) > 1 and "".join(word.text[0] for word in words) in self.texts:
            return True
        code = "".join(word.text for word in words)
        if not 1 < len(code) <= _SHORT_CODE:
            return False
        return code in "".join(word.text[0] for word in self.words if word.text not in EMPTY_WORDS)


def is_same_word(one: str, other: str) -> bool:
    """Return whether a word in small letters is another one, cut or with another ending.

    >>> is_same_word("ca", "california"), is_same_word("malta", "maltese")
    (True, True)
    >>> is_same_word("red", "rain")
    False
    """
    short, long = sorted((one, other), key=len)
    if not short or short[0] != long[0]:
        return False
    if one is short and len(one) <= _SHORT_CODE:
        letters = iter(long)
        if all(letter in letters for letter in one):
            return True
    if len(short) >= 3 and long.startswith(short):
        return True
    return len(short) > _COMMON_START and short[:_COMMON_START] == long[:_COMMON_START]


def list_value_words(value: str) -> list[Word]:
    """The words of a value as a database spells it, those such as "of" aside.

    >>> [word.text for word in list_value_words("AsstProf of Law")]
    ['asst', 'prof', 'law']
    """
    words = list_words(_JOINED_WORDS.sub(" ", value))
    return [word for word in words if word.text not in EMPTY_WORDS]


def squeeze(text: str) -> str:
    """The letters and digits of a text, small.

    >>> squeeze("St. John's 4")
    'stjohns4'
    """
    return "".join(filter(str.isalnum, text.lower()))


# Negations: what a question denies.


_CLAUSE = re.compile(
    r"\b(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would) not|cannot|never"
    r"|without|except|excluding|other than|neither|apart from|aside from)\b|n't\b|nt'(?= )"
)
_CLAUSE_END = re.compile(r"[.,;:?!()]|\b(?:and|but|or)\b")
_WORD = re.compile(
    r"\b(?:not|no|nor|none|but|outside|differ\w*|another|others?|other|lack\w*|miss\w*|fail\w*"
    r"|only|rather|instead|besides|aside|exclu\w*|un\w+|non\w*|nothing|nobody|empty|null|blank"
    r"|else|still|free|yet|remain\w*|leav\w*|omit\w*|skip\w*|avoid\w*|spar\w*|escap\w*|drop\w*"
    r"|ignor\w*|bar|barring|abnormal\w*|abs(?:ent|ence)\w*|in(?:active|valid|complete)\w*"
    r"|irregular\w*|dis(?:abled|continued|qualified)|than)\b|!=|<>"
)
_HARMLESS = re.compile(
    r"\s+(?:only|more than|less than|fewer than|greater|larger|higher|lower|smaller|later|earlier"
    r"|older|younger|longer than|shorter|exceed\w*|necessarily|just|count\w*|repeat\w*"
    r"|duplicat\w*)\b"
)
_OR_BEFORE = re.compile(r"\bor\s+$")  # refunded or not: either will do
_ASIDE = re.compile(r"\([^()]{0,200}\)")


def find_denied_clauses(question: Question) -> list[str]:
    """Return what a question denies by a verb with not or never, by without or except: the words up
    to the end of the clause, in small letters. What stands in parentheses, "or not", "not only" and
    "no more than" are left out.

    >>> find_denied_clauses(Question("Not only ships, or boats, that never sail to Alda, or row"))
    ['never sail to alda']
    """
    text = _ASIDE.sub(lambda match: " " * len(match.group()), question.text.lower())
    text = text.replace("’", "'")
    found = []
    for match in _CLAUSE.finditer(text):
        is_either = _OR_BEFORE.search(text[max(0, match.start() - 8) : match.start()])
        if not is_either and not _HARMLESS.match(text, match.end()):
            end = _CLAUSE_END.search(text, match.end())
            found.append(text[match.start() : end.start() if end else len(text)].strip())
    return found


def may_deny(question: Question) -> bool:
    """Whether any word of a question or of its evidence may stand for a negation, even a weak one
    or a quoted one."""
    text = f"{question.text} {question.evidence}".lower().replace("’", "'")
    return _CLAUSE.search(text) is not None or _WORD.search(text) is not None
