"""Gold SQL of another dialect as SQL of SQLite, and whether both give the same rows.

sqlglot translates, and `answerkey.intake.rewrites` what it leaves as it is. Neither is believed:
`answerkey.intake.meanings` refuses what may mean something else on other rows, and the query is
executed in the engine that it was written for, and here. Where that engine is not at hand, nobody
knows, and the question is set aside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from answerkey.base.log import spell_count
from answerkey.base.reasons import Reason
from answerkey.base.secrets import hide_secrets
from answerkey.engines.answers import shape_answer
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.executions import Executions
from answerkey.engines.schema import fold_name
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.intake.clock_words import name_clock, set_clock
from answerkey.intake.conversion import (
    ConvertedTable,
    Name,
    Value,
    list_digits,
    read_answer,
    write_time,
)
from answerkey.intake.engines import DUCKDB, POSTGRES, Engine, EngineError, Row
from answerkey.intake.meanings import (
    DIGITS,
    LETTERS,
    LOOSE,
    OTHER,
    Kind,
    MeaningError,
    Meanings,
    join_kinds,
    keep_meaning,
    read_kind,
)
from answerkey.intake.rewrites import rewrite_all
from answerkey.order.additions import find_abs_tol
from answerkey.order.inspection import AnswerBounds, Inspection, ReorderedCopy
from answerkey.order.row_order import find_other_answer, find_row_order, list_cuts
from answerkey.scoring.comparison import DifferenceKind, find_difference
from answerkey.scoring.rules import Rule
from answerkey.sql.query_tree import parse_sql

# Numbers by value: a sum is a decimal there, and an integer or a float here.
_RULE = Rule("dialect", numbers_by_value=True)
ON_OTHER_ROWS = "on other rows that could be there"
_SHOWN_ROWS = 3
_WRITTEN, _QUOTED = 1, 2  # places in what `translate` returns
_HOW = {
    DifferenceKind.COLUMN_ORDER: "in another order of columns",
    DifferenceKind.TYPES: "of other types",
    DifferenceKind.ROW_ORDER: "in another order",
}


class Renaming(NamedTuple):
    """What tables are called in SQLite.

    names: by schema and name, as they are there.
    schemas: in which a name without a schema is looked for, in this order.
    kinds, sorts_bytes, folds_ascii: as in `answerkey.intake.meanings.Meanings`.
    digits: columns whose numbers are text in SQLite, by their table there; in small letters.
    """

    names: Mapping[Name, str]
    schemas: Sequence[str] = ()
    kinds: Mapping[str, Mapping[str, Kind]] = MappingProxyType({})
    sorts_bytes: bool = True
    folds_ascii: bool = False
    digits: frozenset[Name] = frozenset()

    def find(self, schema: str, name: str) -> str | None:
        """The name in SQLite of a table that a query names, in any case."""
        wanted = [schema] if schema else self.schemas
        folded = {(fold_name(one), fold_name(two)): new for (one, two), new in self.names.items()}
        places = ((fold_name(each), fold_name(name)) for each in wanted)
        return next((folded[place] for place in places if place in folded), None)


_POSTGRES_ENUMS = "SELECT format_type(oid, NULL) FROM pg_type WHERE typtype = 'e'"
# Columns with a collation of their own, and whether it never holds two texts equal.
_POSTGRES_COLLATED = """
SELECT a.attname::text, c.collisdeterministic
FROM pg_attribute a JOIN pg_class r ON r.oid = a.attrelid
JOIN pg_namespace n ON n.oid = r.relnamespace JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attcollation NOT IN (0, 'pg_catalog."default"'::regcollation)
  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'"""
_POSTGRES_TEXT = "SELECT 'B' < 'a' AND 'Z' < '_' AND 'z' < 'é', lower('É') = 'É'"
_DUCKDB_COLLATED = """
SELECT regexp_extract_all(sql, '("[^"]*"|\\w+) VARCHAR COLLATE', 1) FROM duckdb_tables()"""


