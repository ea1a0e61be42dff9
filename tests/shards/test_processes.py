"""Processes: each task has its result or the end of its worker, and no worker is left."""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing import connection

import pytest

from answerkey.records import Reason
from answerkey.shards import processes
from answerkey.shards.processes import Died, _Worker, hold_interrupts, map_in_processes, run_alone
from answerkey.sqlite.guard import QueryError
from tests.shared.processes import heed_interrupts, wait_until

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
KILLED = Died(-signal.SIGKILL)
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def no_hang_and_no_orphan():
    """A test that waits for ever fails, and so does one that leaves a process behind."""

    def give_up(*_):
        raise TimeoutError("this test hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(2 * PATIENCE_S)
    with heed_interrupts():
        yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
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


def sleep_long(number):
    time.sleep(600 if number else 0)
    return number


def squares(numbers):
    return {(number, number * number) for number in numbers}


@pytest.mark.parametrize(("workers", "count"), [(1, 3), (2, 0), (2, 100), (5, 3)])
def test_any_number_of_workers_gives_the_same_results(workers, count):
    results = list(map_in_processes(square, range(count), workers=workers))
    assert len(results) == count
    assert set(results) == squares(range(count))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("deadly", [{0}, {3, 4, 19}])
def test_task_that_kills_its_worker_costs_no_other_task(workers, deadly):
    results = list(map_in_processes(partial(die_on, deadly), range(20), workers=workers))
    assert len(results) == 20
    assert set(results) == squares(set(range(20)) - deadly) | {(n, KILLED) for n in deadly}


def test_task_that_runs_alone_gives_its_result_or_how_its_process_ended():
    assert run_alone(square, 3) == 9
    assert run_alone(partial(die_on, {3}), 3) == KILLED
    assert run_alone(os._exit, 75) == Died(75)


def test_worker_that_dies_without_work_or_in_its_result_is_replaced():
    worker = _Worker(bytes)
    worker.give(3)
    assert worker.take() == (3, bytes(3))
    kill_worker(worker)
    worker.give(4)
    assert worker.take() == (4, KILLED)
    worker.give(10_000_000)  # more than fits into a pipe that nobody reads
    wait_until(worker.pipe.poll, seconds=PATIENCE_S)
    kill_worker(worker)
    assert worker.take() == (10_000_000, KILLED)
    worker.give(5)
    assert worker.take() == (5, bytes(5))
    worker.end()


def kill_worker(worker):
    worker._process.kill()
    worker._process.join()


def test_exception_of_the_function_ends_the_run_as_it_was():
    results = map_in_processes(partial(fail_on, 7), range(1000), workers=2)
    with pytest.raises(QueryError, match="failed for fleet: a BLOB of 3 bytes") as caught:
        list(results)
    assert (caught.value.reason, caught.value.database_name) == (Reason.BLOB, "fleet")
    assert "in fail_on" in str(caught.value.__cause__)  # the worker's traceback


def test_results_before_an_exception_come_first():
    results = map_in_processes(partial(fail_on, 3), range(4), workers=1)
    assert set(itertools.islice(results, 3)) == squares(range(3))
    with pytest.raises(QueryError):
        next(results)


def test_exception_of_the_tasks_ends_the_run():
    def tasks():
        yield 1
        raise RuntimeError("no more tasks to be had")

    with pytest.raises(RuntimeError, match="no more tasks to be had"):
        list(map_in_processes(square, tasks(), workers=2))


def test_tasks_are_taken_as_they_are_needed():
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    results = map_in_processes(square, endless(), workers=2)
    assert len(list(itertools.islice(results, 50))) == 50
    assert len(taken) <= 50 + 2
    results.close()


@pytest.mark.parametrize("stop", [GeneratorExit, KeyboardInterrupt])
def test_run_that_is_stopped_leaves_no_process_at_work(stop):
    results = map_in_processes(sleep_long, itertools.count(), workers=2)
    assert next(results) == (0, 0)
    if stop is GeneratorExit:
        results.close()
    else:
        with pytest.raises(stop):
            results.throw(stop())
    assert multiprocessing.active_children() == []


# --- Ctrl-C


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_interrupt_that_reaches_another_thread_ends_the_run():
    """The system may hand Ctrl-C to any thread: the one that waits is not woken by it then. Nor is
    it where Ctrl-C comes after its last look at signals and before its wait."""
    main = threading.get_ident()

    def interrupt_what_waits():
        waits = connection.wait.__code__
        wait_until(lambda: is_in(sys._current_frames()[main], waits), seconds=PATIENCE_S)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    results = map_in_processes(sleep_long, itertools.count(), workers=2)
    assert next(results) == (0, 0)
    thread = threading.Thread(target=interrupt_what_waits)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        next(results)
    thread.join()


def is_in(frame, code):
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def test_interrupt_that_is_held_is_raised_once_at_the_end_of_the_outer_block():
    steps = []

    def interrupt_within():
        with hold_interrupts():
            with hold_interrupts():
                interrupt()
                interrupt()
                steps.append("in both blocks")
            steps.append("in the outer block")
        steps.append("after both")

    with pytest.raises(KeyboardInterrupt):
        interrupt_within()
    assert steps == ["in both blocks", "in the outer block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_who_does_not_handle_interrupts_goes_on_so(handler):
    signal.signal(signal.SIGINT, handler)
    with hold_interrupts():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_leave_the_handler_alone():
    seen = []

    def look():
        with hold_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def interrupt_at_step(step):
    """Whether a run has so many lines of ours and of multiprocessing; it ends at that one, else by
    an alarm."""
    left = step
    has_result = False
    waits_in_vain = 0

    def look(frame, event, _):
        nonlocal left, has_result, waits_in_vain
        file = frame.f_code.co_filename
        left -= event == "line" and (file == processes.__file__ or "multiprocessing" in file)
        if left == 0:
            sys.settrace(None)
            signal.alarm(PATIENCE_S)
            interrupt()
        has_result |= frame.f_code is _Worker.take.__code__
        if has_result and event == "call" and frame.f_code is connection.wait.__code__:
            waits_in_vain += 1
            if waits_in_vain == 3 and left > 0:
                raise Idle
        return look

    class Idle(BaseException):
        """Nothing is left to do but wait."""

    class Hanging(BaseException):
        """The run goes on without its interrupt, or does not end with it."""

    def give_up(*_):
        sys.settrace(None)
        raise Hanging

    before = sys.gettrace()
    handler = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        sys.settrace(look)
        for _ in map_in_processes(sleep_long, itertools.count(), workers=2):
            pass
    except KeyboardInterrupt:
        return True
    except Idle:
        return False
    finally:
        sys.settrace(before)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    raise AssertionError("a run without an end has ended")


@pytest.mark.slow
def test_interrupt_at_any_step_ends_the_run():
    step = 1
    while interrupt_at_step(step):
        assert multiprocessing.active_children() == []
        step += 1
    assert multiprocessing.active_children() == []
    assert step > 100
