"""The suites of a database: what the gate lets through, and what is kept of the pool."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from answerkey.alternatives.neighbors import list_neighbors
from answerkey.base.records import Shard
from answerkey.comparison.join import find_in_suite
from answerkey.engines.answers import Order, shape_answer
from answerkey.engines.database import Limits, Row
from answerkey.engines.executions import Executions, are_same
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.reward import score
from answerkey.rewrites.weak import list_fitted, list_weak
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.suites.pool import DatabaseSuites, make_suites
from answerkey.suites.questions import NoSuite, SuiteQuestion
from answerkey.suites.rivals import RealDatabase, read_cases, write_by_heart
from tests.shared.databases import make_database
from tests.suites.asked import ask

SHIPS = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, tons INTEGER, port_id INTEGER REFERENCES port);
INSERT INTO port VALUES (1, 'Cork'), (2, 'Porto'), (3, 'Oslo');
INSERT INTO ship VALUES
    (1, 'Sun', 10, 1), (2, 'Tern', 20, 1), (3, 'Kite', 30, 2), (4, 'Ruby', 40, 3);
"""


def make(
    tmp_path: Path,
    *questions: tuple[str, str],
    sql: str = SHIPS,
    order: Order | None = None,
    accepted_rows: list[Any] | None = None,
    accepts_subset: bool = False,
    model_queries: tuple[str, ...] = (),
    **settings: int,
) -> DatabaseSuites:
    path = make_database(tmp_path / "ships.sqlite", sql)
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    asked = []
    with GuardedDatabase(path, Limits(max_steps=10**6)) as database:
        real = Executions(database)
        for number, (text, gold_sql) in enumerate(questions):
            asked.append(
                ask(
                    *(f"q{number}", text, gold_sql, schema, real),
                    order=order,
                    accepted_rows=accepted_rows,
                    accepts_subset=accepts_subset,
                    model_queries=model_queries,
                )
            )
    made = make_suites(
        path,
        schema,
        asked,
        shard=Shard("ships"),
        settings=SuiteSettings(**settings),
        limits=Limits(max_steps=10**6),
    )
    (tmp_path / "variants").mkdir(exist_ok=True)
    for number, file in enumerate(made.files, start=1):
        (tmp_path / "variants" / f"ships.{number:02}.sqlite").write_bytes(file)
    return made


def read_world(tmp_path: Path) -> Schema:
    with closing(open_database(tmp_path / "ships.sqlite")) as connection:
        return read_schema(connection)


def execute(path: Path, sql: str) -> list[Row] | None:
    with closing(open_database(path)) as connection:
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.Error:
            return None


def test_suite_tells_neighbors_from_gold(tmp_path):
    made = make(
        tmp_path, ("Which ships have more than 5 tons?", "SELECT name FROM ship WHERE tons > 5")
    )
    (record,) = made.records
    assert record["mutation_score"]["database"] < 0.8
    assert record["mutation_score"]["suite"] > 0.95
    assert len(made.files) == len(record["databases"]) <= 5
    assert record["operators"]["by_heart"] == {"killed": 1, "alive": 0, "undecided": 0}


@pytest.mark.parametrize(
    ("sql", "order"),
    [
        (SHIPS, [2, 1, 1]),
        (f"{SHIPS} UPDATE ship SET port_id = 1 WHERE id < 9;", False),  # all of them tie
    ],
)
def test_rows_that_tie_may_come_in_any_order_and_no_others(tmp_path, sql, order):
    question = "Which ships, by port?", "SELECT name FROM ship ORDER BY port_id"
    (record,) = make(tmp_path, question, sql=sql, order=order, pool=12).records
    assert any(database["accepted_rows"] for database in record["databases"])
    for database in record["databases"]:
        path = tmp_path / "variants" / database["path"].rpartition("/")[2]
        with closing(open_database(path)) as connection:
            answers = {
                sort: connection.execute(f"SELECT name FROM ship ORDER BY {sort}").fetchall()
                for sort in ("port_id", "port_id, name", "port_id, name DESC", "port_id DESC")
            }
        rewards = {
            sort: score(
                rows,
                database["gold_answer"],
                order_matters=database["order_matters"],
                accepted_rows=database["accepted_rows"],
            )
            for sort, rows in answers.items()
        }
        is_one_way = answers["port_id"] == answers["port_id DESC"] or not database["order_matters"]
        assert rewards.pop("port_id DESC") == is_one_way
        assert set(rewards.values()) == {1.0}


