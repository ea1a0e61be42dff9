"""Engines: which one it is, and how many workers it has."""

import os
import sys

import pytest

from answerkey.errors import InputError
from answerkey.shards.processes import count_workers, map_with_engine
from tests.shards.test_processes import square, squares

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.mark.parametrize("engine", ["Ray", "", None, 1])
def test_unknown_engine_is_refused(engine):
    with pytest.raises(InputError, match=r"execution\.engine: expected local or ray, found "):
        map_with_engine(square, [1], engine=engine, workers=1)


def test_local_engine_uses_processes_of_this_machine():
    assert set(map_with_engine(square, range(9), engine="local", workers=2)) == squares(range(9))


def test_missing_ray_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install -e '\.\[ray\]'"):
        next(map_with_engine(square, [1], engine="ray", workers=0))


def test_run_without_tasks_needs_no_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(map_with_engine(square, [], engine="ray", workers=0)) == []


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores are not given to processes")
def test_zero_workers_means_one_for_each_core_of_this_process():
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert count_workers(0) == 1
    finally:
        os.sched_setaffinity(0, cores)
    assert count_workers(0) == len(cores)
    assert count_workers(3) == 3


@pytest.mark.parametrize(("cores", "workers"), [(5, 5), (None, 1)])
def test_zero_workers_means_one_for_each_core_where_none_are_given_to_processes(
    monkeypatch, cores, workers
):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert count_workers(0) == workers


@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("workers", [-1, 1.0, True, "2", None])
def test_number_of_workers_must_be_a_whole_number(engine, workers):
    with pytest.raises(InputError, match=r"execution\.workers: expected a whole number from 0"):
        map_with_engine(square, [1], engine=engine, workers=workers)
