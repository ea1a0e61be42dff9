"""What prompts and pages show of a database of DuckDB or PostgreSQL: the statements that make its
tables, example rows, and descriptions of columns.

SQLite keeps the statements as they were written, and has types by value instead of by column, so
that its queries are others: `answerkey.exports.prompts` and `answerkey.report.columns` have them.
The queries here are valid in both engines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.engines.database import Database, Row, Value
from answerkey.engines.names import POSTGRES
from answerkey.engines.schema import Column, Table, quote_name

MAX_TEXT = 60  # characters of a text in an example row
# What the names of types begin with. All others are texts: enums and domains have names of their
# own.
_NUMBER = re.compile(
    r"(u?(tiny|small|big|huge)?int(eger)?\d*|(small|big)?serial\d*|float\d*|double|real|decimal"
    r"|numeric|money|oid)\b(?!.*\[)",
    re.IGNORECASE,
)
_TIME = re.compile(r"(date|time|timestamp|timestamptz|timetz|datetime|interval)\b(?!.*\[)", re.I)
_BYTES = re.compile(r"(blob|bytea|binary|varbinary)\b(?!.*\[)", re.IGNORECASE)
_TRUTH = re.compile(r"bool(ean)?\b(?!.*\[)", re.IGNORECASE)
_OTHER = re.compile(
    r".*\[|(json|jsonb|list|struct|map|union|uuid|bit|bitstring|varbit|inet|cidr|macaddr|xml|point"
    r"|line|lseg|box|path|polygon|circle|tsvector|tsquery|geometry|geography|hstore"
    r"|\w+(multi)?range)\b",
    re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def holds_texts(column: Column) -> bool:
    """Return whether the values of a column are texts that a question may name.

    >>> [holds_texts(Column("c", kind, False, 0)) for kind in ("varchar(9)", "mood", "int", "date")]
    [True, True, False, False]
    """
    others = (_NUMBER, _TIME, _BYTES, _TRUTH, _OTHER)
    return not any(pattern.match(column.type) for pattern in others)


def is_plain(name: str, engine: str) -> bool:
    """Return whether SQL may have a name without quotes. PostgreSQL reads an unquoted name in lower
    case.

    >>> is_plain("Name", "duckdb"), is_plain("Name", "postgres"), is_plain("net weight", "duckdb")
    (True, False, False)
    """
    return bool(_PLAIN_NAME.fullmatch(name)) and (engine != POSTGRES or name == name.lower())


def write_statement(table: Table, engine: str) -> str:
    """Return the statement that makes a table or view: its own if the schema has it, or else one
    that is written from its columns and keys. A view then is a comment, without its query."""
    if table.sql:
        return table.sql

    def spell(name: str) -> str:
        return name if is_plain(name, engine) else quote_name(name)

    def list_names(names: Sequence[str]) -> str:
        return ", ".join(map(spell, names))

    if table.is_view:
        columns = ", ".join(f"{spell(column.name)} {column.type}" for column in table.columns)
        return f"-- view {spell(table.name)} ({columns})"
    primary_key = [column.name for column in _order_by_key(table)]
    lines = [
        f"{spell(column.name)} {column.type}"
        + (" PRIMARY KEY" if primary_key == [column.name] else "")
        + (" NOT NULL" if column.is_not_null and column.name not in primary_key else "")
        for column in table.columns
    ]
    if len(primary_key) > 1:
        lines.append(f"PRIMARY KEY ({list_names(primary_key)})")
    lines += [
        f"UNIQUE ({list_names(key)})"
        for key in table.unique_keys
        if key and set(key) != set(primary_key)
    ]
    lines += [
        f"FOREIGN KEY ({list_names(key.columns)})"
        f" REFERENCES {spell(key.table)} ({list_names(key.referred)})"
        for key in table.foreign_keys
    ]
    body = ",\n".join(f"    {line}" for line in lines)
    return f"CREATE TABLE {spell(table.name)} (\n{body}\n)"


def _order_by_key(table: Table) -> list[Column]:
    return sorted(
        (column for column in table.columns if column.primary_key),
        key=lambda column: column.primary_key,
    )


def read_example_rows(database: Database, table: Table, count: int) -> list[str]:
    """Return the first rows of a table as SQL writes them, in the order of its primary key, or of
    all its columns as texts: the order in which an engine stores rows is its own.

    Raises:
        QueryError: as `Database.execute`.
    """
    values = ", ".join(map(_select, table.columns))
    keys = [quote_name(column.name) for column in _order_by_key(table)] or [
        f"CAST({quote_name(column.name)} AS TEXT)" for column in table.columns
    ]
    rows = database.execute(
        f"SELECT {values} FROM {quote_name(table.name)} ORDER BY {', '.join(keys)} LIMIT {count}"
    )
    return [f"({', '.join(map(_write_value, row, table.columns))})" for row in rows]


def _select(column: Column) -> str:
    name = quote_name(column.name)
    if _BYTES.match(column.type):
        return f"CAST(octet_length({name}) AS TEXT)"
    if holds_texts(column):  # a value may be longer than an answer's may be
        return f"substr(CAST({name} AS TEXT), 1, {MAX_TEXT + 1})"
    return name


def _write_value(value: Value, column: Column) -> str:
    if value is None:
        return "NULL"
    if _TRUTH.match(column.type):
        return "TRUE" if value else "FALSE"
    if _BYTES.match(column.type):
        return f"<{value} bytes>"
    return _write_literal(value, is_number=bool(_NUMBER.match(column.type)), most=MAX_TEXT)


def _write_literal(value: Value, *, is_number: bool, most: int) -> str:
    """Return a value as a literal of SQL on one line; a long text is cut.

    >>> _write_literal("O'Neill", is_number=False, most=60)
    "'O''Neill'"
    """
    if not isinstance(value, str):
        return repr(value)
    if is_number:
        return value
    text = value if len(value) <= most else f"{value[:most]}…"
    escaped = text.replace("'", "''")
    return f"'{' '.join(escaped.splitlines())}'"


def read_texts(database: Database, table: str, column: str, *, most: int) -> list[Row]:
    """Return at most `most` distinct texts of a column, none of them longer than MAX_TEXT.

    Raises:
        QueryError: as `Database.execute`.
    """
    text = f"CAST({quote_name(column)} AS TEXT)"
    return database.execute(
        f"SELECT DISTINCT {text} FROM {quote_name(table)}"
        f" WHERE length({text}) <= {MAX_TEXT} LIMIT {most}"
    )


_FACTS = "SELECT count(DISTINCT CAST({0} AS TEXT)), count(*) - count({0}){2} FROM {1}"
_VALUES = (
    "SELECT substr(CAST({0} AS TEXT), 1, {3}), count(*) FROM {1} WHERE {0} IS NOT NULL"
    " GROUP BY CAST({0} AS TEXT) ORDER BY 2 DESC, CAST({0} AS TEXT) LIMIT {2}"
)
_MAX_VALUE = 40  # characters of a value in the description of a column


def describe_column(database: Database, table: str, column: Column, *, most: int) -> str:
    """Return a column in words, such as "integer, 6 different, 1 NULL, from 12 to 90". If it has
    at most `most` values, or texts, the most frequent ones are listed.

    Raises:
        QueryError: as `Database.execute`.
    """
    name, source = quote_name(column.name), quote_name(table)
    is_number, is_time = (bool(kind.match(column.type)) for kind in (_NUMBER, _TIME))
    bounds = f", min({name}), max({name})" if is_number or is_time else ""
    ((different, nulls, *ends),) = database.execute(_FACTS.format(name, source, bounds))
    words = [column.type or "text", f"{different} different"]
    if nulls:
        words.append(f"{nulls} NULL")
    if _BYTES.match(column.type):
        return ", ".join(words)
    has_more = isinstance(different, int) and different > most
    if has_more and ends:
        least, largest = (_write_literal(end, is_number=is_number, most=_MAX_VALUE) for end in ends)
        words.append(f"from {least} to {largest}")
    elif different:
        is_bare = is_number or bool(_TRUTH.match(column.type))
        rows = database.execute(_VALUES.format(name, source, most, _MAX_VALUE + 1))
        shown = ", ".join(
            _write_literal(value, is_number=is_bare, most=_MAX_VALUE) for value, _ in rows
        )
        words.append(f"such as {shown}" if has_more else shown)
    return ", ".join(words)
