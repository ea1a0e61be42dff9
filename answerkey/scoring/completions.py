"""Read the text of a model's answer in any shape that trainers send, and extract its SQL.

    >>> extract_sql("Two ways.\\n```sql\\nSELECT 1\\n```\\nor\\n```\\nSELECT 2\\n```")
    'SELECT 2'

The time grows linearly with the length of the text, also for hostile texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

_MAX_FENCES = 1_000  # more than any honest text has
_SHOWN = 80  # characters of a text without a fence
_IS_COMPLETION = "it stands in a fenced block, so it is a `completion`: a `prediction` is SQL alone"

# A language that is SQL is directly behind the fence, or behind spaces and alone on the line. Any
# other word belongs to the content, which then does not begin like a query.
_FENCE = re.compile(
    r"(?P<fence>`{3,}|~{3,})"
    r"(?P<label>(?i:sql|sqlite3?|mysql)(?![\w+#-])"
    r"|[ \t]++(?i:sql|sqlite3?|mysql)[ \t]*(?=\r?\n))?"
)
# The second group may be empty, so the first group never backtracks.
_BEGIN = re.compile(
    r"(?:[\s(\ufeff]+|--[^\n]*|/\*.*?(?:\*/|\Z))*(?P<query>(?i:SELECT|WITH|VALUES)\b)?", re.DOTALL
)


def read_completion(completion: Any) -> str:
    """Return the text of a completion: a text, a message, or a chat, whose last message counts.

    >>> read_completion([{"role": "assistant", "content": [{"type": "text", "text": "SELECT 1"}]}])
    'SELECT 1'
    >>> read_completion(None), read_completion([])
    ('', '')

    The content of a message is a text or a list of parts; only parts of type text count. Any other
    value is an empty text.
    """
    if type(completion) is str:
        return completion
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

    A block starts with three or more backticks or tildes. It ends at the next run of them that is
    at least as long, or at the end of a text that was cut off. It counts if its label is SQL or if
    it begins like a query: SELECT, WITH or VALUES, after comments and parentheses. The last block
    that begins like a query is returned, or else the last one with a label.

    Thinking is not an answer: only the text after the last `</think>` counts, up to the next
    `<think>`.
    """
    text = _drop_thinking(text)
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
        begin = _match_begin(text, start, len(text) if closing is None else runs[closing].start())
        if begin.lastgroup:
            query = start, begin.endpos
        elif label and begin.end() < begin.endpos:
            labelled = start, begin.endpos
        if closing is None:
            if begin.lastgroup:
                break
            # a stray fence, or one that the text only mentions
            number = next((n for n in behind if runs[n].start() >= begin.end()), len(runs))
        else:  # a label opens a block, even if its fence could close one
            number = closing if runs[closing]["label"] else closing + 1
    if span := query or labelled:
        return text[slice(*span)].strip()
    return None


def _match_begin(text: str, start: int, end: int) -> re.Match[str]:
    """Match the start of a text, before `end`: the group `query` if it begins like a query."""
    begin = _BEGIN.match(text, start, end)
    assert begin is not None  # the pattern also matches the empty text
    return begin


def _drop_thinking(text: str) -> str:
    return text.rpartition("</think>")[2].partition("<think>")[0]


def explain_no_query(text: str | None) -> str:
    """Return the reason why `extract_sql` finds no query in a text.

    >>> explain_no_query("SELECT 1")
    'no SQL in a fenced block: the text begins as SQL does, without a fence (```sql) before it'
    >>> explain_no_query("I do not know.")
    "no SQL in a fenced block: there is no fence (```sql) in 'I do not know.'"
    """
    if text is None:
        return "no SQL: the prediction is null"
    rest = _drop_thinking(text)
    fences = len(list(islice(_FENCE.finditer(rest), _MAX_FENCES + 1)))
    if not rest.strip():
        why = "the text is empty"
        if text.strip():
            why = "nothing stands outside of <think>, which perhaps was cut off"
    elif fences > _MAX_FENCES:
        why = f"there are more than {_MAX_FENCES:,} fences"
    elif fences:
        why = "no block begins with SELECT, WITH or VALUES, or is labelled as SQL"
    elif has_query(rest):
        why = "the text begins as SQL does, without a fence (```sql) before it"
    else:
        shown = rest.strip()
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        why = f"there is no fence (```sql) in {shown!r}"
    return f"no SQL in a fenced block: {why}"


def has_query(text: str) -> bool:
    """Return whether a text begins like a query."""
    return _match_begin(text, 0, len(text)).lastgroup is not None


def explain_fence(sql: str) -> str:
    """Return a hint if SQL that SQLite refuses is a completion; else an empty text.

    >>> explain_fence("SELECT nothing")
    ''
    """
    is_fenced = ("```" in sql or "~~~" in sql) and extract_sql(sql) is not None
    return f"; {_IS_COMPLETION}" if is_fenced else ""
