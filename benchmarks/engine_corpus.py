"""Three databases with 12,000 to 25,000 rows, and questions that read the same in SQLite, DuckDB
and PostgreSQL."""

from __future__ import annotations

import datetime
import json
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE, SUFFIXES
from answerkey.engines.settings import write_head

_SEED = 20
_ROWS_PER_INSERT = 500
_FIRST_DAY = datetime.date(2023, 1, 1)
_TABLES = {
    "shop": """
CREATE TABLE customer (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, city VARCHAR(40) NOT NULL,
  joined DATE NOT NULL);
CREATE TABLE product (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL,
  kind VARCHAR(20) NOT NULL,
  price NUMERIC(8, 2) NOT NULL);
CREATE TABLE purchase (id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (id),
  bought DATE NOT NULL, state VARCHAR(20) NOT NULL);
CREATE TABLE line (id INTEGER PRIMARY KEY, purchase_id INTEGER NOT NULL REFERENCES purchase (id),
  product_id INTEGER NOT NULL REFERENCES product (id), pieces INTEGER NOT NULL);
""",
    "airline": """
CREATE TABLE airport (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL,
  country VARCHAR(40) NOT NULL, height INTEGER);
CREATE TABLE plane (id INTEGER PRIMARY KEY, model VARCHAR(40) NOT NULL, seats INTEGER NOT NULL,
  built DATE NOT NULL);
CREATE TABLE flight (id INTEGER PRIMARY KEY, plane_id INTEGER NOT NULL REFERENCES plane (id),
  origin_id INTEGER NOT NULL REFERENCES airport (id),
  target_id INTEGER NOT NULL REFERENCES airport (id), day DATE NOT NULL, delay DOUBLE PRECISION,
  passengers INTEGER NOT NULL);
""",
    "college": """
CREATE TABLE student (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, born DATE NOT NULL,
  town VARCHAR(40));
CREATE TABLE course (id INTEGER PRIMARY KEY, title VARCHAR(40) NOT NULL, field VARCHAR(20) NOT NULL,
  credits INTEGER NOT NULL);
CREATE TABLE mark (id INTEGER PRIMARY KEY, student_id INTEGER NOT NULL REFERENCES student (id),
  course_id INTEGER NOT NULL REFERENCES course (id), term VARCHAR(10) NOT NULL,
  points NUMERIC(4, 1));
""",
}
_QUESTIONS = {
    "shop": (
        "SELECT count(*) FROM customer WHERE city = 'Bergen'",
        "SELECT name FROM product WHERE price > 480 ORDER BY price DESC, id",
        "SELECT kind, count(*), max(price) FROM product GROUP BY kind",
        "SELECT p.name, sum(l.pieces) AS sold FROM product p JOIN line l ON l.product_id = p.id"
        " GROUP BY p.id, p.name ORDER BY sold DESC, p.name, p.id LIMIT 5",
        "SELECT sum(l.pieces * p.price) FROM line l JOIN product p ON p.id = l.product_id"
        " WHERE p.kind = 'garden'",
        "SELECT city, count(DISTINCT c.id) FROM customer c JOIN purchase b ON b.customer_id = c.id"
        " WHERE b.state = 'returned' GROUP BY city HAVING count(DISTINCT c.id) > 10",
        "SELECT name FROM customer WHERE id NOT IN (SELECT customer_id FROM purchase)",
        "SELECT state, count(*) FROM purchase WHERE bought >= '2024-06-01' GROUP BY state",
        "SELECT avg(price) FROM product WHERE kind <> 'toys'",
        "SELECT name, city FROM customer WHERE joined BETWEEN '2023-03-01' AND '2023-03-31'",
        "SELECT name FROM product WHERE price = (SELECT max(price) FROM product)",
        "SELECT count(DISTINCT customer_id) FROM purchase WHERE bought < '2023-07-01'",
        "WITH spent AS (SELECT b.customer_id, sum(l.pieces) AS pieces FROM purchase b"
        " JOIN line l ON l.purchase_id = b.id GROUP BY b.customer_id)"
        " SELECT c.name, s.pieces FROM spent s JOIN customer c ON c.id = s.customer_id"
        " WHERE s.pieces > 120 ORDER BY s.pieces DESC, c.id",
        "SELECT city, kind, sum(l.pieces) FROM customer c JOIN purchase b ON b.customer_id = c.id"
        " JOIN line l ON l.purchase_id = b.id JOIN product p ON p.id = l.product_id"
        " WHERE c.city IN ('Bergen', 'Turin') GROUP BY city, kind",
    ),
    "airline": (
        "SELECT count(*) FROM flight WHERE delay > 30",
        "SELECT name, height FROM airport WHERE height > 1500 ORDER BY height DESC, id",
        "SELECT a.country, count(*) FROM flight f JOIN airport a ON a.id = f.origin_id"
        " GROUP BY a.country",
        "SELECT model, avg(delay) FROM flight f JOIN plane p ON p.id = f.plane_id GROUP BY model",
        "SELECT max(passengers) FROM flight WHERE day = '2024-02-29'",
        "SELECT name FROM airport WHERE height IS NULL",
        "SELECT a.name, sum(f.passengers) AS people FROM airport a JOIN flight f"
        " ON f.target_id = a.id GROUP BY a.id, a.name ORDER BY people DESC, a.id LIMIT 3",
        "SELECT p.model, count(*) FROM plane p WHERE p.built < '2023-06-01' GROUP BY p.model",
        "SELECT sum(passengers) FROM flight WHERE origin_id = 7",
        "SELECT DISTINCT a.name FROM airport a JOIN flight f ON f.origin_id = a.id"
        " WHERE f.delay > 119",
        "SELECT o.name, t.name, f.delay FROM flight f JOIN airport o ON o.id = f.origin_id"
        " JOIN airport t ON t.id = f.target_id WHERE f.delay > 118.5"
        " ORDER BY f.delay DESC, f.id",
        "SELECT id FROM plane WHERE seats > (SELECT avg(seats) FROM plane) AND model = 'A320'",
        "SELECT CASE WHEN delay > 60 THEN 'late' ELSE 'fine' END AS kind, count(*) FROM flight"
        " GROUP BY kind",
        "SELECT country, name FROM (SELECT country, name, row_number() OVER"
        " (PARTITION BY country ORDER BY height DESC, id) AS place FROM airport"
        " WHERE height IS NOT NULL) AS ranked WHERE place = 1",
    ),
    "college": (
        "SELECT count(*) FROM student WHERE town = 'Lund'",
        "SELECT title FROM course WHERE field = 'physics' AND credits >= 8",
        "SELECT c.title, avg(m.points) FROM course c JOIN mark m ON m.course_id = c.id"
        " WHERE c.field = 'history' GROUP BY c.id, c.title",
        "SELECT s.name, m.points FROM student s JOIN mark m ON m.student_id = s.id"
        " JOIN course c ON c.id = m.course_id WHERE c.id = 12 AND m.points > 95"
        " ORDER BY m.points DESC, s.id",
        "SELECT term, count(*), count(points) FROM mark GROUP BY term",
        "SELECT max(points) - min(points) FROM mark WHERE term = '2024a'",
        "SELECT field, sum(credits) FROM course GROUP BY field HAVING sum(credits) > 100",
        "SELECT name FROM student WHERE born >= '2024-06-01' AND town IS NULL",
        "SELECT count(*) FROM student WHERE id NOT IN"
        " (SELECT student_id FROM mark WHERE points < 20)",
        "SELECT s.town, avg(m.points) FROM student s JOIN mark m ON m.student_id = s.id"
        " WHERE s.town IS NOT NULL GROUP BY s.town",
        "SELECT title, credits FROM course ORDER BY credits DESC, title, id LIMIT 10",
        "SELECT DISTINCT s.name FROM student s JOIN mark m ON m.student_id = s.id"
        " WHERE m.points = 100",
        "SELECT c.field, count(DISTINCT m.student_id) FROM mark m JOIN course c"
        " ON c.id = m.course_id WHERE m.term = '2023b' GROUP BY c.field",
        "SELECT id, name FROM student WHERE name LIKE '%ana%' ORDER BY id",
    ),
}
_CITIES = ("Bergen", "Turin", "Lund", "Porto", "Graz", "Galway", "Brno", "Aarhus", "Ghent", "Pecs")
_SYLLABLES = ("an", "ana", "bo", "cel", "dri", "eka", "fin", "gul", "hes", "ivo", "jun", "kor")


