"""double_quoted_literal: when "x" is a risk, and when it is only the corpus's habit."""

import pytest

from answerkey.probes.types import find_double_quoted_literal
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, country TEXT, captain TEXT, "home port" TEXT, crew INT
);
CREATE TABLE race (ship_id INT REFERENCES ship(id), winner TEXT, score REAL);
INSERT INTO ship VALUES
    (1, 'Sun', 'NL', 'Ada', 'Alda', 9), (2, 'country', 'BE', 'Bo', 'Bree', 8),
    (3, 'Wren', 'captain', 'Cy', 'home port', 7);
INSERT INTO race VALUES (1, 'Sun', 1.5), (2, 'Tern', 2.5);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("quotes"), WORLD) as world:
        yield world


RISKS = [
    ('SELECT id FROM ship WHERE name = "country"', "reads_column"),
    ('SELECT id FROM ship WHERE name = "name"', "reads_column"),
    ('SELECT id FROM ship WHERE name != "Captain"', "reads_column"),
    ('SELECT id FROM ship WHERE name IN ("Sun", "country")', "reads_column"),
    ('SELECT id FROM ship WHERE "country" = name', "reads_column"),
    ('SELECT id FROM ship WHERE name LIKE "country"', "reads_column"),
    ('SELECT id FROM ship WHERE lower(name) = "country"', "reads_column"),
    ('SELECT s.id FROM ship AS s WHERE s.name = "captain"', "reads_column"),
    ('SELECT id FROM ship WHERE EXISTS (SELECT 1 FROM race WHERE winner = "name")', "reads_column"),
    ('SELECT id FROM ship WHERE name = "winner"', "would_read_column"),
    ('SELECT id FROM ship WHERE name IN ("Sun", "SCORE")', "would_read_column"),
    ('SELECT winner FROM race WHERE winner = "captain"', "would_read_column"),
    ('SELECT id FROM ship WHERE captain = "countri"', "misspelt"),
    ('SELECT id FROM ship WHERE captain = "home_port"', "misspelt"),
    ('SELECT id FROM ship WHERE "captian" = captain', "misspelt"),
    ('SELECT id FROM ship WHERE "agee" > 5', "position"),
    ("SELECT id FROM ship WHERE \"captian\" = 'Ada'", "position"),
    ('SELECT id FROM ship WHERE "captian" = "Ada"', "position"),
    ('SELECT id FROM ship WHERE "captian" IS NULL', "position"),
    ('SELECT id FROM ship WHERE "agee" BETWEEN 1 AND 5', "position"),
    ("SELECT id FROM ship WHERE \"captian\" IN ('Ada', 'Bo')", "position"),
    ("SELECT id FROM ship WHERE \"captian\" LIKE 'A%'", "position"),
    ('SELECT "captian" FROM ship', "position"),
    ('SELECT DISTINCT "captian" AS c FROM ship', "position"),
    ('SELECT count("captian") FROM ship', "position"),
    ('SELECT count(DISTINCT "captian") FROM ship', "position"),
    ('SELECT max("agee") FROM ship', "position"),
    ('SELECT crew - "agee" FROM ship', "position"),
    ('SELECT id FROM ship ORDER BY "agee" DESC', "position"),
    ('SELECT count(*) FROM ship GROUP BY "contry"', "position"),
]

HABIT = [
    'SELECT id FROM ship WHERE name = "Sun"',
    'SELECT id FROM ship WHERE name = "Noone" OR name != "O""Hara"',
    'SELECT id FROM ship WHERE name IN ("Sun", "Moon") AND name LIKE "%u%"',
    "SELECT id FROM ship WHERE name = 'country' OR name = 'winner'",
    'SELECT "name" FROM "ship" WHERE "name" = \'Sun\' ORDER BY "crew"',
    'SELECT id FROM ship WHERE "name" = "country"',  # whoever quotes both names columns
    'SELECT "s"."id" FROM "ship" AS "s" WHERE "s"."name" = "s"."country"',
    'SELECT id FROM ship WHERE captain = "home port"',  # cannot be written without quotes
    'SELECT id FROM ship WHERE "home port" = "Alda"',
    'SELECT id FROM ship WHERE "crew" > 5 AND "crew" BETWEEN 1 AND 10',
    "SELECT id FROM ship WHERE name = `country` OR name = [captain]",
    'SELECT count(*) AS "total crew" FROM ship ORDER BY "total crew"',
    'SELECT country AS "land" FROM ship GROUP BY "land"',
    'SELECT replace(name, "n", "m"), ifnull(captain, "none") FROM ship',
    'SELECT group_concat(name, "; ") FROM ship',
    'SELECT CASE WHEN crew > 8 THEN "large" ELSE "small" END FROM ship',
    'SELECT name || ", " || captain FROM ship',
    'SELECT crew * "2" FROM ship',
    'SELECT strftime("%Y", name) FROM ship',
    "SELECT id FROM ship WHERE name = 'say \"captian\"'",
    'WITH "s" AS (SELECT name AS "n" FROM ship) SELECT "n" FROM "s" WHERE "n" = "Sun"',
]


@pytest.mark.parametrize(("sql", "effect"), RISKS)
def test_double_quotes_that_are_a_risk_are_found(world, sql, effect):
    finding = world.find(find_double_quoted_literal, sql)
    assert finding is not None
    assert finding.evidence["literals"][0]["effect"] == effect


@pytest.mark.parametrize("sql", HABIT)
def test_double_quotes_out_of_habit_are_no_finding(world, sql):
    assert world.find(find_double_quoted_literal, sql) is None


def test_evidence_names_the_text_and_the_column_that_catches_it(world):
    finding = world.find(find_double_quoted_literal, 'SELECT id FROM ship WHERE name = "COUNTRY"')
    assert finding.evidence == {
        "literals": [{"text": "COUNTRY", "effect": "reads_column", "column": "ship.country"}]
    }


def test_column_that_catches_a_literal_changes_the_answer(world):
    as_string = world.database.execute("SELECT id FROM ship WHERE name = 'country'")
    as_column = world.database.execute('SELECT id FROM ship WHERE name = "country"')
    assert (as_string, as_column) == ([(2,)], [])
