"""Words of general English for values that databases hold, and the names that a question gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from answerkey.english.question import Question, Word

_MONTH_NAMES = """
january february march april may june july august september october november december
"""
_DAY_NAMES = "sunday monday tuesday wednesday thursday friday saturday"  # 0 to 6, as strftime
_EMPTY_WORDS = "a an and as at by for from in is of on or the to with"
_YES_NO = "y n t f yes no true false null none nil na nan n/a 0 1"
_MONTHS, _DAYS = _MONTH_NAMES.split(), _DAY_NAMES.split()
EMPTY_WORDS = frozenset(_EMPTY_WORDS.split())
YES_NO = frozenset(_YES_NO.split())

# The numbers that a word may stand for, apart from those that name a number.
HINTS: dict[str, tuple[float, ...]] = {
    "single": (1,),
    "double": (2,),
    "couple": (2,),
    "pair": (2,),
    "pairs": (2,),
    "both": (2,),
    "several": (2,),
    "multiple": (2,),
    "thrice": (3,),
    "triple": (3,),
    "half": (0.5, 50),
    "quarter": (0.25, 25),
    "decade": (10,),
    "century": (100,),
    "adult": (18, 21),
    "adults": (18, 21),
    "minor": (18,),
    "minors": (18,),
    "teenager": (13, 19, 20),
    "teenagers": (13, 19, 20),
    "weekend": (0, 5, 6, 7),
    "weekends": (0, 5, 6, 7),
}
for _place, _month in enumerate(_MONTHS, start=1):
    HINTS[_month] = HINTS[_month[:3]] = HINTS[_month[:4]] = (_place,)
for _place, _day in enumerate(_DAYS):
    # Sunday is 0, or 7, or the first of seven.
    HINTS[_day] = HINTS[_day[:3]] = HINTS[f"{_day}s"] = (_place, _place or 7, _place + 1)
CALENDAR = frozenset(
    form for name in (*_MONTHS, *_DAYS) for form in (name, name[:3], name[:4], f"{name}s")
)

# What a number of a unit is in other units: an hour is 60 minutes or 3600 seconds.
UNITS: dict[str, tuple[float, ...]] = {
    "second": (1000, 1 / 60),
    "minute": (60, 60_000, 1 / 60),
    "hour": (60, 3600, 3_600_000, 1 / 24),
    "day": (24, 1440, 86_400, 1 / 7),
    "week": (7, 168),
    "month": (30, 1 / 12),
    "year": (12, 365),
    "decade": (10,),
    "century": (100,),
    "meter": (100, 1000, 1 / 1000),
    "metre": (100, 1000, 1 / 1000),
    "kilometer": (1000,),
    "kilometre": (1000,),
    "km": (1000,),
    "gram": (1 / 1000,),
    "kilogram": (1000,),
    "kg": (1000,),
    "ton": (1000,),
    "tonne": (1000,),
    "dollar": (100, 1 / 1000, 1e-6, 1e-9),
    "euro": (100, 1 / 1000, 1e-6, 1e-9),
    "million": (1 / 1000, 1e-9),
    "billion": (1000, 1e-6),
    "percent": (0.01,),
}

# Words of a line stand for each other.
_GROUPS = """
female woman women girl girls lady ladies she her mother mothers wife actress f w
male man men boy boys gentleman gentlemen he him father fathers husband m
american americans usa us u.s. u.s.a states america
british uk u.k. england english britain kingdom gb
french france
german germany germans
spanish spain
dutch netherlands holland
greek greece
swiss switzerland
danish denmark
polish poland
irish ireland
swedish sweden
welsh wales
turkish turkey
"""
SYNONYMS = {
    word: frozenset(group.split())
    for group in _GROUPS.strip().splitlines()
    for word in group.split()
}


# Names that a question gives: what it quotes, and what it writes with capital letters.


_QUOTED = re.compile(
    r'"([^"“”]{1,120})"|“([^“”"]{1,120})[”"]'
    r"|(?<![\w'])['‘`]{1,2}([^'‘’`\n]{1,120})['’]{1,2}(?!\w)"
)
_CAPITALISED = re.compile(r"(?<!\w)[^\W\d_a-z][\w’'.&-]*")
_SENTENCE_ENDS = ".?!:;\"'“”‘’`("
_DATE_FORMAT = re.compile(r"[YMDHS][YMDHSymdhs:./-]+")


class Name(NamedTuple):
    """A name: its text, where it starts and ends, and whether it stands in quotes."""

    text: str
    start: int
    end: int
    is_quoted: bool


def list_quoted(text: str) -> list[Name]:
    """Return what a text says in quotes.

    >>> [name.text for name in list_quoted("the 'red' ship's \\"old port\\"")]
    ['red', 'old port']
    """
    found = []
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None).strip(" .,?!")
        if inner:
            found.append(Name(inner, match.start(), match.end(), True))
    return found


def list_names(text: str) -> list[Name]:
    """Return what a text quotes, and its runs of capitalised words but for the first word of a
    sentence, days and months. A text with most of its words in capitals has none of the latter.

    >>> [name.text for name in list_names("Which ships of Port Louis are in the 'Sun' class?")]
    ['Sun', 'Port Louis']
    """
    quoted = list_quoted(text)
    words = re.findall(r"[^\W\d_]{4,}", text)
    if len(words) > 4 and 3 * sum(word[0].isupper() for word in words) > 2 * len(words):
        return quoted
    runs: list[tuple[int, int]] = []
    place = 0
    for match in _CAPITALISED.finditer(text):
        while place < len(quoted) and quoted[place].end <= match.start():
            place += 1
        if place < len(quoted) and quoted[place].start <= match.start():
            continue
        length = _measure_name(text, match)
        if not length:
            continue
        start, end = match.start(), match.start() + length
        if runs and text[runs[-1][1] : start] == " ":
            start = runs.pop()[0]
        runs.append((start, end))
    return quoted + [Name(text[start:end], start, end, False) for start, end in runs]


def _measure_name(text: str, match: re.Match[str]) -> int:
    """The length of a capitalised word without 's; 0 if it is no name."""
    word = re.sub(r"['’]s$", "", match.group().rstrip(".'’-&"))
    before = text[max(0, match.start() - 4) : match.start()].rstrip()
    if not before or before[-1] in _SENTENCE_ENDS:
        return 0
    if word.lower() in CALENDAR or _DATE_FORMAT.fullmatch(word):
        return 0
    return len(word)


