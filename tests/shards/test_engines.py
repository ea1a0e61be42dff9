import itertools
import os
import pickle
import pkgutil
import sys
import uuid
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import pytest

import stages
from answerkey.core.errors import InputError
from answerkey.core.reasons import Reason
from answerkey.shards.engines import map_with_engine
from answerkey.shards.ray_engine import check_versions, list_versions
from answerkey.sqlite.guard import QueryError
from answerkey.sqlite.watchdog import EXPENDABLE_VARIABLE
from tests.shards.test_workers import die_on, die_once, fail_on, sleep_long, square, squares
from tests.shared.processes import find_processes, kill, wait_until
from tests.shared.ray_cluster import start_cluster

ON_RAY = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc"),
]
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
mark = uuid.uuid4().hex


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


def map_on_ray(function, tasks, *, workers=0):
    return map_with_engine(function, tasks, engine="ray", workers=workers)


# --- which engine


@pytest.mark.parametrize("engine", ["Ray", "", None, 1])
def test_unknown_engine_is_refused(engine):
    with pytest.raises(ValueError, match=r"execution\.engine: expected local or ray, found "):
        map_with_engine(square, [1], engine=engine, workers=1)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_number_of_workers_must_be_a_whole_number(engine):
    with pytest.raises(ValueError, match=r"execution\.workers: expected a whole number from 0"):
        map_with_engine(square, [1], engine=engine, workers=-1)


def test_local_engine_uses_processes_of_this_machine():
    assert set(map_with_engine(square, range(9), engine="local", workers=2)) == squares(range(9))


def test_missing_ray_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[ray\]'"):
        next(map_on_ray(square, [1]))


def list_modules():
    found = pkgutil.walk_packages(stages.__path__, "stages.")
    return sorted(module.name for module in found if not module.ispkg)


@pytest.mark.parametrize("name", list_modules())
def test_functions_of_a_module_reach_a_node_by_their_names(name):
    module = import_module(name)
    functions = {
        key: value
        for key, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "").startswith("stages.")
    }
    assert all(pickle.loads(pickle.dumps(value)) is value for value in functions.values())


def test_run_without_tasks_needs_no_cluster(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(map_on_ray(square, [])) == []


@pytest.mark.parametrize("name", ["SQLite", "sqlglot"])
def test_node_with_another_version_is_named_with_both(name):
    versions = list_versions()
    check_versions(versions)
    with pytest.raises(InputError, match=f"Node .+ has {name} [0-9.]+: expected 1.2.3, as on"):
        check_versions(versions | {name: "1.2.3"})


# --- what Ray does as processes of this machine do


@on_ray(0, 1, 2, 8)
def test_ray_gives_each_task_its_result(cluster, workers):
    results = list(map_on_ray(square, range(50), workers=workers))
    assert len(results) == 50
    assert set(results) == squares(range(50))


@on_ray(1)
def test_task_that_kills_its_worker_once_is_tried_again(cluster, workers, tmp_path):
    results = list(map_on_ray(partial(die_once, tmp_path), range(6), workers=workers))
    assert len(results) == 6
    assert set(results) == squares(range(6))
    assert (tmp_path / "died").exists()


@on_ray(0)
def test_task_that_kills_every_worker_comes_back_as_none(cluster, workers):
    results = list(map_on_ray(partial(die_on, {3, 4}), range(9), workers=workers))
    assert len(results) == 9
    assert set(results) == squares({0, 1, 2, 5, 6, 7, 8}) | {(3, None), (4, None)}


@on_ray(2)
def test_exception_of_the_function_ends_the_run_as_it_was(cluster, workers):
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(map_on_ray(partial(fail_on, 7), range(1000), workers=workers))
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")


@on_ray(0, 8)
def test_tasks_are_taken_as_they_are_needed(cluster, workers):
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    results = map_on_ray(square, endless(), workers=workers)
    assert len(list(itertools.islice(results, 30))) == 30
    assert len(taken) <= 30 + 8  # 4 for each of the 2 CPUs, or 8 workers
    results.close()


@on_ray(0)
def test_run_that_is_stopped_leaves_no_task_at_work(cluster, workers):
    results = map_on_ray(sleep_long, itertools.count(), workers=workers)
    assert next(results) == (0, 0)
    wait_until(lambda: find_processes(mark, name="ray::work"), seconds=30)
    results.close()
    wait_until(lambda: not find_processes(mark, name="ray::work"), seconds=30)


def tell_how_it_runs(_):
    return os.environ.get(EXPENDABLE_VARIABLE)


@on_ray(0)
def test_watchdog_may_end_a_worker_of_ray(cluster, workers):
    assert list(map_on_ray(tell_how_it_runs, [1], workers=workers)) == [(1, "1")]
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

    results = list(map_on_ray(partial(wait_for, tmp_path), tasks(), workers=workers))
    assert len(results) == 4
    assert set(results) == squares(range(4))
