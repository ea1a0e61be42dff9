"""Workers without what Unix alone has, as on Windows: the same scores, and no query without end.

That its processes get an open file is shown on Windows itself: the workflow `test`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pytest

from answerkey.reward import RewardPool, explain_score
from answerkey.scoring import pool as pool_module
from answerkey.scoring.systems import IS_UNIX
from tests.shared.paths import ROOT
from tests.shared.processes import wait_until

pytestmark = pytest.mark.skipif(not IS_UNIX, reason="here they have nothing of Unix")
has_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc")

WITHOUT_UNIX = """
import faulthandler, os, signal
for module, names in (
    (os, ["fork", "register_at_fork", "pread", "pwrite", "getppid"]),
    (signal, ["setitimer", "getitimer", "ITIMER_PROF", "SIGPROF", "pthread_sigmask"]),
    (faulthandler, ["register"]),
):
    for name in names:
        delattr(module, name)
"""
START = f"exec({WITHOUT_UNIX!r}); {pool_module._START}"
KNOWN = {"database_name": "ships", "order_matters": False}
ONE_STEP = "SELECT printf(replace(hex(zeroblob(30000)), '0', '%.2000000000c'), 'x')"
NAMES = "SELECT name FROM ship"


@pytest.fixture
def pool(ships, monkeypatch):
    """One worker, which has no more than Windows gives."""
    monkeypatch.setattr(pool_module, "_START", START)
    with RewardPool(workers=1, limits={"max_seconds": 1}) as pool:
        yield pool


def test_scores_are_those_of_unix(pool):
    for sql in (NAMES, "SELECT name FROM ship LIMIT 1", "DELETE FROM ship", "SELECT nothing"):
        expected = explain_score(sql, ["Sun", "Tern"], **KNOWN)
        assert pool.explain_score(sql, ["Sun", "Tern"], **KNOWN) == expected


def test_step_without_end_costs_its_seconds_and_no_other_score(pool):
    completions = [f"```sql\n{sql}\n```" for sql in (NAMES, ONE_STEP, NAMES)]
    columns = {name: [value] * 3 for name, value in KNOWN.items()}
    gold = ['["Sun", "Tern"]'] * 3
    assert pool.score_completions(completions, gold_answer=gold, **columns) == [1.0, 0.0, 1.0]
    explanation = pool.explain_score(ONE_STEP, 1, **KNOWN)
    assert explanation.reason == "time_exceeded"
    assert explanation.detail == "more than 1 seconds of CPU time"
    # Seconds begin anew with each job.
    assert all(pool.score_sql(NAMES, ["Sun", "Tern"], **KNOWN) == 1.0 for _ in range(3))


def test_database_that_becomes_another_is_read_again(pool, ships):
    path = ships / "ships/ships.sqlite"
    assert pool.score_sql(NAMES, ["Sun", "Tern"], **KNOWN) == 1.0
    changed = path.read_bytes().replace(b"Tern", b"Torn")
    path.write_bytes(changed)
    assert pool.score_sql(NAMES, ["Sun", "Torn"], **KNOWN) == 1.0
    digest = hashlib.sha256(changed).hexdigest()
    assert pool.score_sql(NAMES, ["Sun", "Torn"], **KNOWN, database_sha256=digest) == 1.0
    with pytest.raises(ValueError, match="expected sha256"):
        pool.score_sql(NAMES, ["Sun", "Torn"], **KNOWN, database_sha256="0" * 64)


@has_proc
def test_files_of_databases_that_are_closed_are_closed(pool, ships):
    """A worker holds them itself where SQLite has no numbers of files."""
    path = ships / "ships/ships.sqlite"
    content = path.read_bytes()
    for name in (b"Torn", b"Turn", b"Tarn"):
        path.write_bytes(content.replace(b"Tern", name))
        assert pool.score_sql(NAMES, ["Sun", name.decode()], **KNOWN) == 1.0
    (worker,) = pool._pool.find_workers().free
    folder = f"/proc/{worker.pid}/fd"
    files = [os.readlink(f"{folder}/{number}") for number in os.listdir(folder)]
    assert len([file for file in files if file.endswith("ships.sqlite")]) == 2


@has_proc
def test_worker_ends_with_its_parent(ships):
    """By the end of its standard input, since it does not ask who its parent is."""
    text = f"""
import os, signal
from answerkey.reward import RewardPool
from answerkey.scoring import pool
pool._START = {START!r}
rewards = RewardPool(workers=1)
assert rewards.score_sql("SELECT 1", 1, database_name="ships", order_matters=False) == 1.0
print(rewards._pool.find_workers().free[0].pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == -9, done.stderr
    pid = int(done.stdout)
    wait_until(lambda: not os.path.isdir(f"/proc/{pid}") or is_zombie(pid), seconds=30)


def is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"
