"""Names that a question gives: what it quotes, and what it writes with capital letters."""

from __future__ import annotations

import re
from typing import NamedTuple

from answerkey.english.lexicon import CALENDAR

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
    """What a text says in quotes.

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
    """What a text quotes, and its runs of capitalised words; not the first word of a sentence, days
    and months. A text with most of its words in capitals has none of the latter.

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
    """The length of a capitalised word without 's; 0 where it is no name."""
    word = re.sub(r"['’]s$", "", match.group().rstrip(".'’-&"))
    before = text[max(0, match.start() - 4) : match.start()].rstrip()
    if not before or before[-1] in _SENTENCE_ENDS:
        return 0
    if word.lower() in CALENDAR or _DATE_FORMAT.fullmatch(word):
        return 0
    return len(word)
