"""Words and phrases of a question and its evidence: which rows, values or order they mean."""

from __future__ import annotations

import re

from answerkey.english.question import Question, word_set

_PARTS = re.compile(
    r"\b(contain(s|ing)?|includes?|mention(s|ing)?|substring|the (word|phrase|text|letter)s?)\b",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(r"\bat least \w+\b", re.IGNORECASE)
_AGGREGATES = {
    "sum": re.compile(r"\b(sum|total|overall|altogether)\b", re.IGNORECASE),
    "avg": re.compile(r"\b(average|mean)\b", re.IGNORECASE),
    "max": re.compile(r"\b(maximum|maximal|most|\w+[^aeiou]est|latest|last)\b", re.IGNORECASE),
    "min": re.compile(r"\b(minimum|minimal|least|\w+[^aeiou]est|first)\b", re.IGNORECASE),
}
_ONCE = re.compile(r"\b(different|distinct|unique|duplicates?|repeat\w*)\b", re.IGNORECASE)
_EACH_ROW = re.compile(r"\b(each|every|duplicates?|repeat\w*)\b", re.IGNORECASE)
_MISSING = re.compile(
    r"\b(null|missing|unknown|no|not|none|without|blank|empty|known|available|recorded|ha[sd]|have)\b",
    re.IGNORECASE,
)
FOR_EACH = word_set("each every per by")
_MAX_WORDS_BETWEEN = 2  # "each famous old NAME"
_DOWN = word_set("descending decreasing descendingly desc reverse reversed")
_UP = word_set("ascending increasing ascendingly asc alphabetical alphabetically alphabetic")
_OF_AGE = word_set("age ages old older oldest young youngest seniority")
_OF_YEARS = _OF_AGE | {"year", "years"}


def asks_for_part(text: str) -> bool:
    """Return whether a text asks for values that contain something.

    >>> asks_for_part("titles that contain Korea"), asks_for_part("the title Korea")
    (True, False)
    """
    return _PARTS.search(text) is not None


def asks_for_at_least(text: str) -> bool:
    """Return whether a text says "at least five", or another number."""
    return _AT_LEAST.search(text) is not None


def mentions_aggregate(text: str, aggregate: str) -> bool:
    """Return whether a text has a word that may mean `sum`, `avg`, `max` or `min`.

    >>> mentions_aggregate("the total weight", "sum"), mentions_aggregate("the weight", "sum")
    (True, False)
    """
    return _AGGREGATES[aggregate].search(text) is not None


def says_how_often(text: str) -> bool:
    """Return whether a text says that equal rows are one, or that they are several.

    >>> says_how_often("the different towns"), says_how_often("the towns")
    (True, False)
    """
    return _ONCE.search(text) is not None


def asks_for_each_row(text: str) -> bool:
    """Return whether a text asks for a row for each thing, whatever is equal.

    >>> asks_for_each_row("the town of each singer"), asks_for_each_row("the towns of singers")
    (True, False)
    """
    return _EACH_ROW.search(text) is not None


def mentions_missing(text: str) -> bool:
    """Return whether a text may say that a value is missing, or that it is not.

    >>> mentions_missing("ships without a port"), mentions_missing("ships in port")
    (True, False)
    """
    return _MISSING.search(text) is not None


def asks_by_name(question: Question, noun: str) -> bool:
    """Return whether a question asks for a row for each noun, by its stem.

    >>> asks_by_name(Question("For each old job title, count the staff"), "titl")
    True
    """
    words = question.words
    for word_index, word in enumerate(words):
        after = words[word_index + 1 : word_index + 2 + _MAX_WORDS_BETWEEN]
        if word.text in FOR_EACH and any(other.stem == noun for other in after):
            return True
    return False


def find_sort_direction(question: Question) -> str | None:
    """Return "ascending" or "descending" if a question asks for one of them; None if it asks for
    neither or for both, or sorts by age: a descending age is an ascending date of birth.

    >>> find_sort_direction(Question("Names in alphabetical order"))
    'ascending'
    """
    asked = {word.text for word in question.plain_words}
    is_down, is_up = bool(asked & _DOWN), bool(asked & _UP)
    if is_down is is_up or asked & _OF_AGE:
        return None
    return "descending" if is_down else "ascending"


def mentions_years(question: Question) -> bool:
    """Return whether a question asks for a number of years, or for an age.

    >>> mentions_years(Question("How old is she?")), mentions_years(Question("For how many days?"))
    (True, False)
    """
    return not _OF_YEARS.isdisjoint(word.text for word in question.words)