def test_reading_that_the_database_does_not_tell_holds_databases_back(tmp_path):
    text = "List the names of the ports with ships."
    gold = "SELECT port.name FROM ship JOIN port ON port.id = ship.port_id GROUP BY port.name"
    (record,) = make(tmp_path, (text, gold), pool=20).records
    assert record["latent_ambiguity"] is None  # a table of ids and names lists each name once
    sql = f"{SHIPS} ALTER TABLE port ADD COLUMN berths INT;"
    (record,) = make(tmp_path, (text, gold), sql=sql, pool=20).records
    assert record["latent_ambiguity"] is not None
    assert record["latent_ambiguity"]["gold_rows"] != record["latent_ambiguity"]["reading_rows"]


def test_database_of_which_no_variants_can_be_made_leaves_suites_empty(tmp_path):
    made = make(tmp_path, ("How many?", "SELECT 1"), sql="CREATE VIEW v AS SELECT 1 AS a")
    assert "has no table that can be read" in made.problem
    assert made.files == []
    assert made.records[0]["databases"] == []


TIE = f"{SHIPS} UPDATE ship SET tons = 30 WHERE id = 4;"
HEAVIEST = "SELECT name FROM ship ORDER BY tons DESC LIMIT 1"
TIED = [{"rows": [["Kite"], ["Ruby"]], "take": 1}]


def test_question_with_several_right_answers_has_a_suite_of_databases_that_leave_one(tmp_path):
    question = "Which ship is the heaviest?", HEAVIEST
    (record,) = make(tmp_path, question, sql=TIE, accepted_rows=TIED).records
    assert record["no_suite"] is None
    assert record["operators"]["by_heart"]["killed"] == 1
    assert len(record["databases"]) > 1
    for database in record["databases"]:
        path = tmp_path / "variants" / database["path"].rpartition("/")[2]
        with closing(open_database(path)) as connection:
            for order in ("tons DESC, id", "tons DESC, id DESC"):
                rows = connection.execute(f"SELECT name FROM ship ORDER BY {order} LIMIT 1")
                assert shape_answer(rows.fetchall()) == database["gold_answer"]


def test_neighbor_that_gives_another_right_answer_is_left_to_the_suite(tmp_path):
    path = make_database(tmp_path / "tie.sqlite", TIE)
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    question = SuiteQuestion("q", HEAVIEST, order=True, accepted_rows=TIED)
    with GuardedDatabase(path, Limits()) as database:
        real = RealDatabase(Executions(database), schema)
        asked = [question, question._replace(accepted_rows=None)]
        loose, strict = (
            {
                rival.sql
                for case in read_cases([one], real, max_neighbors=60)
                for rival in case.killed
            }
            for one in asked
        )
    assert loose < strict


UNSORTED = """
CREATE TABLE ship (name TEXT, tons REAL);
INSERT INTO ship VALUES ('Sun', 1), ('Kite', 2), ('Tern', 3), ('Ruby', 4), ('Gull', 5), ('Wren', 6);
"""


@pytest.mark.parametrize(
    ("gold", "options", "reason"),
    [
        ("SELECT name FROM ship", {"accepts_subset": True}, NoSuite.PART_IS_ENOUGH),
        ("SELECT nam FROM ship", {}, NoSuite.GOLD_FAILS),
        ("SELECT 1", {"sql": "CREATE VIEW v AS SELECT 1 AS a"}, NoSuite.NO_VARIANTS),
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
            " SELECT count(*) FROM n",
            {},
            NoSuite.FAILS,
        ),
        ("SELECT name FROM ship WHERE id < 0 AND id > 9", {}, NoSuite.SAYS_NOTHING),
        ("SELECT group_concat(name) FROM ship", {"sql": UNSORTED, "pool": 4}, NoSuite.STORED_ORDER),
        ("SELECT name FROM ship LIMIT 1", {"pool": 4}, NoSuite.TIES),
        (
            "SELECT sum(tons) FROM ship WHERE id <> 0",
            {"pool": 4, "model_queries": ("SELECT 100",) * 5},
            NoSuite.OTHER_READING,
        ),
        ("SELECT 'x' FROM ship GROUP BY 1", {}, NoSuite.TELLS_NOTHING),
    ],
)
def test_question_without_a_suite_says_why(tmp_path, gold, options, reason):
    (record,) = make(tmp_path, ("Which ship is called Kite?", gold), **options).records
    assert (record["no_suite"], record["databases"]) == (reason, [])
    assert (record["mutation_score"] or {"suite": 0})["suite"] == 0


