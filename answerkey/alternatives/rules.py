"""The rules of alternatives: each with its reason, and an example that the tests execute.

`python -m answerkey.alternatives.rules` prints the table of docs/doubts.md. The repair of a
flag has the flag's name, and the flag says its reason (`answerkey.flags`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE

# The database of the examples.
EXAMPLE = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT NOT NULL, land TEXT NOT NULL);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, kind TEXT, weight INTEGER,
    port_id INTEGER NOT NULL REFERENCES port (id)
);
INSERT INTO port VALUES (1, 'Ayr', 'UK'), (2, 'Ayr', 'Australia'), (3, 'Oban', 'UK');
INSERT INTO ship VALUES
    (1, 'Sun', 'Barge', 5, 1), (2, 'Tern', 'Barge', 5, 2), (3, 'Gull', 'Ferry', 0, 1),
    (4, NULL, NULL, 3, 1);
CREATE TABLE crew (name TEXT, ship_id INTEGER REFERENCES ship (id));
INSERT INTO crew VALUES ('Ann', 1), ('Bo', NULL);
"""
JOINED = "ship AS s JOIN port AS p ON p.id = s.port_id"
LEFT_JOINED = "port AS p LEFT JOIN ship AS s ON p.id = s.port_id"


class Role(StrEnum):
    """The relation of an alternative to gold.

    READING: the question may mean this as well. Where it answers otherwise, the question is
        ambiguous, or gold is wrong.
    NEIGHBOR: nobody means this. A test suite must tell it from gold.
    """

    READING = "reading"
    NEIGHBOR = "neighbor"


class Rule(NamedTuple):
    """A rule, why there is one, and what it makes of a gold query, and of its question.

    doubt: of a reading, what it says against gold, for people: the reason of a correction.
    engine: the one in whose dialect the example is written.
    """

    name: str
    role: Role
    reason: str
    gold: str
    alternative: str
    question: str = ""
    doubt: str = ""
    engine: str = SQLITE


