"""Column words: what the name of a table or column is made of, and the English that it means.

`cust_name` -> cust, name; `BirthDate` -> birth, date. A word of a name may be short for another:
`cust` for customer, `dept` for department. It may be glued to one: `petid` ends with id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from answerkey.english.question import Question, Word, list_words, stem_word, word_set

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MIN_LETTERS = 3  # letters that are enough to stand for a longer word
_SHORT_FORMS = {
    "dob": "date birth",
    "fname": "first name",
    "lname": "last name",
    "nr": "number",
    "no": "number",
    "num": "number",
    "qty": "quantity",
}
_SYNONYMS = (
    "year date time day month when timestamp datetime founded established built opened",
    "date time recent recently latest newest earliest oldest early late",
    "location place venue where city town address country state position",
    "price cost charge fee amount money much expensive cheap cheapest value",
    "name title who label called",
    "id identifier identification key code number",
    "gender sex male female",
    "age old older oldest young younger youngest elder eldest birth birthday born adult adults "
    "minor minors teenager teenagers senior seniors elderly child children kid kids",
    "temperature hot hotter hottest warm cold colder coldest cool freezing",
    "power horsepower strong stronger strongest powerful weak",
    "salary pay paid wage earn income rich wealthy poor",
    "phone telephone cell mobile number",
    "email mail",
    "type kind category sort class",
    "count number many total amount quantity",
    "size large larger largest big biggest small smaller smallest area capacity population number",
    "nationality citizenship country nation",
    "last family surname",
    "first given personal forename",
    "length long longer longest short shorter shortest duration",
    "height tall taller tallest short shorter shortest high highest elevation altitude",
    "weight heavy heavier heaviest light lighter lightest",
    "speed fast faster fastest slow slower slowest",
    "distance far farthest nearest",
    "description detail information content text",
    "zip postal postcode",
    "rating rank score point star grade mark result best worst good better top popular",
    "rank position place",
    "percentage percent pct share rate ratio",
    "mean average avg",
    "maximum max highest largest",
    "minimum min lowest smallest",
    "author writer",
    "start from begin since",
    "end to finish until",
)
# People, who often share their names, and columns that have most often a part of a name.
_PEOPLE_WORDS = """
person people human individual man men woman women child children parent friend
customer client guest visitor member user subscriber passenger tenant resident citizen
employee staff worker manager boss head officer assistant secretary director agent
student pupil highschooler teacher professor instructor lecturer faculty advisor tutor
doctor physician nurse patient engineer technician mechanic lawyer judge inspector
player athlete coach referee swimmer wrestler rider skater climber gymnast runner driver
singer artist musician actor actress composer conductor dancer performer producer
author writer editor journalist reviewer captain pilot sailor soldier
voter candidate politician representative senator mayor president participant contestant
investor entrepreneur shareholder donor owner buyer seller tourist host celebrity
"""
_PART_WORDS = """
first last given family middle personal fname lname firstname lastname givenname familyname
forename surname
"""
_TOWNS = word_set("city town village")
_LANDS = word_set("country state province nation")
_PEOPLE = frozenset(map(stem_word, _PEOPLE_WORDS.split()))
_PARTS = frozenset(map(stem_word, _PART_WORDS.split()))
_GROUPS: dict[str, frozenset[int]] = {
    word: frozenset(n for n, group in enumerate(_SYNONYMS) if word in group.split())
    for word in " ".join(_SYNONYMS).split()
}


@lru_cache(maxsize=65_536)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in small letters.

    >>> split_words("dateOfBirth"), split_words("Built_in_2nd")
    (('date', 'of', 'birth'), ('built', 'in', '2', 'nd'))
    """
    return tuple(part.lower() for part in _PART.findall(name))


@lru_cache(maxsize=65_536)
def split_name(name: str) -> tuple[Word, ...]:
    """Return the words of a name, in order; short forms that many schemas share are written out.

    >>> [word.text for word in split_name("AircraftID_no")]
    ['aircraft', 'id', 'number']
    """
    parts = [
        _SHORT_FORMS.get(part.lower()) or " ".join(split_words(part)) for part in name.split("_")
    ]
    return tuple(list_words(" ".join(parts)))