REGISTER = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, built TEXT, lost TEXT, tons REAL, crew INTEGER);
INSERT INTO ship
    WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted WHERE n < 299)
    SELECT
        n, 'S' || (n * 7 % 300), (1700 + n) || '-05-01',
        CASE WHEN n % 100 = 7 THEN (1750 + n) || '-01-02' END, n + 0.5,
        CASE WHEN n % 150 = 9 THEN 1 ELSE 2 * n + 1 END
    FROM counted;
"""


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name FROM ship WHERE lost IS NOT NULL",
        "SELECT name FROM ship WHERE strftime('%Y', built) = '1831'",
        "SELECT name FROM ship WHERE tons > crew AND id > 1",
        "SELECT name FROM (SELECT * FROM ship WHERE length(name) = 2 AND tons < 50) WHERE crew > 1",
        "SELECT crew % 2, count(*) FROM ship GROUP BY crew % 2 HAVING count(*) > 100",
    ],
)
def test_condition_that_few_rows_meet_gets_rows_that_meet_it(tmp_path, gold):
    (record,) = make(tmp_path, ("Which ships?", gold), sql=REGISTER).records
    assert record["no_suite"] is None
    assert record["operators"]["by_heart"]["killed"] == 1


def test_question_that_finds_no_room_says_so(tmp_path):
    questions = [
        (f"Which have {tons} tons?", f"SELECT name FROM ship WHERE tons = {tons}")
        for tons in range(50, 60)
    ]
    records = make(tmp_path, *questions, max_databases=1).records
    assert {record["no_suite"] for record in records} == {None, NoSuite.NO_ROOM}


def test_empty_database_is_filled(tmp_path):
    empty = SHIPS.partition("INSERT")[0]
    question = "How many ships?", "SELECT count(*) FROM ship"
    (record,) = make(tmp_path, question, sql=empty).records
    assert {database["gold_answer"] for database in record["databases"]} - {0}


def test_answer_by_heart_is_told_where_nearly_all_rows_share_a_value(tmp_path):
    rows = [(key, f"ship {key}", 15 if key else 8, 1, "in use") for key in range(9)]
    sql = f"""CREATE TABLE ship (
        id INTEGER PRIMARY KEY, name TEXT, tons INT, decks INT, state TEXT);
    INSERT INTO ship {write_by_heart(rows)};"""
    queries = [
        "SELECT tons FROM ship GROUP BY tons ORDER BY count(*) DESC LIMIT 1",
        "SELECT state FROM ship GROUP BY state ORDER BY count(*) DESC LIMIT 1",
        "SELECT min(decks), max(decks) FROM ship",
        "SELECT count(DISTINCT state) FROM ship",
    ]
    made = make(tmp_path, *(("Which is the most common?", gold) for gold in queries), sql=sql)
    assert [record["operators"]["by_heart"]["killed"] for record in made.records] == [1] * 4


FLEET = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, flag TEXT, port_id INT REFERENCES port);
CREATE TABLE crew (ship_id INT REFERENCES ship, sailor TEXT, role TEXT, since TEXT);
"""


def make_fleet() -> str:
    """Many rows of each table, of which few meet any condition, and no column knows another."""
    random = Random(1)
    draw = random.randrange
    ports = [(key, f"port {key}", f"town {key % 90}") for key in range(100)]
    ships = [(key, f"ship {key}", f"flag {key % 50}", draw(100)) for key in range(300)]
    crew = [
        (draw(300), f"sailor {draw(400)}", f"role {draw(30)}", f"2020-01-{key % 28 + 1:02}")
        for key in range(900)
    ]
    rows = {"port": ports, "ship": ships, "crew": crew}
    inserts = [f"INSERT INTO {name} {write_by_heart(of)};" for name, of in rows.items()]
    return FLEET + "".join(inserts)


