"""Read the schema of a database of PostgreSQL."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from answerkey.engines.names import POSTGRES
from answerkey.engines.postgres.loading import OWN_RELATIONS, Connection
from answerkey.engines.postgres.settings import Settings
from answerkey.engines.schema import Column, ForeignKey, Schema, Table

_TABLES = f"""
SELECT r.oid::bigint, n.nspname, r.relname, r.relkind::text,
       CASE WHEN r.relkind IN ('v', 'm') THEN pg_get_viewdef(r.oid) ELSE '' END
FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relkind IN ('r', 'p', 'v', 'm') AND {OWN_RELATIONS} ORDER BY r.oid"""
# A domain is named by its base type, which may be a domain itself.
_COLUMNS = """
WITH RECURSIVE bases AS (
    SELECT oid AS type, oid AS base, -1 AS modifier, false AS is_not_null FROM pg_type
    UNION ALL
    SELECT b.type, t.typbasetype, t.typtypmod, b.is_not_null OR t.typnotnull
    FROM bases b JOIN pg_type t ON t.oid = b.base WHERE t.typtype = 'd')
SELECT a.attrelid::bigint, a.attname::text, format_type(b.base,
       CASE WHEN b.base = a.atttypid THEN a.atttypmod ELSE b.modifier END),
       a.attnotnull OR b.is_not_null, a.attnum::int
FROM pg_attribute a JOIN bases b ON b.type = a.atttypid
JOIN pg_type t ON t.oid = b.base AND t.typtype <> 'd'
WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = ANY(%s)
ORDER BY a.attrelid, a.attnum"""
# The statements that make the enums of a table's columns, in the order of the columns.
_ENUMS = """
SELECT a.attrelid::bigint, string_agg(format('CREATE TYPE %%s AS ENUM (%%s);',
       format_type(t.oid, NULL),
       (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
        FROM pg_enum e WHERE e.enumtypid = t.oid)), E'\\n' ORDER BY a.attnum)
FROM (SELECT attrelid, atttypid, min(attnum) AS attnum FROM pg_attribute
      WHERE attnum > 0 AND NOT attisdropped AND attrelid = ANY(%s) GROUP BY 1, 2) a
JOIN pg_type t ON t.oid = a.atttypid AND t.typtype = 'e' GROUP BY 1"""
_CONSTRAINTS = """
SELECT c.conrelid::bigint, c.contype::text, c.conkey::int[], c.confrelid::bigint, c.confkey::int[]
FROM pg_constraint c
WHERE c.contype IN ('p', 'u', 'f') AND c.conparentid = 0 AND c.conrelid = ANY(%s)
ORDER BY c.conrelid, c.contype = 'p' DESC, c.oid"""
# Indexes that make their columns a key without a constraint.
_INDEXES = """
SELECT i.indrelid::bigint, 'u', i.indkey::int[], 0, NULL
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnatts = i.indnkeyatts
  AND NOT x.relispartition AND i.indrelid = ANY(%s)
  AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
ORDER BY i.indrelid, i.indexrelid"""


def read_schema(connection: Connection, settings: Settings) -> Schema:
    """Return the tables and views of a database, in the order of their creation. A table of a
    schema that is not in the search path has its schema before its name."""
    _run(connection, "SELECT set_config('search_path', %s, false)", settings.search_path)
    (path,) = _run(connection, "SELECT current_schemas(false)::text[]")[0]
    rows = _run(connection, _TABLES)
    names = {oid: name_table(schema, name, path, rows) for oid, schema, name, *_ in rows}
    oids = [*names]
    columns: dict[int, dict[int, Column]] = defaultdict(dict)
    for oid, name, kind, is_not_null, number in _run(connection, _COLUMNS, oids):
        columns[oid][number] = Column(name, kind, bool(is_not_null), 0)
    enums = dict(_run(connection, _ENUMS, oids))
    keys: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    foreign_keys: dict[int, list[ForeignKey]] = defaultdict(list)
    constraints = [*_run(connection, _CONSTRAINTS, oids), *_run(connection, _INDEXES, oids)]
    for oid, kind, numbers, referred, referred_numbers in constraints:
        key = tuple(columns[oid][number].name for number in numbers)
        if kind == "f":
            if referred in names:
                others = tuple(columns[referred][number].name for number in referred_numbers)
                foreign_keys[oid].append(ForeignKey(key, names[referred], others))
            continue
        if kind == "p":
            for rank, number in enumerate(numbers, 1):
                column = columns[oid][number]
                columns[oid][number] = Column(column.name, column.type, True, rank)
        if key not in keys[oid]:
            keys[oid].append(key)
    return Schema(
        tuple(
            Table(
                names[oid],
                kind in ("v", "m"),
                tuple(columns[oid].values()),
                tuple(keys[oid]),
                tuple(foreign_keys[oid]),
                sql or enums.get(oid, ""),
            )
            for oid, _, _, kind, sql in rows
            if columns[oid]
        ),
        POSTGRES,
    )


def name_table(schema: str, name: str, path: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Return a table's name, with its schema if a query has to write it."""
    schemas = [other for _, other, same, *_ in rows if same == name]
    first = next((each for each in path if each in schemas), None)
    return name if schema == first else f"{schema}.{name}"


def _run(connection: Connection, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
    return connection.execute(sql, arguments or None).fetchall()
