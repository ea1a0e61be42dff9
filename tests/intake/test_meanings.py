"""A translation that is held means the same on all rows: each is compared with its engine on rows
of edges, halves, blanks and letters of all kinds; what may not is refused, with a reason."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.intake import servers
from answerkey.intake.dialects import Comparer, Renaming, read_renaming, translate
from answerkey.intake.engines import DuckDB
from answerkey.intake.meanings import MeaningError, Meanings, keep_meaning, read_kind
from answerkey.intake.postgres import Postgres
from answerkey.intake.whole_database import convert

FLOATS = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.125, 2.675, 1.005, 0.285, -1.005, 50.0, 150.0, 250.0]
FLOATS += [-250.0, 1250.0, 1e15, 4503599627370495.5, 1e-9, 0.1 + 0.2, 99.995, 0.0, 3.7, -3.7, 1e5]
DECIMALS = ["0.50", "1.50", "-2.50", "2.675", "1.005", "-1.005", "0.285", "150.000", "99.995"]
DECIMALS += ["0.000", "10.120", "12345678.125", "-0.005", "0.015", "0.025", "1.115", "33.333"]
TEXTS = ["", " ", "a", "A", "ab", "AB", "aB ", "ab ", " ab", "a*b", "a?b", "a[b]", "é", "É", "ÉA"]
TEXTS += ["z", "Zoë", "ZOË", "10", "9", "a%b", "a_b", "ß", "_", "Ab", "abc", "a\\b", "日本", "a-b"]
DAYS = ["2024-01-31", "2024-02-29", "2023-12-31", "2024-03-31", "2024-01-01", "2024-12-30"]
DAYS += ["2021-01-03", "2023-02-28", "2024-05-31", "1999-12-31", "2024-07-08"]
MOMENTS = [f"{day} {time}" for day, time in zip(
    DAYS, ["00:00:00", "23:59:59.5", "12:00:00", "00:00:00", "00:00:00.000001", "10:30:00"] * 2,
    strict=False)]  # fmt: skip
HOURS = ["00:00:00", "23:59:59.5", "13:00:00", "09:05:00.000001", "10:30:00", "12:59:59"]
CODES = ["", "a", "ab", "ab ", "A", "abc", " ab", "abcd", "b", "a b", "é"]
NOW = "2024-03-31 10:30:00"
WHOLE = [0, 1, -1, 2, 3, 5, 7, -7, 50, 150, 250, -50, -150, 49, 51, 2**31 - 1, -(2**31) + 1]


def make_rows(count: int = 240) -> list[tuple[Any, ...]]:
    chance = random.Random(20)
    columns = (WHOLE, WHOLE, [2**40 + 1, *WHOLE], FLOATS, DECIMALS, TEXTS, TEXTS, DAYS, DAYS)
    columns += (MOMENTS, [True, False], ["calm", "rough"], HOURS, CODES)
    rows = []
    for number in range(count):
        values = (chance.choice([*column, None]) for column in columns)
        rows.append((number, *values))
    return rows


TABLE = """
CREATE TYPE mood AS ENUM ('rough', 'calm');
CREATE TABLE t (id integer PRIMARY KEY, i integer, j integer, big bigint, f double precision,
    d decimal(12,3), s varchar, w varchar, day date, other date, m timestamp, ok boolean, sea mood,
    h time, c char(4));
