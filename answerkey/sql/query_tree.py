"""The tree of a query: parse it, take it apart, rewrite it, and write it as text.

No schema is needed here: `answerkey.sql.scopes` resolves names. Always change a copy of a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from answerkey.engines.database import MAX_SQL_BYTES
from answerkey.engines.names import DUCKDB, ENGINES, POSTGRES, SQLITE
from answerkey.engines.schema import fold_name, quote_table
from answerkey.engines.sqlite.schema import affinity
from answerkey.engines.sqlite.statement import trim_statement

# Of 17,731 queries that people and models wrote for Spider and BIRD, the longest has 147. The time
# to read a tree may grow with the square of its size.
MAX_TOKENS = 2000


class TooComplexError(ParseError):
    """A query that exceeds a limit: bytes, tokens or columns."""


ROW_AGGREGATES = (  # depend on the row order
    *(exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg),
    *(exp.ArrayAgg, exp.First, exp.Last, exp.AnyValue),
)
LITERALS = (exp.Literal, exp.Null, exp.Boolean, exp.HexString, exp.Placeholder)
_ATOMS = (*LITERALS, exp.Star, exp.Column, exp.Subquery, exp.Tuple, exp.Window, exp.Filter)

_AGGREGATES_WITHOUT_A_CLASS = {
    SQLITE: {
        "json_group_array",
        "json_group_object",
        "jsonb_group_array",
        "jsonb_group_object",
        "percentile",
        "string_agg",
        "total",
    },
    DUCKDB: {
        "bitstring_agg",
        "favg",
        "fsum",
        "geomean",
        "histogram",
        "json_group_array",
        "json_group_object",
        "json_group_structure",
        "kahan_sum",
        "mad",
        "product",
        "regr_avgx",
        "sumkahan",
    },
    POSTGRES: {
        "bit_and",
        "bit_or",
        "bit_xor",
        "every",
        "json_agg_strict",
        "jsonb_agg",
        "jsonb_agg_strict",
        "range_agg",
        "range_intersect_agg",
        "xmlagg",
    },
}


# The dialect of queries


_SPOKEN: ContextVar[str] = ContextVar("spoken_engine", default=SQLITE)


@contextmanager
def speaking(engine: str) -> Iterator[None]:
    """Read and write the queries of a database in the dialect of its engine.

    >>> with speaking("postgres"):
    ...     to_sql(parse_sql("SELECT name FROM ship WHERE name ILIKE 'sun%'"))
    "SELECT name FROM ship WHERE name ILIKE 'sun%'"

    Who handles the queries of one database enters it once, around all of them; outside, queries
    are SQLite's.
    """
    if engine not in ENGINES:
        raise ValueError(f"expected one of {', '.join(ENGINES)}, found {engine!r}")
    token = _SPOKEN.set(engine)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def spoken_engine() -> str:
    """Return the name of the engine in whose dialect queries are read and written."""
    return _SPOKEN.get()


def speaks_sqlite() -> bool:
    """Return whether queries have the rules of SQLite: a rowid, texts in double quotes, types that
    a column does not enforce."""
    return _SPOKEN.get() == SQLITE


def puts_null_first(*, descending: bool) -> bool:
    """Return whether NULL comes first in an ORDER BY that does not say where.

    >>> puts_null_first(descending=False), puts_null_first(descending=True)
    (True, False)

    NULL is less than anything in SQLite, greater than anything in Postgres, and last in DuckDB.
    """
    return _SPOKEN.get() != DUCKDB and descending is (_SPOKEN.get() == POSTGRES)


# sqlglot reads these functions as others, with other results. In SQLite mod(5.5, 2) is 1.5 and
# 5.5 % 2 is 1, and log10(x) differs from log(10, x) in the last digit. In Postgres date_part() is a
# float, and EXTRACT a decimal. With a space after its name, as in `MOD (a, 2)`, sqlglot does not
# know the function and leaves it unchanged.
_FOLDED_FUNCTIONS = {
    SQLITE: {"MOD", "LOG2", "LOG10"},
    DUCKDB: {"LOG2", "LOG10"},
    POSTGRES: {"DATE_PART"},
}


class _Dialect(SQLite):
    """sqlglot's dialect of SQLite, except for paths of JSON."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Keep a path as it is: `a -> 'b.c'` is a key with a dot, `a -> '$.b.c'` is two keys."""
        return path


