"""Asked: what a question wants to have, and which things it counts.

"Show the name and age of pilots who fly at night" wants name and age; what follows `of` says whose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import lru_cache
from typing import NamedTuple

from answerkey.english.measures import ORDINAL, list_numbers
from answerkey.english.question import (
    AUXILIARIES,
    PREPOSITIONS,
    QUESTION_WORDS,
    Question,
    Word,
    word_set,
)

MAX_QUESTION_WORDS = 500  # a longer text is no question, and is not read

_VERBS = word_set(
    "find list show display give tell return provide get retrieve describe compute calculate "
    "fetch select what which who"
)
# verbs at the start of a sentence: elsewhere "name" and "state" are mostly what is asked for
_NOUNS_OR_VERBS = word_set("name report state present count print output record")
PHRASE_ENDS = word_set(
    "of for from in who whose whom that which with where by sorted ordered order sort having at "
    "on when if has have had did do does was were than whichever between during among used "
    "using ranked not without within per each every located living made"
)
_BE = word_set("is are was were")
_DETERMINERS = word_set("the a an any some most fewest least more all")
_FIRST = word_set("was were each every")  # "which were sold", "list each port": no end there


@lru_cache(maxsize=64)  # several doubts ask about one question
def find_asked_words(question: Question) -> Set[int]:
    """The indexes of the words that say what is asked for: from a verb or `what` to a word that
    says of what.

    >>> question = Question("For each port, show the name and age of its pilots.")
    >>> [question.words[index].text for index in sorted(find_asked_words(question))]
    ['show', 'the', 'name', 'and', 'age']
    """
    asked_indexes: set[int] = set()
    run: list[Word] = []
    is_asked = False
    words = question.words
    for word_index, word in enumerate(words):
        before = question.text[words[word_index - 1].end : word.start] if word_index else "."
        if _is_lead(question, word_index, before):
            is_asked, run = True, []
        elif any(mark in before for mark in ".?!;") or (is_asked and _is_end(run, word)):
            is_asked = False
        if is_asked:
            asked_indexes.add(word_index)
            run.append(word)
    return asked_indexes


def _is_end(run: list[Word], word: Word) -> bool:
    """Whether a word ends what a run asks for. In "which shop got the most kilos" that is a word
    such as `the`, after a verb that may be any."""
    first = [word.text for word in run[:2]]
    if len(first) == 1:
        return word.text in PHRASE_ENDS and word.text not in _FIRST
    is_choice = first[0] in ("which", "who", "what") and first[1] not in _BE
    return word.text in PHRASE_ENDS or (is_choice and word.text in _DETERMINERS)


def _is_lead(question: Question, word_index: int, before: str) -> bool:
    text = question.words[word_index].text
    if text not in _VERBS:
        return text in _NOUNS_OR_VERBS and any(mark in before for mark in ".?!;")
    previous = question.words[word_index - 1].text if word_index else ""
    return any(mark in before for mark in ".?!,;:") or previous in ("and", "please", "you", "to")


# Things that a question counts: the nouns after "how many", "number of", "most", "at least 2".


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


# What kind of answer a question asks for.

_COUNT_WORDS = word_set(
    "many much number numbers count counts total amount quantity sum size no times several few "
    "multiple single once twice often frequency frequent frequently common popular popularity "
    "population busy busiest active regular regularly repeatedly crowded enumerate tally most least"
)
_EACH = word_set("each every per by different distinct unique respective respectively various all")
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


# What a text with a question and its evidence asks for, phrase by phrase.

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


# Which rows a question asks for: each once or as often as they come, in which order.

_ONCE = re.compile(r"\b(different|distinct|unique|duplicates?|repeat\w*)\b", re.IGNORECASE)
_EACH_ROW = re.compile(r"\b(each|every|duplicates?|repeat\w*)\b", re.IGNORECASE)
_MISSING = re.compile(
    r"\b(null|missing|unknown|no|not|none|without|blank|empty|known|available|recorded|ha[sd]|have)\b",
    re.IGNORECASE,
)
_FOR_EACH = word_set("each every per by")
_MAX_WORDS_BETWEEN = 2  # "each famous old NAME"
_DOWN = word_set("descending decreasing descendingly desc reverse reversed")
_UP = word_set("ascending increasing ascendingly asc alphabetical alphabetically alphabetic")
_OF_AGE = word_set("age ages old oldest young youngest seniority")  # dates of birth are mirrored


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
        if word.text in _FOR_EACH and any(other.stem == noun for other in after):
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
