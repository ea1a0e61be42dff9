"""No prediction harms the process that asks, nor the score of another prediction."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from answerkey.reward import (
    Limits,
    RewardPool,
    compute_score,
    execute,
    explain_score,
    score_completions,
    score_sql,
)
from answerkey.scoring.pool import Pool, WorkerProcess
from answerkey.scoring.worker import SUMMARY_ROWS, Job, JobKind
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.shared.processes import wait_until

COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
ONE_STEP = "SELECT printf(replace(hex(zeroblob(30000)), '0', '%.2000000000c'), 'x')"
LONG_LIKE = (
    "SELECT count(*) FROM ship AS a, ship AS b, ship AS c, ship AS d"
    f" WHERE replace(hex(zeroblob(490000)), '0', 'a') || a.name LIKE '%{'a' * 990}b'"
)
LONG_SORT = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450)"
    " SELECT count(*) FROM (SELECT a.i FROM n AS a, n AS b, ship"
    " ORDER BY replace(hex(zeroblob(100 + a.i % 3)), '0', 'ab') || b.i, a.i LIMIT 200000)"
)
KNOWN = {"database_name": "ships", "order_matters": False}
SHORT = {"max_seconds": 1}


def fence(sql: str) -> str:
    return f"```sql\n{sql}\n```"


def columns(count: int) -> dict[str, list[object]]:
    return {
        "gold_answer": ['["Sun", "Tern"]'] * count,
        "database_name": ["ships"] * count,
        "order_matters": [False] * count,
    }


def run_python(text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("sql", [ONE_STEP, pytest.param(LONG_LIKE, marks=pytest.mark.slow)])
def test_step_without_end_costs_its_seconds_and_scores_nothing(ships, sql):
    explanation = explain_score(sql, ["Sun"], **KNOWN, limits=SHORT, max_steps=10**9)
    assert (explanation.reward, explanation.reason) == (0.0, "time_exceeded")
    assert explanation.detail == "more than 1 seconds of CPU time"


@pytest.mark.slow
def test_whatever_asks_for_a_step_without_end_gets_nothing(ships):
    assert score_sql(ONE_STEP, ["Sun"], **KNOWN, limits=SHORT, max_steps=10**9) == 0.0
    assert execute(ONE_STEP, "ships", limits=SHORT) is None


def test_counting_without_end_ends_by_its_steps(ships):
    for max_steps, words in ((2_000_000, "more than 2000000 virtual"), (None, "more than 1")):
        explanation = explain_score(COUNTING, 1, **KNOWN, max_steps=max_steps)
        assert explanation.reason == "step_budget_exceeded"
        assert explanation.detail.startswith(words)
    explanation = explain_score(COUNTING, 1, **KNOWN, max_steps=10**9, limits={"max_steps": 5000})
    assert explanation.detail == "more than 5000 virtual machine steps"


def test_larger_database_allows_more_steps_where_nothing_is_known(ships):
    count = "SELECT count(*) FROM ship AS a, ship AS b"
    with sqlite3.connect(ships / "ships" / "ships.sqlite") as connection:
        connection.execute(
            "INSERT INTO ship WITH RECURSIVE n(i) AS"
            " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) SELECT 'Sun', i FROM n"
        )
    connection.close()
    assert score_sql(count, 602 * 602, **KNOWN) == 1.0
    assert score_sql(count, 602 * 602, **KNOWN, max_steps=100_000) == 0.0


def test_hostile_predictions_change_no_other_score(ships):
    good, bad = fence("SELECT name FROM ship"), fence("SELECT 'Sun' FROM ship")
    completions = [good, bad] * 100
    expected = [1.0, 0.0] * 100
    for place, sql in (
        (20, ONE_STEP),
        (91, COUNTING),
        (150, LONG_SORT),
        (151, "SELECT zeroblob(9)"),
    ):
        completions[place] = fence(sql)
        expected[place] = 0.0
    with RewardPool(workers=2, limits=SHORT) as pool:
        assert pool.score_completions(completions, **columns(200)) == expected


def list_workers(pool: RewardPool) -> list[WorkerProcess]:
    workers = pool._pool.find_workers()
    return [*workers.free, *workers.busy]


def test_job_whose_workers_are_killed_scores_nothing(ships):
    with (
        RewardPool(workers=1, limits={"max_seconds": 60}) as pool,
        ThreadPoolExecutor(1) as thread,
    ):
        run = thread.submit(pool.explain_score, ONE_STEP, 1, **KNOWN)
        killed: set[int] = set()
        for _ in range(2):  # killed twice, by somebody who ends processes that are too large
            wait_until(lambda: kill_one_that_began(pool, killed), seconds=300)
        explanation = run.result(timeout=300)
        assert explanation.reason == "worker_died"
        assert explanation.detail == "its process ended 2 times, the last time with status -9"


def kill_one_that_began(pool: RewardPool, killed: set[int]) -> bool:
    for worker in list_workers(pool):
        has_begun = os.pread(worker._begun.fileno(), 1, 0) == b"\0"
        if worker.pid not in killed and has_begun:
            os.kill(worker.pid, signal.SIGKILL)
            killed.add(worker.pid)
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "handler", ["signal.SIG_IGN", pytest.param("wait_for_all", marks=pytest.mark.slow)]
)
def test_ends_of_workers_are_told_apart_whoever_waits_for_children(ships, handler):
    text = f"""
        import os, signal, sys, threading, time
        from answerkey.reward import RewardPool
        def wait_for_all(*_):
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
        signal.signal(signal.SIGCHLD, {handler})
        known = {{"database_name": "ships", "order_matters": False}}
        def kill_two(workers):
            killed = set()
            while len(killed) < 2:
                time.sleep(0.05)
                for worker in list(workers.busy):
                    has_begun = os.pread(worker._begun.fileno(), 1, 0) == bytes(1)
                    if has_begun and worker.pid not in killed:
                        os.kill(worker.pid, signal.SIGKILL)
                        killed.add(worker.pid)
        with RewardPool(workers=1, limits={{"max_seconds": 1}}) as pool:
            for sql in (sys.argv[1], "SELECT nothing"):
                print(pool.explain_score(sql, 1, **known).reason)
        with RewardPool(workers=1, limits={{"max_seconds": 60}}) as pool:
            workers = pool._pool.find_workers()
            threading.Thread(target=kill_two, args=(workers,), daemon=True).start()
            print(pool.explain_score(sys.argv[1], 1, **known).reason)
    """
    done = run_python(text, ONE_STEP)
    assert done.stdout.split() == ["time_exceeded", "sql_error", "worker_died"], done.stderr


@pytest.mark.parametrize(
    "closed", [*(pytest.param(one, marks=pytest.mark.slow) for one in ("0", "1", "2", "01")), "012"]
)
def test_process_without_standard_files_scores(ships, tmp_path, closed):
    text = """
        import os, sys
        from answerkey.reward import score_sql
        for number in sys.argv[1]:
            os.close(int(number))
        known = {"database_name": "ships", "order_matters": False}
        found = [score_sql(sql, 1, **known) for sql in ("SELECT 1", "SELECT 2", "SELECT 1")]
        with open(sys.argv[2], "w") as file:
            print(*found, file=file)
        os._exit(0)
    """
    said = tmp_path / "said.txt"
    done = run_python(text, closed, said)
    assert said.read_text() == "1.0 0.0 1.0\n", done.stderr


def replace_file(path: Path, content: bytes, number: int) -> None:
    new = path.with_name(f"{number}.sqlite")
    new.write_bytes(content)
    new.replace(path)


def link_file(path: Path, content: bytes, number: int) -> None:
    target = path.with_name(f"{hashlib.sha256(content).hexdigest()}.sqlite")
    if not target.exists():
        target.write_bytes(content)
    new = path.with_name("link")
    new.symlink_to(target)
    new.replace(path)


def link_folder(path: Path, content: bytes, number: int) -> None:
    target = path.parent.with_name(hashlib.sha256(content).hexdigest())
    if not target.exists():
        target.mkdir()
        (target / path.name).write_bytes(content)
        if path.parent.is_dir() and not path.parent.is_symlink():
            path.parent.rename(path.parent.with_name("before"))
    new = path.parent.with_name("link")
    new.symlink_to(target)
    new.replace(path.parent)


def write_in_place(path: Path, content: bytes, number: int) -> None:
    with path.open("r+b") as file:
        file.write(content)


@pytest.mark.parametrize("swap", [replace_file, link_file, link_folder, write_in_place])
def test_database_that_is_swapped_gives_a_right_score_or_an_error(ships, swap):
    path = ships / "ships" / "ships.sqlite"
    right = path.read_bytes()
    other = right.replace(b"Tern", b"Gull")
    sha256 = hashlib.sha256(right).hexdigest()
    is_over = threading.Event()

    def keep_swapping() -> None:
        for number in count():
            swap(path, (other, right)[number % 2], number)
            if is_over.wait(0.001):
                return

    found: Counter[float | str] = Counter()
    thread = threading.Thread(target=keep_swapping)
    thread.start()
    try:
        with RewardPool(workers=1) as pool:
            for number in range(400):
                sql = f"SELECT name FROM ship WHERE {number} = {number}"
                try:
                    reward = pool.score_sql(sql, ["Sun", "Tern"], **KNOWN, database_sha256=sha256)
                except (ValueError, sqlite3.DatabaseError) as error:
                    reward = re.sub(r"[0-9a-f]{64}", "HASH", str(error))
                found[reward] += 1
    finally:
        is_over.set()
        thread.join(60)
    assert found.pop(1.0), found
    assert all("ships.sqlite: " in error for error in map(str, found)), found


@pytest.mark.slow
def test_what_is_done_before_a_process_ends_is_done_once_more_at_most(ships, monkeypatch):
    asked: list[int] = []
    do = WorkerProcess.do

    def count_and_do(self: WorkerProcess, jobs: Sequence[Job]) -> object:
        asked.extend(int(job.text.split()[-1]) for job in jobs)
        return do(self, jobs)

    monkeypatch.setattr(WorkerProcess, "do", count_and_do)
    path = str(ships / "ships" / "ships.sqlite")
    bombs = (3, 7)
    texts = [f"{ONE_STEP if number in bombs else 'SELECT 1'} -- {number}" for number in range(48)]
    with Pool(1, limits=Limits(max_seconds=1)) as pool:
        found = pool.run([Job(JobKind.SCORE, path, text, gold_answer="1") for text in texts])
    assert found == [float(number not in bombs) for number in range(48)]
    assert [asked.count(number) for number in (0, 1, 2)] == [2, 2, 2]


def test_worker_that_cannot_start_is_an_error(ships, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with RewardPool(workers=1) as pool, pytest.raises(RuntimeError, match="end before they begin"):
        pool.score_sql("SELECT 1", 1, **KNOWN)


def test_own_process_keeps_its_heap(ships):
    text = """
        import sqlite3, sys
        from answerkey.reward import explain_score
        sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99) "
        sql += "SELECT count(*) FROM (SELECT DISTINCT hex(zeroblob(400000)) || i FROM n)"
        limits = {"max_heap_bytes": 20_000_000}
        known = {"database_name": "ships", "order_matters": False, "limits": limits}
        print(explain_score(sql, 1, **known).reason)
        print(*sqlite3.connect(":memory:").execute("PRAGMA hard_heap_limit").fetchone())
    """
    done = run_python(text)
    assert done.stdout.split() == ["heap_exceeded", "0"], done.stderr


def test_memory_that_other_databases_hold_is_no_fault_of_a_query(ships):
    blobs = (
        "CREATE TABLE t (x); INSERT INTO t WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 800) SELECT zeroblob(2000) FROM n"
    )
    for number in range(6):
        make_database(ships / f"large_{number}" / f"large_{number}.sqlite", blobs)
    with RewardPool(workers=1, limits={"max_heap_bytes": 6_000_000}) as pool:
        for number in range(6):
            known = {"database_name": f"large_{number}", "order_matters": False}
            explanation = pool.explain_score("SELECT sum(length(x)) FROM t", 1_600_000, **known)
            assert explanation.reward == 1.0, explanation


@pytest.mark.timeout(method="thread")  # the alarm is the caller's
def test_alarm_of_the_caller_surfaces_as_what_its_handler_raises(ships):
    def fail(*_: object) -> None:
        raise TimeoutError("alarm")

    before = signal.signal(signal.SIGALRM, fail)
    try:
        with RewardPool(workers=1) as pool:
            for sql in (ONE_STEP, ONE_STEP):
                signal.setitimer(signal.ITIMER_REAL, 0.4)
                with pytest.raises(TimeoutError, match="alarm"):
                    pool.score_sql(sql, 1, **KNOWN)
            assert pool.score_sql("SELECT 1", 1, **KNOWN) == 1.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_alarm_while_a_worker_starts_leaves_no_process(ships):
    text = """
        import os, signal
        from answerkey.reward import RewardPool
        def fail(*_):
            raise TimeoutError("alarm")
        signal.signal(signal.SIGALRM, fail)
        known = {"database_name": "ships", "order_matters": False}
        fired = 0
        with RewardPool(workers=1) as pool:
            for number in range(100):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.00002 * (number % 50 + 1))
                    pool.score_sql("SELECT 1", 1, **known)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except TimeoutError:
                    fired += 1
            print(fired > 5, pool.score_sql("SELECT 1", 1, **known))
        try:
            print(os.waitpid(-1, os.WNOHANG))
        except ChildProcessError:
            print("none left")
    """
    done = run_python(text)
    assert done.stdout.splitlines() == ["True 1.0", "none left"], done.stderr


@pytest.mark.slow
def test_interrupt_of_the_caller_ends_what_it_waits_for(ships):
    text = """
        import os, signal, sys, threading
        from answerkey.reward import score_sql
        known = {"database_name": "ships", "order_matters": False}
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            score_sql(sys.argv[1], 1, **known, limits={"max_seconds": 50})
        except KeyboardInterrupt:
            print("interrupted", score_sql("SELECT 1", 1, **known))
    """
    done = run_python(text, ONE_STEP)
    assert done.stdout.split() == ["interrupted", "1.0"], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_child_process_scores_and_survives(ships, method):
    text = """
        import multiprocessing, sys
        from answerkey.reward import score_sql
        known = {"database_name": "ships", "order_matters": False, "limits": {"max_seconds": 1}}
        def work(sql):
            return score_sql(sql, 1, **known), score_sql("SELECT 1", 1, **known)
        if __name__ == "__main__":
            print(score_sql("SELECT 1", 1, **known))
            context = multiprocessing.get_context(sys.argv[1])
            with context.Pool(2) as pool:
                print(pool.map(work, [sys.argv[2], "SELECT 1"]))
            print(score_sql("SELECT 1", 1, **known))
    """
    script = ships.parent / "child.py"
    script.write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, script, method, ONE_STEP],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.splitlines() == ["1.0", "[(0.0, 1.0), (1.0, 1.0)]", "1.0"], done.stderr


@pytest.mark.slow
def test_fork_while_threads_score_does_not_lock_the_child(ships):
    text = """
        import os, threading
        from answerkey.reward import RewardPool, score_sql
        known = {"database_name": "ships", "order_matters": False}
        pool = RewardPool(workers=1)
        def run():
            for _ in range(300):
                assert score_sql("SELECT name FROM ship", ["Sun", "Tern"], **known) == 1.0
                assert pool.score_sql("SELECT name FROM ship", ["Sun", "Tern"], **known) == 1.0
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads: thread.start()
        statuses = []
        for _ in range(10):
            child = os.fork()
            if not child:
                right = [score_sql("SELECT 1", 1, **known), pool.score_sql("SELECT 1", 1, **known)]
                os._exit(0 if right == [1.0, 1.0] else 1)
            statuses.append(os.waitpid(child, 0)[1])
        for thread in threads: thread.join()
        print(*statuses)
    """
    done = run_python(text)
    assert done.stdout.split() == ["0"] * 10, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "times", "seconds"),
    [
        pytest.param("SELECT 1", 1, 0, id="starts", marks=pytest.mark.slow),
        pytest.param("SELECT 1", 1, 1, id="waits", marks=pytest.mark.slow),
        pytest.param(ONE_STEP, 1, 1, id="executes"),
        pytest.param(
            "SELECT hex(zeroblob(400000)) FROM ship", 10**9, 0.2, id="sends", marks=pytest.mark.slow
        ),
    ],
)
def test_workers_end_with_the_process_that_asks(ships, sql, times, seconds):
    text = """
        import os, signal, sys, threading, time
        from answerkey.reward import RewardPool
        def ask(pool):
            for _ in range(int(sys.argv[2])):
                pool.execute(sys.argv[1], "ships")
        pools = [RewardPool(workers=1, limits={"max_seconds": 600}) for _ in range(2)]
        held = []
        for pool in pools:
            workers = pool._pool.find_workers()
            threading.Thread(target=ask, args=[pool], daemon=True).start()
            while not (started := [*workers.free, *workers.busy]):
                time.sleep(0.01)
            held += started
        fork = os.fork()
        if not fork:  # which holds the pipes open
            os.close(1)
            os.close(2)
            time.sleep(600)
            os._exit(0)
        print(fork, *[worker.pid for worker in held], flush=True)
        time.sleep(float(sys.argv[3]))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    fork, *numbers = run_python(text, sql, times, seconds).stdout.split()
    try:
        assert len(numbers) == 2
        wait_until(
            lambda: not any(Path(f"/proc/{number}").exists() for number in numbers), seconds=300
        )
    finally:
        os.kill(int(fork), signal.SIGKILL)