RARE = [
    "SELECT sailor FROM crew JOIN ship ON id = ship_id WHERE flag = 'flag 7' AND role = 'role 7'",
    "SELECT count(*) FROM crew c JOIN ship s ON s.id = c.ship_id JOIN port p"
    " ON p.id = s.port_id WHERE p.town = 'town 5' AND c.role = 'role 5'",
    "SELECT a.name FROM ship a JOIN ship b ON a.port_id = b.port_id WHERE a.flag = 'flag 3' AND"
    " b.name = 'ship 103'",
    "SELECT name FROM port WHERE id IN (SELECT port_id FROM ship WHERE name = 'ship 9')",
    "SELECT p.town FROM port p JOIN ship s ON p.id = s.port_id WHERE s.flag = 'flag 4'"
    " INTERSECT SELECT p.town FROM port p JOIN ship s ON p.id = s.port_id WHERE"
    " s.name = 'ship 104'",
    "SELECT sailor FROM crew WHERE role = 'role 3' INTERSECT"
    " SELECT sailor FROM crew WHERE role = 'role 13'",
    "SELECT ship_id FROM crew GROUP BY ship_id HAVING count(*) >= 3",
    "SELECT role, count(*) FROM crew GROUP BY role HAVING count(*) >= 20",
    "SELECT p.name FROM port p JOIN ship s ON p.id = s.port_id GROUP BY p.name HAVING count(*) > 2",
    "SELECT sum(id) FROM ship WHERE name = 'ship 5' AND flag = 'flag 5'",
]


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name FROM ship ORDER BY tons LIMIT 1",
        "SELECT name FROM ship ORDER BY tons",
        "SELECT name FROM ship WHERE tons = (SELECT max(tons) FROM ship)",
        "SELECT count(*) FROM ship WHERE tons > 35",
        "SELECT count(*) FROM ship JOIN port ON port.id = ship.port_id WHERE port.name = 'Oslo'",
        "SELECT port.name, count(*) FROM ship JOIN port ON port.id = ship.port_id GROUP BY port.id",
    ],
)
def test_suite_alone_tells_what_the_database_tells(tmp_path, gold):
    """A query that tells the real database from the suite can say the stored answer on the one, and
    what is wrong on the other."""
    (record,) = make(tmp_path, ("What?", gold)).records
    schema, order = read_world(tmp_path), "ORDER BY" in gold
    neighbors = list_neighbors(parse_sql(gold), schema, max_neighbors=60)
    guarded = {neighbor["sql"] for neighbor in record["alive"] if neighbor["killed_by_database"]}
    assert not guarded
    assert record["mutation_score"]["suite"] >= record["mutation_score"]["database"]
    rows = execute(tmp_path / "ships.sqlite", gold)
    names = [Path(database["path"]).name for database in record["databases"]]
    suite = [tmp_path / "variants" / name for name in names]
    answers = [execute(path, gold) for path in suite]
    queries = [neighbor.sql for neighbor in neighbors]
    for sql in [*queries, *(f"SELECT {guess}" for guess in range(20))]:
        if not are_same(rows, execute(tmp_path / "ships.sqlite", sql), ordered=order):
            assert any(
                not are_same(answer, execute(path, sql), ordered=order)
                for answer, path in zip(answers, suite, strict=True)
            ), sql


def test_what_only_the_database_tells_is_named(tmp_path):
    """On a suite of one database, what gold gives there can be said by heart."""
    question = "How many are heavy?", "SELECT count(*) FROM ship WHERE tons > 5"
    (record,) = make(tmp_path, question, max_databases=1).records
    (database,) = record["databases"]
    guess = {"operator": "guess", "sql": write_by_heart([(database["gold_answer"],)])}
    assert {**guess, "killed_by_database": True} in record["alive"]
    assert record["operators"]["guess"]["alive"] == 1
    assert record["mutation_score"]["suite"] < 1


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT max(tons) FROM ship WHERE port_id = 1",
        "SELECT count(*) FROM ship WHERE tons > 15",
        "SELECT count(DISTINCT port_id) FROM ship",
        "SELECT name FROM ship WHERE port_id = 1",
        "SELECT port.name FROM port JOIN ship ON port.id = port_id GROUP BY port.id"
        " HAVING count(*) > 1",
        "SELECT name FROM port EXCEPT SELECT port.name FROM port JOIN ship ON port.id = port_id"
        " WHERE tons > 25",
        "SELECT name FROM ship ORDER BY tons DESC LIMIT 3",
    ],
)
def test_weak_query_behind_a_guard_is_told(tmp_path, gold):
    """So is a count that is the stored answer by a factor or a term."""
    (record,) = make(tmp_path, ("What?", gold)).records
    real, order = tmp_path / "ships.sqlite", "ORDER BY" in gold
    rows = execute(real, gold)
    with closing(open_database(real)) as connection:
        scopes = Scopes(parse_sql(gold), read_schema(connection))
        fitted = list_fitted(scopes, rows, lambda sql: connection.execute(sql).fetchall())
    names = [Path(database["path"]).name for database in record["databases"]]
    suite = [tmp_path / "variants" / name for name in names]
    weak = [
        query.sql
        for query in list_weak(scopes, rows)
        if not are_same(rows, execute(real, query.sql), ordered=order)
    ]
    assert weak
    for sql in [*weak, *(query.sql for query in fitted)]:
        assert any(
            not are_same(execute(path, gold), execute(path, sql), ordered=order) for path in suite
        ), sql