def read_renaming(engine: Engine, tables: Sequence[ConvertedTable]) -> Renaming:
    """What a query of an engine must know of its tables: names, kinds of columns, and how the
    engine compares text."""

    def fetch(sql: str) -> list[Row]:
        return engine.execute(sql, max_rows=1_000_000)

    labels: set[str] = set()
    collated: dict[str, Kind] = {}
    sorts_bytes, folds_ascii = True, False
    if engine.dialect == POSTGRES:
        labels = {name for (name,) in fetch(_POSTGRES_ENUMS)}
        for name, is_strict in sorted(fetch(_POSTGRES_COLLATED), key=lambda row: not row[1]):
            collated[name.lower()] = OTHER if is_strict else LOOSE
        ((sorts_bytes, folds_ascii),) = fetch(_POSTGRES_TEXT)
    elif engine.dialect == DUCKDB:
        names_found = (name for (found,) in fetch(_DUCKDB_COLLATED) for name in found or ())
        collated = {name.strip('"').lower(): LOOSE for name in names_found}
    digits = list_digits(tables)
    kinds: dict[str, dict[str, Kind]] = {}
    for table in tables:
        columns = {
            name: read_kind(kind, engine.dialect, labels=labels) for name, kind, _ in table.columns
        }
        own = {
            name.lower(): collated.get(name.lower(), kind) if kind in LETTERS else kind
            for name, kind in columns.items()
        }
        own |= {name.lower(): DIGITS for name in table.digits}
        _, name = table.place
        before = kinds.get(name.lower(), own)  # a table of this name in another schema
        kinds[name.lower()] = join_kinds([*before.items(), *own.items()])
    names = {table.place: table.name for table in tables}
    return Renaming(names, engine.schemas, kinds, sorts_bytes, folds_ascii, digits)


class TranslationError(ValueError):
    """A query that cannot be written for SQLite, or is none."""


def translate(sql: str, dialect: str, renaming: Renaming, *, is_held: bool = True) -> list[str]:
    """Return a query as SQL of SQLite: as it was written, if SQLite should read it as it is meant;
    in the words of sqlglot; and with all names in quotes, for words that only SQLite reserves.

    >>> renaming = Renaming({("s", "ship"): "s_ship"}, (), {"ship": {"d": "moment"}})
    >>> sql = 'SELECT "Name" FROM s.ship WHERE d::date > $$2024-02-29$$'
    >>> print(translate(sql, "postgres", renaming)[0])
    SELECT "Name" FROM s_ship AS ship WHERE DATE(d) > '2024-02-29'

    is_held: it must mean the same on all rows, as far as rules know; else it is a draft.

    Raises:
        TranslationError: with what the parser says, what SQLite has not, or what may mean something
            else there.
    """
    try:
        statements = [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            raise TranslationError("expected one query")
        query = statements[0].copy()
        kinds: Mapping[str, Kind] = {}
        if is_held:
            bounds = (renaming.sorts_bytes, renaming.folds_ascii)
            kinds = keep_meaning(query, Meanings(dialect, renaming.kinds, *bounds))
        _rename(query, renaming)
        _check_digits(query, renaming)
        tree = rewrite_all(query, kinds)
        level = ErrorLevel.RAISE
        written = [
            tree.sql("sqlite", identify=identify, unsupported_level=level, comments=False)
            for identify in (False, True)
        ]
    except SqlglotError as error:
        words = re.sub(r"\x1b\[\d*m", "", str(error)).strip().partition("\n")[0]
        raise TranslationError(words) from error
    except MeaningError as error:
        raise TranslationError(str(error)) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        if isinstance(error, TranslationError):
            raise
        raise TranslationError(f"the translation fails: {error!r}") from error
    return [_keep_text(sql, written[0]), *written]


def _keep_text(sql: str, written: str) -> str:
    """The text as it was written, where SQLite reads it as the translation: NOT IN stays NOT IN.
    What it calls must be the same, too: sqlglot reads CAST(a AS date) as DATE(a), unlike SQLite."""
    try:
        tree = sqlglot.parse_one(sql, read="sqlite")
        own = tree.sql("sqlite", unsupported_level=ErrorLevel.IGNORE, comments=False)
    except (SqlglotError, RecursionError):
        return written
    return sql if own == written and _list_calls(sql) == _list_calls(written) else written


def _list_calls(sql: str) -> list[str]:
    """The names of functions, and the types of casts."""
    return sorted(re.findall(r"\w+(?=\s*\()|(?<=\bas\s)\w+(?=\s*\))", sql.lower()))


def _rename(tree: exp.Expr, renaming: Renaming) -> None:
    """Give tables the names that they have in SQLite, and columns no schema. Where the name is
    another, an alias keeps what columns call it."""
    known = {fold_name(cte.alias) for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            continue
        schema, name = table.db, table.name
        if not schema and fold_name(name) in known:
            continue
        new = renaming.find(schema, name)
        if new is None:
            continue
        table.set("db", None)
        table.set("catalog", None)
        if fold_name(new) == fold_name(name):
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=table.this.copy()))
        table.set("this", exp.to_identifier(new))
    for column in tree.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)


