"""Mentions: the columns that a question names plainly, by the words of their names.

"Show the closed dates of lighthouses." names the column `closed_date`. All words of the name but
those of its table are in one phrase, the last one ends the phrase, and no other noun is before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from answerkey.english.asked import PHRASE_ENDS, find_asked_words
from answerkey.english.columns import list_own_words, split_name
from answerkey.english.question import Question, Word, word_set

_MAX_WORDS_APART = 6  # words from `start` to `date` in "start, middle and end date"
_BEFORE = word_set(
    "the a an all and or of its their his her each every any different distinct unique with by "
    "average mean avg maximum minimum max min total sum highest lowest largest smallest "
    "greatest least most fewest longest shortest oldest youngest corresponding is are list show "
    "find give return me us what which display also respective that whose for in full both "
    "on to combined overall higher lower larger smaller greater more less fewer ascending "
    "descending same from than how old possible various exact"
)
_AFTER = PHRASE_ENDS | word_set(
    "is are must should can and or as along together to above below over under after before there "
    "greater more larger higher less lower smaller fewer equal exceeding"
)
_LIST_MARK = re.compile(r",|&|/|\b(?:and|or)\b")
_BREAKS = PHRASE_ENDS | word_set("is are")
_CHOICE = word_set("who which whose")
_MAX_WORDS_OF_CHOICE = 4  # "which old cows are"
_MEASURES = word_set("number numbers total average count maximum minimum")
_OF = word_set("amount amounts date dates value type rate level time times size percentage")


class Mention(NamedTuple):
    """A column that a question names.

    words, indexes: the words that name it, and where they are in the question.
    is_asked: whether they are among the words that say what is asked for.
    is_listed: whether they are a name of several words that ends a list, as in "when it was settled
        and the amount settled".
    """

    table: str
    column: str
    words: list[Word]
    indexes: tuple[int, ...]
    is_asked: bool
    is_listed: bool

    def show(self) -> dict[str, str]:
        """Return the words of the question and the column, as evidence."""
        asked = " ".join(word.text for word in self.words)
        return {"asked": asked, "column": f"{self.table}.{self.column}"}


def find_mentions(question: Question, names: Iterable[tuple[str, str]]) -> list[Mention]:
    """Return the columns that a question names, in the order of their names.

    `name` is not named in "first name", if another column is a first name.

    names: of each column, the name of its table and its own.

    >>> question = Question("Show the closed dates of lighthouses.")
    >>> [mention.show() for mention in find_mentions(question, [("lighthouse", "closed_date")])]
    [{'asked': 'closed dates', 'column': 'lighthouse.closed_date'}]
    """
    words, asked = question.words, find_asked_words(question)
    indexes_of: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        if question.plain_text[word.start] != " ":  # in no quotation marks
            indexes_of.setdefault(word.stem, []).append(index)
    mentions = []
    for table, column in names:
        for indexes in _find_phrases(question, table, column, indexes_of):
            first, last = indexes[0], indexes[-1]
            after = [word.text for word in words[last + 1 : last + 2]]
            has_value = after in (["is"], ["are"], ["was"])  # whose rank is 2
            is_state = has_value or _is_state(words, first)
            is_asked = last in asked and not is_state
            named_by = [words[index] for index in indexes]
            is_listed = _ends_list(words, indexes)
            mentions.append(Mention(table, column, named_by, indexes, is_asked, is_listed))
    return [
        mention
        for mention in mentions
        if not any(set(mention.indexes) < set(other.indexes) for other in mentions)
    ]


def _ends_list(words: list[Word], indexes: tuple[int, ...]) -> bool:
    before = words[: indexes[0]]
    while before and before[-1].text in ("the", "its", "their", "a"):
        before = before[:-1]
    return len(indexes) > 1 and bool(before) and before[-1].text == "and"


def _is_state(words: list[Word], word_index: int) -> bool:
    """Return whether a word describes what is asked for: "who is married"."""
    before = [word.text for word in words[max(0, word_index - _MAX_WORDS_OF_CHOICE) : word_index]]
    return before[-1:] in (["is"], ["are"], ["was"], ["were"]) and bool(_CHOICE & set(before))


def _find_phrases(
    question: Question, table: str, column: str, indexes_of: dict[str, list[int]]
) -> Iterator[tuple[int, ...]]:
    """Yield the indexes of the words of each phrase that names a column."""
    words = split_name(column)
    own = {word.stem for word in list_own_words(table, column)}
    for last in indexes_of.get(words[-1].stem, ()) if own else ():
        text = question.words[last].text
        is_of = "of" in [word.text for word in question.words[last + 1 : last + 2]]
        if text == "named" or (len(words) == 1 and text in _MEASURES):
            continue
        if len(words) == 1 and text in _OF and is_of:
            continue  # "date of birth" names a birthday
        indexes = [last]
        for word in reversed(words[:-1]):
            farthest = _MAX_WORDS_APART if word.stem in own else 1
            said = indexes_of.get(word.stem, ())
            near = [index for index in said if indexes[0] - farthest <= index < last]
            is_beside = near and near[-1] >= indexes[0] - 1
            if near and (is_beside or _is_one_list(question, near[-1], last)):
                indexes = sorted({*indexes, near[-1]})
            elif word.stem in own:
                break  # the question lacks a word that distinguishes the column
        else:
            if _is_whole_phrase(question, indexes[0], last):
                yield tuple(indexes)


def _is_one_list(question: Question, first: int, last: int) -> bool:
    """Return whether words are in one list: "start and end date", "first, middle and last name";
    not if a verb may be between them, as in "airlines offer flights"."""
    between = question.text[question.words[first].end : question.words[last].start]
    if _LIST_MARK.search(between.lower()) is None:
        return False
    return not set(between) & set('.?!;:()"') and not any(
        word.text in _BREAKS or word.text.endswith("'s")
        for word in question.words[first + 1 : last]
    )


def _is_whole_phrase(question: Question, first: int, last: int) -> bool:
    """Return whether no other noun is right before or after words: `rank` is a whole phrase in
    "their rank", and none in "rank list"."""
    words, text = question.words, question.text
    if last + 1 < len(words):
        is_close = not text[words[last].end : words[last + 1].start].strip()
        if is_close and words[last + 1].text not in _AFTER:
            return False
    if first == 0 or text[words[first - 1].end : words[first].start].strip():
        return True
    before = words[first - 1].text
    return before in _BEFORE or before.endswith("'s")
