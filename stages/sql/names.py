"""Names in SQL: when they need quotes, and how SQLite folds their case."""

from __future__ import annotations

import re

from stages.schema import quote_name

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Source: the SQLite manual, "SQLite Keywords".
_KEYWORDS = """
    ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN
    BETWEEN BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS
    CURRENT CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE
    DESC DETACH DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL
    FALSE FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GROUP GROUPS HAVING IF IGNORE
    IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL JOIN KEY LAST
    LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR
    ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE
    REFERENCES REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWS
    SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION TRIGGER TRUE UNBOUNDED UNION
    UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT
"""
_KEYWORD_SET = frozenset(_KEYWORDS.split())


def write_name(name: str) -> str:
    """A name as it is, or in double quotes where it needs them.

    >>> write_name("ship"), write_name("order"), write_name("gross weight")
    ('ship', '"order"', '"gross weight"')
    """
    is_plain = PLAIN_NAME.fullmatch(name) and name.upper() not in _KEYWORD_SET
    return name if is_plain else quote_name(name)


def fold_name(name: str) -> str:
    """A name in lower case as SQLite folds it: ASCII letters only."""
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in name)
