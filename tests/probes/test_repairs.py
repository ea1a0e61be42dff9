"""Repairs: the query that a finding says was likely meant, and what it answers."""

import pytest

from answerkey.probes.groups import (
    find_each_without_group,
    find_group_by_non_key,
    find_set_operation_on_non_key,
)
from answerkey.probes.joins import (
    find_cross_join,
    find_join_fan_out,
    find_zero_count_dropped,
)
from answerkey.probes.literals import (
    find_comparison_mismatch,
    find_literal_not_in_column,
    find_literal_not_in_question,
)
from answerkey.probes.negation import find_negation_mismatch, find_not_in_on_rows
from answerkey.probes.order import (
    find_direction_mismatch,
    find_limit_on_joined_rows,
    find_order_without_effect,
)
from answerkey.probes.projection import find_distinct_missing, find_projection_mismatch
from answerkey.probes.types import find_date_text_order, find_numeric_text_order, find_type_mismatch
from tests.shared.probe_world import ProbeWorld

FARM = """
CREATE TABLE farm (id INTEGER PRIMARY KEY, name TEXT, town TEXT, opened TEXT, acres TEXT);
CREATE TABLE cow (
    id INTEGER PRIMARY KEY, name TEXT, colour TEXT, litres INT, age INT, sold_day TEXT,
    bought_day TEXT, farm_id INT REFERENCES farm (id)
);
CREATE TABLE fair (year INT, cow_id INT REFERENCES cow (id), medal TEXT);
INSERT INTO farm VALUES
    (1, 'Moss', 'Alda', '31/1/2001', '95'), (2, 'Reed', 'Brno', '4/12/1999', '1,200'),
    (3, 'Sand', 'Alda', '15/6/2010', '300');
INSERT INTO cow VALUES
    (1, 'Ada', 'red', 20, 5, 's1', 'b1', 1), (2, 'Bea', 'White', 35, 7, 's2', 'b2', 1),
    (3, 'Cia', 'red', 10, 3, 's3', 'b3', 2), (4, 'Dot', NULL, 25, 9, 's4', 'b4', 2);
INSERT INTO fair VALUES
    (2019, 1, 'gold'), (2020, 1, 'none'), (2020, 2, 'gold'), (2021, 3, 'none'), (2022, 2, 'none');
CREATE TABLE herd (no INT, name TEXT, land TEXT);
CREATE TABLE goat (name TEXT, herd INT);
INSERT INTO herd VALUES (1, 'Up', 'a'), (2, 'Up', 'b'), (3, 'Low', 'c');
INSERT INTO goat VALUES ('G', 1), ('H', 2), ('I', 3);
CREATE TABLE trip (id INTEGER PRIMARY KEY, named TEXT, shown TEXT, short TEXT, odd TEXT);
INSERT INTO trip VALUES
    (1, '4-Jun-1999', 'May 4, 2001', '1/2/2003', '1.2.2003'),
    (2, '21-Feb-2003', 'Nov. 11, 1999', '4/3/2002', 'April');
"""


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("farm"), FARM) as world:
        yield world


def repair_of(world, probe, sql, question=None):
    """The rows of the repair; None if there is a finding without one."""
    finding = world.find(probe, sql) if question is None else world.ask(probe, question, sql)
    assert finding is not None
    repair = finding.evidence.get("repair")
    return world.database.execute(repair) if repair is not None else None


