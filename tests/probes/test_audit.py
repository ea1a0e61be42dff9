"""The audit of one query as a whole: what its report says."""

import pytest

from answerkey.english.question import Question
from answerkey.order.reordered_copy import ReorderedCopy
from answerkey.probes.audit import audit_query, report_question
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sqlite.answers import shape_answer
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    sql = (
        "CREATE TABLE ship (name TEXT, built INT, number TEXT);"
        "INSERT INTO ship VALUES ('Sun', 1, '9'), ('Tern', 2, '10');"
    )
    with ProbeWorld(tmp_path_factory.mktemp("audit"), sql) as opened:
        yield opened


def audit(world: ProbeWorld, sql: str, answer, **thresholds: int) -> dict:
    with ReorderedCopy(world.database.path) as copy:
        audited = audit_query(
            world.database,
            copy,
            sql,
            answer,
            schema=world.schema,
            thresholds=Thresholds(**thresholds),
        )
        return report_question(audited, Question(""))


@pytest.mark.parametrize(
    ("sql", "answer", "order_matters"),
    [
        ("SELECT name FROM ship", ["Sun", "Tern"], False),
        ("SELECT name FROM ship", ["Tern", "Sun"], False),
        ("SELECT name FROM ship ORDER BY built", ["Sun", "Tern"], True),
        ("SELECT name, max(built) FROM ship GROUP BY name", [["Tern", 2], ["Sun", 1]], False),
    ],
)
def test_sound_query_raises_nothing(world, sql, answer, order_matters):
    assert audit(world, sql, answer) == {
        "flags": [],
        "order_matters": order_matters,
        "accepted_rows": None,
    }


@pytest.mark.parametrize(
    ("term", "flags"),
    [
        ("1", []),
        ("-(-1)", []),
        ("4294967296", []),  # a constant: no place has 33 bits
    ],
)
def test_number_in_order_by_is_a_place_where_sqlite_reads_one(world, term, flags):
    report = audit(world, f"SELECT name FROM ship ORDER BY {term}", ["Sun", "Tern"])
    assert [flag["code"] for flag in report["flags"]] == flags


def test_query_that_is_no_sql_has_an_empty_report(world):
    assert audit(world, "SELECT (", None) == {
        "flags": [],
        "order_matters": False,
        "accepted_rows": None,
    }


def test_report_has_the_rows_of_every_right_answer_where_limit_cuts_a_tie(world):
    report = audit(world, "SELECT name FROM ship ORDER BY length(name) > 9 LIMIT 1", "Sun")
    assert report["accepted_rows"] == [{"rows": [["Sun"], ["Tern"]], "take": 1}]
    codes = [flag["code"] for flag in report["flags"]]
    assert {"tie_at_limit", "row_order_dependent"} <= set(codes)
    assert report["order_matters"]


@pytest.mark.parametrize(
    ("sql", "flags"),
    [
        ("SELECT built + 5 FROM ship LIMIT 1", ["limit_without_order", "row_order_dependent"]),
        ("SELECT name, count(*) FROM ship", ["bare_column", "row_order_dependent"]),
        ("SELECT name FROM ship ORDER BY number", ["numeric_text_order"]),
        (
            "SELECT name FROM ship WHERE built <> '' ORDER BY name",
            ["type_mismatch", "literal_not_in_column"],
        ),
        ("SELECT count(*) FROM ship WHERE built = 1", ["boolean_answer"]),
        ("SELECT value FROM json_each('[0,1,2,3,4,5,6,7,8,9]')", ["many_rows"]),
        ("SELECT length(hex(zeroblob(9))), hex(zeroblob(99)) || name FROM ship", ["too_large"]),
    ],
)
def test_report_has_what_each_probe_finds(world, sql, flags):
    answer = shape_answer(world.database.execute(sql))
    found = [flag["code"] for flag in audit(world, sql, answer, max_rows=9, max_bytes=300)["flags"]]
    assert sorted(found) == sorted(flags)


def test_query_too_deep_for_the_probes_is_not_taken_for_a_clean_one(world):
    steps = "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(200))
    sql = f"WITH a0 AS (SELECT name FROM ship){steps} SELECT name FROM a200 ORDER BY name"
    answer = shape_answer(world.database.execute(sql))
    assert answer == ["Sun", "Tern"]
    [flag] = audit(world, sql, answer)["flags"]
    assert flag["code"] == "not_reproducible"
    assert "too deeply" in flag["evidence"]["second_run"]


def test_stars_that_the_query_does_not_use_are_not_counted_out(world):
    steps = "".join(f", a{n + 1} AS (SELECT * FROM a{n}, a{n} AS b)" for n in range(11))
    sql = f"WITH a0 AS (SELECT * FROM ship){steps} SELECT name FROM ship ORDER BY name"
    answer = shape_answer(world.database.execute(sql))
    assert answer == ["Sun", "Tern"]
    [flag] = audit(world, sql, answer)["flags"]
    assert flag["evidence"]["second_run"] == "more than 1000 columns of one SELECT"