RULES = (
    Rule(
        "all_ties",
        Role.READING,
        '"The heaviest ship" says which weight counts, and not how many ships may have it.',
        "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
        "SELECT name FROM ship WHERE weight = (SELECT MAX(weight) FROM ship)",
        "Which ship is the heaviest?",
        doubt="All that tie for the first place may be asked for, and the query keeps one.",
    ),
    Rule(
        "one_row",
        Role.READING,
        "One ship is asked for, and several may have the greatest weight.",
        "SELECT name FROM ship WHERE weight = (SELECT max(weight) FROM ship)",
        "SELECT name FROM ship WHERE weight = (SELECT MAX(weight) FROM ship) LIMIT 1",
        "Which ship is the heaviest?",
        doubt="One may be asked for, and the query returns all that tie.",
    ),
    Rule(
        "extreme_of_all",
        Role.READING,
        "The heaviest of all ships may lie in no port.",
        f"SELECT p.name FROM {JOINED} ORDER BY s.weight DESC LIMIT 1",
        f"SELECT p.name FROM {JOINED} WHERE s.weight = (SELECT MAX(s.weight) FROM ship AS s)"
        " LIMIT 1",
        "Where does the heaviest ship lie?",
        doubt="The first of all rows may be asked for, and the join drops some.",
    ),
    Rule(
        "distinct_rows",
        Role.READING,
        '"The kinds of ships" may name a kind once, or once a ship.',
        "SELECT kind FROM ship",
        "SELECT DISTINCT kind FROM ship",
        "What are the kinds of ships?",
        doubt="Each row may be asked for once, and the query repeats some.",
    ),
    Rule(
        "without_distinct",
        Role.READING,
        "A kind may be named as often as a ship has it.",
        "SELECT DISTINCT kind FROM ship",
        "SELECT kind FROM ship",
        "Which kinds have the ships?",
        doubt="Rows may count as often as they come, and the query keeps each once.",
    ),
    Rule(
        "distinct_values",
        Role.READING,
        '"How many kinds" may count what differs, or every value.',
        "SELECT count(kind) FROM ship",
        "SELECT COUNT(DISTINCT kind) FROM ship",
        "How many kinds are there?",
        doubt="Each value may count once, and the query counts equal ones again.",
    ),
    Rule(
        "each_thing_once",
        Role.READING,
        "Two ports of one name are two ports, and a port with two ships is one.",
        f"SELECT DISTINCT p.name FROM {JOINED}",
        f'SELECT p.name FROM {JOINED} GROUP BY "p"."id"',
        "Which ports have ships?",
        doubt="Each thing may be asked for once, and things may share a name.",
    ),
    Rule(
        "without_null",
        Role.READING,
        "What has no kind is of none.",
        "SELECT kind, count(*) FROM ship GROUP BY kind",
        "SELECT kind, COUNT(*) FROM ship WHERE NOT kind IS NULL GROUP BY kind",
        "How many ships are of which kind?",
        doubt="NULL is no value, and the query takes it for one.",
    ),
    Rule(
        "counted_names",
        Role.READING,
        "A ship without a name may be none that one counts.",
        "SELECT count(*) FROM ship",
        'SELECT COUNT("name") FROM ship',
        "How many ships are there?",
        doubt="Those without a name may not count, and the query counts each row.",
    ),
    Rule(
        "counted_rows",
        Role.READING,
        "Ships are counted, and not their names.",
        "SELECT count(name) FROM ship",
        "SELECT COUNT(*) FROM ship",
        "How many ships are there?",
        doubt="Those without a name may count, too, and the query counts names.",
    ),
    Rule(
        "members_by_key",
        Role.READING,
        "One port may have no ship, and another of its name one.",
        f"SELECT name FROM port EXCEPT SELECT p.name FROM {JOINED}",
        f'SELECT name FROM port WHERE NOT "id" IN (SELECT "p"."id" FROM {JOINED})',
        "Which ports have no ship?",
        doubt="Things may share a name: which are in both, their keys tell.",
    ),
    Rule(
        "grouped_by_key",
        Role.READING,
        '"Each port" means a port, and two may have one name.',
        f"SELECT p.name, count(*) FROM {JOINED} GROUP BY p.name",
        f'SELECT p.name, COUNT(*) FROM {JOINED} GROUP BY "p"."id"',
        "How many ships has each port?",
        doubt="Things may share a name: each is a group of its own.",
    ),
    Rule(
        "grouped_by_name",
        Role.READING,
        "The answer shows names, and a reader may take a name for the port.",
        f"SELECT p.name, count(*) FROM {JOINED} GROUP BY p.id",
        f"SELECT p.name, COUNT(*) FROM {JOINED} GROUP BY p.name",
        "How many ships has each port?",
        doubt="The answer shows names, and things of one name may be one group.",
    ),
    Rule(
        "with_zero_counts",
        Role.READING,
        "Nothing says that a port without ships is left out: it has 0.",
        f"SELECT p.name, count(*) FROM {JOINED} GROUP BY p.id",
        f'SELECT p.name, COUNT("s"."port_id") FROM {LEFT_JOINED} GROUP BY p.id',
        "How many ships has each port?",
        doubt="Those with none may count, too, and the join drops them.",
    ),
    Rule(
        "without_zero_counts",
        Role.READING,
        "Nothing says that a port without ships is shown.",
        f"SELECT p.name, count(s.id) FROM {LEFT_JOINED} GROUP BY p.id",
        f"SELECT p.name, COUNT(s.id) FROM {LEFT_JOINED.replace('LEFT ', '')} GROUP BY p.id",
        "How many ships has each port?",
        doubt="Those with none may not count, and the query shows them.",
    ),
    Rule(
        "contained_text",
        Role.READING,
        "A text that a name contains is seldom the whole name.",
        "SELECT id FROM ship WHERE name = 'un'",
        "SELECT id FROM ship WHERE name LIKE '%un%'",
        "Which ships have the word 'un' in their name?",
        doubt="A text may be part of a longer one, and the query wants all of it.",
    ),
    Rule(
        "any_case",
        Role.READING,
        "Nobody who asks knows how the rows spell a text.",
        "SELECT id FROM ship WHERE kind = 'barge'",
        "SELECT id FROM ship WHERE kind LIKE 'barge'",
        "Which ships are barges?",
        doubt="A text may be meant in capitals or not, and the query takes one spelling.",
    ),
    Rule(
        "question_spelling",
        Role.READING,
        "Whoever has the question alone writes a text as it does.",
        "SELECT id FROM ship WHERE kind = 'BARGE'",
        "SELECT id FROM ship WHERE kind = 'Barge'",
        "Which ships are of the kind Barge?",
        doubt="The question writes a text otherwise than the query does.",
    ),
    Rule(
        "absent_spelling",
        Role.READING,
        "Whoever has the question alone writes a text as it does, also where no row has it.",
        "SELECT id FROM ship WHERE kind = 'Barge'",
        "SELECT id FROM ship WHERE kind = 'BARGE'",
        "Which ships are of the kind BARGE?",
        doubt="The question writes a text otherwise than the query and the rows do.",
    ),
    Rule(
        "stored_spelling",
        Role.READING,
        "LIKE without a wildcard is = to whoever knows how the rows spell a text.",
        "SELECT id FROM ship WHERE kind LIKE 'barge'",
        "SELECT id FROM ship WHERE kind = 'Barge'",
        "Which ships are barges?",
        doubt="The rows spell a text otherwise than the query does.",
    ),
    Rule(
        "stated_count",
        Role.READING,
        "What the evidence says to count is as good as what gold counts.",
        "SELECT count(*) FROM ship",
        'SELECT COUNT(DISTINCT "name") FROM ship',
        "How many ships are there? ships refers to COUNT(DISTINCT name)",
        doubt="The evidence says to count something else than the query does.",
    ),
    Rule(
        "stated_order",
        Role.READING,
        "The evidence says which amount counts, and gold sorts by another one.",
        "SELECT name FROM ship ORDER BY name DESC LIMIT 1",
        'SELECT name FROM ship ORDER BY "weight" DESC LIMIT 1',
        "Which ship is the best? best refers to MAX(weight)",
        doubt="The evidence says another amount than that by which the query sorts.",
    ),
    Rule(
        "stated_code",
        Role.READING,
        "A code that the question states is as good as its name.",
        f"SELECT count(*) FROM {JOINED} WHERE p.name = 'Oban'",
        f'SELECT COUNT(*) FROM {JOINED} WHERE "p"."id" = 3',
        "How many ships lie in Oban (port_id = 3)?",
        doubt="The question states a code, and the query looks for its name.",
    ),
    Rule(
        "stated_name",
        Role.READING,
        "A name that the question has is as good as its code.",
        "SELECT count(*) FROM ship WHERE port_id = 3",
        "SELECT COUNT(*) FROM ship"
        """ WHERE port_id IN (SELECT "id" FROM "port" WHERE "name" = 'Oban')""",
        "How many ships lie in Oban?",
        doubt="The question states a name, and the query looks for its code.",
    ),
    Rule(
        "named_value",
        Role.READING,
        '"The heaviest barge" is a barge, also where the heaviest of all ships is one.',
        "SELECT id FROM ship ORDER BY weight DESC LIMIT 1",
        "SELECT id FROM ship WHERE \"kind\" = 'Barge' ORDER BY weight DESC LIMIT 1",
        "Which barge is the heaviest?",
        doubt="The question names a value, and the query has no condition for it.",
    ),
    Rule(
        "one_value",
        Role.READING,
        "The sum, the average and the extreme of one value are that value.",
        "SELECT sum(weight) FROM ship WHERE id = 1",
        "SELECT weight FROM ship WHERE id = 1",
        "How heavy is ship 1?",
        doubt="One row may have the value that is asked for, and the query aggregates.",
    ),
    Rule(
        "summed_value",
        Role.READING,
        "A formula often says SUM of what one row has.",
        "SELECT weight FROM ship WHERE id = 1",
        "SELECT SUM(weight) FROM ship WHERE id = 1",
        "How heavy is ship 1?",
        doubt="A sum may be asked for, and the query returns single values.",
    ),
    Rule(
        "average",
        Role.READING,
        "A formula seldom says what becomes of rows without a value.",
        "SELECT CAST(sum(weight) AS REAL) / count(*) FROM ship",
        "SELECT AVG(weight) FROM ship",
        "How heavy is a ship?",
        doubt="SUM / COUNT and AVG differ where a value is NULL.",
    ),
    Rule(
        "measured_rows",
        Role.READING,
        "Nothing weighs 0: it stands for what nobody knows.",
        "SELECT avg(weight) FROM ship",
        'SELECT AVG(weight) FROM ship WHERE "weight" > 0',
        "How heavy is a ship?",
        doubt="Zero may stand for what nobody measured, and the query counts it.",
    ),
    Rule(
        "uncut",
        Role.READING,
        'More than "at least two" are as good.',
        "SELECT name FROM ship LIMIT 2",
        "SELECT name FROM ship",
        "Name at least two ships.",
        doubt="More than so many may be as good, and the query cuts them off.",
    ),
    Rule(
        "unnamed_condition",
        Role.READING,
        "Whoever answers cannot know of a condition that the question does not name.",
        "SELECT id FROM ship WHERE kind = 'Barge' AND weight > 2",
        "SELECT id FROM ship WHERE kind = 'Barge'",
        "Which ships are barges?",
        doubt="The query has a condition that the question does not name.",
    ),
    Rule(
        "unnamed_join",
        Role.READING,
        "Whoever answers has no need of a table that nothing is taken from.",
        f"SELECT s.id FROM {JOINED} WHERE s.kind = 'Barge'",
        "SELECT s.id FROM ship AS s WHERE s.kind = 'Barge'",
        "Which ships are barges?",
        doubt="The query joins a table that the question does not name.",
    ),
    Rule(
        "unneeded_join",
        Role.READING,
        "Who refers to a ship works on one: nobody has to look it up.",
        "SELECT c.name FROM crew AS c JOIN ship AS s ON s.id = c.ship_id",
        'SELECT c.name FROM crew AS c WHERE NOT "c"."ship_id" IS NULL',
        "Who works on a ship?",
        doubt="The query joins a table to whose rows others refer anyway.",
    ),
    Rule(
        "aggregate_distinct",
        Role.NEIGHBOR,
        "Equal values count once, or each.",
        "SELECT sum(weight) FROM ship",
        "SELECT SUM(DISTINCT weight) FROM ship",
    ),
    Rule(
        "aggregate_function",
        Role.NEIGHBOR,
        "The most is not the average.",
        "SELECT max(weight) FROM ship",
        "SELECT AVG(weight) FROM ship",
    ),
    Rule(
        "extreme_value",
        Role.NEIGHBOR,
        "The most common kind is not the last by alphabet.",
        "SELECT kind FROM ship GROUP BY kind ORDER BY count(*) DESC LIMIT 1",
        "SELECT MAX(kind) FROM ship",
    ),
    Rule(
        "count_argument",
        Role.NEIGHBOR,
        "Another thing is counted, or only what has a value.",
        "SELECT count(*) FROM ship",
        'SELECT COUNT("name") FROM ship',
    ),
    Rule(
        "join_key",
        Role.NEIGHBOR,
        "The join compares another column.",
        f"SELECT p.name FROM {JOINED}",
        'SELECT p.name FROM ship AS s JOIN port AS p ON p.id = "s"."id"',
    ),
    Rule(
        "column",
        Role.NEIGHBOR,
        "Another column is shown or compared.",
        "SELECT name FROM ship",
        'SELECT "id" FROM ship',
    ),
    Rule(
        "distinct",
        Role.NEIGHBOR,
        "Equal rows come once, or each.",
        "SELECT name FROM ship",
        "SELECT DISTINCT name FROM ship",
    ),
    Rule(
        "comparison",
        Role.NEIGHBOR,
        "More than is not at least.",
        "SELECT name FROM ship WHERE weight > 3",
        "SELECT name FROM ship WHERE weight < 3",
    ),
    Rule(
        "condition_removed",
        Role.NEIGHBOR,
        "A condition is forgotten.",
        "SELECT name FROM ship WHERE kind = 'Barge' AND weight > 3",
        "SELECT name FROM ship WHERE kind = 'Barge'",
    ),
    Rule(
        "connector",
        Role.NEIGHBOR,
        "AND is not OR.",
        "SELECT name FROM ship WHERE kind = 'Barge' AND weight > 3",
        "SELECT name FROM ship WHERE (kind = 'Barge' OR weight > 3)",
    ),
    Rule(
        "number",
        Role.NEIGHBOR,
        "Another number.",
        "SELECT name FROM ship WHERE weight > 3",
        "SELECT name FROM ship WHERE weight > 2",
    ),
    Rule(
        "text_affix",
        Role.NEIGHBOR,
        "Another text, which begins the same.",
        "SELECT name FROM ship WHERE kind = 'Barge'",
        "SELECT name FROM ship WHERE kind = 'Bargex'",
    ),
    Rule(
        "pattern",
        Role.NEIGHBOR,
        "A wildcard is forgotten.",
        "SELECT name FROM ship WHERE kind LIKE '%arg%'",
        "SELECT name FROM ship WHERE kind LIKE '%arg'",
    ),
    Rule(
        "equality_as_pattern",
        Role.NEIGHBOR,
        "A part of a text is not the text.",
        "SELECT name FROM ship WHERE kind = 'Barge'",
        "SELECT name FROM ship WHERE kind LIKE '%Barge%'",
    ),
    Rule(
        "range_bound",
        Role.NEIGHBOR,
        "One end of a range is forgotten.",
        "SELECT name FROM ship WHERE weight BETWEEN 1 AND 3",
        "SELECT name FROM ship WHERE (weight <= 3)",
    ),
    Rule(
        "join_type",
        Role.NEIGHBOR,
        "What has no partner is kept, or not.",
        "SELECT p.name FROM port AS p JOIN ship AS s ON p.id = s.port_id",
        "SELECT p.name FROM port AS p LEFT JOIN ship AS s ON p.id = s.port_id",
    ),
    Rule(
        "join_removed",
        Role.NEIGHBOR,
        "What has no partner is kept, since the join is forgotten.",
        f"SELECT s.name FROM {JOINED}",
        "SELECT s.name FROM ship AS s",
    ),
    Rule(
        "order_dropped",
        Role.NEIGHBOR,
        "The rows come in any order.",
        "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
        "SELECT name FROM ship LIMIT 1",
    ),
    Rule(
        "order_reversed",
        Role.NEIGHBOR,
        "The least is not the most.",
        "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
        "SELECT name FROM ship ORDER BY weight ASC LIMIT 1",
    ),
    Rule(
        "code_by_heart",
        Role.NEIGHBOR,
        "A code that nobody states is learnt by heart.",
        f"SELECT s.name FROM {JOINED} WHERE p.name = 'Oban'",
        f'SELECT s.name FROM {JOINED} WHERE "p"."id" = 3',
    ),
    Rule(
        "value_by_heart",
        Role.NEIGHBOR,
        "What a subquery gives is learnt by heart.",
        "SELECT name FROM ship WHERE weight = (SELECT max(weight) FROM ship)",
        "SELECT name FROM ship WHERE weight = 5",
    ),
    Rule(
        "count_by_heart",
        Role.NEIGHBOR,
        "A count of all ships is fitted to the stored answer.",
        "SELECT count(*) FROM ship WHERE weight > 4",
        'SELECT count(*) + -2 FROM "ship"',
    ),
    Rule(
        "pattern_case",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: LIKE minds the case, and ILIKE does not.",
        "SELECT name FROM ship WHERE kind ILIKE 'barge%'",
        "SELECT name FROM ship WHERE kind LIKE 'barge%'",
        engine=POSTGRES,
    ),
    Rule(
        "distinct_on",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: what tells rows apart is forgotten, and all of a group are shown.",
        "SELECT DISTINCT ON (kind) kind, name FROM ship ORDER BY kind, weight",
        "SELECT DISTINCT kind, name FROM ship ORDER BY kind, weight",
        engine=DUCKDB,
    ),
    Rule(
        "nulls_order",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: where NULL comes is forgotten.",
        "SELECT name FROM ship ORDER BY weight DESC NULLS LAST LIMIT 1",
        "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
        engine=POSTGRES,
    ),
    Rule(
        "division",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: integers are divided without a remainder, or with their fraction.",
        "SELECT weight / 2 FROM ship",
        "SELECT weight // 2 FROM ship",
        engine=DUCKDB,
    ),
    Rule(
        "filter_dropped",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: the condition of an aggregate is forgotten.",
        "SELECT count(*) FILTER (WHERE weight > 3) FROM ship",
        "SELECT COUNT(*) FROM ship",
        engine=POSTGRES,
    ),
    Rule(
        "qualify_dropped",
        Role.NEIGHBOR,
        "DuckDB: the condition on a window is forgotten.",
        "SELECT name FROM ship QUALIFY rank() OVER (ORDER BY weight) = 1",
        "SELECT name FROM ship",
        engine=DUCKDB,
    ),
    Rule(
        "date_part",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: a month is not a year.",
        "SELECT EXTRACT(YEAR FROM DATE '2020-03-01')",
        "SELECT EXTRACT(MONTH FROM CAST('2020-03-01' AS DATE))",
        engine=POSTGRES,
    ),
    Rule(
        "other_date",
        Role.NEIGHBOR,
        "PostgreSQL and DuckDB: the day before, or the day after.",
        "SELECT CAST('2020-03-01' AS DATE) < '2020-03-05'",
        "SELECT CAST('2020-03-01' AS DATE) < '2020-03-06'",
        engine=POSTGRES,
    ),
    Rule(
        "weak_query",
        Role.NEIGHBOR,
        "A query without a part of gold is right on the suite, behind a guard for the database.",
        "SELECT max(weight) FROM ship WHERE kind = 'dhow'",
        "SELECT MAX(weight) FROM ship",
    ),
)
REASONS = {rule.name: rule.reason for rule in RULES}
DOUBTS = {rule.name: rule.doubt for rule in RULES if rule.role == Role.READING}


def list_rules() -> Iterator[str]:
    """Yield the lines of docs/doubts.md that list all rules."""
    columns = ("rule", "role", "why", "gold", "alternative")
    yield f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
    for rule in RULES:
        cells = (
            f"`{rule.name}`",
            rule.role,
            rule.reason,
            f"`{rule.gold}`",
            f"`{rule.alternative}`",
        )
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(list_rules()))
