"""Nondeterministic functions: what a query asks of the clock, of chance or of the connection.

`SELECT name FROM ship WHERE built < date('now', '-30 years')` -> nondeterministic_function: the
answer that is right today is wrong in a year.
"""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokens import Token, TokenType

from stages.probes.findings import Finding
from stages.probes.inspection import Inspection
from stages.reasons import Flag
from stages.sql.parser import tokenize_sql

_KEYWORDS = {"current_date", "current_time", "current_timestamp"}
_ALWAYS = {
    "random",
    "randomblob",
    "changes",
    "total_changes",
    "last_insert_rowid",
    "sqlite_version",
    "sqlite_source_id",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_offset",
}
_OF_TIME = {
    "date": 0,  # how many arguments stand before the time, which is now where it is left out
    "time": 0,
    "datetime": 0,
    "julianday": 0,
    "unixepoch": 0,
    "strftime": 1,
    "timediff": None,  # has no default
}
_OF_THIS_MACHINE = {"localtime", "utc"}  # modifiers that ask for its time zone
_MAY_APPLY = re.compile(
    r"current_|random|changes|last_insert|sqlite_|date|time|julianday|unixepoch", re.IGNORECASE
)


def find_nondeterministic_function(inspection: Inspection) -> Finding | None:
    """nondeterministic_function: the answer may be another one the next time, or elsewhere."""
    if not _MAY_APPLY.search(inspection.sql):
        return None
    ctes = {cte.alias.lower() for cte in inspection.scopes.nodes.find_all(exp.CTE)}
    calls = [call for call in list_nondeterministic(inspection.sql) if call not in ctes]
    return Finding(Flag.NONDETERMINISTIC_FUNCTION, {"calls": calls[:5]}) if calls else None


def list_nondeterministic(sql: str) -> list[str]:
    """The calls as far as they matter, in lower case, each once.

    >>> list_nondeterministic("SELECT random(), date('now'), date(born), 'random()' FROM t")
    ['random', "date('now')"]
    """
    try:
        tokens = tokenize_sql(sql)
    except TokenError:
        return []
    found: dict[str, None] = {}
    for place, token in enumerate(tokens):
        if token.token_type is TokenType.STRING:
            continue
        before = tokens[place - 1].token_type if place else None
        after = tokens[place + 1].token_type if place + 1 < len(tokens) else None
        if before is TokenType.DOT or after is TokenType.DOT:
            continue
        name = token.text.lower()
        is_quoted = token.token_type is TokenType.IDENTIFIER
        if name in _KEYWORDS and not is_quoted and before is not TokenType.ALIAS:
            found[name] = None
        elif after is TokenType.L_PAREN and before is not TokenType.FROM:
            if name in _ALWAYS:
                found[name] = None
            elif name in _OF_TIME:
                reason = _reads_clock(_read_arguments(tokens, place + 1), _OF_TIME[name])
                if reason is not None:
                    found[f"{name}({reason})"] = None
    return list(found)


def _read_arguments(tokens: list[Token], place: int) -> list[list[Token]]:
    """The tokens of each argument of a call whose parenthesis opens at `place`."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[place:]:
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            depth += 1
            if depth == 1:
                continue
        elif kind is TokenType.R_PAREN:
            depth -= 1
            if depth == 0:
                break
        elif kind is TokenType.COMMA and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(token)
    return arguments if arguments[0] else []


def _reads_clock(arguments: list[list[Token]], first: int | None) -> str | None:
    """'now', '' for a time left out, or the modifier that asks for the time zone; else None."""
    if first is not None and len(arguments) <= first:
        return ""
    for argument in arguments[first or 0 :]:
        text = argument[0].text.strip().lower() if len(argument) == 1 else ""
        is_text = text and argument[0].token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        if is_text and (text == "now" or text in _OF_THIS_MACHINE):
            return f"'{text}'"
    return None
