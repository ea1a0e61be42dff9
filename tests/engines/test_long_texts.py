"""What reads foreign text ends, whatever the text: each with texts that are made to hold it up.

A pattern that goes back over what it has read takes hours for some of them, and holds Python's lock
meanwhile, so that no watchdog runs. All run in one process, which is ended where it is not done in
time, and says before each function which it is.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.paths import ROOT

PATIENCE_S = 120  # some seconds are what it takes
SIZE = 150_000

SPACES, DIGITS = " " * SIZE, "1" * SIZE


def repeat(unit: str) -> str:
    return (unit * (SIZE // len(unit) + 1))[:SIZE]


OF_SQL = [
    f"SELECT strftime({SPACES}'%Y', '2020-01-01')",
    f"SELECT '{repeat('strftime(')}'",
    *map(repeat, ("strftime(", "date('subsec' ", "x AS (", "'now ", "'", "[", "/*")),
]
OF_NUMBERS = [
    *(f"{DIGITS}a", f"-{DIGITS}a", f"1.{DIGITS}x", f"1e{DIGITS}x", f"{SPACES}x", f"1{SPACES}x"),
    *(f"1{repeat(',123')}x", repeat("1."), repeat("-")),
]
OF_NAMES = [
    *map(repeat, ("a_train_", "_000", "a", "__")),
    *map(repeat, ("IN (?, ", "\x01c", "\x01", "'", '"', "''a")),
]
OF_PATTERNS = [
    *(f"CREATE{SPACES}x", f"{SPACES}x", f")WITHOUT{SPACES}x", f"CROSS{SPACES}x", f"a_{DIGITS}!"),
    *map(repeat, (")WITHOUT ", "CROSS ", "CREATE ", "rowid_", "sqlite", "current_", "aé", "\\")),
]
OF_FENCES = [
    f"```{repeat('a')}",
    " ".join("`" * length for length in range(8, 2, -1)) + repeat("a"),
    *map(repeat, ("`", "```", "```sql ", "````a ", "``` ```` ````` ")),
]

RUN = """
import json, sys
for name, (code, texts) in json.load(sys.stdin).items():
    print(name, flush=True)
    scope = {}
    exec(code, scope)
    for text in texts:
        scope["read"](text)
"""
CASES = {
    "normalize_sql": (
        "from answerkey.comparison.compare import normalize_sql as read",
        [*OF_SQL, *map(repeat, (" ", ";", "/*", "--\n", "\ufeff", "/**/", "-", "x"))],
    ),
    "extract_sql": ("from answerkey.reward import extract_sql as read", OF_FENCES),
    "make_completion": ("from answerkey.exports.prompts import make_completion as read", OF_FENCES),
    "read_number": (
        "from answerkey.doubts.text_numbers import looks_like_number as read",
        OF_NUMBERS,
    ),
    "number_names": (
        "from answerkey.sql.canonical import number_names as read",
        [*OF_NUMBERS, *OF_NAMES],
    ),
    "has_rowid": (
        "from answerkey.engines.schema import Table\n"
        "def read(text): return Table('t', False, (), sql=text).has_rowid",
        OF_PATTERNS,
    ),
    "search": (
        "import dataclasses, pathlib, tempfile\n"
        "from answerkey.order.inspection import ReorderedCopy\n"
        "from answerkey.doubts.cross_join import find_cross_join\n"
        "from tests.shared.probe_world import ProbeWorld\n"
        "world = ProbeWorld(pathlib.Path(tempfile.mkdtemp()), 'CREATE TABLE t (x)')\n"
        "inspection = world.inspect('SELECT 1')\n"
        "def read(text):\n"
        "    find_cross_join(dataclasses.replace(inspection, sql=text))\n"
        "    with ReorderedCopy(world.database.path) as copy: copy.find_database(text)",
        OF_PATTERNS,
    ),
    "check_db_id": (
        "from answerkey.engines.sqlite.files import check_db_id\n"
        "def read(text):\n"
        "    try: check_db_id(text)\n"
        "    except ValueError: pass",
        OF_NAMES,
    ),
    "check_record": (
        "from answerkey.validation.checks import FIELDS, check_record\n"
        "def read(text):\n"
        "    rest = ('SELECT 1', 1, 'integer', 'easy', ['a'], 'train')\n"
        "    check_record(dict(zip(FIELDS, (text, 'Who?', text[: len(text) // 2], *rest))))",
        OF_NAMES,
    ),
    "tokens": (
        "from sqlglot.errors import SqlglotError\n"
        "from answerkey.engines.sqlite.collations import list_collations\n"
        "from answerkey.sql.query_tree import MAX_SQL_BYTES, parse_sql\n"
        "def read(text):\n"
        "    list_collations(text)\n"
        "    try: parse_sql(text[:MAX_SQL_BYTES])\n"
        "    except (SqlglotError, RecursionError): pass",
        [
            *map(repeat, ("CAST(a AS ", "(", "'", "/*")),
            f"{'CAST(' * (SIZE // 12)}a{' AS INT)' * (SIZE // 12)}",
        ],
    ),
}


def run_python(code: str, *arguments: str, text: str = "") -> None:
    """Run a program; where it fails or takes too long, all that it wrote is told."""
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=text,
        cwd=ROOT,
        check=True,
        text=True,
        timeout=PATIENCE_S,
    )


@pytest.mark.slow
def test_long_text_of_any_kind_is_read_in_time() -> None:
    assert all(len(text) >= SIZE for _, texts in CASES.values() for text in texts)
    run_python(RUN, text=json.dumps(CASES))


QUERIES = """
import contextlib, pathlib, sys
import pytest

from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.database import QueryError
with GuardedDatabase(pathlib.Path(sys.argv[1])) as database:
    for spaces in (5_000, 90_000):
        sql = "SELECT strftime(" + " " * spaces + "'%Y', '2020-01-01')"
        assert database.execute(sql) == [("2020",)]
    assert database.execute(f"SELECT date('2020-01-01'), '{'strftime(' * 10_000}'")
    with contextlib.suppress(QueryError):
        database.execute("SELECT " + "strftime(" * 10_000)
"""


def test_query_of_many_spaces_is_answered_in_time(tmp_path: Path) -> None:
    path = tmp_path / "fleet.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE ship (name TEXT)")
    run_python(QUERIES, str(path))