OF_QUERIES = [
    (
        find_set_operation_on_non_key,
        "SELECT name FROM cow EXCEPT SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id"
        " ORDER BY name",
        [("Dot",)],
    ),
    (  # a thing of several rows comes once
        find_set_operation_on_non_key,
        "SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id EXCEPT"
        " SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id WHERE year = 2021",
        [("Ada",), ("Bea",)],
    ),
    (find_numeric_text_order, "SELECT name FROM farm ORDER BY acres DESC LIMIT 1", [("Reed",)]),
    (find_numeric_text_order, "SELECT max(acres) FROM farm", [("1,200",)]),
    (find_type_mismatch, "SELECT name FROM farm WHERE acres > 200", [("Sand",)]),
    # dates: the day first, by 31; names of months; nobody knows the day in 1/2/2003
    (find_date_text_order, "SELECT id FROM farm ORDER BY opened", [(2,), (1,), (3,)]),
    (find_date_text_order, "SELECT min(opened), id FROM farm", [("4/12/1999", 2)]),
    (find_date_text_order, "SELECT id FROM farm WHERE opened > '1/2/2001'", [(3,)]),
    (find_date_text_order, "SELECT id FROM farm WHERE opened BETWEEN '2000' AND '2002'", [(1,)]),
    (find_date_text_order, "SELECT id FROM farm WHERE opened > 2000", None),
    (find_date_text_order, "SELECT id FROM trip ORDER BY named", [(1,), (2,)]),
    (find_date_text_order, "SELECT id FROM trip ORDER BY shown DESC LIMIT 1", [(1,)]),
    (find_date_text_order, "SELECT id FROM trip ORDER BY short", None),
    (
        find_literal_not_in_column,
        "SELECT name FROM cow WHERE colour = 'white' OR colour = 'RED'",
        [("Ada",), ("Bea",), ("Cia",)],
    ),
    (find_literal_not_in_column, "SELECT name FROM cow WHERE colour IN ('Red', 'x')",
     [("Ada",), ("Cia",)]),
    (find_literal_not_in_column, "SELECT name FROM cow WHERE colour = 'null'", [("Dot",)]),
    (find_literal_not_in_column, "SELECT count(*) FROM cow WHERE colour <> ''", [(3,)]),
    (find_literal_not_in_column, "SELECT id FROM farm AS f WHERE f.name = 'alda'", [(1,), (3,)]),
    (find_literal_not_in_column, "SELECT id FROM farm WHERE name IN ('Alda', 'Reed')", None),
    (
        find_cross_join,
        "SELECT count(*) FROM cow, farm WHERE farm.name = 'Moss' OR farm.name = 'Sand'",
        [(2,)],
    ),
    (
        find_cross_join,
        "SELECT cow.name FROM fair AS f JOIN cow, farm WHERE f.medal = 'gold' AND town = 'Alda'",
        [("Ada",), ("Bea",)],
    ),
    (find_cross_join, "SELECT count(*) FROM cow, trip", None),
    (
        find_limit_on_joined_rows,
        "SELECT f.year FROM cow AS c JOIN fair AS f ON f.cow_id = c.id ORDER BY c.litres DESC"
        " LIMIT 1",
        [(2020,), (2022,)],
    ),
    (find_order_without_effect, "SELECT avg(litres) FROM cow ORDER BY age LIMIT 2", [(15.0,)]),
    (
        find_order_without_effect,
        "SELECT sum(c.litres), count(*) FROM cow AS c JOIN farm AS f ON f.id = c.farm_id"
        " ORDER BY f.name DESC LIMIT 1",
        [(35, 2)],
    ),
    (find_order_without_effect, "SELECT count(*) FROM cow ORDER BY age", None),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "sql", "rows"), OF_QUERIES)
def test_repair_of_a_query_answers_what_was_meant(farm, probe, sql, rows):
    assert repair_of(farm, probe, sql) == rows


