"""Parser of gold SQL: sqlglot's for SQLite's dialect, set up once a process, not once a query.

If sqlglot's tree would lose what SQLite computes, this one keeps it: see `parse_sql`.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokens import Token, Tokenizer, TokenType

from answerkey.sqlite.bounds import MAX_SQL_BYTES
from answerkey.sqlite.schema import affinity

# Of 17,731 queries that people and models wrote for Spider and BIRD, the longest has 147. The time
# that it takes to read a tree may grow with the square of them.
MAX_TOKENS = 2000

# Functions of which sqlglot makes operators, or log(2, x), which takes a BLOB otherwise.
_CALLED = {"LIKE", "GLOB", "MOD", "LOG2", "LOG10"}
_CALL_TYPES = (exp.Like, exp.Glob, exp.Mod, exp.Escape, exp.Log)
_NUMERIC = "NUMERIC\x01"  # a type that sqlglot does not know, and leaves as it is
_OPERATORS = {
    *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE),
    *(TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD),
    *(TokenType.DPIPE, TokenType.AMP, TokenType.PIPE, TokenType.TILDE, TokenType.LIKE),
    *(TokenType.GLOB, TokenType.BETWEEN),
}
_BEFORE_OPERAND = {
    *(TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.WHERE, TokenType.HAVING),
    *(TokenType.ON, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IS, TokenType.FROM),
    *(TokenType.IN, TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE),
    *(TokenType.ORDER_BY, TokenType.GROUP_BY, TokenType.PARTITION_BY),
    *(TokenType.L_PAREN, TokenType.COMMA, *_OPERATORS),
}
_WITHOUT_AFFINITY = {
    *(TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.PLUS, TokenType.DASH),
    TokenType.TILDE,
}


class TooComplexError(ParseError):
    """A query that is larger than what is read: in bytes, in tokens, or in columns."""


def parse_sql(sql: str) -> exp.Expression:
    """The tree of `sqlglot.parse_one(sql, read="sqlite")`, in less time and with more care.

    >>> parse_sql("SELECT name FROM ship").sql()
    'SELECT name FROM ship'

    Two things differ from sqlglot. The type of a CAST is one of the five affinities, which is all
    that SQLite makes of it; sqlglot takes STRING for TEXT and NUMERIC for REAL. And like(a, b) is a
    function; sqlglot takes it for `b LIKE a`.

    Raises:
        TooComplexError: a SqlglotError: more than 100,000 bytes or 2,000 tokens.
        sqlglot.errors.SqlglotError: the text does not parse, or the tree would not show what it
            says: +a, which has neither the affinity nor the collation of a; and NOT after an
            operator (1 = NOT a IS NULL), whose tree is that of `1 = a IS NOT NULL`.
    """
    tokenizer, parser = _set_up()
    if len(sql.encode(errors="replace")) > MAX_SQL_BYTES:
        raise TooComplexError(f"more than {MAX_SQL_BYTES} bytes")
    tokens = tokenizer.tokenize(sql)
    if len(tokens) > MAX_TOKENS:
        raise TooComplexError(f"more than {MAX_TOKENS} tokens")
    has_casts, has_calls = _check_tokens(tokens)
    has_numeric = False
    if has_casts:
        tokens, has_numeric = _replace_types(tokens)
    try:
        statements = parser.parse(tokens, sql)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ParseError(f"The parser fails: {error}") from error
    if not statements or statements[0] is None:
        raise ParseError(f"No expression was parsed from '{sql}'")
    tree = exp.Block(expressions=statements) if len(statements) > 1 else statements[0]
    if has_numeric:
        for kind in tree.find_all(exp.DataType):
            if kind.args.get("kind") == _NUMERIC:
                kind.set("kind", "NUMERIC")
    if has_calls:
        for node in list(tree.find_all(*_CALL_TYPES)):
            if "start" in node.meta:  # sqlglot notes where the name of a function stands
                call = _restore_call(node, sql[node.meta["start"] : node.meta["end"] + 1])
                node.replace(call)
    return tree


def tokenize_sql(sql: str) -> list[Token]:
    """The tokens of `sqlglot.tokenize(sql, read="sqlite")`.

    Raises:
        sqlglot.errors.TokenError: a quote or comment has no end.
    """
    return _set_up()[0].tokenize(sql)


@lru_cache(maxsize=1)
def sqlite_dialect() -> Dialect:
    """The dialect, to hand to sqlglot in place of its name, which it would look up each time."""
    return Dialect.get_or_raise("sqlite")


@lru_cache(maxsize=1)
def _set_up() -> tuple[Tokenizer, Parser]:
    dialect = sqlite_dialect()
    return dialect.tokenizer(), dialect.parser()


def _check_tokens(tokens: list[Token]) -> tuple[bool, bool]:
    """Whether there are types of CASTs, and calls that sqlglot would take for operators."""
    has_casts = has_calls = False
    for place, (token, after) in enumerate(itertools.pairwise(tokens)):
        if token.token_type == TokenType.PLUS:
            if _is_lost(tokens, place):
                where = f"Line {token.line}, Col: {token.col}"
                raise ParseError(f"Unary plus before {after.text}. {where}")
        elif after.token_type == TokenType.L_PAREN:
            name = token.text.upper()
            has_calls |= name in _CALLED
            has_casts |= name == "CAST"
        elif after.token_type == TokenType.NOT and token.token_type in _OPERATORS:
            raise ParseError(f"NOT after {token.text}. Line {token.line}, Col: {token.col}")
    return has_casts, has_calls


def _replace_types(tokens: list[Token]) -> tuple[list[Token], bool]:
    """Return the tokens with one for the type of each CAST, and whether one of these is a name that
    sqlglot is not to read."""
    read: list[Token] = []
    opened: list[tuple[bool, int | None]] = []  # whether it is of a CAST, and where its type begins
    has_numeric = False
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            is_cast = bool(read) and read[-1].token_type == TokenType.VAR
            opened.append((is_cast and read[-1].text.upper() == "CAST", None))
        elif kind == TokenType.ALIAS and opened:
            opened[-1] = (opened[-1][0], len(read) + 1)
        elif kind == TokenType.R_PAREN and opened:
            is_cast, start = opened.pop()
            if is_cast and start is not None and start < len(read):
                words = read[start:]
                name = affinity(" ".join(word.text for word in words))
                has_numeric |= name == "NUMERIC"
                words[0].token_type = TokenType.VAR
                words[0].text = _NUMERIC if name == "NUMERIC" else name
                read[start:] = words[:1]
        read.append(token)
    return read, has_numeric


def _is_lost(tokens: list[Token], place: int) -> bool:
    """Whether a plus is a unary one, which sqlglot drops, and might change what stands after it."""
    if place and tokens[place - 1].token_type not in _BEFORE_OPERAND:
        return False
    kinds = [token.token_type for token in tokens[place + 1 : place + 3]]
    if kinds[0] in _WITHOUT_AFFINITY:
        return False
    is_call = kinds[0] != TokenType.L_PAREN and kinds[1:] == [TokenType.L_PAREN]
    return not is_call or tokens[place + 1].text.upper() == "CAST"


def _restore_call(node: exp.Expression, spelled: str) -> exp.Expression:
    """Return the call of which sqlglot made an operator."""
    if isinstance(node, exp.Log):
        name, operands = spelled.strip('"`[]').upper(), [node.expression]
        if name not in _CALLED:
            return node
    elif isinstance(node, exp.Mod):
        name, operands = "MOD", [node.this, node.expression]
    else:
        inner = node.this if isinstance(node, exp.Escape) else node
        name = "GLOB" if isinstance(inner, exp.Glob) else "LIKE"
        operands = [inner.expression, inner.this]
        operands += [node.expression] if inner is not node else []
    return exp.Anonymous(this=name, expressions=operands)
