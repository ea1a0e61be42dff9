"""The clock of a corpus: SQLite's functions of date and time at one instant."""

import contextlib
import random
import sqlite3
import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from answerkey.base.reasons import Reason
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite.clock import Clock, read_instant
from answerkey.engines.sqlite.guard import GuardedDatabase
from tests.shared.databases import make_database

DAY, MOMENT = "2025-01-30", "2024-02-29 23:59:58.750"
SCHEMA = """
CREATE TABLE ship (name TEXT, built TEXT, day AS (date(built)), made DEFAULT CURRENT_DATE,
  CHECK (built <> CURRENT_DATE));
CREATE INDEX by_day ON ship (date(built)) WHERE time(built) >= '00:00:00';
CREATE VIEW age AS SELECT name, CAST(julianday('now') - julianday(built) AS INTEGER) AS days,
  CURRENT_DATE AS today FROM ship;
INSERT INTO ship (name, built, made) VALUES ('Sun', '2025-01-29', NULL), ('now', '2024-12-30', 1);
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make_database(tmp_path_factory.mktemp("fleet") / "fleet.sqlite", SCHEMA)


# --- the functions are SQLite's own

IS_NEW = sqlite3.sqlite_version_info >= (3, 43)  # subsec and timediff
NOWS = ["now", "NOW", "nOw", b"now", "now\0x", b"Now\0\xff"]
SECONDS = [-1, 1700000000, "1700000000", 1e300]
TIMES = [
    *(None, "", "no", 0, 2460000.5, *SECONDS, "12:30", b"2020-01-01"),
    *("2024-02-29", "2024-02-30", "2024-02-29T23:59:59.999Z", "2024-02-29 08:00:00+02:00"),
    *(" now", "now ", "localtime", "utc", "now now"),  # which are no times
]
ZONES = ["localtime", "UTC", b"LocalTime", "utc\0x"]
MODIFIERS = [
    *("+1 month", "-30 days", "start of year", "weekday 0", "unixepoch", "julianday", "auto"),
    *(*ZONES, " utc", "+1.5 hours", "-08:00", "now", "x"),
    *(None, 1, 1.0, "start of month", "-6 days", "+0001-02-03 04:05"),
]
FORMATS = ["%Y-%m-%d %H:%M:%f", "%J %j %s %W %w", "%%", "%Q", "", None, 7, "now", "%Y"]


def choose_call(chosen):
    """A call as somebody writes it, and the same with an instant in the place of the clock."""
    name = chosen.choice(["date", "time", "datetime", "julianday", "unixepoch", "strftime"])
    before = [chosen.choice(FORMATS)] if name == "strftime" else []
    kind = chosen.randrange(10)
    if kind == 0:
        return name, before, [*before, "NOW"]
    modifiers = [chosen.choice(MODIFIERS) for _ in range(chosen.choice([0, 0, 1, 1, 2, 3]))]
    if kind == 1 and IS_NEW:
        word = chosen.choice(["subsec", "SUBSECOND"])
        return name, [*before, word, *modifiers], [*before, "NOW", *modifiers, word]
    if kind < 6:
        return name, [*before, chosen.choice(NOWS), *modifiers], [*before, "NOW", *modifiers]
    value = chosen.choice(TIMES)
    if value in SECONDS:  # out of range: of these SQLite makes a time, if a zone stands behind
        modifiers = [each for each in modifiers if each not in ZONES]
    given = [*before, value, *modifiers]
    return name, given, given


@pytest.mark.parametrize("instant", [DAY, MOMENT])
def test_function_gives_what_it_gives_in_sqlite_where_the_clock_stands_at_the_instant(
    instant, monkeypatch
):
    """SQLite is asked in a zone that is UTC, and its functions at an instant in another one."""
    chosen = random.Random(instant)
    calls = [choose_call(chosen) for _ in range(600)]
    if IS_NEW:
        pairs = [("NOW", "2020-01-01"), ("2020-01-01", "NOW"), ("NOW", "NOW"), (None, "NOW")]
        calls += [
            ("timediff", ["now" if value == "NOW" else value for value in pair], list(pair))
            for pair in pairs
        ]
    wanted = []
    try:
        monkeypatch.setenv("TZ", "UTC0")
        time.tzset()
        with contextlib.closing(sqlite3.connect(":memory:")) as plain:
            for name, _, arguments in calls:
                values = [instant if value == "NOW" else value for value in arguments]
                sql = f"SELECT {name}({', '.join('?' * len(values))})"
                (row,) = plain.execute(sql, values).fetchall()
                wanted.append((*row, type(row[0])))
        monkeypatch.setenv("TZ", "XYZ-5:45")
        time.tzset()
        connection = sqlite3.connect(":memory:")
        with (
            contextlib.closing(connection),
            contextlib.closing(Clock(connection, pytest.fail, now=instant)),
        ):
            found = [ask(connection, name, arguments) for name, arguments, _ in calls]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [pair for pair in zip(calls, wanted, found, strict=True) if pair[1] != pair[2]] == []
    assert len({value for value, _ in found}) > 50


def ask(connection, name, arguments):
    """The value of a call, and its type."""
    sql = f"SELECT {name}({', '.join('?' * len(arguments))})"
    (value,) = connection.execute(sql, arguments).fetchone()
    return value, type(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        *[("current_date", DAY), ("CURRENT_TIME", "00:00:00"), ('"current_date"()', DAY)],
        *[("Current_Timestamp", f"{DAY} 00:00:00"), ("typeof(CURRENT_DATE)", "text")],
        *[("date()", DAY), ("strftime('%Y')", "2025"), ("unixepoch()", 1738195200)],
        *[("julianday('n' || 'ow')", 2460705.5), ("typeof(julianday())", "real")],
        *[("(SELECT date(name) FROM ship WHERE name = 'now')", DAY)],
        *[("date('now', 'localtime', '-1 day')", "2025-01-29"), ("time('now', 'utc')", "00:00:00")],
        *[("CURRENT_DATE < '2025-01-31' AND CURRENT_DATE > '2025-01-29'", 1)],
        *[("(SELECT count(*) FROM ship WHERE built >= date('now', '-30 days'))", 1)],
        *[("(SELECT min(days) FROM age)", 1), ("(SELECT today FROM age LIMIT 1)", DAY)],
        *[("(SELECT day FROM ship WHERE date(built) = date('now', '-1 day'))", "2025-01-29")],
        *[("(SELECT max(made) FROM ship)", 1)],
        *[
            (
                "(SELECT count(*) FROM ship GROUP BY built > CURRENT_DATE HAVING date() = '2025')",
                None,
            )
        ],
    ],
)
def test_clock_of_a_query_stands_at_the_instant(path, expression, value):
    with GuardedDatabase(path, now=DAY, kept_statements=8) as database:
        for _ in range(2):  # the second time a kept statement
            assert database.execute(f"SELECT {expression}") == [(value,)]
        assert ("ship", "built") in database.list_reads("SELECT CURRENT_DATE, built FROM ship")


@pytest.mark.parametrize(
    "expression", ["random()", "randomblob(4)", "changes()", "sqlite_version()"]
)
def test_what_depends_on_more_than_the_clock_stays_refused(path, expression):
    with GuardedDatabase(path, now=DAY) as database, pytest.raises(QueryError) as caught:
        database.execute(f"SELECT {expression}, CURRENT_DATE")
    assert caught.value.reason is Reason.NONDETERMINISTIC_FUNCTION


@pytest.mark.parametrize(
    "call", ["date('now'", "timediff('now')", "current_date()", "CURRENT_DATE(1)"]
)
def test_call_that_sqlite_refuses_is_refused_at_an_instant_too(path, call):
    plain = sqlite3.connect(":memory:")
    with contextlib.closing(plain), pytest.raises(sqlite3.Error) as wanted:
        plain.execute(f"SELECT {call}")
    with GuardedDatabase(path, now=DAY) as database, pytest.raises(QueryError) as caught:
        database.execute(f"SELECT {call}")
    assert (caught.value.reason, caught.value.detail) == (Reason.SQL_ERROR, str(wanted.value))


# --- the instant


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        ("2025-01-30", "2025-01-30"),
        (date(2025, 1, 30), "2025-01-30"),
        (" 2025-01-30 ", "2025-01-30"),
        ("2025-01-30T09:30:00Z", "2025-01-30 09:30:00"),
        ("2025-01-30 09:30", "2025-01-30 09:30:00"),
        ("2025-01-30 01:30:00+02:00", "2025-01-29 23:30:00"),
        (datetime(2025, 1, 30, 9, 30), "2025-01-30 09:30:00"),
        (datetime(2025, 1, 30, 9, 30, 0, 250_999, UTC), "2025-01-30 09:30:00.250"),
        (datetime(2025, 1, 30, tzinfo=timezone(timedelta(hours=-5))), "2025-01-30 05:00:00"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_instant_is_a_date_or_a_time_in_utc(path, value, instant):
    assert read_instant(value) == read_instant(instant) == instant
    with contextlib.closing(sqlite3.connect(":memory:")) as plain:
        assert (
            plain.execute("SELECT datetime(?)", [instant]).fetchone()[0][:16]
            == (f"{instant} 00:00:00"[:16])
        )


@pytest.mark.parametrize(
    "value",
    *[["today", "now", "", "2025", "30.1.2025", 20250130, 2025.1, True, None, "2025-02-30"]],
)
def test_what_is_no_instant_is_told_with_what_was_expected(value):
    with pytest.raises(ValueError, match="expected a date, or a time in UTC, such as '2025-01-30'"):
        read_instant(value)
