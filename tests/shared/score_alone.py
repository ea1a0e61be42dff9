"""The reward with the standard library alone: a script, for an environment that has the package and
nothing else. It says where the package is.

    python tests/shared/score_alone.py
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import tempfile
from pathlib import Path

from answerkey import reward

SHIPS = "CREATE TABLE ship (name TEXT, weight REAL);"
REAL = f"{SHIPS} INSERT INTO ship VALUES ('Sun', 55.5), ('Tern', 40.0)"
OTHER = f"{SHIPS} INSERT INTO ship VALUES ('Sun', 55.5), ('Owl', 70.0)"
GOLD = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
LUCKY = "SELECT name FROM ship WHERE weight = 55.5"
# One step of SQLite that takes hours.
ENDLESS = "SELECT printf(replace(hex(zeroblob(30000)), '0', '%.2000000000c'), 'x')"


def write_database(path: Path, sql: str) -> str:
    """Write a database file, and return its sha256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(sql)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fence(sql: str) -> str:
    return f"```sql\n{sql}\n```"


def check(folder: Path) -> None:
    path = folder / "databases/ships/ships.sqlite"
    terms = {
        "database_name": "ships",
        "order_matters": False,
        "database_sha256": write_database(path, REAL),
    }
    suite = {
        "path": "data/test_suites/ships/0.sqlite",
        "sha256": write_database(folder / "suites/ships/0.sqlite", OTHER),
        "gold_answer": "Owl",
        "order_matters": False,
    }
    places = {"databases": folder / "databases", "test_suites": folder / "suites"}
    limits = {"max_seconds": 1}
    with reward.RewardPool(workers=2, limits=limits, **places) as pool:
        for sql, expected in ((GOLD, 1.0), (LUCKY, 1.0), ("DELETE FROM ship", 0.0)):
            assert pool.score_sql(sql, "Sun", **terms) == expected, sql
        with_suite = {**terms, "test_suite": [suite]}
        assert pool.score_sql(GOLD, "Sun", **with_suite) == 1.0
        assert pool.score_sql(LUCKY, "Sun", **with_suite) == 0.0
        assert pool.explain_score("SELECT 1", "Sun", **terms).reason == "wrong_rows"
        assert pool.explain_score("SELEC", "Sun", **terms).reason == "sql_error"

        completions = [fence(sql) for sql in (GOLD, ENDLESS, LUCKY, GOLD)] * 2
        columns = {name: [value] * 8 for name, value in terms.items()}
        columns |= {"gold_answer": ['"Sun"'] * 8, "test_suite": [json.dumps([suite])] * 8}
        expected = [1.0, 0.0, 0.0, 1.0] * 2
        assert pool.score_completions(completions, **columns) == expected
        assert asyncio.run(pool.score_completions_async(completions, **columns)) == expected
        explanation = pool.explain_score(ENDLESS, "Sun", **terms, max_steps=10**9)
        assert explanation.reason == "time_exceeded", explanation

        path.write_bytes(path.read_bytes().replace(b"Tern", b"Torn"))
        with contextlib.suppress(ValueError):
            raise AssertionError(pool.score_sql(GOLD, "Sun", **terms))
        without = {name: terms[name] for name in ("database_name", "order_matters")}
        assert pool.score_sql("SELECT min(name), max(name) FROM ship", [["Sun", "Torn"]], **without)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        check(Path(temporary))
    print(reward.__file__)
