"""What a run is worth after a worker, a stage or a whole process group was killed or interrupted.

Each test runs the stage as its users do, as a process, and ends with the shards that a run without
faults writes, and with no process left.
"""

import os
import re
import signal
import subprocess
import sys
import uuid
from dataclasses import asdict
from importlib.util import find_spec

import pytest

from answerkey.engines.database import Limits
from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT
from tests.shared.processes import MARK, find_processes, heed_interrupts, kill, wait_until

ON_RAY = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
]
RAY = pytest.param("ray", marks=ON_RAY)
both_runners = pytest.mark.parametrize("runner", ["local", RAY])
WORKER = {"local": sys.executable, "ray": "ray::work"}  # how its command line begins
pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]
mark = uuid.uuid4().hex

DATABASES = [f"d{number}" for number in range(6)]
GATED = DATABASES[-2:]
COUNT = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50000)"
QUERIES = [f"{COUNT} SELECT max(x) + {number} FROM n" for number in range(2)]
TOTAL = len(DATABASES) * len(QUERIES)
# Some hours, and nothing interrupts it.
ONE_LONG_STEP = "SELECT printf(replace(hex(zeroblob(500)), '0', '%.2000000000c'), 'x')"

# Each process of Python runs it first: who opens one of the last databases waits for a file. No run
# is over before something happens to it.
GATE = """
import os, sys, time
def wait(event, arguments):
    if event == "sqlite3.connect" and any(f"{name}.sqlite" in arguments[0] for name in %r):
        until = time.monotonic() + 300
        while not os.path.exists(%r) and time.monotonic() < until:
            time.sleep(0.02)
sys.addaudithook(wait)
"""


