"""Decide whether a query of DuckDB reads more than its database.

A word in the text of a query is looked at first, since most queries have none that matters. If one
does, DuckDB's own parser gives the tree of the query, and the tree decides: `random` may be a
column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import date, datetime
from typing import Any, NamedTuple

from answerkey.base.reasons import Reason

# Functions that stand in FROM and read nothing but their arguments.
_PURE_TABLE_FUNCTIONS = {
    "generate_series",
    "json_each",
    "json_tree",
    "range",
    "repeat",
    "repeat_row",
    "unnest",
}
# They read or change settings, the session, other statements or the catalogue.
FORBIDDEN_FUNCTIONS = {
    "add_parquet_key",
    "current_query",
    "current_setting",
    "format_type",
    "getvariable",
    "json_execute_serialized_sql",
    "pg_sleep",
    "setseed",
    "setval",
    "sleep_ms",
    "write_log",
}
# Their results depend on chance, on the moment, on the order of execution or on DuckDB's version.
RANDOM_FUNCTIONS = {
    "currval",
    "current_connection_id",
    "current_database",
    "current_query_id",
    "current_transaction_id",
    "gen_random_uuid",
    "in_search_path",
    "nextval",
    "random",
    "reservoir_quantile",
    "stats",
    "txid_current",
    "uuid",
    "uuidv4",
    "uuidv7",
    "vector_type",
    "version",
}
_PURE_PG_FUNCTIONS = {"pg_typeof", "pg_size_pretty"}
_AGE = "age"  # of one time: until now
CLOCK_TYPES = {
    "current_date": "DATE",
    "today": "DATE",
    "current_timestamp": "TIMESTAMPTZ",
    "get_current_timestamp": "TIMESTAMPTZ",
    "now": "TIMESTAMPTZ",
    "transaction_timestamp": "TIMESTAMPTZ",
    "current_localtimestamp": "TIMESTAMP",
    "localtimestamp": "TIMESTAMP",
    "current_localtime": "TIME",
    "localtime": "TIME",
    "current_time": "TIMETZ",
    "get_current_time": "TIMETZ",
}
CLOCK_FUNCTIONS = {*CLOCK_TYPES, "ago"}
# Words without parentheses, and the functions that they call unless a column has the name.
_KEYWORDS = {
    "current_catalog": "current_catalog",
    "current_date": "current_date",
    "current_time": "get_current_time",
    "current_timestamp": "get_current_timestamp",
    "localtime": "current_localtime",
    "localtimestamp": "current_localtimestamp",
}
# In the message of an error that such a word raises. Nobody may write it into a query.
MARK = "answerkey-refuses:"

_SYSTEM_SCHEMAS = {"information_schema", "pg_catalog"}
_SYSTEM_CATALOGS = {"system", "temp"}
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SUSPICIOUS = {
    *("copy", "delete", "describe", "insert", "merge", "sample", "show", "summarize"),
    *("tablesample", "update"),
    *FORBIDDEN_FUNCTIONS,
    *RANDOM_FUNCTIONS,
    *CLOCK_FUNCTIONS,
    *_KEYWORDS,
    *_SYSTEM_SCHEMAS,
    *_SYSTEM_CATALOGS,
    _AGE,
}
_WORD = re.compile(r"[a-z_][a-z0-9_]*")
_SYSTEM_NAME = re.compile(r"\b(?:duckdb|pg|pragma|sqlite)_")
# `DESC t` describes a table. As an order, DESC follows an expression, and precedes one of these.
_DESCRIBES = re.compile(
    r"(?:^|[(;\n\r]|\*/)[^\S\n\r]*desc\b"
    r"|\bdesc\b(?!\s*(?:$|[,);\]]|nulls\b|limit\b|offset\b|rows\b|range\b|groups\b))"
)


class Refusal(NamedTuple):
    """Why a query is refused: a code, and words."""

    reason: Reason
    detail: str


class Refusals:
    """The functions and views that the installed DuckDB has, and which of them a query may use."""

    def __init__(self, fetch: Callable[[str], list[tuple[Any, ...]]]) -> None:
        """fetch: runs a query on an empty database."""
        kinds: dict[str, set[str]] = {}
        for name, kind in fetch(
            "SELECT DISTINCT function_name, function_type FROM duckdb_functions()"
        ):
            kinds.setdefault(name.lower(), set()).add(kind)
        of_tables = {"table", "table_macro", "pragma"}
        self._table_functions = {name for name, found in kinds.items() if found & of_tables}
        self._table_functions -= _PURE_TABLE_FUNCTIONS
        volatile = fetch(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE has_side_effects"
        )
        self._volatile = {name.lower() for (name,) in volatile} - {"error", *FORBIDDEN_FUNCTIONS}
        self._views = {
            name.lower() for (name,) in fetch("SELECT view_name FROM duckdb_views() WHERE internal")
        }
        only_tables = {name for name in self._table_functions if kinds[name] <= of_tables}
        both = self._table_functions - only_tables
        self._words = _SUSPICIOUS | self._volatile | only_tables | (both - {"histogram"})

    def is_suspicious(self, sql: str) -> bool:
        """Return whether a query has a word for which its tree must be looked at."""
        text = sql.lower()
        return (
            not self._words.isdisjoint(_WORD.findall(text))
            or "histogram" in text
            or _SYSTEM_NAME.search(text) is not None
            or _DESCRIBES.search(text) is not None
        )

    def explain(
        self, tree: dict[str, Any], *, relations: Iterable[str], has_clock: bool
    ) -> Refusal | None:
        """Return why a query is refused; None if it may be executed.

        tree: what json_serialize_sql gives for it.
        relations: names of tables and views of the database, in lower case.
        has_clock: whether functions of the clock give the instant of the database.
        """
        if tree.get("error"):
            return Refusal(Reason.NOT_A_SELECT, str(tree.get("error_message")))
        known = {*relations}
        for node in walk_nodes(tree):
            if "key" in node and isinstance(node.get("value"), dict):  # a CTE
                known.add(str(node["key"]).lower())
        for node in walk_nodes(tree):
            refusal = self._explain_node(node, known, has_clock=has_clock)
            if refusal is not None:
                return refusal
        return None

    def _explain_node(
        self, node: dict[str, Any], known: set[str], *, has_clock: bool
    ) -> Refusal | None:
        kind = node.get("type")
        if node.get("sample") is not None:
            return Refusal(Reason.NONDETERMINISTIC_FUNCTION, "a sample depends on chance")
        if not isinstance(kind, str):
            return None
        if kind == "SHOW_REF":
            return Refusal(Reason.NOT_A_SELECT, "it describes the database")
        if kind.endswith("_NODE") and kind not in _NODES:
            words = kind.removesuffix("_NODE").removesuffix("_QUERY")
            return Refusal(Reason.NOT_A_SELECT, f"it does more than read: {words}")
        if kind == "BASE_TABLE":
            return self._explain_table(_read_path(node, "table_name"), known)
        if kind == "TABLE_FUNCTION":
            name = _read_path(node.get("function") or {}, "function_name")[-1]
            if name in self._table_functions:
                return Refusal(Reason.FORBIDDEN_FUNCTION, f"function {name} is refused")
        if node.get("function_name"):
            return self._explain_function(node, has_clock=has_clock)
        return None

    def _explain_table(self, path: list[str], known: set[str]) -> Refusal | None:
        is_system = (
            (len(path) > 1 and path[-2] in _SYSTEM_SCHEMAS)
            or (len(path) > 1 and path[0] in _SYSTEM_CATALOGS and path[0] not in known)
            or (len(path) == 1 and path[0] in self._views and path[0] not in known)
        )
        if is_system:
            return Refusal(Reason.FORBIDDEN_FUNCTION, f"table {'.'.join(path)} is refused")
        return None

    def _explain_function(self, node: dict[str, Any], *, has_clock: bool) -> Refusal | None:
        path = _read_path(node, "function_name")
        name = path[-1]
        is_pg = name.startswith("pg_") and name not in _PURE_PG_FUNCTIONS
        if name in FORBIDDEN_FUNCTIONS or is_pg:
            return Refusal(Reason.FORBIDDEN_FUNCTION, f"function {name} is refused")
        reads_clock = name in CLOCK_FUNCTIONS or (
            name == _AGE and len(node.get("arguments") or ()) == 1
        )
        # Behind the name of a schema stands DuckDB's own function, which reads the real clock.
        is_set = has_clock and len(path) == 1
        if name in RANDOM_FUNCTIONS | self._volatile or (reads_clock and not is_set):
            return refuse_reading(name)
        return None


def find_clock_word(tree: dict[str, Any], columns: Container[str]) -> Refusal | None:
    """Return the refusal of a word without parentheses that reads the clock, such as CURRENT_DATE;
    None if there is none, or a column has its name.

    columns: names of columns of the database, in lower case.
    """
    for node in walk_nodes(tree):
        names = node.get("column_names")
        if node.get("type") == "COLUMN_REF" and names and len(names) == 1:
            word = names[0].lower()
            if word in _KEYWORDS and word not in columns:
                return refuse_reading(word)
    return None


def refuse_reading(name: str) -> Refusal:
    detail = f"function {name} depends on more than the database"
    return Refusal(Reason.NONDETERMINISTIC_FUNCTION, detail)


def walk_nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a tree of JSON, however deep it is."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _read_path(node: dict[str, Any], name_field: str) -> list[str]:
    path = (node.get("qualified_name") or {}).get("path") or [node.get(name_field) or ""]
    return [str(part).lower() for part in path]


def write_clock(now: str | None) -> list[str]:
    """Return statements that set the clock of a connection: macros that DuckDB finds before its own
    functions, in queries and in views.

    now: the instant; None: who reads the clock by a word without parentheses gets an error with
        MARK. Calls are refused by their names.
    """
    if now is None:
        # A type, so that the query around it is bound.
        return [
            f"CREATE TEMP MACRO {function}() AS"
            f" error({_quote(MARK + word)})::{CLOCK_TYPES.get(function, 'VARCHAR')}"
            for word, function in sorted(_KEYWORDS.items())
        ]
    instant = datetime.fromisoformat(now) if len(now) > len("2025-01-30") else None
    day = date.fromisoformat(now[: len("2025-01-30")])
    moment = f"{day} 00:00:00" if instant is None else instant.isoformat(" ")
    time = moment.partition(" ")[2]
    texts = {"DATE": f"{day}", "TIMESTAMP": moment, "TIMESTAMPTZ": f"{moment}+00"}
    texts |= {"TIME": time, "TIMETZ": f"{time}+00"}
    macros = [
        f"CREATE TEMP MACRO {name}() AS {_quote(texts[kind])}::{kind}"
        for name, kind in sorted(CLOCK_TYPES.items())
    ]
    macros.append(
        f"CREATE TEMP MACRO current_catalog() AS error({_quote(MARK + 'current_catalog')})"
    )
    own = "system.main.age"
    midnight = f"'{day}'::TIMESTAMP"
    macros.append(f"CREATE TEMP MACRO age(a) AS {own}({midnight}, a), (a, b) AS {own}(a, b)")
    return macros


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def find_mark(words: str) -> Refusal | None:
    """Return the refusal that an error with MARK means."""
    found = re.search(re.escape(MARK) + r"(\w+)", words)
    return None if found is None else refuse_reading(found[1])


def parse_tree(text: str) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(text)
    return tree