@pytest.mark.slow
def test_innocent_ones_do_not_wait_for_hostile_ones(ships):
    known = {**KNOWN, "max_steps": 10**9}
    pool = RewardPool(workers=2, limits={"max_seconds": 600})
    with ThreadPoolExecutor(1) as thread, pool:
        bomb = thread.submit(pool.score_sql, ONE_STEP, 1, **known)
        wait_until(lambda: pool._pool.find_workers().busy, seconds=60)
        for _ in range(50):
            assert pool.score_sql("SELECT 1", 1, **KNOWN) == 1.0
        assert not bomb.done()
    with pytest.raises(RuntimeError, match="closed"):
        bomb.result()


def test_threads_share_workers(ships):
    with RewardPool(workers=2) as pool, ThreadPoolExecutor(8) as threads:
        wanted = [threads.submit(pool.score_sql, f"SELECT {n}", n % 7, **KNOWN) for n in range(300)]
        assert [one.result() for one in wanted] == [float(n == n % 7) for n in range(300)]
        assert len(list_workers(pool)) == 2


@pytest.mark.slow
def test_many_scores_leak_nothing(ships):
    completions = [fence(f"SELECT name FROM ship WHERE weight < {n}") for n in range(1000)]
    with RewardPool(workers=1) as pool:
        pool.score_completions(completions, **columns(1000))
        before = measure(pool)
        for _ in range(5):
            pool.score_completions(completions, **columns(1000))
        files, sizes = measure(pool)
        assert files == before[0]
        assert all(after - size < 4000 for after, size in zip(sizes, before[1], strict=True))