class Stage:
    """The stage as a process, with all that it starts; `variables` change its environment."""

    def __init__(self, folder, name="compute_gold_answers", **variables):
        environment = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
        environment.pop("RAY_ADDRESS", None)
        environment |= variables
        with heed_interrupts():
            self.process = subprocess.Popen(
                [sys.executable, "-m", f"stages.{name}"],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def read_output(self):
        """What it said; none of its processes is left."""
        output, _ = self.process.communicate(timeout=300)
        # Two of Ray's own processes notice only after a minute that the others were killed.
        wait_until(lambda: not find_processes(mark), seconds=120)
        return output

    def finish(self):
        """The number of queries that it executed, where it ends well."""
        output = self.read_output()
        assert self.process.returncode == 0, output
        summaries, others = [], []
        for line in output.splitlines():
            found = re.search(r" (\d+) quer(?:y|ies) (?:executed|parsed|audited)", line)
            (summaries if found else others).append(found or line)
        # That a worker died, which may be told late, or that a query failed.
        assert all("(raylet)" in line or ": warning: " in line for line in others), output
        (summary,) = summaries
        return int(summary[1])

    def find_workers(self, runner):
        found = find_processes(mark, name=WORKER[runner])
        return sorted(set(found) - {self.process.pid})


@pytest.fixture(autouse=True)
def no_process_outlives_its_test():
    yield
    left = find_processes(mark)
    kill(left)
    assert left == []


@pytest.fixture
def project(tmp_path):
    """Databases with slow queries."""
    project = Project(tmp_path)
    project.limits = asdict(Limits())
    for name in DATABASES:
        project.add(name, QUERIES)
    return project


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The shards that everything is compared with."""
    project = Project(tmp_path_factory.mktemp("undisturbed"))
    project.limits = asdict(Limits())
    for name in DATABASES:
        project.add(name, QUERIES)
    project.write()
    assert Stage(project.folder).finish() == TOTAL
    return project.bytes()


def count_shards(project):
    return len(list((project.folder / "data" / "interim").glob("gold_answers/*.jsonl")))


def start_halfway(project, runner):
    """The stage with two workers, when it has finished some databases; the last two wait until the
    gate is opened."""
    project.write(runner=runner, workers=2)
    start = project.folder / "start" / "sitecustomize.py"
    start.parent.mkdir()
    start.write_text(GATE % (GATED, str(project.folder / "open")))
    stage = Stage(project.folder, PYTHONPATH=os.pathsep.join([str(start.parent), str(ROOT)]))
    wait_until(lambda: count_shards(project) >= 2 or stage.process.poll() is not None, seconds=120)
    assert 2 <= count_shards(project) <= len(DATABASES) - len(GATED)
    return stage


def open_gate(project):
    (project.folder / "open").touch()


def finish_rest(project, runner):
    """Run again, and check that what was finished is not executed again."""
    finished = count_shards(project)
    executed = Stage(project.folder).finish()
    # A shard that was written and not yet noted in the journal counts as unfinished.
    rest = TOTAL - finished * len(QUERIES)
    assert executed in (rest, rest + len(QUERIES))
    assert executed < TOTAL


# --- the same bytes everywhere


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
@pytest.mark.parametrize(("runner", "workers"), [("local", 8), ("ray", 1), ("ray", 8)])
def test_shards_depend_neither_on_the_runner_nor_on_workers(project, undisturbed, runner, workers):
    project.write(runner=runner, workers=workers)
    assert Stage(project.folder).read_output().count("\n") == 1  # the summary
    assert project.bytes() == undisturbed


# --- workers


@both_runners
def test_killed_worker_costs_a_retry_and_nothing_else(project, undisturbed, runner):
    stage = start_halfway(project, runner)
    wait_until(lambda: stage.find_workers(runner), seconds=30)
    kill(stage.find_workers(runner)[:1])
    open_gate(project)
    assert stage.finish() == TOTAL
    assert project.bytes() == undisturbed


@pytest.mark.slow
@both_runners
def test_query_that_heeds_no_limit_is_set_aside_alone(project, runner):
    """The watchdog ends its processes: its query does not heed the limit of a second."""
    project.limits["max_seconds"] = 1
    project.questions = {"a": ["SELECT 1"], "b": ["SELECT 2", ONE_LONG_STEP, "SELECT 3"]}
    project.databases = dict.fromkeys(project.questions, "CREATE TABLE t (id INTEGER)")
    project.write(runner=runner, workers=2)
    assert Stage(project.folder).finish() == 4
    assert [record["gold_answer"] for record in project.shard("a")] == [1]
    first, second, third = project.shard("b")
    assert (first["gold_answer"], third["gold_answer"]) == (2, 3)
    assert second == {
        "question_id": "b_train_001",
        "reason": "time_exceeded",
        "detail": "more than 1 seconds",
    }


@pytest.mark.slow
def test_machine_that_kills_all_workers_leaves_nothing_out(project, undisturbed):
    """As where there is no memory for a while: the run fails, and the next one has all answers."""
    stage = start_halfway(project, "local")

    def is_over():
        kill(stage.find_workers("local"))
        return stage.process.poll() is not None

    wait_until(is_over, seconds=120)
    output = stage.read_output()
    assert stage.process.returncode == 1, output
    assert "killed by signal 9" in output
    assert "Traceback" not in output
    assert 2 <= count_shards(project) < len(DATABASES)
    finish_rest(project, "local")
    assert project.bytes() == undisturbed


LESS_MEMORY = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))
sys.argv = ["compute_gold_answers"]
runpy.run_module("stages.compute_gold_answers", run_name="__main__", alter_sys=True)
"""
HUNGRY = (
    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000)"
    " SELECT count(DISTINCT hex(zeroblob(10000)) || x) FROM n"
)


@pytest.mark.slow
def test_memory_that_the_machine_lacks_leaves_nothing_out(tmp_path):
    """The same query needs 400 MB, which the bound of SQLite's heap allows."""
    project = Project(tmp_path)
    project.limits = asdict(Limits())
    project.add("a", ["SELECT 1", HUNGRY]).add("b", ["SELECT 2"]).write(workers=2)
    done = subprocess.run(
        [sys.executable, "-c", LESS_MEMORY],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stderr
    assert "a_train_001 of database a: out of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert project.bytes().keys() == {"b.jsonl"}


# --- the run


@both_runners
def test_interrupt_leaves_finished_shards_to_the_next_run(project, undisturbed, runner):
    stage = start_halfway(project, runner)
    os.killpg(stage.process.pid, signal.SIGINT)
    output = stage.read_output()
    lines = [line for line in output.splitlines() if "(raylet)" not in line]
    assert lines == ["compute_gold_answers: interrupted; run it again: what is done is kept"]
    assert stage.process.returncode == 130
    finish_rest(project, runner)
    assert project.bytes() == undisturbed


@pytest.mark.slow
@both_runners
def test_stage_that_is_killed_is_taken_up_by_the_next_run(project, undisturbed, runner):
    """Its workers end with it, though nobody kills them."""
    stage = start_halfway(project, runner)
    os.kill(stage.process.pid, signal.SIGKILL)
    stage.read_output()
    assert stage.process.returncode == -signal.SIGKILL
    finish_rest(project, runner)
    assert project.bytes() == undisturbed
