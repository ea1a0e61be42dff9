"""Queries at random over a small world of awkward names: most of them run, and what they answer
does not depend on the order in which SQLite reads rows."""

from __future__ import annotations

import random

WORLD = """
CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT COLLATE NOCASE, c REAL, "two words");
CREATE TABLE u (a INT, B TEXT, "É" TEXT, "é" TEXT);
CREATE TABLE w (k TEXT PRIMARY KEY, a INT, "order" NUMERIC) WITHOUT ROWID;
CREATE TABLE d (o1 INT, d TEXT, rowid TEXT);
CREATE VIEW v AS SELECT a, b AS x FROM t WHERE a > 1;
INSERT INTO t VALUES
  (1, 'X', 1.5, NULL), (2, 'Y', NULL, '2'), (3, NULL, -2.0, 3), (4, 'X', 0.0, 'a');
INSERT INTO u VALUES
  (1, 'x', '1', 'a'), (1, 'y', 'b', '1'), (NULL, 'x', NULL, 'É'), (3, 'z', 'x', 'é');
INSERT INTO w VALUES ('x', 1, 1), ('1', 2, 'q'), ('b', NULL, 2.5);
INSERT INTO d VALUES (1, 'a', 'r'), (2, 'x', '1'), (NULL, 'd', 'x');
"""
_COLUMNS = {
    "t": ["a", "b", "c", '"two words"', "rowid"],
    "u": ["a", "b", '"É"', '"é"', "oid"],
    "w": ["k", "a", '"order"'],
    "d": ["o1", "d", "rowid", "_rowid_"],
    "v": ["a", "X"],
}
_ALIASES = ["t", "u", "x", "d", "q1", '"two words"', "É"]
_LITERALS = ["0", "1", "-2", "1.50", "'x'", "'1'", '"no name"', "NULL", "TRUE", "x'61'", "0x10"]
_OPERATORS = ["+", "-", "*", "/", "%", "||", "&", "|", "=", "<>", "<", ">=", "IS", "IS NOT", "AND"]
_OPERATORS += ["OR", "LIKE", "NOT LIKE", "NOT GLOB", "IS NOT DISTINCT FROM"]
_FUNCTIONS = ["abs", "lower", "typeof", "length"]
_FUNCTIONS_OF_TWO = ["ifnull", "max", "nullif"]
_TYPES = ["INT", "TEXT", "REAL", "NUMERIC", "STRING", "DATE", "VARCHAR(3)", "UNSIGNED BIG INT"]
_UNCONDITIONAL = [", ", " CROSS JOIN ", " NATURAL JOIN "]
_CONDITIONAL = [" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN "]

Sources = list[tuple[str, list[str]]]  # what a query may name: sources with their columns


class QueryMaker:
    """Makes queries; the same seed gives the same ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def make_query(self) -> str:
        """A SELECT of one to three columns."""
        return self._select([], 3, self._random.randint(1, 3))

    def _pick(self, *options: str) -> str:
        return self._random.choice(options)

    def _is(self, chance: float) -> bool:
        return self._random.random() < chance

    def _select(self, outer: Sources, depth: int, width: int, *, is_single: bool = False) -> str:
        members, sources = self._from(depth)
        seen = [*outer, *sources]
        is_grouped = is_single or self._is(0.2)
        keys = [] if is_single else [self._expression(sources, 1)]
        shown = [self._shown(seen, depth - 1, keys, is_grouped) for _ in range(width)]
        names = [self._pick(*_ALIASES) if self._is(0.3) else "" for _ in shown]
        pairs = zip(shown, names, strict=True)
        columns = [f"{what} AS {name}" if name else what for what, name in pairs]
        text = f"SELECT {', '.join(columns)} FROM {members}"
        if self._is(0.5):
            text += f" WHERE {self._expression(seen, depth - 1)}"
        if is_grouped and keys:
            text += f" GROUP BY {keys[0]}"
        if self._is(0.3):
            term = self._pick("1", *filter(None, names), *shown)
            text += f" ORDER BY {term} {self._pick('ASC', 'DESC')}"
        return text

    def _shown(self, seen: Sources, depth: int, keys: list[str], is_grouped: bool) -> str:
        if not is_grouped:
            return self._expression(seen, depth)
        call = f"{self._pick('count', 'min', 'max', 'total')}({self._expression(seen, 1)})"
        return self._pick(call, "count(*)", *keys)

    def _from(self, depth: int) -> tuple[str, Sources]:
        text, sources = "", []
        for place in range(self._random.choice([1, 1, 2, 3])):
            table = self._pick(*_COLUMNS)
            member, name, columns = table, table, _COLUMNS[table]
            if depth > 1 and self._is(0.15):
                member, columns = f"(SELECT * FROM {table})", _COLUMNS[table][:2]
            if member != table or self._is(0.5):
                name = self._pick(*_ALIASES)
                member += f" AS {name}"
            sources.append((name, columns))
            join = self._pick(*_UNCONDITIONAL, *_CONDITIONAL) if place else ""
            text += join + member
            text += f" ON {self._expression(sources, 1)}" if join in _CONDITIONAL else ""
        return text, sources

    def _expression(self, seen: Sources, depth: int) -> str:
        if depth <= 0 or self._is(0.2):
            return self._atom(seen)
        left, right = (self._expression(seen, depth - 1) for _ in "12")
        forms = [
            f"{left} {self._pick(*_OPERATORS)} {right}",
            f"({left})",
            f"-{left}",
            f"{self._pick(*_FUNCTIONS_OF_TWO)}({left}, {right})",
            f"{self._pick(*_FUNCTIONS)}({left})",
            f"CASE {left} WHEN {right} THEN {left} ELSE {right} END",
            f"CAST({left} AS {self._pick(*_TYPES)})",
            f"({left} {self._pick('', 'NOT')} BETWEEN {right} AND {left})",
            f"({left} {self._pick('', 'NOT')} IN ({right}, {self._pick(*_LITERALS)}))",
            f"{left} COLLATE NOCASE",
        ]
        if depth > 1:
            forms += [
                f"({self._select(seen, depth - 1, 1, is_single=True)})",
                f"{left} IN ({self._select(seen, depth - 1, 1)})",
                f"EXISTS ({self._select(seen, depth - 1, 1)})",
            ]
        return self._pick(*forms)

    def _atom(self, seen: Sources) -> str:
        if not seen or self._is(0.3):
            return self._pick(*_LITERALS)
        name, columns = self._random.choice(seen)
        column = self._pick(*columns)
        return f"{name}.{column}" if self._is(0.7) else column
