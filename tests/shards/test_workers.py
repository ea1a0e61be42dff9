import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pytest

from answerkey.core.reasons import Reason
from answerkey.shards import process_pool
from answerkey.shards.process_pool import START_METHOD, ProcessPool
from answerkey.shards.workers import count_workers, map_unordered
from answerkey.sqlite.guard import QueryError
from tests.shared.paths import ROOT
from tests.shared.processes import heed_interrupts, wait_until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture(autouse=True)
def no_hang_and_no_orphan():
    """A test that waits for ever fails, and so does one that leaves a process behind."""

    def give_up(*_):
        raise TimeoutError("this test hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    assert multiprocessing.active_children() == []


def square(number):
    return number * number


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_on(deadly, number):
    if number in deadly:
        die()
    return square(number)


def die_once(folder, number):
    """Kills the first worker that gets the 2; a file remembers that it did."""
    mark = folder / "died"
    if number == 2 and not mark.exists():
        mark.touch()
        die()
    return square(number)


def fail_on(bad, number):
    if number == bad:
        raise QueryError(Reason.BLOB, "a BLOB of 3 bytes in the answer", database_name="fleet")
    return square(number)


def sleep_long(number):
    time.sleep(600 if number else 0)
    return number


def squares(numbers):
    return {(number, number * number) for number in numbers}


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 3, 100])
def test_any_number_of_workers_gives_the_same_results(workers, count):
    results = list(map_unordered(square, range(count), workers=workers))
    assert len(results) == count
    assert set(results) == squares(range(count))


@pytest.mark.parametrize("workers", [1, 3])
def test_task_that_kills_its_worker_once_is_tried_again(tmp_path, workers):
    results = list(map_unordered(partial(die_once, tmp_path), range(6), workers=workers))
    assert len(results) == 6
    assert set(results) == squares(range(6))
    assert (tmp_path / "died").exists()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("deadly", [{0}, {19}, {3, 4}, {0, 9, 19}])
def test_task_that_kills_every_worker_comes_back_as_none(workers, deadly):
    results = list(map_unordered(partial(die_on, deadly), range(20), workers=workers))
    assert len(results) == 20
    assert set(results) == squares(set(range(20)) - deadly) | {(number, None) for number in deadly}


def test_pool_that_breaks_while_nobody_looks_loses_nothing():
    results = map_unordered(partial(die_on, {1}), range(30), workers=1)
    found = [next(results)]
    time.sleep(1)  # the worker dies meanwhile, and the next task goes to a broken pool
    found += results
    assert len(found) == 30
    assert set(found) == squares(set(range(30)) - {1}) | {(1, None)}


class BrokenFirst(ProcessPool):
    """Tells that it broke before it gives the results that came earlier, as two threads may."""

    def __init__(self, executor):
        super().__init__(executor)
        self.futures = []

    def submit(self, *arguments, **options):
        self.futures.append(super().submit(*arguments, **options))
        return self.futures[-1]

    def wait(self):
        wait(self.futures)
        broken = (f for f in self.futures if isinstance(f.exception(), BrokenProcessPool))
        return next(broken, None) or super().wait()


def note_and_die_on_2(folder, number):
    with (folder / "tried").open("a") as file:
        file.write(f"{number} ")
    return die_on({2}, number)


def test_result_from_before_the_pool_broke_comes_once_and_is_not_computed_again(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(process_pool, "ProcessPool", BrokenFirst)
    function = partial(note_and_die_on_2, tmp_path)
    results = list(map_unordered(function, range(3), workers=1))
    assert results == [(0, 0), (1, 1), (2, None)]
    assert (tmp_path / "tried").read_text() == "0 1 2 2 "


def test_exception_of_the_function_ends_the_run_as_it_was():
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(map_unordered(partial(fail_on, 7), range(1000), workers=2))
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")


def test_results_before_an_exception_come_first():
    results = map_unordered(partial(fail_on, 3), range(4), workers=1)
    assert set(itertools.islice(results, 3)) == squares(range(3))
    with pytest.raises(QueryError):
        next(results)


def test_exception_of_the_tasks_ends_the_run():
    def tasks():
        yield 1
        raise RuntimeError("no more tasks to be had")

    with pytest.raises(RuntimeError, match="no more tasks to be had"):
        list(map_unordered(square, tasks(), workers=2))


@pytest.mark.parametrize("workers", [1, 2])
def test_tasks_are_taken_as_they_are_needed(workers):
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    results = map_unordered(square, endless(), workers=workers)
    assert len(list(itertools.islice(results, 50))) == 50
    assert len(taken) < 50 + 20 * workers
    results.close()


@pytest.mark.parametrize("stop", [GeneratorExit, KeyboardInterrupt, ValueError])
def test_run_that_is_stopped_leaves_no_process_at_work(stop):
    results = map_unordered(sleep_long, itertools.count(), workers=2)
    assert next(results) == (0, 0)
    started = time.monotonic()
    if stop is GeneratorExit:
        results.close()
    else:
        with pytest.raises(stop):
            results.throw(stop())
    assert time.monotonic() - started < 60
    assert multiprocessing.active_children() == []


SCRIPT = """
import sys
from answerkey.shards.workers import map_unordered
from tests.shards.test_workers import sleep_long
if __name__ == "__main__":
    for number, _ in map_unordered(sleep_long, range(50), workers=2):
        print(number, flush=True)
"""


def test_interrupt_from_the_terminal_ends_all_processes_at_once(tmp_path):
    """Ctrl-C reaches the whole process group; only the parent has anything to say about it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with (
        heed_interrupts(),
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout.readline() == "0\n"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)  # ends when no process holds the pipes
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")
    # Python's own process for resources, which a spawned one has, ends after its parent.
    wait_until(lambda: not has_processes(process.pid), seconds=0 if START_METHOD == "fork" else 60)


SCRIPT_WITH_A_THREAD = """
import itertools, signal, sys, threading
from answerkey.shards.process_pool import ProcessPool
from answerkey.shards.workers import map_unordered
from tests.shared.processes import (wait_until)
from tests.shards.test_workers import sleep_long

def interrupt_what_waits(main):
    waits = ProcessPool.wait.__code__
    wait_until(lambda: sys._current_frames()[main].f_code is waits, seconds=60)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

if __name__ == "__main__":
    results = map_unordered(sleep_long, itertools.count(), workers=2)
    print(next(results))
    threading.Thread(target=interrupt_what_waits, args=(threading.get_ident(),)).start()
    next(results)
"""


def test_interrupt_that_reaches_another_thread_ends_the_run(tmp_path):
    """The system may hand Ctrl-C to any thread: the one that waits is not woken by it then. Nor is
    it where Ctrl-C comes after its last look at signals and before its wait."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT_WITH_A_THREAD)
    with heed_interrupts():
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.stdout == "(0, 0)\n"
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# --- how many


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


@pytest.mark.parametrize("workers", [-1, 1.0, True, "2", None])
def test_number_of_workers_must_be_a_whole_number(workers):
    with pytest.raises(ValueError, match=r"execution\.workers: expected a whole number from 0"):
        count_workers(workers)