class Asked(NamedTuple):
    """A question: its database, gold SQL, and whether the order of rows counts."""

    database_name: str
    gold_sql: str
    order_matters: bool


def write_databases(folder: Path, engine: str) -> list[Asked]:
    """Write the databases into a folder, as a corpus of this engine has them, and return the
    questions."""
    generator = random.Random(_SEED)
    for name, tables in _TABLES.items():
        lines = [tables, *(line for table in _ROWS[name](generator) for line in table)]
        path = folder / name / f"{name}{SUFFIXES[engine]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if engine == SQLITE:
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript("".join(lines))
        else:
            path.write_text(write_head(engine, {}) + "".join(lines), encoding="utf-8")
    return [
        Asked(name, sql, "ORDER BY" in sql.rpartition(")")[2])
        for name, queries in _QUESTIONS.items()
        for sql in queries
    ]


def copy_corpus(source: Path, folder: Path) -> list[Asked]:
    """Copy the dumps of a folder (NAME.sql, with questions.json in the layout of defog) into a
    folder, as a corpus of PostgreSQL has them, and return the questions with their first query."""
    loaded = json.loads((source / "questions.json").read_text(encoding="utf-8"))
    for name in sorted({question["db_id"] for question in loaded}):
        path = folder / name / f"{name}{SUFFIXES[POSTGRES]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        dump = (source / f"{name}.sql").read_text(encoding="utf-8")
        path.write_text(write_head(POSTGRES, {}) + dump, encoding="utf-8")
    queries = {question["db_id"]: [] for question in loaded}
    for question in loaded:
        sql = question["sql"]
        queries[question["db_id"]].append(sql if isinstance(sql, str) else sql[0])
    return [Asked(name, sql, False) for name, texts in queries.items() for sql in texts]