class _DuckDBDialect(DuckDB):
    """sqlglot's dialect of DuckDB, except for paths of JSON."""

    def to_json_path(self, path: exp.Expr | None) -> exp.Expr | None:
        """Keep a path as it is, as in SQLite."""
        return path


_DIALECTS: dict[str, type[Dialect]] = {
    SQLITE: _Dialect,
    DUCKDB: _DuckDBDialect,
    POSTGRES: Postgres,
}


def parse_sql(sql: str) -> exp.Expr:
    """Return the tree of a query, as sqlglot reads the dialect spoken, with some corrections.

    >>> parse_sql("SELECT name FROM ship").sql()
    'SELECT name FROM ship'

    In SQLite, the type of a CAST becomes its affinity, which is all that SQLite uses: sqlglot takes
    STRING for TEXT and NUMERIC for REAL. A text after another one is its alias, as in `SELECT 'a'
    'b'`. Elsewhere, `GROUP BY ALL`, `LIMIT ALL` and `FETCH FIRST 3 ROWS ONLY` become what they
    stand for, and a PIVOT with an order is that of a SELECT around it. Blanks and comments around
    the statement are removed.

    Raises:
        TooComplexError: a SqlglotError: more than 100,000 bytes or 2,000 tokens.
        sqlglot.errors.SqlglotError: the text does not parse.
    """
    if len(sql.encode(errors="replace")) > MAX_SQL_BYTES:
        raise TooComplexError(f"more than {MAX_SQL_BYTES} bytes")
    if speaks_sqlite():
        sql = trim_statement(sql)
    tokenizer, parser = _set_up(spoken_engine())
    tokens = tokenizer.tokenize(sql)
    if len(tokens) > MAX_TOKENS:
        raise TooComplexError(f"more than {MAX_TOKENS} tokens")
    if spoken_engine() == DUCKDB and any(token.token_type in _PIVOTS for token in tokens):
        sql = _wrap_pivots(sql, tokens)
        tokens = tokenizer.tokenize(sql)
    tokens = _replace_tokens(tokens) if speaks_sqlite() else _trim_tokens(tokens)
    try:
        statements = parser.parse(tokens, sql)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ParseError(f"The parser fails: {error}") from error
    if not statements or statements[0] is None:
        raise ParseError(f"No expression was parsed from '{sql}'")
    tree = exp.Block(expressions=statements) if len(statements) > 1 else statements[0]
    for node in tree.walk():
        node._meta = None  # where it was in the text: without it, a copy takes a third of the time
    return tree if speaks_sqlite() else _spell_out(tree)


def sql_dialect() -> Dialect:
    """Return the dialect in which queries are read and written now, for sqlglot."""
    return find_dialect(spoken_engine())


@lru_cache
def find_dialect(engine: str) -> Dialect:
    """Return sqlglot's dialect for an engine."""
    return _DIALECTS[engine]()


@lru_cache
def _set_up(engine: str) -> tuple[Tokenizer, Parser]:
    dialect = find_dialect(engine)
    return dialect.tokenizer(), dialect.parser()


def trim_sql(sql: str) -> str:
    """Return a statement of the dialect spoken without blanks, semicolons and comments around it;
    a text that has no tokens of the dialect as it is.

    >>> with speaking("postgres"):
    ...     trim_sql("/* one /* two */ */ SELECT $$;$$; -- done")
    'SELECT $$;$$'
    """
    if speaks_sqlite():
        return trim_statement(sql)
    try:
        tokens = _trim_tokens(_set_up(spoken_engine())[0].tokenize(sql))
    except SqlglotError:
        return sql
    return sql[tokens[0].start : tokens[-1].end + 1] if tokens else ""


_PIVOTS = {TokenType.PIVOT, TokenType.UNPIVOT}
_MODIFIERS = {TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET}


def _wrap_pivots(sql: str, tokens: Iterable[Token]) -> str:
    """Put a SELECT around each PIVOT of DuckDB that has ORDER BY or LIMIT, which sqlglot does not
    read there: `PIVOT t ON a IN (1, 2) USING sum(b) ORDER BY c` -> `SELECT * FROM (PIVOT t ON a IN
    (1, 2) USING sum(b) ) ORDER BY c`
    """
    heads = {TokenType.SELECT, TokenType.FROM, TokenType.VALUES}
    pivots: list[int | None] = [None]  # by depth: where a PIVOT begins, if it is the query
    begun = [False]
    inserted: list[tuple[int, str]] = []
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            pivots.append(None)
            begun.append(False)
        elif kind == TokenType.R_PAREN and len(begun) > 1:
            pivots.pop()
            begun.pop()
        elif kind in _PIVOTS and not begun[-1]:
            pivots[-1], begun[-1] = token.start, True
        elif kind in heads:
            begun[-1] = True
        elif kind in _MODIFIERS and (start := pivots[-1]) is not None:
            inserted += [(start, "SELECT * FROM ("), (token.start, ") ")]
            pivots[-1] = None
    for position, text in sorted(inserted, reverse=True):
        sql = f"{sql[:position]}{text}{sql[position:]}"
    return sql


