"""The numbers that a question states: in digits, in words, in other units.

>>> [number.values for number in list_numbers("top 3 of 2.5 million, at least twenty-five")]
[(3,), (2500000, 2.5), (25,)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from answerkey.english.question import Question, stem_word

_UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = """
zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
"""
_MAGNITUDES = {
    **{"hundred": 100, "trillion": 10**12},
    **dict.fromkeys(("k", "thousand"), 10**3),
    **dict.fromkeys(("m", "mn", "million"), 10**6),
    **dict.fromkeys(("b", "bn", "billion"), 10**9),
}
DIGITS, WORD, ORDINAL = "digits", "word", "ordinal"

_CARDINALS = {word: value for value, word in enumerate(_UNITS.split())}
_CARDINALS |= {word: 10 * tens for tens, word in enumerate(_TENS.split(), start=2)} | {
    **{"dozen": 12, "once": 1, "twice": 2},
    **{word: _MAGNITUDES[word] for word in ("hundred", "thousand", "million", "billion")},
}
_ORDINAL_VALUES = {word: value for value, word in enumerate(_ORDINALS.split())}
_TOKEN = re.compile(
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
    r"|(?<![\w.])\.[0-9]+)"  # not the .5 of No.5
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<percent>%)"
)
_MAX_DIGITS = 15  # digits: more are a code, and no float holds them


class Number(NamedTuple):
    """A number of a text: the values that it may mean, the likeliest first, where it starts and
    ends, how it is written (digits, word, ordinal), and whether it is alone, not part of a code."""

    values: tuple[float, ...]
    start: int
    end: int
    form: str
    is_alone: bool


def list_numbers(text: str) -> list[Number]:
    """The numbers that a text states, in order.

    >>> [number.values for number in list_numbers("the 5k run, 40% of a hundred, the 2nd A320")]
    [(5000, 5), (40, 0.4), (100,), (2,), (320,)]
    """
    tokens = [match for match in _TOKEN.finditer(text) if len(match.group()) <= _MAX_DIGITS]
    numbers = []
    index = 0
    while index < len(tokens):
        number, used = _read_number(text, tokens, index)
        if number is not None:
            numbers.append(number)
        index += used
    return numbers


def read_number(text: str) -> float | None:
    """Return the number that a whole text is, an int if it is one; None if it is none.

    >>> read_number("1,200"), read_number("0.50"), read_number("12 km")
    (1200, 0.5, None)
    """
    match = _TOKEN.fullmatch(text.strip())
    if match is None or match["digits"] is None or len(text) > _MAX_DIGITS:
        return None
    return _plain(float(text.replace(",", "")))


def _read_number(text: str, tokens: list[re.Match[str]], index: int) -> tuple[Number | None, int]:
    first = tokens[index]
    if first["digits"] is not None:
        return _read_digits(text, tokens, index)
    word = first.group().lower()
    if word in _ORDINAL_VALUES:
        values: tuple[float, ...] = (_ORDINAL_VALUES[word],)
        return Number(values, *first.span(), ORDINAL, True), 1
    if word in _CARDINALS:
        return _read_words(text, tokens, index)
    return None, 1


def _read_digits(text: str, tokens: list[re.Match[str]], index: int) -> tuple[Number, int]:
    token = tokens[index]
    value = float(token.group().replace(",", ""))
    start = token.start()
    before, after = text[max(0, start - 1) : start], tokens[index + 1 : index + 2]
    is_alone = not (before.isalnum() or before in tuple("_-/.:"))
    end, values, form, used = token.end(), [value], DIGITS, 1
    if after and not text[end : after[0].start()].strip():
        suffix = after[0].group().lower()
        is_joined = after[0].start() == end
        if is_joined and suffix in ("st", "nd", "rd", "th"):
            form, used = ORDINAL, 2
        elif suffix in ("%", "percent", "pct"):
            values, used = [value, value / 100], 2
        elif suffix in _MAGNITUDES and (is_joined or len(suffix) > 2):
            values, used = [value * _MAGNITUDES[suffix], value], 2
        elif is_joined:
            is_alone = False
        end = after[0].end() if used == 2 else end
    if text[end : end + 1] in ("-", "/", ":", "_") and text[end + 1 : end + 2].isalnum():
        is_alone = False
    return Number(tuple(map(_plain, values)), token.start(), end, form, is_alone), used


def _read_words(text: str, tokens: list[re.Match[str]], index: int) -> tuple[Number, int]:
    value, used = _CARDINALS[tokens[index].group().lower()], 1
    for before, token in pairwise(tokens[index : index + 3]):
        word = token.group().lower()
        if text[before.end() : token.start()].strip() not in ("", "-"):
            break
        if word in _MAGNITUDES and len(word) > 2:
            value *= _MAGNITUDES[word]
        elif value % 10 == 0 < value < 100 and 0 < _CARDINALS.get(word, 0) < 10:
            value += _CARDINALS[word]
        else:
            break
        used += 1
    span = tokens[index].start(), tokens[index + used - 1].end()
    return Number((value,), *span, WORD, True), used


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


# Numbers that common knowledge gives: a question that says "adults", "in May" or "over 2 hours"
# means 18, 5 and 120.


_MONTHS = """
january february march april may june july august september october november december
"""
_DAYS = "sunday monday tuesday wednesday thursday friday saturday"
_MEANT: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("single", "double", "couple", "pair", "both", "several", "multiple"), (1, 2)),
    **dict.fromkeys(("thrice", "triple"), (3,)),
    **{"half": (0.5, 50), "quarter": (0.25, 25), "decade": (10,), "century": (100,)},
    **{"adult": (18, 21), "minor": (18,), "teenager": (13, 19, 20), "weekend": (0, 5, 6, 7)},
}
for _number, _month in enumerate(_MONTHS.split(), start=1):
    _MEANT[_month] = _MEANT[_month[:3]] = (_number,)
for _number, _day in enumerate(_DAYS.split()):  # Sunday is 0, or 7, or the first of seven
    _MEANT[_day] = (_number, _number or 7, _number + 1)

# What one of a unit is in other units.
_FACTORS: dict[str, tuple[float, ...]] = {
    **{"second": (1000, 1 / 60), "minute": (60, 60_000, 1 / 60), "hour": (60, 3600, 3.6e6, 1 / 24)},
    **{"day": (24, 1440, 86_400, 1 / 7), "week": (7, 168), "month": (30, 1 / 12)},
    **{"year": (12, 365), "decade": (10,), "century": (100,)},
    **{"sec": (1000, 1 / 60), "min": (60, 60_000, 1 / 60), "h": (60, 3600, 3.6e6, 1 / 24)},
    **dict.fromkeys(("meter", "metre", "m"), (100, 1000, 1 / 1000)),
    **{"cm": (10, 1 / 100), "mm": (1 / 10, 1 / 1000), "g": (1 / 1000,)},
    **dict.fromkeys(("kilometer", "kilometre", "km", "kilogram", "kg", "ton", "tonne"), (1000,)),
    **dict.fromkeys(("dollar", "euro"), (100, 1 / 1000, 1e-6, 1e-9)),
    **{"million": (1 / 1000, 1e-9), "billion": (1000, 1e-6), "percent": (0.01,)},
}


_YEARS = range(1000, 2200)
_MAX_SPAN_YEARS = 100  # a greater number is a year itself, and none before or after another


def has_number(question: Question, values: Iterable[float]) -> bool:
    """Return whether a question or its evidence has one of some numbers, also in another unit, by a
    word that means it, or as a year that is a number of years before or after another one.

    >>> has_number(Question("longer than 2 hours"), [120]), has_number(Question("adults"), [18])
    (True, True)
    """
    text = f"{question.text}\n{question.evidence}"
    stems = {word.stem for word in question.said_words}
    said = {value for number in list_numbers(text) for value in number.values}
    said |= {value for word, meant in _MEANT.items() if stem_word(word) in stems for value in meant}
    factors = {
        factor for unit, others in _FACTORS.items() if stem_word(unit) in stems for factor in others
    }
    said |= {round(factor * number, 9) for factor in factors for number in (*said, 1)}
    years = [number for number in said if number in _YEARS]
    spans = [span for span in (*said, 1) if span <= _MAX_SPAN_YEARS]
    said |= {year + way * span for year in years for span in spans for way in (-1, 1)}
    return any(round(value, 9) in said for value in values)
