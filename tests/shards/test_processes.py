"""Each task has its result or the end of its worker, and no worker is left."""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from contextlib import closing
from functools import partial
from multiprocessing import connection

import pytest

from answerkey.base.errors import InputError
from answerkey.base.reasons import Reason
from answerkey.engines.database import QueryError
from answerkey.shards.processes import RAY, Died, map_tasks, run_alone
from tests.shared.processes import heed_interrupts, wait_until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
KILLED = Died(-signal.SIGKILL)
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def no_orphan():
    """A test that leaves a process behind fails."""
    with heed_interrupts():
        yield
    assert multiprocessing.active_children() == []


def square(number):
    return number * number


def die_on(deadly, number):
    if number in deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def fail_on(bad, number):
    if number == bad:
        raise QueryError(Reason.BLOB, "a BLOB of 3 bytes in the answer", database_name="fleet")
    return square(number)


def lack_memory(number):
    raise MemoryError


def sleep_long(number):
    time.sleep(600 if number else 0)
    return number


def squares(numbers):
    return {(number, number * number) for number in numbers}


@pytest.mark.parametrize(("workers", "count"), [(1, 3), (0, 9), (2, 100), (5, 3)])
def test_any_number_of_workers_gives_the_same_results(workers, count):
    results = list(map_tasks(square, range(count), workers=workers))
    assert len(results) == count
    assert set(results) == squares(range(count))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("deadly", [{0}, {3, 4, 19}])
def test_task_that_kills_its_worker_costs_no_other_task(workers, deadly):
    results = list(map_tasks(partial(die_on, deadly), range(20), workers=workers))
    assert len(results) == 20
    assert set(results) == squares(set(range(20)) - deadly) | {(n, KILLED) for n in deadly}


def test_task_that_runs_alone_gives_its_result_or_how_its_process_ended():
    assert run_alone(square, 3) == 9
    assert run_alone(partial(die_on, {3}), 3) == KILLED
    assert run_alone(os._exit, 75) == Died(75)
    assert run_alone(lack_memory, 3) == Died()


def test_missing_ray_is_named_where_there_are_tasks(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert list(map_tasks(square, [], runner=RAY)) == []
    with pytest.raises(InputError, match=r"pip install -e '\.\[ray\]'"):
        next(map_tasks(square, [1], runner=RAY))


def test_exception_of_the_function_ends_the_run_as_it_was():
    results = map_tasks(partial(fail_on, 7), range(1000), workers=2)
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(results)
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")
    assert "in fail_on" in str(caught.value.__cause__)  # the worker's traceback


def test_tasks_are_taken_as_they_are_needed():
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    with closing(map_tasks(square, endless(), workers=2)) as results:
        assert len(list(itertools.islice(results, 50))) == 50
    assert len(taken) <= 50 + 3  # two at work, and one that ended together with the last


@pytest.mark.parametrize("stop", [GeneratorExit, KeyboardInterrupt])
def test_run_that_is_stopped_leaves_no_process_at_work(stop):
    results = map_tasks(sleep_long, itertools.count(), workers=2)
    assert next(results) == (0, 0)
    if stop is GeneratorExit:
        results.close()
    else:
        with pytest.raises(stop):
            results.throw(stop())
    assert multiprocessing.active_children() == []


# --- Ctrl-C


def test_interrupt_that_reaches_another_thread_ends_the_run():
    """The system may hand Ctrl-C to any thread: the one that waits is not woken by it then. Nor is
    it where Ctrl-C comes after its last look at signals and before its wait."""
    main = threading.get_ident()

    def interrupt_what_waits():
        waits = connection.wait.__code__
        wait_until(lambda: is_in(sys._current_frames()[main], waits), seconds=PATIENCE_S)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    results = map_tasks(sleep_long, itertools.count(), workers=2)
    assert next(results) == (0, 0)
    thread = threading.Thread(target=interrupt_what_waits, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(results)
    thread.join(PATIENCE_S)


def is_in(frame, code):
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