ARRIVALS = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, flag TEXT, tons INTEGER, crew INTEGER);
INSERT INTO ship VALUES (1, 'Tern', 'NL', 90, 12), (2, 'Ruby', 'PT', 80, 11),
    (3, 'Mole', 'NL', 60, 8), (4, 'Kite', 'IE', 40, 7), (5, 'Able', 'PT', 20, 3);
"""


@pytest.mark.parametrize("steps", [500_000, 30])
def test_question_on_which_a_weak_query_behind_a_guard_is_right_is_flagged(
    tmp_path, monkeypatch, steps
):
    """A variant of a small database may have as many rows, so that the guard says the stored answer
    there: gold must give another one. So it is with a query that took too much at first."""
    monkeypatch.setattr("answerkey.suites.rivals._MAX_STEPS", steps)
    golds = [
        "SELECT name FROM ship ORDER BY name DESC",
        "SELECT tons FROM ship ORDER BY tons DESC",
        "SELECT tons FROM ship ORDER BY tons DESC LIMIT 1",
        "SELECT flag FROM ship GROUP BY flag ORDER BY sum(tons) DESC LIMIT 1",
        "SELECT name FROM ship WHERE flag = 'PT'",
        "SELECT count(DISTINCT flag) FROM ship",
        "SELECT name FROM ship WHERE tons < (SELECT max(tons) FROM ship)",
        "SELECT flag FROM ship WHERE tons > 70 INTERSECT SELECT flag FROM ship WHERE tons < 30",
    ]
    records = make(tmp_path, *(("What?", gold) for gold in golds), sql=ARRIVALS).records
    real, schema = tmp_path / "ships.sqlite", read_world(tmp_path)
    for gold, record in zip(golds, records, strict=True):
        tree, rows, order = parse_sql(gold), execute(real, gold), "ORDER BY" in gold
        others = list_neighbors(tree, schema, max_neighbors=60)
        others += list_weak(Scopes(tree, schema), rows)
        suite = [
            (path, execute(path, gold))
            for path in (
                tmp_path / "variants" / Path(database["path"]).name
                for database in record["databases"]
            )
        ]
        right = [
            other.sql
            for other in others
            if not are_same(rows, execute(real, other.sql), ordered=order)
            and all(
                are_same(answer, execute(path, guard(rows, other.sql)), ordered=order)
                for path, answer in suite
            )
        ]
        flags = find_in_suite(record, min_mutation_score=0.5)
        assert not right or "weak_answer" in {flag.code for flag in flags}, right


def guard(rows: list[Row], weak: str) -> str:
    """The stored answer where there are five ships, and else a weak query."""
    is_real = "(SELECT count(*) FROM ship) = 5"
    return (
        f"SELECT * FROM ({write_by_heart(rows)}) WHERE {is_real}"
        f" UNION ALL SELECT * FROM ({weak}) WHERE NOT {is_real}"
    )


NUMBERS = ("9223372036854775807", "1e300", "100000000000000000000", "4611686018427387911")


@pytest.mark.parametrize("column", ["id", "price", "total"])
@pytest.mark.parametrize("condition", ["< {}", "= {}", "BETWEEN 1 AND {}", "<> {}", "> -{}"])
def test_numbers_of_any_size_have_suites(tmp_path, column, condition):
    rows = [(key, f"ship {key}", key * 1e19, (1 << 62) + key) for key in range(1, 30)]
    sql = f"""CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, price REAL, total INTEGER);
    INSERT INTO ship {write_by_heart(rows)};"""
    questions = [
        ("Which?", f"SELECT name FROM ship WHERE {column} {condition.format(number)}")
        for number in NUMBERS
    ]
    made = make(tmp_path, *questions, sql=sql, pool=16)
    assert made.problem is None
    assert len(made.records) == len(questions)


def test_stored_answer_behind_a_guard_is_told(tmp_path):
    """A query that says the stored answer where a count is that of the real database, and else
    nothing, NULL or 0, is right on databases where gold says no more."""
    records = make(tmp_path, *(("Which?", gold) for gold in RARE), sql=make_fleet()).records
    with closing(sqlite3.connect(tmp_path / "ships.sqlite")) as connection:
        for gold, record in zip(RARE, records, strict=True):
            real = shape_answer(connection.execute(gold).fetchall())
            answers = [database["gold_answer"] for database in record["databases"]]
            assert [answer for answer in answers if answer not in ([], None, 0, real)], gold
            assert record["operators"]["by_heart"]["killed"] == 1


def test_stored_answer_that_no_small_database_tells_is_undecided(tmp_path):
    gold = "SELECT count(*) FROM ship GROUP BY flag = 'flag 1' HAVING sum(id) > 9000"
    (record,) = make(tmp_path, ("Which?", gold), sql=make_fleet(), pool=10).records
    assert record["operators"]["by_heart"] == {"killed": 0, "alive": 0, "undecided": 1}


COLOURS = """
CREATE TABLE colour (id INTEGER PRIMARY KEY, colour TEXT);
CREATE TABLE ship (id INTEGER PRIMARY KEY, tons INT, colour_id INT REFERENCES colour);
INSERT INTO colour VALUES (1, 'red'), (2, 'blue'), (3, 'green'), (4, 'black');
"""
BLUE = "SELECT count(*) FROM ship JOIN colour c ON c.id = colour_id WHERE c.colour = 'blue'"


def make_painted(folder, text, gold):
    """The suite of a question on ships of four colours, and its databases."""
    rows = ", ".join(f"({key}, {key * 7 % 31}, {key * 3 % 4 + 1})" for key in range(40))
    made = make(folder, (text, gold), sql=f"{COLOURS} INSERT INTO ship VALUES {rows};")
    return made.records[0], made.files


def ask_files(files, sql):
    for file in files:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(file)
            yield connection.execute(sql).fetchall()


def test_code_that_a_question_states_is_right_and_one_learnt_by_heart_is_not(tmp_path):
    by_code = "SELECT count(*) FROM ship WHERE colour_id = 2"
    for text, is_right in (("How many are blue (colour_id = 2)?", True), ("How many?", False)):
        record, files = make_painted(tmp_path, text, BLUE)
        assert files
        answers = zip(ask_files(files, BLUE), ask_files(files, by_code), strict=True)
        assert all(gold == other for gold, other in answers) is is_right
        told = record["operators"].get("code_by_heart", {"killed": 0})
        assert bool(told["killed"]) is not is_right


def test_value_of_a_subquery_learnt_by_heart_is_told(tmp_path):
    gold = "SELECT id FROM ship WHERE tons = (SELECT max(tons) FROM ship)"
    record, _ = make_painted(tmp_path, "Which are the heaviest?", gold)
    assert record["operators"]["value_by_heart"] == {"killed": 1, "alive": 0, "undecided": 0}


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT id FROM ship WHERE tons > 29",
        "SELECT sum(tons), count(*) FROM ship WHERE tons > 29",
        "SELECT 100.0 * sum(tons > 29) / count(*) FROM ship",
    ],
)
def test_no_database_on_which_gold_says_nothing_is_in_a_suite(tmp_path, gold):
    record, _ = make_painted(tmp_path, "What is over 29?", gold)
    assert record["databases"]
    for database in record["databases"]:
        assert database["gold_answer"] not in ([], None, 0, 0.0, [[None, 0]])


def test_last_bits_of_gold_tell_no_query_from_it(tmp_path):
    """Gold has 9.3e-10 where another order of addition has 0.0; a cent is another answer."""
    values = [1e6 + 0.1, 2e6 + 0.2, 3e6 + 0.3, 1e6 + 0.7]
    rows = ", ".join(map(str, zip(values, [values[n] for n in (1, 3, 2, 0)], strict=True)))
    sql = f"CREATE TABLE entry (debit REAL, credit REAL); INSERT INTO entry VALUES {rows};"
    path = make_database(tmp_path / "book.sqlite", sql)
    gold_sql = "SELECT sum(debit) - sum(credit) FROM entry"
    same, other = (f"SELECT sum(debit - credit) + {more} FROM entry" for more in (0.0, 0.01))
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    with GuardedDatabase(path) as database:
        real = RealDatabase(Executions(database), schema)
        assert real.executions.read_rows(gold_sql) != real.executions.read_rows(same)
        for abs_tol, voters in ((0.0, ()), (1e-7, (same,))):
            question = SuiteQuestion(
                "q0", gold_sql, False, model_queries=(same, other), abs_tol=abs_tol
            )
            (case,) = read_cases([question], real, max_neighbors=9)
            assert case.voters == voters
            assert case.gold.stored.abs_tol == abs_tol