def measure(pool: RewardPool) -> tuple[list[int], list[int]]:
    """Open files, and KB of memory, of this process and of the worker."""
    (worker,) = list_workers(pool)
    processes = [Path(f"/proc/{number}") for number in (os.getpid(), worker.pid)]
    files = [len(list((process / "fd").iterdir())) for process in processes]
    lines = [(process / "status").read_text().split("VmRSS:")[1] for process in processes]
    return files, [int(line.split()[0]) for line in lines]


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA trusted_schema = ON",
        "PRAGMA temp_store = MEMORY",
        f"PRAGMA hard_heap_limit = {Limits().max_heap_bytes}",
        f"PRAGMA hard_heap_limit = {Limits().max_heap_bytes};",
    ],
)
def test_statements_of_the_guard_itself_are_refused(ships, sql):
    for _ in range(2):
        assert explain_score(sql, Limits().max_heap_bytes, **KNOWN).reason == "not_a_select"


def test_missing_or_corrupt_database_raises_also_without_a_query(ships):
    (ships / "ships" / "ships.sqlite").write_bytes(b"SQLite format 3\x00" + b"\x07" * 5000)
    for completion in (fence("SELECT name FROM ship"), "I do not know.", None):
        with pytest.raises(sqlite3.DatabaseError, match="Corrupt database"):
            score_completions([completion], **columns(1))
        with pytest.raises(FileNotFoundError, match="ANSWERKEY_DATABASES"):
            compute_score("x", completion, "1", {"database_name": "boats", "order_matters": False})


