"""SQL as it is shown: a line a clause and a condition, in colours. Only white space differs."""

from __future__ import annotations

from sqlglot import Dialect, Token, TokenType
from sqlglot.errors import SqlglotError

_SQLITE = Dialect.get_or_raise("sqlite")
_KEYWORDS = {
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COLLATE",
    "CROSS",
    "DESC",
    "DISTINCT",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FROM",
    "FULL",
    "GLOB",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INTERSECT",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "RIGHT",
    "SELECT",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
}
_CLAUSES = {
    "CROSS",
    "EXCEPT",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "INNER",
    "INTERSECT",
    "JOIN",
    "LEFT",
    "LIMIT",
    "NATURAL",
    "ORDER",
    "SELECT",
    "UNION",
    "WHERE",
}
_BEFORE_JOIN = {"CROSS", "FULL", "INNER", "LEFT", "NATURAL", "OUTER", "RIGHT"}
_KINDS = {TokenType.STRING: "s", TokenType.NUMBER: "n"}


def show_sql(sql: str) -> list[str]:
    """The pieces of a query, each of which begins with its kind: k for a keyword, s for text, n for
    a number, or a space.

    >>> show_sql("SELECT name FROM ship")
    ['kSELECT', '  name\\n', 'kFROM', '  ship']
    """
    try:
        return _lay_out(sql, _SQLITE.tokenize(sql))
    except SqlglotError:
        return [f" {sql}"]


def _lay_out(sql: str, tokens: list[Token]) -> list[str]:
    pieces: list[str] = []
    queries: list[bool] = []  # of each open parenthesis, whether it holds a query
    betweens: list[int] = []  # how deep each BETWEEN stands whose AND is to come
    cases = 0  # that are open
    end, before = 0, ""

    def add(kind: str, text: str) -> None:
        if pieces and kind == pieces[-1][0] == " ":
            pieces[-1] += text
        elif text:
            pieces.append(kind + text)

    for token_index, token in enumerate(tokens):
        text, word = sql[token.start : token.end + 1], token.text.upper().partition(" ")[0]
        is_word = text[0].isalpha()
        gap = sql[end : token.start]
        is_of_query = is_word and all(queries[-1:])
        starts_line = is_of_query and word in _CLAUSES and before not in _BEFORE_JOIN
        joins_conditions = is_of_query and word in ("AND", "OR") and not cases
        if word == "AND" and betweens[-1:] == [len(queries)]:
            betweens.pop()
            joins_conditions = False
        if text == ")" and queries:
            starts_line = queries.pop()
        if gap.strip():  # a comment
            add(" ", gap)
        elif starts_line and token_index:
            add(" ", "\n" + "  " * len(queries))
        elif joins_conditions:
            add(" ", "\n" + "  " * (len(queries) + 1))
        elif gap:
            add(" ", " ")
        is_keyword = is_word and word in _KEYWORDS
        add("k" if is_keyword else _KINDS.get(token.token_type, " "), text)
        if text == "(":
            queries.append(sql[token.end + 1 :].lstrip()[:6].upper() == "SELECT")
        if is_word and word == "BETWEEN":
            betweens.append(len(queries))
        elif is_word and word == "CASE":
            cases += 1
        elif is_word and word == "END":
            cases = max(0, cases - 1)
        end, before = token.end + 1, word
    add(" ", sql[end:].rstrip())
    return pieces
