"""People: whether a name in a schema is one of people, who often share their names, and most often
a part of them."""

from __future__ import annotations

from answerkey.english.counted_things import stem_name
from answerkey.english.question import stem_word

_WORDS = (
    "person people human individual man men woman women child children parent friend"
    " customer client guest visitor member user subscriber passenger tenant resident citizen"
    " employee staff worker manager boss head officer assistant secretary director agent"
    " student pupil highschooler teacher professor instructor lecturer faculty advisor tutor"
    " doctor physician nurse patient engineer technician mechanic lawyer judge inspector"
    " player athlete coach referee swimmer wrestler rider skater climber gymnast runner driver"
    " singer artist musician actor actress composer conductor dancer performer producer"
    " author writer editor journalist reviewer captain pilot sailor soldier"
    " voter candidate politician representative senator mayor president participant contestant"
    " investor entrepreneur shareholder donor owner buyer seller tourist host celebrity"
)
_PEOPLE = frozenset(map(stem_word, _WORDS.split()))
_PART_WORDS = (
    "first last given family middle personal fname lname firstname lastname givenname familyname"
    " forename surname"
)
_PARTS = frozenset(map(stem_word, _PART_WORDS.split()))


def names_people(table: str) -> bool:
    """Whether the name of a table says that its rows are people.

    >>> names_people("Customers"), names_people("bank_customer"), names_people("customer_orders")
    (True, True, False)
    """
    stems = stem_name(table)
    return bool(stems) and stems[-1] in _PEOPLE


def is_part_of_name(column: str) -> bool:
    """Whether the name of a column says that it holds the first or the last names of people.

    >>> [is_part_of_name(name) for name in ("stu_fname", "LName", "last_name", "name")]
    [True, True, True, False]
    """
    return not _PARTS.isdisjoint([*stem_name(column), *stem_name(column.lower())])
