"""Proofs that rows are the same however tables are stored, and the queries that get none."""

import pytest
from sqlglot import parse_one

from answerkey.order.accepted_rows import has_fixed_rows
from answerkey.probes.groups import find_bare_column
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.column_values import ColumnValues
from answerkey.sqlite.guard import GuardedDatabase, Limits
from tests.shared.probe_world import ProbeWorld

# Rows that tell: 1 and 1.0, 'a' and 'A', NULL in a key, floats whose sums differ by order.
WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, harbour INT, weight REAL);
INSERT INTO ship VALUES (1, 'a', 1, 0.1), (2, 'b', 1, 0.2), (3, 'c', 2, 0.3), (4, 'd', NULL, 1e16);
CREATE TABLE harbour (id INT PRIMARY KEY, name TEXT, depth INT, number TEXT);
INSERT INTO harbour VALUES
    (1, 'Sun', 5, '1'), (2, 'Tern', 5, '01'), (NULL, 'Gull', 7, '1.0'), (NULL, 'Rook', 9, '2');
CREATE TABLE loose (value, kind INT);
INSERT INTO loose VALUES (1, 1), (1.0, 1), (1, 1), (1.0, 1), (2, 2), (2.0, 2);
CREATE TABLE folded (label TEXT COLLATE NOCASE, kind INT);
INSERT INTO folded VALUES ('a', 1), ('A', 1), ('a', 2), ('A', 2), ('b', 2), ('B', 2);
CREATE TABLE account (kind INT, amount REAL, pieces NUMERIC);
INSERT INTO account VALUES (1, 0.1, 3.0), (1, 0.2, -1), (1, -0.3, 2), (2, 0.5, NULL), (2, 0, 4);
CREATE TABLE distance (steps INT, metres REAL);
INSERT INTO distance VALUES (9007199254740992, 9007199254740992), (1, 1), (1, 1), (1, 1);
CREATE TABLE slot (deck INT NOT NULL, place INT, label TEXT, UNIQUE (deck, place));
INSERT INTO slot VALUES (1, NULL, 'port'), (1, NULL, 'aft'), (1, 1, 'bow');
CREATE TABLE latest (id INTEGER PRIMARY KEY DESC, label TEXT);
INSERT INTO latest VALUES (NULL, 'port'), (NULL, 'aft'), (1, 'bow');
CREATE TABLE berth (number INT PRIMARY KEY, label TEXT);
INSERT INTO berth VALUES (2, 'port'), (1, 'aft'), (3, 'bow');
CREATE VIEW seen AS SELECT * FROM harbour;
"""

FIXED = [
    "SELECT code FROM ship WHERE weight > 3 ORDER BY weight",
    "SELECT count(*), max(weight), avg(weight), sum(weight) FROM ship",
    "SELECT a.code FROM ship a JOIN harbour b ON a.harbour = b.id",
    "SELECT a.code, b.name FROM ship a LEFT JOIN harbour b ON a.harbour = b.id",
    "SELECT harbour, count(*), avg(weight) FROM ship GROUP BY harbour HAVING count(*) > 1",
    "SELECT harbour AS h, count(DISTINCT code) FROM ship GROUP BY 1 ORDER BY count(*), h",
    "SELECT code, count(*) FROM ship GROUP BY id",
    "SELECT id, harbour, count(*) FROM ship GROUP BY code",
    "SELECT *, count(*) FROM ship GROUP BY id",
    'SELECT harbour FROM ship GROUP BY harbour HAVING count(*) < "many"',  # a string
    "SELECT a.code, max(b.depth) FROM ship a JOIN harbour b ON a.id = b.id GROUP BY b.id",
    "SELECT b.id, max(b.depth) FROM ship a JOIN harbour b ON a.id = b.id GROUP BY a.id",
    "SELECT depth, count(*) FROM harbour WHERE depth = 5",
    "SELECT depth, count(*) FROM harbour WHERE 5 = depth AND id > 0",
    "SELECT DISTINCT depth, name FROM harbour",
    "SELECT DISTINCT * FROM harbour",
    "SELECT * FROM harbour ORDER BY 1",
    "SELECT count(DISTINCT value) FROM loose",
    "SELECT id FROM ship INTERSECT SELECT harbour FROM ship",
    "SELECT name FROM harbour UNION SELECT code FROM ship EXCEPT SELECT number FROM harbour",
    "SELECT name FROM harbour WHERE id IN (SELECT harbour FROM ship WHERE weight > 0.1)",
    "SELECT name FROM harbour WHERE id NOT IN (SELECT harbour FROM ship GROUP BY harbour)",
    "SELECT name FROM harbour WHERE id IN (SELECT id FROM ship UNION SELECT harbour FROM ship)",
    "SELECT name FROM harbour h WHERE EXISTS (SELECT 1 FROM ship WHERE harbour = h.id)",
    "SELECT name FROM harbour WHERE depth = (SELECT max(depth) FROM harbour)",
    "SELECT name FROM harbour h WHERE depth > (SELECT count(*) FROM ship WHERE harbour = h.id)",
    "SELECT name FROM harbour h WHERE (SELECT count(*) FROM ship WHERE harbour = h.id)",
    "SELECT label, count(*) FROM berth GROUP BY number",  # no NULL in its key
    "SELECT b.label FROM ship a JOIN berth b ON a.id = b.number GROUP BY a.id",
    # sums that are exact
    "SELECT code FROM ship WHERE id >= (SELECT avg(id) FROM ship)",
    "SELECT code FROM ship WHERE id < (SELECT sum(id) FROM ship)",
    "SELECT harbour FROM ship GROUP BY harbour HAVING sum(id) > 3 ORDER BY avg(id), 1",
    "SELECT harbour, sum(id) AS s FROM ship GROUP BY harbour HAVING s > 3 ORDER BY 2, 1",
    "SELECT round(avg(id), 1), sum(id) / 2.0, sum(1) FROM ship",
    "SELECT sum(pieces), avg(pieces) - 1 FROM account",
    "SELECT sum(steps) > 9007199254740993, avg(steps) FROM distance",
    "SELECT 100.0 * sum(CASE WHEN weight > 0.1 THEN 1 ELSE 0 END) / count(*) FROM ship",
    "SELECT sum(CASE WHEN weight > 0.1 THEN 1 END) > 1 FROM ship",
    "SELECT avg(90071992) > 1 FROM ship",
    "SELECT avg(iif(weight > 0.1, id, 0)) > 0.5 FROM ship",
    "SELECT code FROM ship WHERE harbour IN (SELECT sum(id) FROM ship GROUP BY harbour)",
]
OPEN = [
    # several rows where one is taken
    "SELECT code FROM ship LIMIT 1",
    "SELECT code FROM ship ORDER BY weight LIMIT 1",
    "SELECT name FROM harbour WHERE id = (SELECT harbour FROM ship WHERE weight > 0.1)",
    "SELECT name FROM harbour WHERE id IN (SELECT harbour FROM ship LIMIT 1)",
    "SELECT (SELECT name FROM harbour), count(*) FROM ship",
    "SELECT name FROM harbour WHERE (SELECT code FROM ship) IN (SELECT code FROM ship)",
    "SELECT name FROM harbour WHERE depth > (SELECT count(*) FROM ship GROUP BY harbour)",
    "SELECT name FROM harbour WHERE id = (SELECT max(id) FROM ship UNION SELECT min(id) FROM ship)",
    # columns that no group determines
    "SELECT code, count(*) FROM ship",
    "SELECT code, max(weight) FROM ship",
    "SELECT code, sum(id) / 2 FROM ship",
    "SELECT *, count(*) FROM ship GROUP BY harbour",
    "SELECT harbour, code FROM ship GROUP BY harbour",
    "SELECT harbour, max(weight, id) FROM ship GROUP BY harbour",
    "SELECT harbour FROM ship GROUP BY harbour ORDER BY code",
    "SELECT harbour FROM ship GROUP BY harbour HAVING weight > 0.1",
    "SELECT name, count(*) FROM harbour GROUP BY id",  # NULL twice in its key
    "SELECT label, count(*) FROM slot GROUP BY deck, place",  # and in one that is UNIQUE
    "SELECT label, count(*) FROM latest GROUP BY id",  # a key with DESC is no rowid
    "SELECT b.number FROM ship a JOIN harbour b ON a.id = b.number GROUP BY a.id",
    "SELECT a.code FROM ship a JOIN harbour b ON a.id = b.id GROUP BY a.harbour",
    "SELECT a.code, count(*) FROM ship a LEFT JOIN harbour b ON a.id = b.id GROUP BY b.id",
    "SELECT a.code FROM ship a LEFT JOIN harbour b ON a.id = b.id JOIN loose GROUP BY b.id",
    "SELECT count(*), (SELECT max(depth) FROM harbour WHERE id = harbour) FROM ship",
    "SELECT name FROM harbour UNION SELECT code FROM ship GROUP BY harbour",
    "SELECT code FROM ship GROUP BY harbour UNION SELECT name FROM harbour",
    # equal values of several spellings
    "SELECT value, count(*) FROM loose GROUP BY value",
    "SELECT value, count(*) FROM loose WHERE value = 1",
    "SELECT DISTINCT value FROM loose",
    "SELECT DISTINCT kind, value FROM loose",
    "SELECT DISTINCT * FROM loose",
    "SELECT max(value) FROM loose",
    "SELECT value FROM loose UNION SELECT id FROM ship",
    "SELECT DISTINCT label FROM folded",
    "SELECT kind, min(label) FROM folded GROUP BY kind",
    "SELECT name COLLATE NOCASE FROM harbour GROUP BY name COLLATE NOCASE",
    "SELECT DISTINCT weight + 0 FROM ship",
    # sums of floats, whose last digits decide
    "SELECT harbour FROM ship GROUP BY harbour HAVING sum(weight) > 0.3",
    "SELECT harbour FROM ship GROUP BY harbour ORDER BY avg(weight)",
    "SELECT code FROM ship WHERE weight > (SELECT avg(weight) FROM ship)",
    "SELECT code FROM ship WHERE weight IN (SELECT sum(weight) FROM ship GROUP BY harbour)",
    "SELECT DISTINCT sum(weight) FROM ship GROUP BY harbour",
    "SELECT code FROM ship WHERE (1, 0.3) IN (SELECT harbour, sum(weight) FROM ship GROUP BY 1)",
    "SELECT harbour, sum(weight) AS s FROM ship GROUP BY harbour HAVING s > 0.3",
    "SELECT harbour, sum(weight) AS s FROM ship GROUP BY harbour ORDER BY s",
    "SELECT harbour, sum(weight) FROM ship GROUP BY harbour ORDER BY 2",
    "SELECT code FROM ship WHERE EXISTS (SELECT sum(weight) AS s FROM ship HAVING s > 0.6)",
    "SELECT CAST(sum(weight) AS INTEGER) FROM ship",
    "SELECT round(avg(weight), 1) FROM ship",
    "SELECT avg(weight) > 0.2 FROM ship",
    "SELECT max(weight) - avg(weight) FROM ship",
    "SELECT sum(CASE WHEN id > 1 THEN weight ELSE 0 END) > 0.3 FROM ship",
    "SELECT sum(CASE WHEN id > 1 THEN 0 ELSE weight END) > 0.3 FROM ship",
    "SELECT sum(iif(id > 1, 0, weight)) > 0.3 FROM ship",
    "SELECT harbour - avg(weight) FROM ship GROUP BY harbour",
    "SELECT sum(0.5) > 1 FROM ship",
    "SELECT sum(metres) > 9007199254740993 FROM distance",
    "SELECT sum(number) > 1 FROM harbour",
    "SELECT sum(weight * 1) FROM ship",
    "SELECT avg(steps) > 2251799813685248 FROM distance",  # more than a float has digits for
    "SELECT avg(90071993) > 1 FROM ship",
    # numbers that cancel out
    "SELECT sum(amount) FROM account",
    "SELECT kind, avg(amount) FROM account GROUP BY kind",
    # what is not looked into
    "SELECT rowid FROM harbour",
    "SELECT name FROM seen",
    "SELECT group_concat(code) FROM ship",
    "SELECT count(*) FILTER (WHERE id > 1) FROM ship",
    "SELECT code, rank() OVER (ORDER BY weight) FROM ship",
    "WITH c AS (SELECT code FROM ship) SELECT code FROM c",
    "SELECT code FROM (SELECT code FROM ship)",
    "SELECT a.id FROM ship a FULL JOIN harbour b USING (id)",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("proofs"), WORLD) as opened:
        yield opened


def is_proven(world, sql, **options):
    scopes = Scopes(parse_one(sql, read="sqlite"), world.schema)
    return has_fixed_rows(scopes, ColumnValues(world.database), **options)


@pytest.mark.parametrize("sql", FIXED)
def test_proven_query_has_the_same_rows_in_every_copy_and_no_bare_column(world, sql):
    assert is_proven(world, sql)
    assert world.find(find_bare_column, sql) is None
    answer = shape_answer(world.database.execute(sql))
    with world.copied() as copies:
        for name, copy in copies.storages_for(sql, is_thorough=True):
            assert answers_match(answer, shape_answer(copy.execute(sql)), ordered=False), name


@pytest.mark.parametrize("sql", OPEN)
def test_query_that_may_depend_gets_no_proof(world, sql):
    assert not is_proven(world, sql)


def test_sum_of_a_column_too_long_to_be_read_gets_no_proof(tmp_path):
    sql = (
        "CREATE TABLE t (n INT); WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c"
        " LIMIT 5000) INSERT INTO t SELECT i FROM c"
    )
    with ProbeWorld(tmp_path, sql) as world:
        assert is_proven(world, "SELECT sum(n) > 3 FROM t")
        scopes = Scopes(parse_one("SELECT sum(n) > 3 FROM t", read="sqlite"), world.schema)
        with GuardedDatabase(world.database.path, Limits(max_steps=1000)) as limited:
            assert not has_fixed_rows(scopes, ColumnValues(limited))


def test_limit_that_cuts_no_tie_is_proven(world):
    sql = "SELECT harbour FROM ship GROUP BY harbour ORDER BY count(*) DESC LIMIT 1"
    assert is_proven(world, sql, is_cut_settled=True)
    nested = f"SELECT name FROM harbour WHERE id IN ({sql})"
    assert not is_proven(world, nested, is_cut_settled=True)  # only the outermost was looked at
    union = "SELECT id FROM ship UNION SELECT id FROM harbour ORDER BY 1 LIMIT"
    assert is_proven(world, f"{union} 1", is_cut_settled=True)
    assert not is_proven(world, f"{union} (SELECT harbour FROM ship)", is_cut_settled=True)
