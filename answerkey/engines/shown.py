"""What prompts and pages show of a database of DuckDB or PostgreSQL: the statements that make its
tables, example rows, and descriptions of columns.

SQLite keeps the statements as they were written, and has types by value instead of by column, so
that its queries are others: `answerkey.exports.prompts` and `answerkey.report.columns` have them.
The queries here are valid in both engines. They read all values as texts: an engine writes each
type as its own SQL does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from answerkey.engines.column_types import BOOLEAN, NUMBERS, OTHER, TEXT, TIME, find_kind
from answerkey.engines.database import Database, Row, Value
from answerkey.engines.names import POSTGRES, name_engine
from answerkey.engines.schema import Column, Table, quote_name, quote_table

_MAX_TEXT = 60  # characters of a text in an example row
_MAX_VALUE = 40  # characters of a value in the description of a column
_BYTES = re.compile(r"(blob|bytea|binary|varbinary)\b(?!.*\[)", re.IGNORECASE)
# Types whose values are no texts that a question names. An enum has a name of its own.
_STRUCTURED = re.compile(
    r".*\[|(json|jsonb|list|struct|map|union|interval|uuid|bit|bitstring|varbit|inet|cidr|macaddr8?"
    r"|money|oid|xml|point|line|lseg|box|path|polygon|circle|tsvector|tsquery|hstore"
    r"|\w+(multi)?range)\b",
    re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FACTS = "SELECT count(DISTINCT {text}), count(*) - count({name}){bounds} FROM {table}"
_VALUES = (
    "SELECT substr({text}, 1, {length}), count(*) FROM {table} WHERE {name} IS NOT NULL"
    " GROUP BY {text} ORDER BY 2 DESC, {text} LIMIT {most}"
)


def holds_texts(column: Column, engine: str) -> bool:
    """Return whether the values of a column are texts that a question may name.

    >>> [holds_texts(Column("c", kind, False, 0), "postgres") for kind in ("text", "mood", "date")]
    [True, True, False]
    """
    kind = find_kind(column.type, engine)
    is_named = kind == OTHER and not (_STRUCTURED.match(column.type) or _BYTES.match(column.type))
    return kind == TEXT or is_named


def spell_name(name: str, engine: str) -> str:
    """Return a name as SQL writes it: quoted if it is not plain. PostgreSQL reads a name without
    quotes in lower case.

    >>> spell_name("Name", "duckdb"), spell_name("Name", "postgres")
    ('Name', '"Name"')
    """
    is_plain = _PLAIN_NAME.fullmatch(name) and (engine != POSTGRES or name == name.lower())
    return name if is_plain else quote_name(name)


def spell_table(name: str, engine: str) -> str:
    """Return the name of a table as SQL writes it. It may have its schema before it.

    >>> spell_table("sales.Order lines", "postgres")
    'sales."Order lines"'
    """
    return ".".join(spell_name(part, engine) for part in name.split(".", 1))


def write_statement(table: Table, engine: str) -> str:
    """Return the statement that makes a table or view: its own if the schema has it, or else one
    that is written from its columns and keys. A view without a query is a comment."""
    name = spell_table(table.name, engine)
    if engine != POSTGRES and table.sql.upper().startswith("CREATE"):
        return table.sql
    if table.is_view:
        if table.sql:
            return f"CREATE VIEW {name} AS\n{table.sql.strip()}"
        columns = (f"{spell_name(column.name, engine)} {column.type}" for column in table.columns)
        return f"-- view {name} ({', '.join(columns)})"

    def list_names(names: Sequence[str]) -> str:
        return ", ".join(spell_name(each, engine) for each in names)

    primary_key = [column.name for column in _list_key(table)]
    lines = [
        f"{spell_name(column.name, engine)} {column.type}"
        + (" PRIMARY KEY" if primary_key == [column.name] else "")
        + (" NOT NULL" if column.is_not_null and column.name not in primary_key else "")
        for column in table.columns
    ]
    if len(primary_key) > 1:
        lines.append(f"PRIMARY KEY ({list_names(primary_key)})")
    lines += [f"UNIQUE ({list_names(key)})" for key in table.unique_keys if [*key] != primary_key]
    lines += [
        f"FOREIGN KEY ({list_names(key.columns)})"
        f" REFERENCES {spell_table(key.table, engine)} ({list_names(key.referred)})"
        for key in table.foreign_keys
    ]
    body = ",\n".join(f"    {line}" for line in lines)
    types = f"{table.sql}\n" if table.sql else ""
    return f"{types}CREATE TABLE {name} (\n{body}\n)"


def _list_key(table: Table) -> list[Column]:
    keys = (column for column in table.columns if column.primary_key)
    return sorted(keys, key=lambda column: column.primary_key)


def _find_place(table: Table, engine: str) -> str:
    """Return the name of a table in quotes. What stands before a point is a schema, or, as in the
    name of a file `sales.2024.csv`, is none: the statement that makes the table says it.

    >>> _find_place(Table("a.b", False, (), sql='CREATE TABLE "a.b"(c INTEGER)'), "duckdb")
    '"a.b"'
    >>> _find_place(Table("a.b", False, (), sql="CREATE TABLE a.b(c INTEGER)"), "duckdb")
    '"a"."b"'
    """
    whole = quote_name(table.name)
    is_whole = table.sql.startswith((f"CREATE TABLE {whole}", f"CREATE VIEW {whole}"))
    return whole if is_whole else quote_table(table.name, engine)


def read_example_rows(database: Database, table: Table, count: int) -> list[str]:
    """Return the first rows of a table as SQL writes them, in the order of its primary key, or of
    all its columns: the order in which an engine stores rows is its own. Numbers and times stand
    by their value, and all others as texts.

    Raises:
        QueryError: as `Database.execute`.
    """
    engine = name_engine(database.path)
    values = ", ".join(map(_select_value, table.columns))
    keys = [quote_name(column.name) for column in _list_key(table)]
    order = ", ".join(keys or [_order_by(column, engine) for column in table.columns])
    rows = database.execute(
        f"SELECT {values} FROM {_find_place(table, engine)} ORDER BY {order} LIMIT {count}"
    )
    return [
        f"({', '.join(_write_value(value, column, engine) for value, column in pairs)})"
        for pairs in (zip(row, table.columns, strict=True) for row in rows)
    ]


def _as_text(column: str) -> str:
    return f"CAST({quote_name(column)} AS TEXT)"


def _order_by(column: Column, engine: str) -> str:
    has_order = find_kind(column.type, engine) in {*NUMBERS, TIME}
    return quote_name(column.name) if has_order else _as_text(column.name)


def _select_value(column: Column) -> str:
    if _BYTES.match(column.type):
        return f"'<' || octet_length({quote_name(column.name)}) || ' bytes>'"
    return f"substr({_as_text(column.name)}, 1, {_MAX_TEXT + 1})"


def _write_value(value: object, column: Column, engine: str, *, most: int = _MAX_TEXT) -> str:
    """Return the text of a value as a literal on one line; a long one is cut."""
    if value is None:
        return "NULL"
    text, kind = str(value), find_kind(column.type, engine)
    if kind in NUMBERS or _BYTES.match(column.type):
        return text
    if kind == BOOLEAN:
        return text.upper()
    cut = text if len(text) <= most else f"{text[:most]}…"
    escaped = cut.replace("'", "''")
    return f"'{' '.join(escaped.splitlines())}'"


def read_texts(database: Database, table: str, column: str, *, most: int) -> list[Row]:
    """Return at most `most` distinct texts of a column, without long ones.

    Raises:
        QueryError: as `Database.execute`.
    """
    text = _as_text(column)
    return database.execute(
        f"SELECT DISTINCT {text} FROM {quote_table(table, name_engine(database.path))}"
        f" WHERE length({text}) <= {_MAX_TEXT} LIMIT {most}"
    )


def count_rows(database: Database, table: str) -> Value:
    """Return the number of rows of a table. Raises QueryError as `Database.execute`."""
    place = quote_table(table, name_engine(database.path))
    ((count,),) = database.execute(f"SELECT count(*) FROM {place}")
    return count


def describe_column(database: Database, table: str, column: Column, *, most: int) -> str:
    """Return a column in words, such as "integer, 9 different, 1 NULL, from 12 to 90". The most
    frequent values are listed if there are at most `most`, or if they have no order of interest.

    Raises:
        QueryError: as `Database.execute`.
    """
    engine = name_engine(database.path)
    name, text = quote_name(column.name), _as_text(column.name)
    has_bounds = find_kind(column.type, engine) in {*NUMBERS, TIME}
    names = {"name": name, "text": text, "table": quote_table(table, engine)}
    bounds = f", CAST(min({name}) AS TEXT), CAST(max({name}) AS TEXT)" if has_bounds else ""
    ((different, nulls, *ends),) = database.execute(_FACTS.format(**names, bounds=bounds))
    words = [column.type, f"{different} different"]
    if nulls:
        words.append(f"{nulls} NULL")
    if _BYTES.match(column.type) or not different:
        return ", ".join(words)
    has_more = int(different or 0) > most
    if has_more and ends:
        least, largest = (_write_value(end, column, engine, most=_MAX_VALUE) for end in ends)
        return ", ".join([*words, f"from {least} to {largest}"])
    rows = database.execute(_VALUES.format(**names, length=_MAX_VALUE + 1, most=most))
    shown = ", ".join(_write_value(value, column, engine, most=_MAX_VALUE) for value, _ in rows)
    return ", ".join([*words, f"such as {shown}" if has_more else shown])