def _trim_tokens(tokens: list[Token]) -> list[Token]:
    """Return the tokens of a statement without semicolons and comments around it, for dialects
    whose comments, quotes and dollar quotes sqlglot reads as their engines do."""
    kept = [*tokens]
    while kept and kept[-1].token_type is TokenType.SEMICOLON:
        kept.pop()
    while kept and kept[0].token_type is TokenType.SEMICOLON:
        kept.pop(0)
    for token in (*kept[:1], *kept[-1:]):
        token.comments.clear()
    for token, following in pairwise(kept):
        is_call = following.token_type is TokenType.L_PAREN and token.token_type is TokenType.VAR
        if is_call and token.text.upper() in _FOLDED_FUNCTIONS[spoken_engine()]:
            token.text = f"{token.text.upper()} "
    return kept


def _spell_out(tree: exp.Expr) -> exp.Expr:
    """Replace what only other engines than SQLite have by what it stands for: GROUP BY ALL and
    ORDER BY ALL (numbers of columns), LIMIT ALL and LIMIT NULL (none), FETCH FIRST (LIMIT), and
    `count()`, which is `count(*)`."""
    for call in tree.find_all(exp.Count):
        if call.args.get("this") is None:
            call.set("this", exp.Star())
    for query in tree.find_all(exp.Query):
        limit, group, order = (query.args.get(name) for name in ("limit", "group", "order"))
        if isinstance(limit, exp.Limit) and isinstance(limit.expression, exp.Var | exp.Null):
            query.set("limit", None)
        elif isinstance(limit, exp.Fetch) and not has_ties(limit):
            options = limit.args.get("limit_options")
            if options is None or not options.args.get("percent"):
                rows = limit.args.get("count") or exp.Literal.number(1)
                query.set("limit", exp.Limit(expression=rows))
        if not isinstance(query, exp.Select) or any(map(is_star, query.expressions)):
            continue  # the schema says what `*` is
        if group is not None and group.args.get("all") is True and not group.expressions:
            keys = [
                exp.Literal.number(number)
                for number, column in enumerate(query.expressions, start=1)
                if not any(is_aggregate(node) for node in column.walk())
            ]
            query.set("group", exp.Group(expressions=keys) if keys else None)
        if order is not None and [_is_all(term) for term in order.expressions] == [True]:
            (term,) = order.expressions
            terms = [
                exp.Ordered(this=exp.Literal.number(number), **_read_direction(term))
                for number, _ in enumerate(query.expressions, start=1)
            ]
            order.set("expressions", terms)
    return tree


def _is_all(term: exp.Expr) -> bool:
    return isinstance(term.this, exp.Var) and term.this.name.upper() == "ALL"


def _read_direction(term: exp.Expr) -> dict[str, Any]:
    return {name: value for name, value in term.args.items() if name in ("desc", "nulls_first")}


def has_ties(limit: exp.Expr | None) -> bool:
    """Return whether a bound keeps all rows that tie with its last one: `FETCH FIRST 3 ROWS WITH
    TIES`."""
    options = limit.args.get("limit_options") if limit is not None else None
    return options is not None and bool(options.args.get("with_ties"))


def _replace_tokens(tokens: list[Token]) -> list[Token]:
    read: list[Token] = []
    opened: list[tuple[bool, int | None]] = []  # is it a CAST, and the index where its type begins
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            called = read[-1] if read and read[-1].token_type == TokenType.VAR else None
            name = called.text.upper() if called is not None else ""
            opened.append((name == "CAST", None))
            if called is not None and name in _FOLDED_FUNCTIONS[SQLITE]:
                called.text = f"{name} "
        elif kind == TokenType.ALIAS and opened:
            opened[-1] = (opened[-1][0], len(read) + 1)
        elif kind == TokenType.R_PAREN and opened:
            is_cast, start = opened.pop()
            if is_cast and start is not None and start < len(read):
                name = affinity(" ".join(word.text for word in read[start:]))
                read[start].token_type = TokenType.VAR
                # A name of that affinity that sqlglot leaves unchanged, since it does not know it.
                read[start].text = "NUM" if name == "NUMERIC" else name
                del read[start + 1 :]
        elif kind == TokenType.STRING and read and read[-1].token_type == TokenType.STRING:
            token.token_type = TokenType.IDENTIFIER
        read.append(token)
    return read


