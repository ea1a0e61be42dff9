"""Nodes of a Ray cluster that have neither code nor databases of the machine that asks them.

They are processes of this machine which stand in another folder.
"""

import contextlib
import shutil
import sys
import uuid
from importlib.util import find_spec

import pytest

from tests.shards.test_database_files import refuse, serve
from tests.shards.test_faults import Stage
from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT
from tests.shared.ray_cluster import start_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]


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


def test_nodes_fetch_each_database_once(project, nodes, tmp_path):
    project.write()
    assert Stage(project.folder).finish() == 603
    expected = project.bytes()
    (project.folder / ".answerkey" / "gold_answers.jsonl").unlink()
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


def test_nodes_work_with_the_code_of_the_machine_that_asks(project, nodes, tmp_path):
    shutil.copytree(ROOT / "stages", tmp_path / "code" / "stages")
    shutil.copy(ROOT / "dvc.yaml", tmp_path / "code")
    changed = tmp_path / "code" / "stages" / "compute_gold_answers.py"
    text = changed.read_text(encoding="utf-8")
    assert text.count("a single NULL") == 1
    changed.write_text(text.replace("a single NULL", "NULL, said by other code"), encoding="utf-8")
    project.write(engine="ray")
    Stage(project.folder, PYTHONPATH=str(tmp_path / "code"), **nodes).finish()
    assert project.shard("a")[-1]["detail"] == "the answer is NULL, said by other code"