def _write_rows(table: str, rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    for start in range(0, len(rows), _ROWS_PER_INSERT):
        values = ",\n".join(
            f"({', '.join(map(_write_value, row))})" for row in rows[start:][:_ROWS_PER_INSERT]
        )
        yield f"INSERT INTO {table} VALUES\n{values};\n"


def _write_value(value: object) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int | float) else f"'{value}'"


def _make_name(generator: random.Random) -> str:
    return "".join(generator.choices(_SYLLABLES, k=3)).capitalize()


def _make_day(generator: random.Random) -> datetime.date:
    return _FIRST_DAY + datetime.timedelta(days=generator.randrange(700))


def _make_shop(generator: random.Random) -> Iterator[Iterator[str]]:
    choose, below = generator.choice, generator.randrange
    name, day = _make_name, _make_day
    customers = [(n, name(generator), choose(_CITIES), day(generator)) for n in range(1, 1001)]
    kinds = ("garden", "toys", "books", "tools", "music")
    products = [
        (n, name(generator), choose(kinds), below(100, 50_000) / 100) for n in range(1, 401)
    ]
    states = ("sent", "returned", "open")
    purchases = [(n, below(1, 951), day(generator), choose(states)) for n in range(1, 5001)]
    lines = [(n, below(1, 5001), below(1, 401), below(1, 10)) for n in range(1, 18_001)]
    yield _write_rows("customer", customers)
    yield _write_rows("product", products)
    yield _write_rows("purchase", purchases)
    yield _write_rows("line", lines)


def _make_airline(generator: random.Random) -> Iterator[Iterator[str]]:
    choose, below = generator.choice, generator.randrange
    airports = [
        (n, _make_name(generator), choose(_CITIES), below(2000) if below(10) else None)
        for n in range(1, 201)
    ]
    models = ("A320", "A350", "B737", "E190")
    planes = [(n, choose(models), below(90, 400), _make_day(generator)) for n in range(1, 301)]
    flights = [
        (
            n,
            below(1, 301),
            below(1, 201),
            below(1, 201),
            _make_day(generator),
            below(1200) / 10 if below(20) else None,
            below(10, 400),
        )
        for n in range(1, 12_001)
    ]
    yield _write_rows("airport", airports)
    yield _write_rows("plane", planes)
    yield _write_rows("flight", flights)


def _make_college(generator: random.Random) -> Iterator[Iterator[str]]:
    choose, below = generator.choice, generator.randrange
    students = [
        (n, _make_name(generator), _make_day(generator), choose(_CITIES) if below(9) else None)
        for n in range(1, 2001)
    ]
    fields = ("physics", "history", "law", "biology")
    courses = [(n, _make_name(generator), choose(fields), below(2, 11)) for n in range(1, 151)]
    terms = ("2023a", "2023b", "2024a", "2024b")
    marks = [
        (
            n,
            below(1, 2001),
            below(1, 151),
            choose(terms),
            below(1001) / 10 if below(15) else None,
        )
        for n in range(1, 16_001)
    ]
    yield _write_rows("student", students)
    yield _write_rows("course", courses)
    yield _write_rows("mark", marks)


_ROWS = {"shop": _make_shop, "airline": _make_airline, "college": _make_college}
ENGINES = (SQLITE, DUCKDB, POSTGRES)