def is_aggregate(node: exp.Expr) -> bool:
    """Return whether a node is the call of an aggregate, even if sqlglot has no class for it."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATES_WITHOUT_A_CLASS[spoken_engine()]
    return isinstance(node, exp.AggFunc)


def is_windowed(node: exp.Expr) -> bool:
    """Return whether a call has OVER: then it does not aggregate."""
    call = node.parent if isinstance(node.parent, exp.Filter) else node
    return isinstance(call.parent, exp.Window) and call.arg_key == "this"


def is_atom(node: exp.Expr) -> bool:
    """Return whether a node never needs parentheses."""
    if isinstance(node, exp.Func):
        return not isinstance(node, exp.Connector | exp.Binary)
    return isinstance(node, _ATOMS)


def is_star(expression: exp.Expr) -> bool:
    return isinstance(expression, exp.Star) or (
        isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
    )


def read_integer(node: exp.Expr) -> int | None:
    """Return the column number that a term of ORDER BY or GROUP BY is, or None.

    `2` -> 2, `-(1)` -> -1, `0x10` -> 16, `2.0` -> None, `1 + 1` -> None

    Source: sqlite3ExprIsInteger in SQLite's expr.c.
    """
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_int or int(node.this) >= 2**31:
        return None
    return sign * int(node.this)


def first_select(query: exp.Expr) -> exp.Select | None:
    """Return the leftmost SELECT of a query, or None if that is VALUES."""
    while not isinstance(query, exp.Select):
        if not isinstance(query, exp.SetOperation | exp.Subquery):
            return None
        query = query.this
    return query


def selects_of(query: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs of a compound select, from left to right; one for a plain SELECT."""
    if isinstance(query, exp.Select):
        return [query]
    if isinstance(query, exp.SetOperation):
        return selects_of(query.this) + selects_of(query.expression)
    return selects_of(query.this) if isinstance(query, exp.Subquery) else []


def members_of_from(select: exp.Expr) -> list[exp.Expr]:
    """Return the tables and subqueries of FROM from left to right, without parentheses."""
    start = select.args.get("from_")
    nodes = [start.this] if start is not None else []
    nodes += [join.this for join in select.args.get("joins") or ()]
    return [member for node in nodes for member in _unwrap_member(node)]


def name_output(expression: exp.Expr) -> str:
    """Return the name of a result column; '' if SQLite makes one up.

    Source: sqlite3ColumnsFromExprList in SQLite's select.c.
    """
    inner = expression
    while isinstance(inner, exp.Paren | exp.Collate):
        inner = inner.this
    if expression.alias or isinstance(inner, exp.Column):
        return expression.alias or inner.name
    return _name_in_postgres(inner) if spoken_engine() == POSTGRES else ""


def _name_in_postgres(expression: exp.Expr) -> str:
    """Return the name that Postgres makes up for a result column: that of the function, or of the
    column of a CAST.

    Source: FigureColnameInternal in Postgres's parse_target.c.
    """
    if isinstance(expression, exp.Cast):
        return name_output(expression.this)
    if isinstance(expression, exp.Window | exp.Filter):
        return _name_in_postgres(expression.this)
    is_call = isinstance(expression, exp.Func) and not isinstance(
        expression, exp.Connector | exp.Binary
    )
    return to_sql(expression).partition("(")[0].strip().lower() if is_call else ""


def has_grouping_sets(group: exp.Expr) -> bool:
    """Return whether a GROUP BY has other keys than its expressions: ROLLUP, CUBE, GROUPING SETS,
    or ALL for the columns of `*`."""
    sets = (exp.Rollup, exp.Cube, exp.GroupingSets)
    return bool(group.args.get("all")) or any(isinstance(key, sets) for key in group.expressions)