# Things that a question counts: the nouns after "how many", "number of", "most", "at least 2".


_COUNTING = {("how", "many"), *((word, "of") for word in ("number", "numbers", "count", "amount"))}
_DEGREES = {"most", "fewest", "least", "fewer", "more", "than", "only", "exactly"}
_BOUNDS = {"most", "least", "than", "only", "exactly", "has", "have", "had"}
_NUMBERS = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_STOP_WORDS = (
    "a about after among an and are as at before between by can could did do does during each every"
    " for from had has have if in is it its not of on or over per since that the their there they"
    " this through to under was were what when where which who whose will with within without would"
)
_ENDS = frozenset(_STOP_WORDS.split())
_MOST_WORDS = 4


class Counted(NamedTuple):
    """A plural noun that is counted: its stem and those of the words before it, and the phrase of
    the question that says so."""

    stems: tuple[str, ...]
    phrase: str


def list_counted(question: Question) -> Iterator[Counted]:
    """The plural nouns that a question counts, in its order, each once.

    >>> [found.stems for found in list_counted(Question("How many old ships visit two ports?"))]
    [('old', 'ship')]
    """
    words = question.words
    known: set[tuple[str, ...]] = set()
    for place in range(1, len(words)):
        if _is_counting([word.text for word in words[max(place - 2, 0) : place]]):
            noun = _read_noun(question, words[place : place + _MOST_WORDS])
            stems = tuple(word.stem for word in noun)
            if stems and stems not in known:
                known.add(stems)
                start = words[max(place - 2, 0)].start
                yield Counted(stems, question.text[start : noun[-1].end])


def _is_counting(before: list[str]) -> bool:
    if tuple(before) in _COUNTING or before[-1] in _DEGREES:
        return True
    is_number = before[-1].isdigit() or before[-1] in _NUMBERS
    return is_number and before[0] in _BOUNDS


def _read_noun(question: Question, words: list[Word]) -> list[Word]:
    """The words up to the first plural; none if the phrase ends before."""
    for place, word in enumerate(words):
        gap = question.text[words[place - 1].end : word.start] if place else ""
        if word.text in _ENDS or gap.strip(" -"):
            return []
        is_plural = word.text.endswith("s") and not word.text.endswith("ss")
        if is_plural or word.text == "people":
            return words[: place + 1]
    return []
