"""Columns that a question names, and conditions on a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from answerkey.english.asked import find_asked_words
from answerkey.english.columns import list_own_words, split_name
from answerkey.english.question import Question, Word, word_set
from answerkey.sql.groupings import read_grouping
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Column, Table


def is_one_row(select: exp.Select, scopes: Scopes) -> bool:
    """Return whether a SELECT aggregates without GROUP BY, so that it has one row at most."""
    return select.args.get("group") is None and read_grouping(select, scopes) is not None


# Mentions: the columns that a question names plainly, by the words of their names.
#
# Plainly means: all words of the name but those of its table stand in one phrase, the last one
# ends the phrase, and no other noun stands before it. `rank` is named in "their rank", not in
# "rank list".


_FARTHEST = 6  # words from `start` to `date` in "start, middle and end date"
_BEFORE = word_set(
    "the a an all and or of its their his her each every any different distinct unique with by "
    "average mean avg maximum minimum max min total sum highest lowest largest smallest "
    "greatest least most fewest longest shortest oldest youngest corresponding is are list show "
    "find give return me us what which display also respective that whose for in full both "
    "on to combined overall higher lower larger smaller greater more less fewer ascending "
    "descending same from than how old possible various exact"
)
_AFTER = word_set(
    "of for from in who whose whom that which with where by sorted ordered order sort having at "
    "on when if has have had did do does was were is are than between during and or as along "
    "together used using ranked not to per each every above below over under after before "
    "greater more larger higher less lower smaller fewer equal exceeding within there must "
    "should can"
)
_BREAKS = word_set("of for from in who whose that which with where by is are has have at")
_MEASURES = word_set("number numbers total average count maximum minimum")
_OF = word_set("amount amounts date dates value type rate level time times size percentage")


@dataclass(frozen=True, slots=True)
class Mention:
    """A column, the places of the words that name it, and whether it is asked for there."""

    table: Table
    column: Column
    places: tuple[int, ...]
    is_asked: bool

    @property
    def name(self) -> str:
        """Table and column, for people."""
        return f"{self.table.name}.{self.column.name}"

    def list_words(self, question: Question) -> list[Word]:
        """The words of the question that name it."""
        return [question.words[place] for place in self.places]

    def quote(self, question: Question) -> str:
        """The same as a text."""
        return " ".join(word.text for word in self.list_words(question))


def find_mentions(question: Question, tables: Iterable[Table]) -> list[Mention]:
    """The columns of these tables that a question names; `name` in "first name" is not named where
    another column is a first name."""
    asked = find_asked_words(question)
    places_of: dict[str, list[int]] = {}
    for place, word in enumerate(question.words):
        if question.plain_text[word.start] != " ":  # in no quotation marks
            places_of.setdefault(word.stem, []).append(place)
    found = [
        Mention(table, column, places, places[-1] in asked and not _has_value(question, places[-1]))
        for table in tables
        for column in table.columns
        for places in _find_places(question, table, column, places_of)
    ]
    return [
        mention
        for mention in found
        if not any(set(mention.places) < set(other.places) for other in found)
    ]


def _find_places(
    question: Question, table: Table, column: Column, places_of: dict[str, list[int]]
) -> list[tuple[int, ...]]:
    words = split_name(column.name)
    own = {word.stem for word in list_own_words(table.name, column.name)}
    found = []
    for last in places_of.get(words[-1].stem, ()) if own else ():
        text = question.words[last].text
        is_of = "of" in [word.text for word in question.words[last + 1 : last + 2]]
        if text == "named" or (len(words) == 1 and text in _MEASURES):
            continue
        if len(words) == 1 and text in _OF and is_of:
            continue  # "date of birth" names a birthday
        places: list[int] | None = [last]
        for word in reversed(words[:-1]):
            farthest = _FARTHEST if word.stem in own else 1
            near = [p for p in places_of.get(word.stem, ()) if places[0] - farthest <= p < last]
            if near and _is_one_phrase(question, near[-1], last):
                places = sorted({*places, near[-1]})
            elif word.stem in own:
                places = None
                break
        if places is not None and _stands_alone(question, places[0], last):
            found.append(tuple(places))
    return found


def _has_value(question: Question, place: int) -> bool:
    """Return whether what is named gets a value at once: `whose rank is 2`."""
    following = question.words[place + 1 : place + 2]
    return bool(following) and following[0].text in ("is", "are", "was")


def _is_one_phrase(question: Question, first: int, last: int) -> bool:
    """Tell whether words stand in one list: `start and end date`, `first, middle and last name`."""
    between = question.text[question.words[first].end : question.words[last].start]
    return not set(between) & set('.?!;:()"') and not any(
        word.text in _BREAKS or word.text.endswith("'s")
        for word in question.words[first + 1 : last]
    )


def _stands_alone(question: Question, first: int, last: int) -> bool:
    words, text = question.words, question.text
    if last + 1 < len(words):
        is_close = not text[words[last].end : words[last + 1].start].strip()
        if is_close and words[last + 1].text not in _AFTER:
            return False
    if first == 0 or text[words[first - 1].end : words[first].start].strip():
        return True
    before = words[first - 1].text
    return before in _BEFORE or before.endswith("'s")
