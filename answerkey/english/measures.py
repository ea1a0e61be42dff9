"""Measures: the numbers that a question states, how it compares with them, the most and the least.

>>> [number.values for number in list_numbers("top 3 of 2.5 million, at least twenty-five")]
[(3,), (2500000, 2.5), (25,)]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from answerkey.english.columns import split_words
from answerkey.english.question import Question, Word, stem_word, word_set

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
    ends, how it is written (digits, word, ordinal), and whether it stands alone, not in a code."""

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
# leaves 18, 5 and 120 to whoever answers it.


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
    word that means it, or as a year so many years before or after another.

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


# Measures: what the name of a column says of its values. The youngest has the least age and the
# greatest date of birth; the first rank is the best.


SIZE, AGE, DATE, RANK = "size", "age", "date", "rank"

_DATES = word_set(
    "date datetime day year time timestamp dob birth birthday birthdate birthyear born founded "
    "founding established built opened opening since start started end ended from to hired joined "
    "released created updated inception"
)
_RANKS = word_set("rank ranking position place standing seed grade")


@lru_cache(maxsize=65_536)
def read_measure(name: str, declared_type: str = "") -> str | None:
    """AGE, DATE or RANK, by the name of a column and by its declared type; None for others.

    >>> read_measure("Birth_Year"), read_measure("age"), read_measure("years_worked")
    ('date', 'age', None)
    """
    words = split_words(name)
    if "age" in words:
        return AGE
    if _RANKS.intersection(words):
        return RANK
    is_date = (
        not _DATES.isdisjoint(words)
        or (words and words[-1].endswith(("date", "year")))
        or declared_type.upper().startswith(("DATE", "TIME", "YEAR"))
    )
    return DATE if is_date else None


_NEVER_ZERO = word_set("height weight age year length width depth distance temperature diameter")


def is_never_zero(name: str) -> bool:
    """Return whether a column measures what nothing has none of, by its name: a person of height 0
    is one whom nobody measured.

    >>> is_never_zero("height_cm"), is_never_zero("goals")
    (True, False)
    """
    return not _NEVER_ZERO.isdisjoint(re.findall("[a-z]+", name.lower()))


# Comparatives: whether a question leaves out the number that it compares with, or takes it in.


_MAX_NUMBERS = 100  # of a text: it may be hostile
_MAX_CHARACTERS = 10_000  # of a text, for the same reason
_WINDOW = 64  # characters before a number in which its comparative stands

_GREATER = word_set("more greater larger higher bigger taller longer heavier wider deeper")
_SMALLER = word_set("less fewer smaller lower shorter lighter cheaper narrower")
_COMPARED = "|".join(sorted(_GREATER | _SMALLER))
_NO = r"(?:no|not|n't|never)"
_MONTH = (
    r"jan\w*|feb\w*|mar|march|apr\w*|may|jun|june|jul|july|aug|august|sep\w*|oct\w*|nov\w*|dec\w*"
)
_FILLER = (
    r"(?:\s+(?:the|a|an|age|ages|aged|year|years|season|of|in|date|day|grade|level|about|number|"
    rf"size|score|value|{_MONTH}|[0-9]{{1,2}}(?:st|nd|rd|th)?),?)*[\s$£€]*$"
)
_TAKES_IN = re.compile(
    rf"(?<!\w)(at least|at most|{_NO} (?:{_COMPARED}|earlier|later|younger|older) than"
    rf"|(?:{_COMPARED}) than or equals? to|(?:max|min)(?:imum)? of|up to|not exceed(?:ing)?"
    rf"|(?:on|at|to) (?:and|or) (?:above|over|below|under|(?:{_COMPARED}) than)|>=|<="
    rf"|reach(?:es|ed|ing)?|(?:on )?or (?:after|before)|since|until|starting (?:from|in)){_FILLER}"
)
_LEAVES_OUT = re.compile(
    rf"(?<!\w)((?:{_COMPARED}) (?:\w+ ){{0,3}}?than|(?:older|younger|later|earlier|newer) than"
    rf"|more recent(?:ly)? than|over|above|exceed(?:s|ed|ing)?|beyond|in excess of|under|below"
    rf"|beneath|after|before|prior to|>|<){_FILLER}"
)
_OR_MORE = re.compile(
    rf"\s*(?:[a-z]+ )?(?:or|and) (?:{_COMPARED}|above|over|up|below|under|older|younger|later|after"
    r"|newer|earlier|before)\b"
    r"(?! than)(?!\s+[$£€]?[0-9])"
)
_BETWEEN = re.compile(r"\bbetween(?:\s+(?:the|years?|ages?|ids?))*[\s$£€]*$")
_BETWEEN_AND = re.compile(r"\s*(?:and|to|-)\s*(?:the )?[\s$£€]*$")
_EXCLUSIVE = re.compile(r"\b(?:exclusive(?:ly)?|strictly)\b")
_NEGATION = re.compile(r"\b(?:not|never|no|without|except|neither|cannot|excluding)\b|n't\b")
_MORE = _GREATER | {"over", "above", "exceeding", "exceeds", "least"}
_LESS = _SMALLER | {"under", "below", "most"}


