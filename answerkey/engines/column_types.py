"""Find the kind of values that a column has, from the type that it was declared with."""

from __future__ import annotations

import re
from functools import lru_cache

from answerkey.engines.names import SQLITE
from answerkey.engines.sqlite.schema import affinity

INTEGER, REAL, NUMERIC, TEXT, BLOB = "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB"
NUMBERS = frozenset({INTEGER, REAL, NUMERIC})
TIME, BOOLEAN, OTHER = "TIME", "BOOLEAN", "OTHER"  # there are none in SQLite

_KINDS = (
    (OTHER, re.compile(r".*\[\d*\]|(struct|map|union|list|row)\b.*")),
    (
        INTEGER,
        re.compile(
            r"u?(tiny|small|big|huge)?int(eger)?|int[248]|u?int(8|16|32|64|128)"
            r"|(small|big)?serial[248]?|short|long|signed"
        ),
    ),
    (REAL, re.compile(r"real|float[48]?|double( precision)?")),
    (NUMERIC, re.compile(r"numeric|decimal|dec|bignum")),
    (
        TEXT,
        re.compile(
            r"text|varchar|char|bpchar|string|citext|name|character( varying)?|enum(\(.*\))?"
        ),
    ),
    (TIME, re.compile(r"date|datetime|time(tz|stamp\w*)?( with(out)? time zone)?")),
    (BOOLEAN, re.compile(r"bool(ean)?|logical")),
)
_ARGUMENTS = re.compile(r"\s*\([^()]*\)")


@lru_cache(maxsize=4096)
def find_kind(declared_type: str, engine: str) -> str:
    """Return what a column of a declared type holds.

    >>> find_kind("varchar(20)", "sqlite"), find_kind("DATE", "sqlite")
    ('TEXT', 'NUMERIC')
    >>> [find_kind(name, "postgres") for name in ("numeric(5,2)", "date", "text[]", "interval")]
    ['NUMERIC', 'TIME', 'OTHER', 'OTHER']
    >>> find_kind("ENUM('a (b)')", "duckdb")
    'TEXT'

    In SQLite it is the affinity, which is no promise: the column may hold anything. Elsewhere it is
    one: TEXT, INTEGER, REAL, NUMERIC (exact decimals), TIME (dates and times), BOOLEAN, or OTHER.
    """
    if engine == SQLITE:
        return affinity(declared_type)
    name = _ARGUMENTS.sub("", declared_type.strip().lower())
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(name)), OTHER)
