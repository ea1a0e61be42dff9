"""vacuous_condition: literals that do not occur, and bounds that decide nothing."""

import pytest

from answerkey.probes.comparison import find_vacuous_condition
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, port TEXT, year INTEGER, flag TEXT, note TEXT
);
INSERT INTO ship VALUES
    (1, 'Sun', 'Alda', 1990, 'NL', NULL), (2, 'Tern', 'New Bree', 2001, 'BE', 'old'),
    (3, 'O''Hara', ' Cove', 2010, 'NL', 'from 1990'), (4, 'name', 'Cove', 2012, NULL, '');
CREATE TABLE "log book" (ship_id INTEGER, "from port" TEXT, day TEXT);
INSERT INTO "log book" VALUES (1, 'Alda', '2020-01-01'), (2, 'Bree', '2021-05-05');
CREATE TABLE empty (n INTEGER, t TEXT);
CREATE TABLE blank (n INTEGER);
INSERT INTO blank VALUES (NULL), (NULL);
CREATE VIEW dutch AS SELECT id, name FROM ship WHERE flag = 'NL';
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("conditions"), WORLD) as world:
        yield world


VACUOUS = [
    ("SELECT id FROM ship WHERE name = 'Noone'", "absent"),
    ('SELECT id FROM ship WHERE name = "Noone"', "absent"),
    ("SELECT id FROM ship AS s WHERE 'Noone' = s.name", "absent"),
    ("SELECT id FROM ship WHERE name != 'sun'", "absent"),
    ("SELECT id FROM ship WHERE NOT name = 'sun'", "absent"),
    ("SELECT id FROM ship WHERE name IN ('Sun', 'Moon')", "absent"),
    ("SELECT id FROM ship WHERE name NOT IN ('Moon')", "absent"),
    ("SELECT id FROM ship WHERE year = 1991 OR year = 1990", "absent"),
    ("SELECT id FROM ship WHERE year = -1990", "absent"),
    ("SELECT id FROM ship WHERE name COLLATE NOCASE = 'suns'", "absent"),
    ("SELECT id FROM ship WHERE lower(name) = 'Sun'", "absent"),
    ("SELECT lower(name) AS n FROM ship WHERE n = 'Sun'", "absent"),
    ("SELECT id FROM ship WHERE substr(name, 1, 1) = 'Z'", "absent"),
    ("SELECT id FROM ship WHERE name || \"'s\" = 'Moon''s'", "absent"),
    ("SELECT CASE name WHEN 'Moon' THEN 1 ELSE 0 END FROM ship", "absent"),
    ("SELECT sum(CASE WHEN name = 'Moon' THEN 1 ELSE 0 END) FROM ship", "absent"),
    ("SELECT 1 FROM ship s JOIN ship t ON s.id = t.id AND t.name = 'Moon'", "absent"),
    (
        "SELECT id FROM ship WHERE id IN (SELECT ship_id FROM \"log book\" WHERE day = 'x')",
        "absent",
    ),
    ('SELECT day FROM "log book" WHERE "from port" = "Nowhere"', "absent"),
    ("WITH s AS (SELECT name AS n FROM ship) SELECT 1 FROM s WHERE n = 'Moon'", "absent"),
    ("SELECT 1 FROM (SELECT name AS n FROM ship) AS s WHERE s.n = 'Moon'", "absent"),
    ("SELECT id FROM dutch WHERE name = 'Tern'", "absent"),  # a view holds what it shows
    ("SELECT id FROM ship WHERE year = 1990 UNION SELECT id FROM ship WHERE year = 5", "absent"),
    ("SELECT id FROM ship WHERE name LIKE '%moon%'", "no_row"),
    ("SELECT id FROM ship WHERE name NOT LIKE '%moon%'", "no_row"),
    ("SELECT id FROM ship WHERE name GLOB 's*'", "no_row"),
    ("SELECT id FROM ship WHERE name LIKE 'S!%' ESCAPE '!'", "no_row"),
    ("SELECT id FROM ship WHERE name LIKE '%'", "every_row"),
    ("SELECT id FROM ship WHERE year > 2020", "no_row"),
    ("SELECT id FROM ship WHERE year > 1900", "every_row"),
    ("SELECT id FROM ship WHERE 1900 < year", "every_row"),
    ("SELECT id FROM ship WHERE year BETWEEN 1900 AND 2020", "every_row"),
    ("SELECT id FROM ship WHERE year NOT BETWEEN 1991 AND 2000", "no_row"),
    ("SELECT id FROM ship WHERE length(name) > 100", "no_row"),
    ("SELECT id FROM ship WHERE name IS NULL", "no_row"),
    ("SELECT id FROM ship WHERE flag = NULL", "null"),
    ("SELECT s.id FROM ship s JOIN ship t ON t.id = t.id", "itself"),
]

