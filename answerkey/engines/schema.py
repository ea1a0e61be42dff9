"""Schema of a database: tables, views, columns, types and keys, as its engine knows them."""

from __future__ import annotations

import json
import re
import string
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from answerkey.engines.names import SQLITE

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
ROWID_NAMES = ("rowid", "_rowid_", "oid")
_WITHOUT_ROWID = re.compile(r"\bWITHOUT\s+ROWID\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name as the schema spells it, its declared type ('' if none), NOT NULL, and its
    position in the primary key (1, 2, ...; 0: not part of it)."""

    name: str
    type: str
    is_not_null: bool
    primary_key: int


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that refer to columns of another; names as the schema spells them."""

    columns: tuple[str, ...]
    table: str
    referred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view. `unique_keys` holds the primary key first, then unique indexes (those
    without a WHERE and on plain columns only)."""

    name: str
    is_view: bool
    columns: tuple[Column, ...]
    unique_keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    sql: str = ""

    def find_column(self, name: str) -> Column | None:
        """Return the column of that name, in any case, or None."""
        folded = fold_name(name)
        return next((column for column in self.columns if fold_name(column.name) == folded), None)

    @property
    def has_rowid(self) -> bool:
        """Return whether the table has a rowid; that of a view is always NULL."""
        options = self.sql[self.sql.rfind(")") :]
        return self.is_view or not _WITHOUT_ROWID.search(options)

    @property
    def rowid_name(self) -> str | None:
        """Return a name of the rowid that no column has; None if columns have all of them."""
        return next((name for name in ROWID_NAMES if self.find_column(name) is None), None)

    @property
    def rowid_column(self) -> Column | None:
        """Return the column that is an alias of the rowid, a single INTEGER PRIMARY KEY, or None.

        Source: the SQLite manual, "ROWIDs and the INTEGER PRIMARY KEY". A DESC key is no alias, for
        historical reasons; it is not distinguished here.
        """
        keys = [column for column in self.columns if column.primary_key]
        if len(keys) == 1 and keys[0].type.upper() == "INTEGER" and self.has_rowid:
            return keys[0]
        return None


@dataclass(frozen=True, slots=True)
class Schema:
    """All tables and views of a database of an engine, in the order of their creation."""

    tables: tuple[Table, ...]
    engine: str = SQLITE
    by_name: dict[str, Table] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {fold_name(table.name): table for table in self.tables})

    def find_table(self, name: str) -> Table | None:
        """Return the table or view of that name, in any case, or None."""
        return self.by_name.get(fold_name(name))


def fold_case(text: str) -> str:
    """Return a text in lower case as SQLite folds names, and texts under NOCASE: only ASCII
    letters.

    >>> fold_case("Name"), fold_case("ÉTÉ")
    ('name', 'ÉtÉ')
    """
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


@lru_cache(maxsize=65_536)  # a schema's names are folded again and again
def fold_name(name: str) -> str:
    """Return a name of a table or column as SQLite compares it: `fold_case`, cached."""
    return fold_case(name)


def quote_name(name: str) -> str:
    """Return an identifier in double quotes, safe in SQL.

    >>> quote_name('weight "net"')
    '"weight ""net\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_table(name: str, engine: str) -> str:
    """Return the name of a table in quotes, safe in SQL: off SQLite it may have a schema.

    >>> quote_table("sales.order", "postgres"), quote_table("sales.order", "sqlite")
    ('"sales"."order"', '"sales.order"')
    """
    if engine == SQLITE:
        return quote_name(name)
    return ".".join(map(quote_name, name.split(".", 1)))


def encode_schema(schema: Schema) -> list[dict[str, Any]]:
    """Return the tables of a schema as JSON values; each names the engine if it is not SQLite."""
    engine = {} if schema.engine == SQLITE else {"engine": schema.engine}
    return [asdict(table) | engine for table in schema.tables]


def read_engine(tables: list[dict[str, Any]]) -> str:
    """Return the engine of a database from its tables, as `encode_schema` wrote them."""
    engines: set[str] = {table.get("engine", SQLITE) for table in tables}
    return engines.pop() if engines else SQLITE


def decode_schema(tables: list[dict[str, Any]]) -> Schema:
    return Schema(
        tuple(
            Table(
                **{name: value for name, value in table.items() if name != "engine"}
                | {
                    "columns": tuple(Column(**column) for column in table["columns"]),
                    "unique_keys": tuple(map(tuple, table["unique_keys"])),
                    "foreign_keys": tuple(
                        ForeignKey(tuple(key["columns"]), key["table"], tuple(key["referred"]))
                        for key in table["foreign_keys"]
                    ),
                }
            )
            for table in tables
        ),
        read_engine(tables),
    )


class SchemaFile:
    """The schemas of all databases in `schemas.jsonl`. Each is decoded when it is needed."""

    def __init__(self, path: Path) -> None:
        lines = path.read_bytes().splitlines()
        self._lines = {json.loads(line)["database_name"]: line for line in lines}

    def __len__(self) -> int:
        return len(self._lines)

    def read_tables(self, name: str) -> list[dict[str, Any]]:
        """Return the tables of a database as `encode_schema` wrote them."""
        tables: list[dict[str, Any]] = json.loads(self._lines[name])["tables"]
        return tables

    def __getitem__(self, name: str) -> Schema:
        return decode_schema(self.read_tables(name))