def sees_aliases(column: exp.Column, query: exp.Expr) -> bool:
    """Return whether a name in a query may be an alias that the query's AS defines. In its result
    columns and windows, and in subqueries there, it may not, except in DuckDB.

    Source: sqlite3ResolveSelectNames in SQLite's resolve.c (NC_UEList), as of `sees_outer_names`.
    """
    hiding = ("windows",) if spoken_engine() == DUCKDB else ("expressions", "windows")
    return _find_clause(column, query) not in hiding


def sees_outer_names(column: exp.Expr, query: exp.Expr) -> bool:
    """Return whether a name in a query may be a column of an outer query. In its ORDER BY and
    GROUP BY, and in subqueries there, it may not."""
    return _find_clause(column, query) not in ("order", "group")


def _find_clause(node: exp.Expr, query: exp.Expr) -> str | None:
    """Return sqlglot's name of the query's clause that contains a node; None outside the query."""
    while node.parent is not None and node.parent is not query:
        node = node.parent
    return node.arg_key if node.parent is not None else None


def find_operand(query: exp.Expr) -> exp.Expr:
    """Return a query with all parentheses around it."""
    while isinstance(query.parent, exp.Subquery | exp.Paren):
        query = query.parent
    return query


def _unwrap_member(node: exp.Expr) -> Iterator[exp.Expr]:
    is_wrapper = isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery)
    if is_wrapper and not node.alias:
        yield from _unwrap_member(node.this)
    else:
        yield node
    for join in node.args.get("joins") or ():
        yield from _unwrap_member(join.this)


def find_with(query: exp.Expr) -> exp.With | None:
    """Return the nearest WITH whose tables a query may use, its own or an outer one; or None."""
    return next(_list_withs(query), None)


def find_cte(node: exp.Expr, name: str) -> exp.CTE | None:
    """Return the CTE that a table name means, of the nearest WITH that defines one; or None."""
    ctes = (cte for with_ in _list_withs(node) for cte in with_.expressions)
    return next((cte for cte in ctes if fold_name(cte.alias) == fold_name(name)), None)


def _list_withs(node: exp.Expr | None) -> Iterator[exp.With]:
    while node is not None:
        if (with_ := node.args.get("with_")) is not None:
            yield with_
        node = node.parent


def is_whole_order_term(column: exp.Column) -> bool:
    """Return whether a column is a whole term of ORDER BY (ignoring COLLATE): AS comes first there.

    Source: resolveOrderGroupBy in SQLite's resolve.c; everywhere else columns of FROM come first.
    """
    node = column.parent
    while isinstance(node, exp.Collate | exp.Paren):
        node = node.parent
    if not isinstance(node, exp.Ordered):
        return False
    order = node.parent
    return isinstance(order, exp.Order) and isinstance(order.parent, exp.Query)


SHOWN_CHARACTERS = 200  # of SQL in evidence


def to_sql(tree: exp.Expr) -> str:
    """Return the text of a tree in the dialect spoken. For SQLite there is no copy of the tree,
    sqlglot's default: it takes longer than writing, and only syntax that SQLite lacks needs it."""
    return tree.sql(dialect=sql_dialect(), copy=not speaks_sqlite())


def write_table(name: str) -> str:
    """Return the name of a table of the schema as SQL."""
    return quote_table(name, spoken_engine())


def show_sql(tree: exp.Expr) -> str:
    """Return the first 200 characters of a tree's text, for evidence."""
    return to_sql(tree)[:SHOWN_CHARACTERS]


def copy_nodes(tree: exp.Expr) -> dict[int, exp.Expr]:
    """Return the copy of each node of a tree, by the node's id."""
    pairs = zip(tree.walk(), tree.copy().walk(), strict=True)
    return {id(node): twin for node, twin in pairs}


def copy_with(tree: exp.Expr, nodes: Iterable[exp.Expr]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return a copy of the tree, and the copies of the given nodes in it."""
    twins = copy_nodes(tree)
    return twins[id(tree)], [twins[id(node)] for node in nodes]


def write_with(query: exp.Expr, **clauses: Any) -> str:
    """Return the text of a query with other clauses; None removes one. The query's own clauses are
    restored afterwards: a copy would take longer."""
    own = dict(query.args)
    try:
        for name, clause in clauses.items():
            query.set(name, clause)
        return to_sql(query)
    finally:
        query.args.clear()
        query.args.update(own)


def make_limit(rows: int) -> exp.Limit:
    return exp.Limit(expression=exp.Literal.number(rows))


def unwrap(tree: exp.Expr) -> exp.Expr:
    """Return the query inside redundant parentheses."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not tree.args.get("order"):
        tree = tree.this
    return tree
