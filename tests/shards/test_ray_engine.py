"""Ray does what processes of this machine do, also on nodes that have neither the code nor the
databases of the machine that asks them: processes of this machine in another folder."""

import contextlib
import itertools
import os
import shutil
import signal
import sys
import uuid
from functools import partial
from importlib.util import find_spec

import pytest

from answerkey.errors import InputError
from answerkey.records import Reason
from answerkey.shards.processes import Died, check_versions, list_versions, map_on_ray
from answerkey.sqlite.bounds import EXPENDABLE_VARIABLE
from answerkey.sqlite.guard import QueryError
from tests.shards.test_code_hash import ANSWERS_CHANGE, change
from tests.shards.test_database_files import refuse, serve
from tests.shards.test_faults import Stage
from tests.shards.test_processes import die_on, fail_on, sleep_long, square, squares
from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT
from tests.shared.processes import find_processes, kill, start_cluster, wait_until

ON_RAY = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc"),
]
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
mark = uuid.uuid4().hex


@pytest.mark.parametrize("name", ["SQLite", "sqlglot"])
def test_node_with_another_version_is_named_with_both(name):
    versions = list_versions()
    check_versions(versions)
    with pytest.raises(InputError, match=f"Node .+ has {name} [0-9.]+: expected 1.2.3, as on"):
        check_versions(versions | {name: "1.2.3"})


# --- functions and tasks


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two CPUs, which this process joins in each test."""
    with pytest.MonkeyPatch.context() as patch, start_cluster(cpus=2, mark=mark) as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def on_ray(*numbers):
    """Tests with so many workers."""
    return pytest.mark.parametrize("workers", [pytest.param(n, marks=ON_RAY) for n in numbers])


def run_on_ray(function, tasks, *, workers):
    return map_on_ray(function, tasks, workers=workers, local_workers=2)


@on_ray(0, 1, 8)
def test_each_task_has_its_result(cluster, workers):
    results = list(run_on_ray(square, range(50), workers=workers))
    assert len(results) == 50
    assert set(results) == squares(range(50))


def die_once(folder, number):
    """Kills the first worker that gets the 2; a file remembers that it did."""
    note = folder / "died"
    if number == 2 and not note.exists():
        note.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


@on_ray(1)
def test_task_that_kills_its_worker_once_is_tried_again(cluster, workers, tmp_path):
    results = list(run_on_ray(partial(die_once, tmp_path), range(6), workers=workers))
    assert len(results) == 6
    assert set(results) == squares(range(6))
    assert (tmp_path / "died").exists()


@on_ray(0)
def test_task_that_kills_every_worker_comes_back_as_died(cluster, workers):
    results = list(run_on_ray(partial(die_on, {3, 4}), range(9), workers=workers))
    assert len(results) == 9
    assert set(results) == squares({0, 1, 2, 5, 6, 7, 8}) | {(3, Died()), (4, Died())}


@on_ray(2)
def test_exception_of_the_function_ends_the_run_as_it_was(cluster, workers):
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(run_on_ray(partial(fail_on, 7), range(1000), workers=workers))
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")


@on_ray(0, 8)
def test_tasks_are_taken_as_they_are_needed(cluster, workers):
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    results = run_on_ray(square, endless(), workers=workers)
    assert len(list(itertools.islice(results, 30))) == 30
    assert len(taken) <= 30 + 8  # 4 for each of the 2 CPUs, or 8 workers
    results.close()


@on_ray(0)
def test_run_that_is_stopped_leaves_no_task_at_work(cluster, workers):
    results = run_on_ray(sleep_long, itertools.count(), workers=workers)
    assert next(results) == (0, 0)
    wait_until(lambda: find_processes(mark, name="ray::work"), seconds=30)
    results.close()
    wait_until(lambda: not find_processes(mark, name="ray::work"), seconds=30)


def tell_how_it_runs(_):
    return os.environ.get(EXPENDABLE_VARIABLE)


@on_ray(0)
def test_watchdog_may_end_a_worker_of_ray(cluster, workers):
    assert list(run_on_ray(tell_how_it_runs, [1], workers=workers)) == [(1, "1")]
    assert EXPENDABLE_VARIABLE not in os.environ


def wait_for(folder, number):
    (folder / f"begun {number}").touch()
    wait_until(lambda: (folder / "go on").exists(), seconds=60)
    return square(number)


@on_ray(3)
def test_killed_worker_costs_another_attempt_of_its_task_alone(cluster, workers, tmp_path):
    def tasks():
        yield from (0, 1)
        wait_until(lambda: len(list(tmp_path.glob("begun *"))) == 2, seconds=60)
        kill(find_processes(mark, name="ray::work")[:1])
        (tmp_path / "go on").touch()
        yield from (2, 3)

    results = list(run_on_ray(partial(wait_for, tmp_path), tasks(), workers=workers))
    assert len(results) == 4
    assert set(results) == squares(range(4))


# --- nodes elsewhere


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """The variables that join a cluster of two CPUs, whose temporary files are in `fetched`."""
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    with contextlib.ExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setenv("TMPDIR", str(fetched))
            patch.chdir(fetched)
            cluster = start_cluster(cpus=2, mark=uuid.uuid4().hex)
            variables = stack.enter_context(cluster)
        yield variables


@pytest.fixture
def project(tmp_path):
    """Three databases, each with questions for more than one task."""
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(folder)
    for name in "abc":
        queries = [f"SELECT '{name}', {number}, * FROM ship" for number in range(200)]
        project.add(name, [*queries, "SELECT NULL"])
    return project


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
def test_nodes_fetch_each_database_once(project, nodes, tmp_path):
    project.write()
    assert Stage(project.folder).finish() == 603
    expected = project.bytes()
    (project.folder / "data/interim/gold_answers.keys").unlink()
    store = tmp_path / "store"
    (project.folder / "data" / "databases").rename(store)
    with serve(store, refuse) as (url, asked):
        project.write(engine="ray", databases_url=url)
        shutil.rmtree(project.folder / "data" / "databases")
        (project.folder / "data" / "databases").mkdir()
        shutil.copy(store / "manifest.json", project.folder / "data" / "databases")
        assert Stage(project.folder, **nodes).finish() == 603
    assert project.bytes() == expected
    assert sorted(set(asked)) == [f"/{name}/{name}.sqlite" for name in "abc"]
    assert len(asked) == 4  # one was refused, and asked for again
    found = sorted(path.name for path in (tmp_path / "fetched").rglob("*.sqlite"))
    assert found == ["a.sqlite", "b.sqlite", "c.sqlite"]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
def test_nodes_work_with_the_code_of_the_machine_that_asks(project, nodes, tmp_path):
    code = tmp_path / "code"
    for package in ("answerkey", "stages"):
        shutil.copytree(ROOT / package, code / package)
    shutil.copy(ROOT / "dvc.yaml", code)
    project.add("d", ["SELECT id, name FROM ship ORDER BY id"]).write(engine="ray")
    Stage(project.folder, PYTHONPATH=str(code), **nodes).finish()
    [rows] = [record["gold_answer"] for record in project.shard("d")]
    module, before, after = ANSWERS_CHANGE
    change(code / module, before, after)
    Stage(project.folder, PYTHONPATH=str(code), **nodes).finish()
    assert [record["gold_answer"] for record in project.shard("d")] == [rows[::-1]] != [rows]
