"""Completions: the text of a model's answer in any shape that trainers send, and the SQL in it.

    >>> extract_sql("Two ways.\\n```sql\\nSELECT 1\\n```\\nor\\n```\\nSELECT 2\\n```")
    'SELECT 2'

The time grows with the length of the text alone, also for hostile texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NamedTuple

_MAX_FENCES = 20_000  # nobody writes so many, and each takes a microsecond to read

# Languages that are SQL stand directly behind the fence, or behind spaces on a line of their own.
# Any other word stays in the content, which then does not begin like a query.
_FENCE = re.compile(
    r"(?P<fence>`{3,}|~{3,})"
    r"(?P<label>(?i:sql|sqlite3?|mysql)(?![\w+#-])"
    r"|[ \t]++(?i:sql|sqlite3?|mysql)[ \t]*(?=\r?\n))?"
)
# What follows the first group may be nothing: so it is never tried again with less.
_BEGIN = re.compile(
    r"(?:[\s(\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))*(?P<query>(?i:SELECT|WITH|VALUES)\b)?",
    re.DOTALL,
)


def read_completion(completion: Any) -> str:
    """Return the text of a completion: a text, a message, or a chat, whose last message counts.

    >>> read_completion([{"role": "assistant", "content": [{"type": "text", "text": "SELECT 1"}]}])
    'SELECT 1'
    >>> read_completion(None), read_completion([])
    ('', '')

    The content of a message is a text, or a list of parts, of which those of text count. Anything
    else is no text.
    """
    if isinstance(completion, (list, tuple)):
        completion = completion[-1] if completion else None
    content = completion.get("content") if isinstance(completion, Mapping) else completion
    parts = content if isinstance(content, (list, tuple)) else [content]
    return "".join(map(_read_part, parts))


def _read_part(part: Any) -> str:
    if isinstance(part, Mapping) and part.get("type") == "text":
        part = part.get("text")
    return part if isinstance(part, str) else ""


def extract_sql(text: str) -> str | None:
    """Return the last fenced query in a text, as the prompt asks for; None without one.

    >>> extract_sql("<think>```sql\\nSELECT 0\\n```</think>~~~sqlite\\nSELECT 1\\n~~~")
    'SELECT 1'
    >>> extract_sql("```sql\\nSELECT 1\\n```\\nIt returns\\n```\\n1\\n```")
    'SELECT 1'

    A block is three or more backticks or tildes up to the next run of them that is at least as
    long, or up to the end of a text that was cut off. It counts if it is labelled as SQL or begins
    like a query: SELECT, WITH or VALUES, after comments and parentheses. The last one that begins
    like a query is taken; without any, the last one that is labelled.

    Thinking is no answer: only what follows the last `</think>` counts, and of that nothing behind
    a `<think>`.
    """
    text = text.rpartition("</think>")[2].partition("<think>")[0]
    if text.count("```") + text.count("~~~") > _MAX_FENCES:
        return None
    query = labelled = None
    last_runs: dict[str, _LastRuns] = {}
    opening = _FENCE.search(text)
    while opening:
        fence, label = opening.groups()
        place, start = opening.span()
        is_closed = True
        if len(fence) > 3:  # three marks are looked for in vain only once, longer ones never
            mark = fence[0]
            if mark not in last_runs:
                last_runs[mark] = _LastRuns.find(text, mark)
            is_closed = last_runs[mark].has_one_behind(place, len(fence))
        end = text.find(fence, start) if is_closed else -1
        begin = _BEGIN.match(text, start, end if end >= 0 else len(text))
        if begin.lastgroup:
            query = start, begin.endpos
        elif label and begin.end() < begin.endpos:
            labelled = start, begin.endpos
        if end >= 0:
            opening = _FENCE.match(text, end)
            if opening.lastgroup != "label":  # which opens a block, whether or not it closes one
                opening = _FENCE.search(text, opening.end())
        elif begin.lastgroup:
            break
        else:  # a stray fence, or one that is talked about
            opening = _FENCE.search(text, begin.end())
    if span := query or labelled:
        return text[slice(*span)].strip()
    return None


class _LastRuns(NamedTuple):
    """The place of the last run of at least so many marks: lengths grow, and places fall."""

    lengths: list[int]
    places: list[int]

    @classmethod
    def find(cls, text: str, mark: str) -> _LastRuns:
        """Those of three marks and more: in the text read backwards, each is longer than all
        before it."""
        runs = cls([], [])
        backwards, length, place = text[::-1], 2, 0
        while (place := backwards.find(mark * (length + 1), place)) >= 0:
            end = re.compile(f"{mark}+").match(backwards, place).end()
            length, place = end - place, end
            runs.lengths.append(length)
            runs.places.append(len(text) - end)
        return runs

    def has_one_behind(self, place: int, length: int) -> bool:
        """Whether a run that begins behind a place is at least so long."""
        index = bisect_left(self.lengths, length)
        return index < len(self.places) and self.places[index] > place