DECISIVE = [
    "SELECT id FROM ship WHERE name = 'Sun' AND year = 1990",
    "SELECT id FROM ship WHERE name = \"O'Hara\" OR name = 'O''Hara'",
    "SELECT id FROM ship WHERE year = '1990'",  # coerced, and there
    "SELECT id FROM ship WHERE name COLLATE NOCASE = 'sun'",
    "SELECT id FROM ship WHERE lower(name) = 'sun'",
    "SELECT id FROM ship WHERE name LIKE 'sun' OR name LIKE '%ern'",
    "SELECT id FROM ship WHERE year > 2000 AND year <= 2010",
    "SELECT id FROM ship WHERE year BETWEEN 1900 AND 2000",  # one bound is idle, the pair is not
    "SELECT id FROM ship WHERE flag < 'ZZ'",  # it drops the NULL
    "SELECT id FROM ship WHERE name IS NOT NULL AND flag IS NULL",
    'SELECT s.id FROM ship s LEFT JOIN "log book" b ON b.ship_id = s.id WHERE b.ship_id IS NULL',
    "SELECT s.id FROM ship s LEFT JOIN \"log book\" b ON b.ship_id = s.id WHERE b.day > '1900'",
    "SELECT n FROM (SELECT max(year) AS n FROM ship GROUP BY flag) WHERE n > 1900",
    "SELECT s.n FROM (SELECT year AS n FROM ship WHERE year > 2000) AS s WHERE s.n > 1000",
    "SELECT flag FROM ship GROUP BY flag HAVING count(*) > 100",
    "SELECT id FROM ship WHERE name = port OR name = (SELECT 'Noone')",
    "SELECT t FROM empty WHERE n = 1",
    "SELECT 'name = ''Noone''' FROM ship WHERE note LIKE '%1990%'",
    "SELECT s.id FROM ship s JOIN ship t ON s.id = t.id",
    "SELECT id FROM ship WHERE name IN (SELECT name FROM ship)",
    "SELECT id FROM ship WHERE name = 'name'",
    "SELECT 1 WHERE 1 = 2",
    "SELECT 1 FROM blank WHERE n IS NULL",
]


@pytest.mark.parametrize(("sql", "effect"), VACUOUS)
def test_condition_that_decides_nothing_is_found(world, sql, effect):
    finding = world.find(find_vacuous_condition, sql)
    assert finding is not None
    assert finding.evidence["conditions"][0]["effect"] == effect


@pytest.mark.parametrize("sql", DECISIVE)
def test_condition_that_decides_is_no_finding(world, sql):
    assert world.find(find_vacuous_condition, sql) is None


@pytest.mark.parametrize(
    ("literal", "near"),
    [("sun", ["Sun"]), ("cove ", [" Cove", "Cove"]), ("newbree", ["New Bree"]), ("Moon", [])],
)
def test_near_miss_is_in_the_evidence(world, literal, near):
    column = "name" if literal in ("sun", "Moon") else "port"
    sql = f"SELECT id FROM ship WHERE {column} = '{literal}'"
    assert world.find(find_vacuous_condition, sql).evidence == {
        "conditions": [
            {
                "condition": f"{column} = '{literal}'",
                "effect": "absent",
                "value": literal,
                "near": near,
            }
        ]
    }


def test_bounds_of_between_are_one_condition(world):
    finding = world.find(
        find_vacuous_condition, "SELECT id FROM ship WHERE year BETWEEN 1900 AND 2020"
    )
    assert finding.evidence["conditions"] == [
        {"condition": "year BETWEEN 1900 AND 2020", "effect": "every_row", "rows": 4}
    ]


def test_evidence_has_at_most_three_conditions(world):
    names = ", ".join(f"'nobody {number}'" for number in range(9))
    finding = world.find(find_vacuous_condition, f"SELECT id FROM ship WHERE name IN ({names})")
    assert len(finding.evidence["conditions"]) == 3