CREATE TABLE other (i integer, s double precision);
INSERT INTO other VALUES (1, 2.5), (2, 1.5), (3, NULL), (7, 9)
"""
VALUES = f"INSERT INTO t VALUES ({', '.join('?' * 15)})"


class World:
    """An engine, and its tables in SQLite."""

    def __init__(self, comparer: Comparer, dialect: str, renaming: Renaming) -> None:
        self.comparer, self.dialect, self.renaming = comparer, dialect, renaming

    def find_fault(self, sql: str) -> str | None:
        """What differs; None: nothing, or it is refused or fails there."""
        differs = self.comparer.check(sql, self.dialect, self.renaming).differs
        if differs is None:
            return None
        error = str(differs.get("error", ""))
        infinite = "was not compared: not_finite"  # there, too, where it is a division by zero
        if "ORDER BY term out of range" in error:  # ORDER BY 0 is a value there
            return None
        if error.startswith(("cannot be translated: ", f"fails in {self.dialect}: ", infinite)):
            return None
        return f"{translate(sql, self.dialect, self.renaming)[0]}: {differs}"

    def is_held(self, sql: str) -> bool:
        return self.comparer.check(sql, self.dialect, self.renaming).differs is None


@pytest.fixture(scope="module")
def duck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    folder: Path = tmp_path_factory.mktemp("duck")
    with closing(duckdb.connect(str(folder / "a.duckdb"))) as connection:
        connection.execute(TABLE)
        connection.executemany(VALUES, make_rows())
    with closing(DuckDB.open_file(folder / "a.duckdb")) as engine:
        renaming = read_renaming(engine, convert(engine, folder / "a.sqlite"))
        with Comparer(folder / "a.sqlite", engine, now=NOW) as comparer:
            yield World(comparer, "duckdb", renaming)


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    pytest.importorskip("psycopg", reason="needs the extra `convert`")
    if servers.find_programs() is None:
        pytest.skip("needs Postgres: apt-get install postgresql")
    folder: Path = tmp_path_factory.mktemp("postgres")

    def spell(value: Any) -> str:
        if value is None or isinstance(value, bool | int):
            return "NULL" if value is None else str(value)
        return "'" + str(value).replace("'", "''") + "'"

    rows = [f"INSERT INTO t VALUES ({', '.join(map(spell, row))});" for row in make_rows()]
    text = "\n".join([f"{TABLE};", *rows])
    (folder / "t.sql").write_text(text, encoding="utf-8")
    with ExitStack() as stack:
        loaded = stack.enter_context(servers.load_dump(folder / "t.sql", is_text=True))
        assert loaded.notes == []
        engine = stack.enter_context(closing(Postgres(loaded.url)))
        renaming = read_renaming(engine, convert(engine, folder / "a.sqlite"))
        comparer = stack.enter_context(Comparer(folder / "a.sqlite", engine, now=NOW))
        yield World(comparer, "postgres", renaming)


# Each is held, in both engines: a rule that refuses too much is a fault, too.
HELD = [
    "SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM other WHERE other.i = t.i)",
    "SELECT id, CAST(f AS INTEGER) FROM t WHERE abs(f) < 1e9",
    "SELECT id, CAST(d AS INTEGER), CAST(i AS BIGINT), CAST(ok AS INTEGER) FROM t",
    "SELECT id, round(d, 2), round(d, 1), round(d), round(d, -1), round(d, -2) FROM t",
    "SELECT id, round(i, -2), round(i, -1), round(i) FROM t WHERE abs(i) < 1000000",
    "SELECT id, round(f) FROM t",
    "SELECT id, i / 2, d / 3, f / 2.5, i / 2.0 FROM t",
    "SELECT id, i / NULLIF(j, 0), sum(i) OVER () / count(*) OVER () FROM t",
    "SELECT i, sum(j) / count(*), avg(j), avg(d) FROM t GROUP BY i",
    "SELECT id, i % 7, mod(j, 3) FROM t",
    "SELECT id FROM t WHERE s = 'ab'",
    "SELECT id FROM t WHERE s IN ('ab', 'A', 'é') OR w <> 'ab '",
    "SELECT id, s < w, s >= 'Z', s = w FROM t",
    "SELECT id, s LIKE 'a%', s LIKE '%b', s LIKE 'a_b', w NOT LIKE '%[%' FROM t",
    "SELECT id, s ILIKE 'AB%' FROM t",
    "SELECT id FROM t WHERE lower(s) = 'ab' OR upper(w) LIKE 'A%'",
    "SELECT min(s), max(w) FROM t",
    "SELECT id, s FROM t ORDER BY s, id",
    "SELECT s, count(*) FROM t GROUP BY s ORDER BY 2 DESC, 1 LIMIT 5",
    "SELECT id FROM t WHERE day > '2024-01-31' AND other BETWEEN '2000-01-01' AND '2024-02-29'",
    "SELECT id FROM t WHERE m > '2024-01-31'",
    "SELECT id FROM t WHERE m <= '2024-03-31' OR m = '2024-01-31'",
    "SELECT id FROM t WHERE m BETWEEN '2024-01-31' AND '2024-03-31 00:00:00'",
    "SELECT id FROM t WHERE i = '5' OR f > '2.5'",
    "SELECT id, day + INTERVAL '1 month', day - INTERVAL '1 year', day + 3 FROM t",
    "SELECT id, m + INTERVAL '1 month', m - INTERVAL '3 hours', m + INTERVAL '2 days' FROM t",
    "SELECT id, day - other, (day + 3) - other FROM t",
    "SELECT i, max(day) - min(other), max(day) + 3, CURRENT_DATE - max(day) FROM t GROUP BY i",
    "SELECT id FROM t WHERE day >= CURRENT_DATE - INTERVAL '30 days' OR m < now()",
    "SELECT id FROM t WHERE m BETWEEN CURRENT_DATE - INTERVAL '3 months' AND CURRENT_DATE",
    "SELECT id, CURRENT_DATE - day, extract(year FROM CURRENT_DATE) - 1 FROM t",
    "SELECT id FROM t WHERE day >= date_trunc('week', CURRENT_DATE) - INTERVAL '8 weeks'",
    "SELECT id FROM t WHERE m < date_trunc('month', CURRENT_TIMESTAMP) - INTERVAL '2 hours'",
    "SELECT id FROM t WHERE m = day OR m >= other AND m < other + INTERVAL '1 month'",
    "SELECT id, m > day, day <= m, m IN (day, other), m::date = day, day::timestamp = m FROM t",
    "SELECT id FROM t WHERE m BETWEEN day AND '2024-03-31 10:00:00'",
    "SELECT id, date_trunc('month', day) = day, coalesce(date_trunc('year', m), day) FROM t",
    "SELECT i, max(day) + INTERVAL '1 month', min(m) - INTERVAL '1 day' FROM t GROUP BY i",
    "SELECT id, (m + INTERVAL '1 month') + INTERVAL '1 month', day + 1 - 2 FROM t",
    "SELECT id, c FROM t WHERE c = 'ab' OR c IN ('a', 'abcd') OR c LIKE 'A%' ORDER BY c, id",
    "SELECT c, count(*), length(c) FROM t GROUP BY c HAVING c > 'a'",
    "SELECT max(c), min(c) FROM t",
    "SELECT id, upper(c) = 'AB', coalesce(c, s), c = s FROM t WHERE c <> '' AND c <> 'ab '",
    "SELECT id FROM t WHERE h < '13:00' AND h >= '09:05:00'",
    "SELECT h, count(*) FROM t WHERE h BETWEEN '00:00:00' AND '23:59:59.5' GROUP BY h ORDER BY h",
    "SELECT max(h), min(h), extract(hour FROM max(h)) FROM t",
    "SELECT id, extract(epoch FROM (m - other)), extract(epoch FROM m) FROM t",
    "SELECT id, extract(year FROM m), extract(month FROM day), extract(dow FROM day) FROM t",
    "SELECT id, date_trunc('month', m), date_trunc('week', day), date_trunc('hour', m) FROM t",
    "SELECT id FROM t WHERE date_trunc('month', day) = '2024-01-01'",
    "SELECT id, substring(s, 2, 2), left(s, 2), right(s, 1), length(s) FROM t",
    "SELECT id, trim(s), replace(s, 'a', 'x'), s || w, s || i, concat(s, i) FROM t",
    "SELECT id, coalesce(s, w, ''), nullif(i, 5), CASE s WHEN 'ab' THEN 1 ELSE 0 END FROM t",
    "SELECT id FROM t WHERE ok AND sea = 'calm'",
    "SELECT floor(d), ceil(d), abs(f), floor(d * 10) FROM t",
    "SELECT id, CAST(m AS date), CAST(i AS varchar), CAST('5' AS integer) FROM t",
    "SELECT s FROM t UNION SELECT w FROM t",
    "SELECT id, greatest(i, j), least(i, 2, big), greatest(f, d, i), least(day, other) FROM t",
    "SELECT id, strpos(s, 'a'), strpos(w, ''), position('b' in s) > 1 FROM t",
    "SELECT i, bool_or(ok), bool_and(j > 1), bool_or(s = 'a') FROM t GROUP BY i",
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n FROM c",
    "SELECT t.s, u.s FROM t JOIN other AS u ON t.i = u.i WHERE u.s > '2' AND t.s = 'ab'",
    "SELECT DISTINCT ON (s) s, id FROM t ORDER BY s, id",
    "SELECT id, rank() OVER (PARTITION BY i ORDER BY s) FROM t",
]
OF_DUCKDB = [
    "SELECT id, date_diff('day', m, day), date_diff('day', day, other) FROM t",
    "SELECT date_diff('day', min(m), max(m)) FROM t",
    "SELECT id, dayofweek(m), dayofweek(day) FROM t",
    "SELECT id FROM t ANTI JOIN other USING (i)",
    "SELECT id FROM t SEMI JOIN other ON other.i = t.j WHERE ok",
    "SELECT a.i, b.i FROM t AS a JOIN other AS b USING (i)"
    " QUALIFY row_number() OVER (PARTITION BY a.i ORDER BY a.id) = 1",
    "SELECT sum(i) AS i FROM t ORDER BY i",
    "SELECT id, round(f, -2), round(f, -1) FROM t",
    "SELECT id, i / j, 100 * (f / i) AS share FROM t WHERE i <> 0 AND j <> 0 ORDER BY id",
    "SELECT sum(i) / sum(j) FROM t WHERE j > 0",
    "SELECT (i - i) / (j - j) FROM t",
    "SELECT id, CAST(round(i / NULLIF(j, 0)) AS INTEGER) AS share FROM t ORDER BY share, id",
    "SELECT id, i // 7 FROM t",
    "SELECT id, date_diff('day', day, other), year(m), strftime(m, '%Y-%m') FROM t",
]
OF_POSTGRES = [
    "WITH c AS (SELECT s, avg(d) AS mean FROM t GROUP BY s) SELECT s, round(mean, 2) FROM c",
    "SELECT id, round(f::numeric, 2), round(avg(f) OVER ()::numeric, 1) FROM t WHERE abs(f) < 1e9",
    "SELECT i, round(avg(j), 1), round(sum(d) / count(*), 2) FROM t GROUP BY i",
    "SELECT id, f::int, d::int, d::numeric(10,1) FROM t WHERE abs(f) < 1e9",
    "SELECT id, i / 3, big / 3, sum(big) OVER (PARTITION BY i) / 3 FROM t",
    "SELECT id, to_char(m, 'YYYY-MM') FROM t",
    "SELECT id FROM t WHERE s ~ 'a' OR s ~ '^(A|Z|z)' OR w ~ '10|9' OR w !~* '^AB$'",
    "SELECT id, c || s, substring(c, 1, 2), lower(c), trim(c), c::text FROM t WHERE c = 'ab  '",
    "SELECT id, s ~ '^a', s ~* 'B$', s ~* '(ab|zo)', w ~ 'a-b', s ~ '^A$' FROM t",
    "SELECT id, upper(s), lower(w) FROM t",  # in the locale C
]


@pytest.mark.parametrize("sql", [*HELD, *OF_DUCKDB])
def test_duckdb_has_the_same_rows(duck: World, sql: str) -> None:
    assert duck.find_fault(sql) is None
    assert duck.is_held(sql)


@pytest.mark.slow
@pytest.mark.parametrize("sql", [*HELD, *OF_POSTGRES])
def test_postgres_has_the_same_rows(postgres: World, sql: str) -> None:
    assert postgres.find_fault(sql) is None
    assert postgres.is_held(sql)


COLUMNS = [
    "i",
    "j",
    "big",
    "f",
    "d",
    "s",
    "w",
    "day",
    "other",
    "m",
    "ok",
    "sea",
    "h",
    "CURRENT_DATE",
    "now()",
]
LITERALS = ["2", "0", "1.5", "'ab'", "'é'", "'5'", "'2024-01-31'", "NULL", "-1", "2.5", "''"]
VALUES_OF_SQL = [*COLUMNS, *LITERALS]


def write_expression(chance: random.Random, depth: int) -> str:
    """SQL of a value, of any kind that a table here has."""
    if depth == 0:
        return chance.choice(VALUES_OF_SQL)

    def part() -> str:
        return write_expression(chance, depth - 1)

    form = chance.choice(
        [
            "CAST({} AS {type})", "round({})", "round({}, {digits})", "({} {operator} {})",
            "({} {operator} {})", "({} {comparison} {})", "({} {comparison} {})", "lower({})",
            "upper({})", "substring({}, {digits}, 2)", "left({}, {digits})", "right({}, {digits})",
            "trim({})", "length({})", "({} || {})", "({} LIKE '{pattern}')",
            "({} ILIKE '{pattern}')", "({} IN ({}, {}))", "({} BETWEEN {} AND {})",
            "CASE WHEN {} THEN {} ELSE {} END", "CASE {} WHEN {} THEN {} END", "coalesce({}, {})",
            "nullif({}, {})", "abs({})", "floor({})", "ceil({})", "extract({field} FROM {})",
            "date_trunc('{unit}', {})", "({} + INTERVAL '{digits} {unit}')",
            "({} - INTERVAL '1 {unit}')", "greatest({}, {})", "least({}, {})", "concat({}, {})",
            "replace({}, 'a', {})", "mod({}, {})", "(-{})", "({} IS NOT DISTINCT FROM {})",
            "strpos({}, {})", "sqrt({})", "power({}, 2)", "(NOT {})", "({} AND {})", "trunc({})",
        ]
    )  # fmt: skip
    kinds = ["integer", "bigint", "double precision", "decimal(10,1)", "varchar", "date"]
    named = {
        "type": chance.choice([*kinds, "timestamp", "boolean", "smallint", "decimal(9,0)"]),
        "digits": chance.choice(["0", "1", "2", "-1", "-2", "3"]),
        "operator": chance.choice(["+", "-", "*", "/", "%"]),
        "comparison": chance.choice(["=", "<>", "<", ">=", ">", "<="]),
        "pattern": chance.choice(["a%", "%B", "A_B", "é%", "%[%", "%", "_", "10"]),
        "field": chance.choice(["year", "month", "day", "dow", "doy", "hour", "epoch", "quarter"]),
        "unit": chance.choice(["day", "month", "year", "week", "hour", "quarter", "minute"]),
    }
    return form.format(*(part() for _ in range(form.count("{}"))), **named)


FRAMES = [
    "SELECT id, {} FROM t",
    "SELECT id FROM t WHERE {}",
    "SELECT id FROM t ORDER BY {}, id",
    "SELECT {}, count(*) FROM t GROUP BY 1",
    "SELECT min({0}), max({0}) FROM t",
    "SELECT i, sum({}) FROM t GROUP BY i",
    "SELECT i, round(avg({}), 1) FROM t GROUP BY i",
    "SELECT id, CAST(sum({}) OVER (PARTITION BY i) AS integer) FROM t",
]


def find_faults(world: World, count: int, seed: int) -> tuple[list[str], int]:
    """The faults of random queries, and how many of them are held."""
    chance = random.Random(seed)
    faults, held = [], 0
    for _ in range(count):
        value = write_expression(chance, chance.choice([1, 1, 2, 2, 3]))
        frame = chance.choice(FRAMES)
        sql = frame.format(value)
        if (fault := world.find_fault(sql)) is not None:
            faults.append(f"{sql} -> {fault}")
        held += world.is_held(sql)
    return faults, held


def test_random_queries_have_the_rows_of_duckdb_or_are_refused(duck: World) -> None:
    faults, held = find_faults(duck, 600, seed=1)
    assert faults == []
    assert held > 30


@pytest.mark.slow
def test_random_queries_have_the_rows_of_postgres_or_are_refused(postgres: World) -> None:
    faults, held = find_faults(postgres, 1500, seed=2)
    assert faults == []
    assert held > 50


KINDS = {"s": "text", "f": "float", "d": "decimal", "i": "integer", "x": None, "u": "other"}
KINDS |= {"day": "date", "m": "moment", "c": "loose"}


@pytest.mark.parametrize(
    ("dialect", "sql", "words"),
    [
        ("duckdb", "SELECT CAST(s AS INTEGER) FROM t", "cast of text may be another"),
        ("duckdb", "SELECT s::date FROM t", "cast of text may be another"),
        ("duckdb", "SELECT f::varchar FROM t", "cast of float may be another"),
        ("duckdb", "SELECT CAST(x AS INTEGER) FROM t", "a value whose type is not known"),
        ("duckdb", "SELECT f::decimal(9,2) FROM t", "how a float becomes a decimal"),
        ("duckdb", "SELECT round(f, 1) FROM t", "near a half is not known"),
        ("postgres", "SELECT 1 FROM t WHERE s ~ '^a|b'", "a regular expression"),
        ("postgres", "SELECT 1 FROM t WHERE s ~ '(a'", "a regular expression"),
        ("postgres", "SELECT 1 FROM t WHERE s ~* 'a.c'", "a regular expression"),
        ("duckdb", "SELECT 1 FROM t WHERE regexp_matches(s, 'a')", "a regular expression"),
        ("duckdb", "SELECT i FROM t ORDER BY d / i", r"by 0 it is infinite"),
        ("duckdb", "SELECT d / i AS share FROM t ORDER BY share", r"by 0 it is infinite"),
        ("duckdb", "SELECT i FROM t WHERE d / i > 1", r"by 0 it is infinite"),
        ("duckdb", "SELECT round(f, i) FROM t", "a whole number of digits"),
        ("duckdb", "SELECT lower(s) FROM t", "the case of ASCII alone"),
        ("duckdb", "SELECT 1 FROM t WHERE s ILIKE 'É%'", "the case of ASCII alone"),
        ("duckdb", "SELECT 1 FROM t WHERE s = i", "compares integer and text"),
        ("duckdb", "SELECT greatest(s, 'b') FROM t", "greatest of text may be another"),
        ("duckdb", "SELECT f % 2 FROM t", "mod of float may be another"),
        ("duckdb", "SELECT s FROM t WHERE s COLLATE NOCASE = 'a'", "a collation"),
        ("duckdb", "SELECT coalesce(day, m) FROM t", "gives date and moment"),
        ("duckdb", "SELECT day FROM t UNION ALL SELECT m FROM t", "gives date and moment"),
        ("postgres", "SELECT s::varchar(2) FROM t", "text is cut there"),
        ("postgres", "SELECT 1 FROM t WHERE u = 'x'", "compares other"),
        ("postgres", "SELECT string_agg(s, ',') FROM t", "no rule says what groupconcat is"),
        ("postgres", "SELECT 1 FROM t WHERE c = 'x'", "written in two ways"),
        ("postgres", "SELECT 1 FROM t AS a JOIN t AS b ON a.c = b.c", "written in two ways"),
        ("duckdb", "SELECT count(DISTINCT c) FROM t", "written in two ways"),
        ("duckdb", "SELECT DISTINCT i, c FROM t", "written in two ways"),
        ("duckdb", "SELECT c, count(*) FROM t GROUP BY 1", "written in two ways"),
        ("duckdb", "SELECT c FROM t UNION SELECT c FROM t", "written in two ways"),
        ("duckdb", "SELECT 1 FROM t WHERE c IN (SELECT c FROM t)", "written in two ways"),
        ("duckdb", "SELECT 1 FROM t ASOF JOIN u ON t.i >= u.i", "no ASOF JOIN"),
        ("duckdb", "SELECT 1 FROM t POSITIONAL JOIN u", "no POSITIONAL JOIN"),
        ("duckdb", "SELECT 1 FROM t ANTI JOIN t AS u USING (c)", "written in two ways"),
        ("duckdb", "SELECT 1 FROM t JOIN u ON t.i = u.i SEMI JOIN t AS v USING (i)", "write EXIST"),
        ("duckdb", "SELECT 1 FROM t SEMI JOIN t AS v ON t.i = v.i FULL JOIN u USING (i)", "EXISTS"),
        ("duckdb", "SELECT * FROM t QUALIFY row_number() OVER () = 1", "name the columns"),
        ("duckdb", "SELECT i FROM t QUALIFY rank() OVER (ORDER BY i) = 1 LIMIT 2", "beside LIMIT"),
        ("duckdb", "SELECT i FROM t QUALIFY rank() OVER (ORDER BY i) = 1 ORDER BY i", "ORDER"),
        ("mysql", "SELECT dayofweek(day) FROM t", "no rule says what dayofweek is"),
        ("postgres", "SELECT date_part('day', m - day), age(m) FROM t", "no rule says what age"),
        ("mysql", "SELECT 1 FROM t WHERE s = 'a'", "without regard to case"),
        ("mysql", "SELECT DISTINCT s FROM t", "without regard to case"),
        ("mysql", "SELECT s, count(*) FROM t GROUP BY 1", "without regard to case"),
        ("mysql", "SELECT i FROM t ORDER BY s", "without regard to case"),
        ("mysql", "SELECT s FROM t UNION SELECT s FROM t", "without regard to case"),
        ("mysql", "SELECT CAST(f AS SIGNED) FROM t", "the machine's"),
        ("mysql", "SELECT round(f, 1) FROM t", "near a half is not known"),
    ],
)
def test_what_may_mean_something_else_is_refused(dialect: str, sql: str, words: str) -> None:
    import sqlglot

    with pytest.raises(MeaningError, match=words):
        keep_meaning(sqlglot.parse_one(sql, read=dialect), Meanings(dialect, {"t": KINDS}))


@pytest.mark.parametrize(
    ("dialect", "kind", "is_loose"),
    [
        ("postgres", "citext", True),
        ("postgres", "interval", True),
        ("postgres", "interval day to second", True),
        ("postgres", "jsonb", True),
        ("postgres", "numeric(9,2)[]", True),
        ("postgres", "time with time zone", True),
        ("postgres", "time(3) with time zone", True),
        ("duckdb", "INTERVAL", True),
        ("duckdb", "TIME WITH TIME ZONE", True),
        ("duckdb", "TIMESTAMP WITH TIME ZONE", False),
        ("postgres", "timestamp(3) with time zone", False),
        ("postgres", "uuid", False),
        ("postgres", "integer[]", False),
        ("postgres", "character(5)", False),
        ("postgres", "time without time zone", False),
    ],
)
def test_types_whose_equal_values_are_written_otherwise(
    dialect: str, kind: str, is_loose: bool
) -> None:
    assert (read_kind(kind, dialect) == "loose") == is_loose


def test_text_of_duckdb_with_a_collation_is_loose(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    path = str(tmp_path / "x.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE ship (name VARCHAR COLLATE NOCASE, port VARCHAR)")
        connection.execute("INSERT INTO ship VALUES ('Sun', 'Bergen')")
    with closing(DuckDB.open_file(Path(path))) as engine:
        tables = convert(engine, tmp_path / "made.sqlite")
        kinds = read_renaming(engine, tables).kinds["ship"]
    assert kinds == {"name": "loose", "port": "text"}


def test_order_of_text_in_a_language_is_refused() -> None:
    import sqlglot

    for sql in ("SELECT s FROM t ORDER BY s", "SELECT max(s) FROM t", "SELECT s < 'b' FROM t"):
        query = sqlglot.parse_one(sql, read="postgres")
        with pytest.raises(MeaningError, match="sorts text by its language"):
            keep_meaning(query, Meanings("postgres", {"t": KINDS}, sorts_bytes=False))
    equal = sqlglot.parse_one("SELECT s FROM t WHERE s = 'b'", read="postgres")
    keep_meaning(equal, Meanings("postgres", {"t": KINDS}, sorts_bytes=False))


def test_rows_hold_the_edges() -> None:
    assert math.modf(FLOATS[0])[0] == 0.5
    assert all(datetime.date.fromisoformat(day) for day in DAYS)