class Comparative(NamedTuple):
    """A comparison with a number that a question states: its words, whether the number itself is
    left out, the number, and whether a negation stands before it."""

    text: str
    is_strict: bool
    value: float
    is_negated: bool = False

    @property
    def way(self) -> str | None:
        """`<` or `>`, if the comparison begins with a word of size."""
        word = self.text.removeprefix("at ").split()[0]
        return ">" if word in _MORE else "<" if word in _LESS else None


def find_comparatives(question: Question) -> list[Comparative]:
    """Return the comparisons with a number that a question states, in order of their numbers.

    >>> comparatives = find_comparatives(Question("at least 3, under 20"))
    >>> [(comparative.is_strict, comparative.value) for comparative in comparatives]
    [(False, 3), (True, 20)]
    """
    text = question.plain_text[:_MAX_CHARACTERS]
    comparatives: list[Comparative] = []
    range_end = None
    numbers = [n for n in list_numbers(text) if n.is_alone and n.form != ORDINAL]
    for number in numbers[:_MAX_NUMBERS]:
        before = text[max(0, number.start - _WINDOW) : number.start]
        is_end = range_end is not None and _BETWEEN_AND.match(text[range_end : number.start])
        if is_end or _BETWEEN.search(before):
            is_strict = _EXCLUSIVE.search(text) is not None
            comparatives.append(Comparative("between", is_strict, number.values[0]))
            range_end = None if is_end else number.end
            continue
        range_end = None
        match = _TAKES_IN.search(before) or _LEAVES_OUT.search(before)
        start, end = number.start, number.end
        if match is not None:
            start += match.start(1) - len(before)
        elif (after := _OR_MORE.match(text, end, end + _WINDOW)) is not None:
            end = after.end()
        else:
            continue
        is_strict = match is not None and match.re is _LEAVES_OUT
        is_negated = _is_negated(text, start)
        comparatives.append(Comparative(text[start:end], is_strict, number.values[0], is_negated))
    return comparatives


def _is_negated(text: str, start: int) -> bool:
    clause = re.split(r"[,;.?!]|\b(?:and|or|but)\b", text[max(0, start - _WINDOW) : start])[-1]
    return _NEGATION.search(clause) is not None


# Superlatives: which words of a question ask for the least or for the most of something.


LEAST, MOST = "least", "most"
_OPPOSITE = {LEAST: MOST, MOST: LEAST}

_WORDS_SUPERLATIVES = {
    (MOST, SIZE): "largest biggest highest greatest maximum max maximal longest tallest heaviest"
    " priciest richest busiest widest deepest farthest furthest strongest costliest",
    (LEAST, SIZE): "smallest lowest fewest minimum min minimal shortest lightest cheapest tiniest"
    " narrowest shallowest nearest closest weakest",
    (MOST, AGE): "oldest eldest",
    (LEAST, AGE): "youngest newest",
    (MOST, DATE): "latest",
    (LEAST, DATE): "earliest",
}
_LEXICON = {word: sense for sense, words in _WORDS_SUPERLATIVES.items() for word in words.split()}
# adjectives of which the most is the least of what a column measures: "the most inexpensive"
_DOWN = word_set("cheap inexpensive small low short young poor poorly light few seldom rarely")
_RECENT = frozenset({"recent", "recently"})
_COMPASS = frozenset({"south", "southern", "west", "western"})  # the least latitude
_MAX_WORDS_AFTER = 3  # of `most`, which may say of what


