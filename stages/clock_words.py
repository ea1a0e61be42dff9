"""Clock words: by which words a query reads the clock, or the time zone of the machine.

Not seen: a word that no text spells out, as in date('n' || 'ow') or in date(born) where a row of
born holds 'now'.
"""

from __future__ import annotations

import re

CLOCK_FUNCTIONS = {"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"}
# What makes a date function read the clock, or the time zone of the machine: a word, or no time.
_READS_CLOCK = re.compile(
    r"""['"]\s*(?:now|localtime|utc)\s*['"]"""
    r"""|\b(?:date|time|datetime|julianday|unixepoch)["`\]]?\s*\(\s*(?:\)|['"]subsec(?:ond)?['"])"""
    r"""|\bstrftime["`\]]?\s*\(\s*(?:'[^']*'|"[^"]*"|[^'"(),]*)\s*,\s*['"]subsec(?:ond)?['"]"""
    r"""|\btimediff["`\]]?\s*\([^)]*['"]subsec(?:ond)?['"]""",
    re.IGNORECASE,
)
_STRFTIME = re.compile(r"""\bstrftime["`\]]?\s*\(""", re.IGNORECASE)
_QUOTED_OR_MARK = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^]]*\]|[(),]""")
_TEXT_OR_COMMENT = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|/\*.*?(?:\*/|\Z)""", re.DOTALL
)


def names_clock(sql: str) -> bool:
    """Whether SQL spells out how to read the clock.

    >>> names_clock("SELECT date('now')"), names_clock("SELECT strftime(lower('%Y, %M'))")
    (True, True)
    """
    sql = _TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", sql)
    if _READS_CLOCK.search(sql):
        return True
    for call in _STRFTIME.finditer(sql):  # with a format alone
        depth = 1
        for found in _QUOTED_OR_MARK.finditer(sql, call.end()):
            mark = found[0]
            if mark == "," and depth == 1:
                break
            depth += (mark == "(") - (mark == ")")
            if depth == 0:
                return True
    return False