OF_QUESTIONS = [
    (find_distinct_missing, "How many different colours are there?",
     "SELECT count(colour) FROM cow", [(2,)]),
    (find_distinct_missing, "What is the number of years of fairs?",
     "SELECT count(*) FROM fair", [(4,)]),
    # things, and not their names or their rows
    (find_group_by_non_key, "How many cows has each farm?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON f.id = c.farm_id"
     " GROUP BY f.name ORDER BY f.name", [("Moss", 2), ("Reed", 2)]),
    (find_join_fan_out, "How many cows were at a fair?",
     "SELECT count(*) FROM cow AS c JOIN fair AS f ON f.cow_id = c.id", [(3,)]),
    # the other end, where NULL is none
    (find_direction_mismatch, "Which cow gives the most litres?",
     "SELECT name FROM cow ORDER BY litres LIMIT 1", [("Bea",)]),
    (find_direction_mismatch, "What are the fewest litres of a cow?",
     "SELECT name FROM cow WHERE litres = (SELECT max(litres) FROM cow)", [("Cia",)]),
    (find_direction_mismatch, "Names of cows by litres in descending order",
     "SELECT name FROM cow ORDER BY litres", [("Bea",), ("Dot",), ("Ada",), ("Cia",)]),
    # the operator that is asked for
    (find_comparison_mismatch, "Cows of at least 25 litres",
     "SELECT name FROM cow WHERE 25 < litres", [("Bea",), ("Dot",)]),
    (find_comparison_mismatch, "Cows of more than 20 litres and less than 35 litres",
     "SELECT name FROM cow WHERE litres BETWEEN 20 AND 35", [("Dot",)]),
    (find_comparison_mismatch, "Cows of less than 20 litres",
     "SELECT name FROM cow WHERE litres > 20", [("Cia",)]),
    (find_comparison_mismatch, "Cows of at least 35 litres and cows of at most 20 litres",
     "SELECT name FROM cow WHERE litres BETWEEN 20 AND 35", None),
    (find_negation_mismatch, "Which cows are red?",
     "SELECT name FROM cow WHERE colour <> 'red'", [("Ada",), ("Cia",)]),
    (find_negation_mismatch, "Which cows have a gold medal?",
     "SELECT id FROM cow EXCEPT SELECT cow_id FROM fair WHERE medal = 'gold'", [(1,), (2,)]),
    (find_negation_mismatch, "Which cows share a farm with Ada?",
     "SELECT b.name FROM cow AS a JOIN cow AS b ON a.farm_id = b.farm_id"
     " WHERE a.name = 'Ada' AND b.name <> 'Ada'", [("Ada",), ("Bea",)]),
    (find_negation_mismatch, "Which red cows live on a farm?",
     "SELECT name FROM cow WHERE colour <> 'red' AND NOT age = 7", None),
    # the number of the question, if there is one
    (find_literal_not_in_question, "Which cows give over 15 litres?",
     "SELECT name FROM cow WHERE litres > 30", [("Ada",), ("Bea",), ("Dot",)]),
    (find_literal_not_in_question, "Which cows give 10 or 20 litres?",
     "SELECT name FROM cow WHERE litres > 30", None),
    # another column, in its place or added
    (find_projection_mismatch, "What are the name and the age of the cows?",
     "SELECT name, litres FROM cow WHERE id = 1", [("Ada", 5)]),
    (find_projection_mismatch, "What are the name and the age of the red cows?",
     "SELECT name FROM cow WHERE colour = 'red'", [("Ada", 5), ("Cia", 3)]),
    (find_projection_mismatch, "What are the sold and bought day of each cow?",
     "SELECT sold_day, sold_day FROM cow WHERE id = 1", [("s1", "b1")]),
    (find_projection_mismatch, "When was each cow bought?",
     "SELECT sold_day FROM cow WHERE id = 1", [("b1",)]),
    (find_projection_mismatch, "What are the age and the litres of each colour?",
     "SELECT colour, max(litres) FROM cow GROUP BY colour", None),
    (find_projection_mismatch, "What is the age of the cows that are not red?",
     "SELECT litres FROM cow EXCEPT SELECT litres FROM cow WHERE colour = 'red'", [(7,), (9,)]),
    # other aggregates
    (find_projection_mismatch, "How many colours have more than 1 cow?",
     "SELECT count(*) FROM cow GROUP BY colour HAVING count(*) > 1", [(1,)]),
    (find_projection_mismatch, "Which colours are there?",
     "SELECT count(DISTINCT colour) FROM cow WHERE age < 8", [("red",), ("White",)]),
    (find_projection_mismatch, "How many red cows are there?",
     "SELECT count(*) FROM cow WHERE colour = 'red' GROUP BY farm_id", [(2,)]),
    (find_projection_mismatch, "What is the name of the oldest cow of its colour?",
     "SELECT name, max(age) FROM cow WHERE colour IS NOT NULL GROUP BY colour ORDER BY name",
     [("Ada",), ("Bea",)]),
    (find_projection_mismatch, "What is the name of the oldest cow?",
     "SELECT name, max(age) FROM cow", [("Dot",)]),
    # things of which something is denied, and groups of things
    (find_not_in_on_rows, "Which cows have no gold medal?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id WHERE f.medal <> 'gold'",
     [("Cia",), ("Dot",)]),
    (find_not_in_on_rows, "Which animals have no gold medal?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id WHERE f.medal <> 'gold'",
     [("Cia",)]),
    (find_not_in_on_rows, "Which animals have not been there in 2020 and not in 2021?",
     "SELECT cow_id FROM fair WHERE year <> 2020 AND year <> 2021", []),
    (find_each_without_group, "What is the total litres of each farm?",
     "SELECT sum(c.litres) FROM cow AS c JOIN farm AS f ON f.id = c.farm_id",
     [("Moss", 55), ("Reed", 35)]),
    (find_each_without_group, "What is the number of cows for each colour?",
     "SELECT count(*) FROM cow WHERE colour IS NOT NULL", [("White", 1), ("red", 2)]),
    (find_each_without_group, "What is the number of cows on farms, for each farm?",
     "SELECT count(*) FROM cow", [(1, 2), (2, 2)]),
    (find_each_without_group, "What is the number of cows for each season?",
     "SELECT count(*) FROM cow", None),
    # by a key that the data alone show
    (find_group_by_non_key, "How many goats has each herd?",
     "SELECT h.name, count(*) FROM herd AS h JOIN goat AS g ON g.herd = h.no GROUP BY h.name",
     [("Up", 1), ("Up", 1), ("Low", 1)]),
    # what a join repeats, counted once or added once
    (find_join_fan_out, "How many cows have been to a fair?",
     "SELECT count(*) FROM cow JOIN fair ON fair.cow_id = cow.id", [(3,)]),
    (find_join_fan_out, "How many cows were there in each year?",
     "SELECT year, count(*) FROM fair GROUP BY year",
     [(2019, 1), (2020, 2), (2021, 1), (2022, 1)]),
    (find_join_fan_out, "What is the total of litres by colour?",
     "SELECT c.colour, sum(c.litres) FROM cow AS c JOIN fair AS f ON f.cow_id = c.id"
     " GROUP BY c.colour", [("White", 35), ("red", 30)]),
    # counts of zero: of all, in their order, of the fewest, and of a table that is not there
    (find_zero_count_dropped, "How many cows has each farm?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY count(*), f.name", [("Sand", 0), ("Moss", 2), ("Reed", 2)]),
    (find_zero_count_dropped, "Which farm has the fewest cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY count(*) LIMIT 1", [("Sand",)]),
    (find_zero_count_dropped, "Show all farm ids and the number of cows.",
     "SELECT farm_id, count(*) AS n FROM cow WHERE age > 5 GROUP BY farm_id ORDER BY n DESC, 1",
     [(1, 1), (2, 1), (3, 0)]),
    (find_zero_count_dropped, "Which farms have fewer than 2 old cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id WHERE f.town = 'Alda'"
     " GROUP BY f.id HAVING count(*) < 2", [("Sand",)]),
    (find_zero_count_dropped, "How many litres of how many cows has each farm?",
     "SELECT f.name, sum(c.litres), count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id"
     " GROUP BY f.id", None),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), OF_QUESTIONS)
