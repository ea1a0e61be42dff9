"""A gold query that fails is told when it happens: database, SQLite's words, question."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios

import pytest

from answerkey.shards.query_run import show_line
from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

FAILING = [  # gold SQL, and the warning; None: it does not fail
    ("SELECT 1", None),
    ("SELECT NULL", None),
    ("SELECT absent FROM ship", "no such column: absent (fleet_train_002, sql_error)"),
    ("DROP TABLE ship", "DELETE sqlite_master refused (fleet_train_003, not_a_select)"),
    ("SELECT photo FROM ship", "a BLOB of 1 bytes in the answer (fleet_train_004, blob)"),
    ('SELECT [a\n\x1b[2J"b] FROM ship', 'no such column: a  [2J"b (fleet_train_005, sql_error)'),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def find_warnings(output):
    start = "compute_gold_answers: warning: "
    return [line.removeprefix(start) for line in output.splitlines() if line.startswith(start)]


def test_each_question_that_fails_is_one_line_of_its_run(project, capfd):
    project.add("fleet", [sql for sql, _ in FAILING])
    output = project.run(capfd, max_warnings=20)
    assert find_warnings(output) == [
        f"SQL execution failed for fleet: {words}" for _, words in FAILING if words is not None
    ]
    assert len(output.splitlines()) == 4 + 1
    assert find_warnings(project.run(capfd, max_warnings=20)) == []  # nothing was executed


def test_questions_with_the_same_query_are_each_named(project, capfd):
    sql = "SELECT absent FROM ship"
    project.add("a", [sql, "SELECT 1", sql]).add("b", [sql])
    found = find_warnings(project.run(capfd, max_warnings=3))
    assert sorted(found) == [
        "SQL execution failed for a: no such column: absent (a_train_000, sql_error)",
        "SQL execution failed for a: no such column: absent (a_train_002, sql_error)",
        "SQL execution failed for b: no such column: absent (b_train_000, sql_error)",
    ]


@pytest.mark.parametrize(("most", "lines"), [(0, 0), (3, 4), (4, 4)])
def test_from_a_number_on_failures_are_counted(project, capfd, most, lines):
    project.add("fleet", [sql for sql, _ in FAILING])
    found = find_warnings(project.run(capfd, max_warnings=most))
    assert len(found) == lines
    if 0 < most < 4:
        assert found[-1] == f"and {4 - most} more in data/questions/excluded.jsonl"


def test_number_of_warnings_changes_no_byte_and_executes_nothing(project, capfd):
    project.add("fleet", [sql for sql, _ in FAILING])
    project.run(capfd, max_warnings=0)
    shards = project.bytes()
    assert ", 0 queries executed" in project.run(capfd, max_warnings=7)
    assert project.bytes() == shards


def test_long_words_are_cut():
    assert show_line("x" * 1000) == "x" * 200 + "…"


def test_warning_stands_on_a_line_of_its_own_beside_a_progress_bar(project):
    """On a terminal: what the bar wrote is wiped before the warning begins."""
    for name in "abcd":
        project.add(name, ["SELECT absent FROM ship", *(f"SELECT {n}" for n in range(100))])
    project.write(max_warnings=10, workers=2)
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 150))  # of no width, it has no bar
    with subprocess.Popen(
        [sys.executable, "-m", "stages.compute_gold_answers"],
        cwd=project.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stderr=follower,
    ) as process:
        os.close(follower)
        said = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the end, on Linux
                break
            if not chunk:
                break
            said += chunk
    os.close(leader)
    assert process.returncode == 0
    text = said.decode()
    assert "executing: " in text
    shown = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
    lines = sorted(line for line in shown if "warning" in line)
    assert lines == [
        f"compute_gold_answers: warning: SQL execution failed for {name}:"
        f" no such column: absent ({name}_train_000, sql_error)"
        for name in "abcd"
    ]
    assert re.search(r"^compute_gold_answers: 404 questions", shown[-2])