class Superlative(NamedTuple):
    """A superlative of a question.

    text: its words. pole: LEAST or MOST. measure: SIZE, AGE or DATE.
    words: the words after `most` or `least` that may say of what; none if the word itself says it.
    """

    text: str
    pole: str
    measure: str
    words: tuple[Word, ...] = ()


def find_superlatives(question: Question) -> list[Superlative]:
    """Return the superlatives of a question outside of its quotations, in order.

    >>> question = Question("the oldest of those with at least 2 of the fewest")
    >>> [(asked.text, asked.pole, asked.measure) for asked in find_superlatives(question)]
    [('oldest', 'most', 'age'), ('fewest', 'least', 'size')]
    """
    words = question.plain_words
    superlatives = []
    for word_index, word in enumerate(words):
        after = words[word_index + 1 : word_index + 1 + _MAX_WORDS_AFTER]
        if word.text in (LEAST, MOST):
            before = words[word_index - 1].text if word_index else ""
            following = after[0].text if after else ""
            is_other = before == "at" or following == "of"  # at least 5; most of them
            if not is_other and not list_numbers(following):
                superlatives.append(_read_adverb(word.text, following, tuple(after)))
        elif word.text in _LEXICON and _COMPASS.isdisjoint(other.text for other in after[:2]):
            superlatives.append(Superlative(word.text, *_LEXICON[word.text]))
    return superlatives


def _read_adverb(pole: str, adjective: str, words: tuple[Word, ...]) -> Superlative:
    text = f"{pole} {adjective}".strip()
    if adjective in _RECENT:
        return Superlative(text, pole, DATE)
    return Superlative(text, _OPPOSITE[pole] if adjective in _DOWN else pole, SIZE, words)


_TOP = re.compile(r"\b(?:top|bottom) $")  # "the last 3" may be years
_NEXT_WORD = re.compile(r" ([a-z]+)\b")
_SUPERLATIVES = _LEXICON.keys() | {LEAST, MOST, "best", "worst", "expensive"}


def list_extremes(question: Question) -> list[int]:
    """Return the indexes of the words of a question that ask for the least or the most.

    >>> list_extremes(Question("the oldest of those with the most berths"))
    [1, 6]
    """
    return [index for index, word in enumerate(question.words) if word.text in _SUPERLATIVES]


def list_limits(question: Question) -> list[Number]:
    """Return the numbers of rows that a question asks for.

    >>> question = Question("Show the top 3 ports, and the two oldest ships of the last 5 years.")
    >>> [number.values for number in list_limits(question)]
    [(3,), (2,)]
    """
    text = question.plain_text
    return [
        number
        for number in list_numbers(text)
        if number.form != ORDINAL  # "the second highest" is one
        and (_TOP.search(text[: number.start]) or _is_before_superlative(text, number))
    ]


def _is_before_superlative(text: str, number: Number) -> bool:
    following = _NEXT_WORD.match(text, number.end)
    return following is not None and following[1] in _SUPERLATIVES


_DEGREES = word_set(
    "large big great huge major small little tiny high low old young new recent modern long short "
    "famous popular successful good bad normal abnormal typical"
)
_YEARS_OF_LIFE = word_set("year years age ages old older oldest")


def mentions_degree(question: Question) -> bool:
    """Return whether a question or its evidence has a word that may set a bound on many things.

    >>> mentions_degree(Question("Which large ships are there?"))
    True
    """
    return not _DEGREES.isdisjoint(word.text for word in question.said_words)


def mentions_years(question: Question) -> bool:
    """Return whether a question asks for a number of years, or for an age.

    >>> mentions_years(Question("How old is she?")), mentions_years(Question("For how many days?"))
    (True, False)
    """
    return not _YEARS_OF_LIFE.isdisjoint(word.text for word in question.words)