@lru_cache(maxsize=65_536)
def stem_name(name: str) -> tuple[str, ...]:
    """Return the stems of the words of a name: `CarMakers` -> car, maker."""
    return tuple(map(stem_word, split_words(name)))


@lru_cache(maxsize=65_536)
def list_own_words(table: str, column: str) -> tuple[Word, ...]:
    """The words of a column's name that its table's name does not have.

    >>> [word.text for word in list_own_words("pilots", "pilot_rank")]
    ['rank']
    """
    of_table = {word.stem for word in split_name(table)}
    return tuple(word for word in split_name(column) if word.stem not in of_table)


@lru_cache(maxsize=200_000)
def may_mean(name_word: Word, word: Word) -> bool:
    """Whether a word of a name may stand for an English word: it has its stem, is a part of it or
    short for it, or means much the same.

    >>> [may_mean(*list_words(text)) for text in ("dept department", "sex gender", "age weight")]
    [True, True, False]
    """
    own, text = name_word.text, word.text
    return (
        name_word.stem == word.stem
        or is_start_of(name_word, word)
        or is_start_of(word, name_word)
        or (len(word.stem) > _MIN_LETTERS and own.startswith(word.stem))
        or (len(name_word.stem) > _MIN_LETTERS and text.startswith(name_word.stem))
        or (len(word.stem) > 1 and own.endswith(word.stem))
        or (len(own) >= _MIN_LETTERS and own[0] == text[0] and _is_subsequence(own, text))
        or bool(_list_groups(name_word) & _list_groups(word))
    )


def is_start_of(short: Word, word: Word) -> bool:
    """Return whether a word is the start of a longer one, as `bal` is of balance.

    >>> is_start_of(*list_words("bal balances")), is_start_of(*list_words("end ends"))
    (True, False)
    """
    text = short.text
    return _MIN_LETTERS <= len(text) < len(word.text) - 1 and word.text.startswith(text)


def is_named(name_words: Iterable[Word], words: Iterable[Word]) -> bool:
    """Return whether any word of a name may stand for any of these words."""
    words = set(words)
    return any(may_mean(own, word) for own in name_words for word in words)


def name_column(column: str, question: Question) -> tuple[Word, ...]:
    """Return the words that name a column: those of its name, and of what the corpus says of it.

    >>> question = Question("Which districts pay well?", meanings={"a11": "average salary"})
    >>> [word.text for word in name_column("A11", question)]
    ['a', '11', 'average', 'salary']
    """
    return (*split_name(column), *list_words(question.meanings.get(column.lower(), "")))


def _list_groups(word: Word) -> frozenset[int]:
    return _GROUPS.get(word.text, frozenset()) | _GROUPS.get(word.stem, frozenset())


def _is_subsequence(short: str, long: str) -> bool:
    letters = iter(long)
    return all(letter in letters for letter in short)


def is_table_of(stems: tuple[str, ...], table: str) -> bool:
    """Return whether a table has the name of a noun, of which it may leave out adjectives.

    >>> is_table_of(("old", "ship"), "ships"), is_table_of(("ship",), "ship_visit")
    (True, False)
    """
    parts = stem_name(table)
    return bool(parts) and parts[-1] == stems[-1] and set(parts) <= set(stems)


def names_people(table: str) -> bool:
    """Return whether the name of a table says that its rows are people.

    >>> names_people("Customers"), names_people("bank_customer"), names_people("customer_orders")
    (True, True, False)
    """
    stems = stem_name(table)
    return bool(stems) and stems[-1] in _PEOPLE


def is_part_of_name(column: str) -> bool:
    """Return whether the name of a column says that it holds the first or the last names of people.

    >>> [is_part_of_name(name) for name in ("stu_fname", "LName", "last_name", "name")]
    [True, True, True, False]
    """
    return not _PARTS.isdisjoint([*stem_name(column), *stem_name(column.lower())])


def names_town(column: str) -> bool:
    """Return whether the name of a column says that it holds towns.

    >>> names_town("HomeCity"), names_town("capacity")
    (True, False)
    """
    return not _TOWNS.isdisjoint(split_words(column))


def names_land(column: str) -> bool:
    """Return whether the name of a column says that it holds countries, or parts of them.

    >>> names_land("birth_country"), names_land("county")
    (True, False)
    """
    return not _LANDS.isdisjoint(split_words(column))