def test_error_leaves_the_pool_usable(ships):
    names = ["ships"] * 400
    names[123] = "boats"
    known = {**columns(400), "database_name": names}
    with RewardPool(workers=2) as pool:
        with pytest.raises(FileNotFoundError, match="boats"):
            pool.score_completions([fence("SELECT name FROM ship")] * 400, **known)
        assert pool.score_completions([fence("SELECT name FROM ship")], **columns(1)) == [1.0]


def test_options_of_a_trainer_reach_the_workers(ships):
    extra_info = {"database_name": "ships", "order_matters": False, "rule": "strict"}
    truth = json.dumps([["Sun", 55.5], ["Tern", 40.0]])
    swapped = fence("SELECT weight, name FROM ship")
    assert compute_score("x", swapped, truth, extra_info) == 0.0
    options = {"rule": "spider", "workers": 1, "limits": {"max_rows": 2}, "databases": ships}
    assert compute_score("x", swapped, truth, extra_info, **options) == 1.0
    options["limits"] = {"max_rows": 1}
    assert compute_score("x", swapped, truth, extra_info, **options) == 0.0
    with pytest.raises(ValueError, match="workers: expected a whole number from 1, found 0"):
        RewardPool(workers=0)


def test_number_of_workers_is_read_from_the_environment(ships, monkeypatch):
    monkeypatch.setenv("ANSWERKEY_WORKERS", "3")
    with RewardPool() as pool, ThreadPoolExecutor(9) as threads:
        list(threads.map(lambda _: pool.score_sql("SELECT 1", 1, **KNOWN), range(60)))
        assert 1 <= len(list_workers(pool)) <= 3
    monkeypatch.setenv("ANSWERKEY_WORKERS", "many")
    with pytest.raises(ValueError, match="ANSWERKEY_WORKERS: expected a whole number"):
        RewardPool()


