"""Columns that nobody asked for, beside what is asked for."""

import pytest

from answerkey.probes.unasked import find_column_not_asked
from tests.shared.probe_world import ProbeWorld

QUAY = """
CREATE TABLE port (port_id INTEGER PRIMARY KEY, name TEXT, town TEXT, opened DATE, berths INT);
INSERT INTO port VALUES (1, 'Ayr', 'Ayr', '1900-01-02', 3), (2, 'Oban', 'Oban', '1910-05-05', 5);
CREATE TABLE ship (
    ship_id INTEGER PRIMARY KEY, ship_name TEXT, kind TEXT, flag TEXT, built DATE,
    home_port_id INT REFERENCES port (port_id)
);
INSERT INTO ship VALUES
    (1, 'Sun', 'Barge', 'UK', '1990-01-01', 1), (2, 'Tern', 'Ferry', 'IE', '2001-01-01', 1),
    (3, 'Gull', 'Ferry', 'UK', '1999-01-01', 2);
"""
JOINED = "ship AS s JOIN port AS p ON p.port_id = s.home_port_id"

FIRE = [
    (
        "column",
        "What is the name of the newest ship?",
        "SELECT ship_name, built FROM ship ORDER BY built DESC LIMIT 1",
        [("Tern",)],
    ),
    (
        "column",
        "Find the name and town of the port where the most ships lie.",
        f"SELECT p.name, p.town, s.home_port_id FROM {JOINED} GROUP BY s.home_port_id"
        " ORDER BY count(*) DESC LIMIT 1",
        [("Ayr", "Ayr")],
    ),
    (
        "count",
        "Which kinds are those of two ships or more?",
        "SELECT kind, count(*) FROM ship GROUP BY kind HAVING count(*) > 1",
        [("Ferry",)],
    ),
    (
        "count",
        "Which kinds are those of two ships or more, the fewest first?",
        "SELECT count(*) AS n, kind FROM ship GROUP BY 2 HAVING count(*) > 1 ORDER BY n, 2",
        [("Ferry",)],  # the first column is gone
    ),
    (
        "joined",
        "Show all the information of ships that lie in Oban.",
        f"SELECT * FROM {JOINED} WHERE p.name = 'Oban'",
        [(3, "Gull", "Ferry", "UK", "1999-01-01", 2)],
    ),
    (
        "whole_rows",
        "What are the ids of the ships under the flag UK?",
        "SELECT * FROM ship WHERE flag = 'UK'",
        [(1,), (3,)],
    ),
]

ASKED = [
    (
        "Which kind has the most ships?",
        "SELECT kind, count(*) FROM ship GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
    ),
    ("Show both ships and kinds.", "SELECT ship_name, kind FROM ship"),
    ("What are the names of ships and when were they built?", "SELECT ship_name, built FROM ship"),
    ("What are the names of ships, with their dates?", "SELECT ship_name, built FROM ship"),
    ("What is the name and the type of each ship?", "SELECT ship_name, flag FROM ship"),
    ("Which ships are there?", "SELECT ship_id, ship_name FROM ship"),
    (
        "What is the kind of the ships for each flag?",
        "SELECT kind, flag FROM ship GROUP BY flag, kind",
    ),
    (
        "What is the name of the newest ship of a port?",
        "SELECT ship_name, max(built) FROM ship",
    ),
    (
        "For every kind, how many ships are there?",
        "SELECT kind, count(*) FROM ship GROUP BY kind",
    ),
    ("How common is each kind?", "SELECT kind, count(*) FROM ship GROUP BY kind"),
    ("Which ships fly the flag UK?", "SELECT * FROM ship WHERE flag = 'UK'"),
    ("Show the ids and names of all ships.", "SELECT * FROM ship"),
    ("Show all data of the ships and their ports.", f"SELECT * FROM {JOINED}"),
    ("Show the details of each ship and port.", f"SELECT * FROM {JOINED}"),
    ("Show all details of the ship Sun.", "SELECT * FROM ship WHERE ship_name = 'Sun'"),
    ("How many ships are there?", "SELECT count(*) FROM ship"),
]


@pytest.fixture(scope="module")
def quay(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("quay"), QUAY) as world:
        yield world


@pytest.mark.parametrize(("kind", "text", "sql", "rows"), FIRE)
def test_column_that_nobody_asked_for_is_found(quay, kind, text, sql, rows):
    finding = quay.ask(find_column_not_asked, text, sql)
    assert finding.evidence["kind"] == kind
    assert quay.execute_repair(find_column_not_asked, sql, text) == rows


@pytest.mark.parametrize(("text", "sql"), ASKED)
def test_columns_that_are_asked_for_are_left_alone(quay, text, sql):
    assert quay.ask(find_column_not_asked, text, sql) is None


def test_evidence_may_ask_for_a_column(quay):
    text, sql = "What is the name of the newest ship?", FIRE[0][2]
    assert quay.ask(find_column_not_asked, text, sql, evidence="show built as well") is None
