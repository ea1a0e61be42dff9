"""Asked: which words of a question say what it wants to have, and which say of what.

"Show the name and age of pilots who fly at night" wants name and age; what follows `of` says whose.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from itertools import pairwise

from answerkey.english.question import Question, Word
from answerkey.english.word_sets import word_set

MOST_WORDS = 500  # a longer text is no question, and is not read

_VERBS = word_set(
    "find list show display give tell return provide get retrieve describe compute calculate "
    "fetch select what which who"
)
_NOUNS_OR_VERBS = word_set("name report state present count print output record")
_ENDS = word_set(
    "of for from in who whose whom that which with where by sorted ordered order sort having at "
    "on when if has have had did do does was were than whichever between during among used "
    "using ranked not without within per each every located living made"
)
_ORDERS = word_set("by sorted ordered order sort")
_RESUMES = tuple(
    phrase.split()
    for phrase in (
        "along with", "together with", "as well as", "and its", "and their", "and his", "and her",
        "and the corresponding", "and also", "and how many", "and what", "and the number",
        "and the count", "and the total", "and the sum", "and the average", "and the maximum",
        "and the minimum", "with the number", "with the total", "with the average", "and number",
        "and average", "and total", "and maximum", "and minimum",
    )
)  # fmt: skip
_RESUMING = frozenset(phrase[0] for phrase in _RESUMES)
_BE = word_set("is are was were")
_DETERMINERS = word_set("the a an any some most fewest least more all")
_FIRST = word_set("was were each every")


def find_asked_words(question: Question) -> Set[int]:
    """The places of the words that say what is asked for; what stands in brackets is left out.

    >>> question = Question("For each port, show the name and age of its pilots.")
    >>> [question.words[place].text for place in sorted(find_asked_words(question))]
    ['show', 'the', 'name', 'and', 'age']
    """
    return {place for run in _list_runs(question) for place in run}


def count_asked_items(question: Question) -> int:
    """How many things a question lists that it wants to have, at most; 0 where it lists none.

    >>> count_asked_items(Question("Which pilots fly? Show their name, age and rank."))
    3
    """
    return max((_count_items(question, run) for run in _list_runs(question)), default=0)


@lru_cache(maxsize=64)  # several probes ask about one question
def _list_runs(question: Question) -> list[list[int]]:
    """The places of words that ask, run by run: a verb or `what` starts one, a word that says of
    what ends it, and `along with` or `and its` starts another."""
    runs: list[list[int]] = []
    is_asked = is_bracketed = is_order = False
    words = question.words
    for place, word in enumerate(words):
        before = question.text[words[place - 1].end : word.start] if place else "."
        is_start = any(mark in before for mark in ".?!;")
        is_bracketed = "(" in before or (is_bracketed and ")" not in before)
        if is_bracketed:
            continue
        is_order = (is_order and not is_start) or word.text in _ORDERS
        if _is_lead(question, place, before) or (not is_order and _is_resumed(question, place)):
            is_asked = True
            runs.append([])
        elif is_start or (is_asked and _is_end(question, runs[-1], word)):
            is_asked = False
        if is_asked:
            runs[-1].append(place)
    return runs


def _is_end(question: Question, run: list[int], word: Word) -> bool:
    """Whether a word ends what a run asks for. In "which shop got the most kilos" that is a word
    such as `the`, after a verb that may be any."""
    first = [question.words[place].text for place in run[:2]]
    if len(first) == 1:
        return word.text in _ENDS and word.text not in _FIRST
    is_choice = first[0] in ("which", "who", "what") and first[1] not in _BE
    return word.text in _ENDS or (is_choice and word.text in _DETERMINERS)


def _is_lead(question: Question, place: int, before: str) -> bool:
    text = question.words[place].text
    if text not in _VERBS:
        return text in _NOUNS_OR_VERBS and any(mark in before for mark in ".?!;")
    previous = question.words[place - 1].text if place else ""
    return any(mark in before for mark in ".?!,;:") or previous in ("and", "please", "you", "to")


def _is_resumed(question: Question, place: int) -> bool:
    if question.words[place].text not in _RESUMING:
        return False
    following = [word.text for word in question.words[place : place + 3]]
    return any(following[: len(phrase)] == phrase for phrase in _RESUMES)


def _count_items(question: Question, run: list[int]) -> int:
    words = question.words
    return 1 + sum(
        words[place].text in ("and", "plus")
        or "," in question.text[words[before].end : words[place].start]
        for before, place in pairwise(run)
    )
