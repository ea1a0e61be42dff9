"""Completions: the text of a model's answer in any shape that trainers send, and the SQL in it.

    >>> extract_sql("Two ways.\\n```sql\\nSELECT 1\\n```\\nor\\n```\\nSELECT 2\\n```")
    'SELECT 2'

The time grows with the length of the text alone, also for hostile texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

_MAX_FENCES = 1_000  # nobody writes so many

# Languages that are SQL stand directly behind the fence, or behind spaces on a line of their own.
# Any other word stays in the content, which then does not begin like a query.
_FENCE = re.compile(
    r"(?P<fence>`{3,}|~{3,})"
    r"(?P<label>(?i:sql|sqlite3?|mysql)(?![\w+#-])"
    r"|[ \t]++(?i:sql|sqlite3?|mysql)[ \t]*(?=\r?\n))?"
)
# What follows the first group may be nothing: so it is never tried again with less.
_BEGIN = re.compile(
    r"(?:[\s(\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))*(?P<query>(?i:SELECT|WITH|VALUES)\b)?", re.DOTALL
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
    runs = list(islice(_FENCE.finditer(text), _MAX_FENCES + 1))
    if len(runs) > _MAX_FENCES:
        return None
    query = labelled = None
    number = 0
    while number < len(runs):
        fence, label = runs[number].groups()
        behind = range(number + 1, len(runs))
        closing = next((n for n in behind if runs[n]["fence"].startswith(fence)), None)
        start = runs[number].end()
        begin = _BEGIN.match(text, start, len(text) if closing is None else runs[closing].start())
        if begin.lastgroup:
            query = start, begin.endpos
        elif label and begin.end() < begin.endpos:
            labelled = start, begin.endpos
        if closing is None:
            if begin.lastgroup:
                break
            # a stray fence, or one that is talked about
            number = next((n for n in behind if runs[n].start() >= begin.end()), len(runs))
        else:  # a label opens a block, whether or not its fence closes one
            number = closing if runs[closing]["label"] else closing + 1
    if span := query or labelled:
        return text[slice(*span)].strip()
    return None