def test_loop_goes_on_while_scores_come(ships):
    text = """
        import asyncio
        from answerkey.reward import compute_score_async, score_completions_async
        known = {"database_name": "ships", "order_matters": False}
        columns = {name: [value] for name, value in known.items()}
        async def main():
            some = score_completions_async(["```SELECT 1```"], gold_answer=["1"], **columns)
            one = compute_score_async("x", "```SELECT 2```", "1", known)
            print(await asyncio.gather(some, one))
        asyncio.run(main())
    """
    assert run_python(text).stdout == "[[1.0], 0.0]\n"


# Rows, characters of each, and jobs: a socket holds 200 KB, and an answer at most 16 MB.
SIZES = {"1 KB": (10, 100, 100), "300 KB": (300, 1000, 12), "10 MB": (20, 500_000, 4)}


@pytest.mark.slow
@pytest.mark.parametrize(("count", "width", "jobs"), SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_answers_of_any_size_are_scored_explained_and_executed(ships, count, width, jobs, workers):
    path = str(ships / "ships" / "ships.sqlite")
    sql = (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        f" SELECT printf('%0{width}d', i) FROM n"
    )
    rows = [f"{number:0{width}d}" for number in range(1, count + 1)]
    right, wrong = json.dumps(rows), json.dumps([*rows[:-1], "x"])

    def make_jobs(kind: JobKind) -> list[Job]:
        return [Job(kind, path, sql, gold_answer=(right, wrong)[n % 2]) for n in range(jobs)]

    with Pool(workers) as pool:
        assert pool.run(make_jobs(JobKind.SCORE)) == [1.0, 0.0] * (jobs // 2)
        explained = pool.run(make_jobs(JobKind.EXPLAIN))
        assert [one.reason for one in explained] == [None, "wrong_rows"] * (jobs // 2)
        assert all(len(repr(one)) < 2000 for one in explained)
        executed = pool.run(make_jobs(JobKind.EXECUTE))
        assert all(found == [(row,) for row in rows] for found in executed)
        summarized = pool.run(make_jobs(JobKind.SUMMARIZE))
        assert len(set(one.answer for one in summarized)) == 1
        assert all(one.row_count == count for one in summarized)
        assert all(len(repr(one)) < SUMMARY_ROWS * 300 for one in summarized)