def test_repair_answers_what_its_question_asks_for(farm, probe, question, sql, rows):
    assert repair_of(farm, probe, sql, question) == rows


SOUND = [
    # two constants beside each other, or values of which none is seen twice
    (find_cross_join, "How much more milk gives Bea than Ada?",
     "SELECT a.litres - b.litres FROM cow AS a, cow AS b WHERE a.name = 'Bea' AND b.name = 'Ada'"),
    (find_cross_join, "What is the ratio of cows to farms?",
     "SELECT count(DISTINCT cow.id) * 1.0 / count(DISTINCT farm.id) FROM cow, farm"),
    (find_cross_join, "What is the ratio of cows to farms?",
     "SELECT c.n * 1.0 / f.n FROM (SELECT count(*) AS n FROM cow) AS c,"
     " (SELECT count(*) AS n FROM farm) AS f"),
    (find_cross_join, "How much more than the best cow give all?",
     "SELECT a.name, a.litres - b.litres FROM cow AS a,"
     " (SELECT litres FROM cow ORDER BY litres DESC LIMIT 1) AS b"),
    # a verb between two words is no name of a column
    (find_projection_mismatch, "Which fairs sold one day cows?",
     "SELECT DISTINCT year FROM fair JOIN cow ON cow.id = cow_id"),
    (find_projection_mismatch, "Did Ada win a medal?", "SELECT count(*) FROM fair"),
    (find_projection_mismatch, "Show the name and the age of the oldest cow of each colour.",
     "SELECT name, max(age) FROM cow GROUP BY colour"),
    (find_projection_mismatch, "Sort the cows by the day they were sold, the first day first, and"
     " those bought last.", "SELECT bought_day FROM cow ORDER BY sold_day"),
    (find_projection_mismatch, "The most litres of each farm, with its name",
     "SELECT f.name, max(c.litres) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"),
    (find_negation_mismatch, "Which farms are foreign to Alda?",
     "SELECT name FROM farm WHERE town <> 'Alda'"),
    (find_negation_mismatch, "Which cows changed their farm between the fairs?",
     "SELECT a.cow_id FROM fair AS a JOIN fair AS b ON a.cow_id = b.cow_id"
     " WHERE NOT a.medal = b.medal"),
    # a state is no column that is asked for; how common a thing is, is a count
    (find_projection_mismatch, "Which trips are short?", "SELECT id FROM trip WHERE id = 1"),
    (find_projection_mismatch, "How common is red?", "SELECT count(*) FROM cow"),
    # years before another, other units, and a range without its ends
    (find_literal_not_in_question, "Which fairs took place in the 2 years before 2021?",
     "SELECT year FROM fair WHERE year BETWEEN 2019 AND 2020"),
    (find_literal_not_in_question, "Which cows are older than 0.07 m?",
     "SELECT name FROM cow WHERE age > 7"),
    (find_comparison_mismatch, "Which cows give between 10 and 25 litres, exclusive?",
     "SELECT name FROM cow WHERE litres > 10 AND litres < 25"),
    # those of the most have no count of zero
    (find_zero_count_dropped, "Which farms have the most cows?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY 2 DESC"),
    (find_zero_count_dropped, "How often is each cow in all the fairs?",
     "SELECT c.name, count(*) FROM cow AS c JOIN fair AS f ON f.cow_id = c.id GROUP BY c.id"),
    (find_not_in_on_rows, "Which cows came in 2020 and did not win gold?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id"
     " WHERE f.year = 2020 AND f.medal <> 'gold'"),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql"), SOUND)
def test_sound_query_needs_no_repair(farm, probe, question, sql):
    is_of_query = probe is find_cross_join
    assert (farm.find(probe, sql) if is_of_query else farm.ask(probe, question, sql)) is None