def _check_digits(tree: exp.Expr, renaming: Renaming) -> None:
    """Refuse a query that counts with numbers that are text in SQLite, or sorts them: it may agree
    with the original on these rows, and not on others. A number that they equal becomes text."""
    tables = {fold_name(table.name) for table in tree.find_all(exp.Table)}
    names = {column for table, column in renaming.digits if table in tables}
    if not names:
        return
    while True:  # what an alias calls them
        aliases = {
            fold_name(node.alias)
            for node in tree.find_all(exp.Alias)
            if isinstance(node.this, exp.Column) and fold_name(node.this.name) in names
        }
        if aliases <= names:
            break
        names |= aliases
    for column in list(tree.find_all(exp.Column)):
        if fold_name(column.name) in names and not _takes_text(column):
            raise TranslationError(
                f"{column.name} has numbers of more digits than a number of SQLite, so that they"
                " are text, which can be selected, counted, grouped and looked for by ="
            )
    for order in tree.find_all(exp.Ordered):
        if isinstance(order.this, exp.Literal) and any(
            fold_name(column.name) in names
            for select in tree.find_all(exp.Select)
            for column in select.expressions[int(order.this.name) - 1 : int(order.this.name)]
        ):
            raise TranslationError(f"it sorts by column {order.this.name}, whose numbers are text")


def _takes_text(column: exp.Column) -> bool:
    parent = column.parent
    if isinstance(parent, exp.Alias):
        parent = parent.parent
    if isinstance(parent, exp.EQ | exp.NEQ | exp.In):
        others = parent.expressions if isinstance(parent, exp.In) else [*parent.iter_expressions()]
        for other in others:
            if isinstance(other, exp.Literal) and not other.is_string:
                other.replace(exp.Literal.string(other.name))
        kinds = (exp.Literal, exp.Column)
        return all(isinstance(other, kinds) for other in parent.iter_expressions())
    if isinstance(parent, exp.Cast):
        return parent.is_type(*exp.DataType.TEXT_TYPES)
    kept = (exp.Select, exp.Count, exp.Distinct, exp.Group, exp.Is, exp.Subquery, exp.Tuple)
    return isinstance(parent, kept)


# --- there, and here


class Translated(NamedTuple):
    """A query of SQLite; differs: evidence that it does not give the rows of the original."""

    sql: str
    differs: dict[str, Any] | None = None


