"""What a question wants to have.

"Show the name and age of pilots who fly at night" wants name and age. Words after "of" or "who" say
whose.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from answerkey.english.question import Question, Word, word_set

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