class Comparer(ExitStack):
    """A converted database, and the engine that it comes from, or None if queries cannot be
    executed there. now: the instant of the clock, there and here; None: there is no clock."""

    def __init__(
        self,
        path: Path,
        engine: Engine | None,
        limits: Limits | None = None,
        *,
        now: str | None = None,
    ) -> None:
        super().__init__()
        self._engine = engine
        self._limits = limits or Limits()
        self._now = now
        self._database = self.enter_context(GuardedDatabase(path, self._limits, now=now))
        self._copy = self.enter_context(ReorderedCopy(path, self._limits, now=now))
        connection = open_database(path)
        self._schema = read_schema(connection)
        connection.close()

    def check(self, sql: str, dialect: str, renaming: Renaming) -> Translated:
        """Translate a query, and execute it there and here."""
        evidence = {"dialect": dialect, "source_sql": sql}
        named, has_clock = name_clock(sql, dialect)
        if has_clock and self._now is None:
            words = "reads the clock, and nothing says which day it is: --now 2025-01-30 does"
            return Translated(sql, evidence | {"error": words})
        try:
            queries = translate(named, dialect, renaming, is_held=self._engine is not None)
        except TranslationError as error:
            return Translated(sql, evidence | {"error": f"cannot be translated: {error}"})
        if self._engine is None:
            words = f"was not compared: no engine of {dialect} is at hand"
            return Translated(queries[0], evidence | {"error": words})
        here, chosen, fault = self._execute(queries)
        if fault is not None and fault.reason != Reason.SQL_ERROR:
            words = f"was not compared: {fault.reason} in SQLite: {fault.detail}"
            return Translated(chosen, evidence | {"error": words})
        there, refusal = self._execute_there(sql)
        if refusal is not None:
            return Translated(chosen, evidence | {"error": f"fails in {dialect}: {refusal}"})
        if here is None:
            words = f"fails in SQLite: {fault.detail if fault else ''}"
            shown = {"there": _show(read_answer(there, []))} if there is not None else {}
            return Translated(chosen, evidence | {"error": words} | shown)
        if there is None:
            raise ValueError(f"expected rows of {dialect}, or why there are none")
        difference = self._compare(chosen, here, there)
        return Translated(chosen, None if difference is None else evidence | difference)

    def answers_otherwise(self, sql: str) -> bool:
        """Whether a query runs as it is here and there, and gives other rows there."""
        ours, _, _ = self._execute([sql])
        theirs, _ = self._execute_there(sql)
        is_both = ours is not None and theirs is not None
        return is_both and not self.are_same(sql, sql)

    def are_same(self, here: str, there: str) -> bool:
        """Whether a query here and one there give the same rows; not if nobody can tell."""
        ours, _, _ = self._execute([here])
        theirs, _ = self._execute_there(there)
        return ours is not None and theirs is not None and self._compare(here, ours, theirs) is None

    def find_other_answer(self, here: str, there: str) -> dict[str, Any] | None:
        """Return evidence that a query here and one there give other rows. None if they give the
        same, and if this database says nothing: one fails, or exceeds a bound, or what they give
        depends on how rows are stored."""
        ours, _, _ = self._execute([here])
        theirs, _ = self._execute_there(there) if ours is not None else (None, None)
        if ours is None or theirs is None:
            return None
        difference = self._compare(here, ours, theirs)
        if difference is None or self._is_open(here, ours):
            return None
        return difference | {"detail": f"{ON_OTHER_ROWS}: {difference['detail']}"}

    def gives_there(self, sql: str, rows: Sequence[Row]) -> bool:
        """Return whether a query there gives these rows of another database, in any order."""
        theirs, _ = self._execute_there(sql)
        if theirs is None:
            return False
        answers = (read_answer(each, []) for each in (rows, theirs))
        left, right = ([tuple(map(_read_time, row)) for row in answer] for answer in answers)
        found = find_difference(left, shape_answer(right), rule=_RULE, order_matters=False)
        return found is None

    def fetch_there(self, sql: str) -> list[Row]:
        """Return the rows of a query there; none if it fails."""
        return self._execute_there(sql)[0] or []

    def _is_open(self, sql: str, rows: list[Row]) -> bool:
        """Return whether the rows of a query depend on how the database stores its own: a LIMIT
        cuts a tie, or a copy in another order gives others."""
        try:
            inspection = self._inspect(sql, rows)
            return bool(list_cuts(inspection)) or find_other_answer(inspection) is not None
        except (SqlglotError, RecursionError, QueryError):
            return True

    def _inspect(self, sql: str, rows: list[Row]) -> Inspection:
        return Inspection(
            sql,
            parse_sql(sql),
            self._schema,
            rows,
            Executions(self._database),
            self._copy,
            AnswerBounds(),
        )

    def _execute(self, queries: list[str]) -> tuple[list[Row] | None, str, QueryError | None]:
        """The rows of the first query that runs, and that query; or why the first one fails. For
        SQLite a quoted name that no column has is a text: so quotes mend the syntax alone."""
        faults: list[QueryError] = []
        for place, sql in enumerate(queries):
            if place == _QUOTED and "syntax error" not in faults[-1].detail:
                break
            try:
                return list(self._database.execute(sql)), sql, None
            except QueryError as error:
                faults.append(error)
        return None, queries[min(_WRITTEN, len(queries) - 1)], faults[-1]

    def _execute_there(self, sql: str) -> tuple[list[Row] | None, str | None]:
        """The rows there, and why there are none; both None: nobody can tell."""
        if self._engine is None:
            return None, None
        most = self._limits.max_rows
        if self._now is not None:
            sql = set_clock(sql, self._engine.dialect, self._now)
        try:
            rows = self._engine.execute(sql, max_rows=most)
        except EngineError as error:
            return None, str(error)
        except (ValueError, ArithmeticError, TypeError) as error:  # a value that Python has not
            return None, hide_secrets(f"{type(error).__name__}: {error}")
        if len(rows) > most:
            return None, f"more than {most} rows"
        return rows, None

    def _compare(self, sql: str, here: list[Row], there: list[Row]) -> dict[str, Any] | None:
        there = read_answer(there, here)
        ours, theirs = ([tuple(map(_read_time, row)) for row in rows] for rows in (here, there))
        is_sequence, abs_tol = self._read_terms(sql, here)
        rule = replace(_RULE, abs_tol=abs_tol)
        difference = find_difference(theirs, shape_answer(ours), rule=rule, order_matters=False)
        if difference is None and is_sequence:
            difference = find_difference(theirs, shape_answer(ours), rule=rule, order_matters=True)
        if difference is None:
            return None
        missing, unexpected = difference.missing, difference.unexpected
        counts = f"{spell_count(len(there), 'row')} there, {len(here)} here"
        how = _HOW.get(difference.kind)
        return {
            "detail": f"{counts}{', ' * bool(how)}{how or ''}",
            "there": _show(unexpected or theirs),
            "here": _show(missing or ours),
        }

    def _read_terms(self, sql: str, rows: list[Row]) -> tuple[bool, float]:
        """Whether the sequence of the rows counts and none of them tie, and the absolute
        tolerance."""
        try:
            inspection = self._inspect(sql, rows)
            order_matters, accepted_rows = find_row_order(inspection)
            return order_matters and accepted_rows is None, find_abs_tol(inspection)
        except (SqlglotError, RecursionError):
            return False, 0.0


_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)(?: 00:00(?::00)?)?\Z")


def _read_time(value: Any) -> Any:
    """A time as both sides write it: midnight is the date.

    >>> _read_time("2024-02-01 00:00:00+00"), _read_time("2024-02-01T10:00:00.50"), _read_time("a")
    ('2024-02-01', '2024-02-01 10:00:00.5', 'a')
    """
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d|\d\d:\d\d:", value):
        return value
    written = write_time(value)
    found = _MIDNIGHT.fullmatch(written)
    return found[1] if found else written


def _show(rows: list[Row]) -> list[list[Value]]:
    """The first rows, as JSON has them, which has no infinity."""
    return [[_show_value(value) for value in row] for row in rows[:_SHOWN_ROWS]]


def _show_value(value: Value) -> Value:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
