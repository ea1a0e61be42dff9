"""Measure the reward under a trainer's load: its speed, and what hostile predictions cost others.

    python benchmarks/reward.py [--product DIR --databases DIR] [--repeat 5] [--rows 1,2] [--quick]

It measures and never asserts. Predictions are the gold SQL of a product, by default that of this
checkout (`dvc repro`), and bombs: queries that count for ever, and one that spends an hour in a
single step of SQLite. Things that are compared run in turns, since the load of a machine varies.
Memory and file descriptors are read from /proc, so row 6 needs Linux.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from measure import (
    Line,
    announce,
    describe_machine,
    measure_rows,
    print_table,
    show_ratio,
    show_seconds,
)

from answerkey.reward import RewardPool

ROOT = Path(__file__).resolve().parent.parent
HEADER = ("", "work", "limit or peer", "ours", "limit or peer", "ratio", "to reach")
SPLITS = ("train", "eval")
BATCH = 1000
BOMBS = 10  # of a batch
COUNT = (
    "WITH RECURSIVE n(i) AS (SELECT {number} UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
)
CROSS_JOIN = (
    "SELECT count(*) FROM {table} a, {table} b, {table} c, {table} d, {table} e, {table} f,"
    " {table} g, {table} h WHERE {number} = {number}"
)
SINGLE_STEP = "SELECT printf(replace(hex(zeroblob(30000)), '0', '%.2{number:09}c'), 'x')"

TERMS = ("database_name", "order_matters", "max_steps", "rule", "accepted_rows")
NOW = "2025-01-30"
CALLS = 20_000
DAYS = (
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {calls} - 1)"
    " SELECT max(date({now}, '-' || (i % {days}) || ' days')) FROM n"
)

Question = dict[str, Any]


class Batch(NamedTuple):
    """Completions, and the columns that a trainer passes with them."""

    completions: list[str]
    columns: dict[str, list[Any]]


def read_questions(product: Path) -> list[Question]:
    """Return the questions of a product, each with its record of the audit."""
    questions = [
        question
        for split in SPLITS
        for question in json.loads((product / f"questions_{split}.json").read_text("utf-8"))
    ]
    with (product / "audit.jsonl").open(encoding="utf-8") as file:
        audits = {audit["question_id"]: audit for audit in map(json.loads, file)}
    return [{**audits[question["question_id"]], **question} for question in questions]


def make_batch(questions: Sequence[Question], predictions: Sequence[str]) -> Batch:
    """Return a batch with a prediction for each question."""
    columns = {
        name: [question[name] for question in questions]
        for name in ("database_name", "order_matters", "max_steps", "rule")
    }
    columns["gold_answer"] = [json.dumps(question["gold_answer"]) for question in questions]
    columns["accepted_rows"] = [
        question["accepted_rows"] and json.dumps(question["accepted_rows"])
        for question in questions
    ]
    columns["now"] = [question.get("now") for question in questions]
    return Batch([f"```sql\n{sql}\n```" for sql in predictions], columns)


@contextlib.contextmanager
def open_loop(questions: Sequence[Question], databases: Path) -> Iterator[Callable[..., None]]:
    """Yield a loop over connections that stay open, without any limits or comparison."""
    names = {question["database_name"] for question in questions}
    with contextlib.ExitStack() as stack:
        connections = {}
        for name in names:
            connection = sqlite3.connect(databases / name / f"{name}.sqlite")
            connections[name] = stack.enter_context(contextlib.closing(connection))

        def run(predictions: Sequence[str]) -> None:
            for question, sql in zip(questions, predictions, strict=True):
                connections[question["database_name"]].execute(sql).fetchall()

        yield run


class Bench:
    """The rows of the table."""

    def __init__(
        self, questions: list[Question], databases: Path, *, repeat: int, is_quick: bool
    ) -> None:
        self._all = cycle(questions)
        self._databases = databases
        self._repeat = repeat
        self._count = 2 * BATCH if is_quick else 4 * BATCH
        self._scores = 10_000 if is_quick else 100_000
        self._beside_s = 3 if is_quick else 12
        self._numbers = count()

    def compare_worker_with_bare_loop(self) -> Iterator[Line]:
        """Row 1."""
        questions = self._take_questions(self._count)
        gold = _list_gold_sql(questions)
        batch, new = make_batch(questions, gold), partial(self._make_new, gold)
        with open_loop(questions, self._databases) as run, self._open_pool(1) as pool:
            seconds = self._take_turns(
                "one worker",
                {
                    "loop": lambda: run(gold),
                    "loop, new": lambda: run(new()),
                    "pool": lambda: score_right(pool, batch),
                    "pool, new": lambda: score_right(pool, make_batch(questions, new())),
                    "score_sql": lambda: score_one_by_one(pool, questions),
                    "execute": lambda: execute_one_by_one(pool, questions),
                },
            )
        rates = {way: [len(questions) / s for s in values] for way, values in seconds.items()}
        work, peer = "predictions a second, one worker", "a bare loop that keeps its connections"
        yield compare_rates(
            f"{work}: `score_completions`", peer, rates["pool"], rates["loop"], "0.55"
        )
        new = "no text twice"
        yield compare_rates(
            f"{work}, {new}", f"{peer}, {new}", rates["pool, new"], rates["loop, new"]
        )
        for way in ("score_sql", "execute"):
            yield compare_rates(f"{work}: `{way}`, one by one", peer, rates[way], rates["loop"])

    def compare_two_workers_with_one(self) -> Iterator[Line]:
        """Row 2."""
        questions = self._take_questions(self._count)
        batch = make_batch(questions, _list_gold_sql(questions))
        with self._open_pool(1) as one_worker, self._open_pool(2) as two_workers:
            seconds = self._take_turns(
                "two workers and one",
                {
                    "two": lambda: score_right(two_workers, batch),
                    "one": lambda: score_right(one_worker, batch),
                },
            )
        two_rates, one_rates = ([len(questions) / s for s in seconds[way]] for way in seconds)
        work = "predictions a second, two workers"
        yield compare_rates(work, "one worker", two_rates, one_rates, "1.80")

    def compare_counting_bombs_with_none(self) -> Iterator[Line]:
        """Row 3."""
        places = range(BATCH // BOMBS // 2, BATCH, BATCH // BOMBS)
        bombed, innocent = self._measure_bombs(self._make_counting_bomb, places)
        times = show_seconds(bombed), show_seconds(innocent), show_ratio(bombed, innocent)
        work = f"{BATCH:,} completions of which {BOMBS} count for ever, two workers, s"
        yield work, "the same without them", *times, "1.50"

    def compare_single_step_bomb_with_none(self) -> Iterator[Line]:
        """Row 4."""
        bombed, innocent = self._measure_bombs(self._make_single_step_bomb, [BATCH // 2])
        more = f"{median(bombed) - median(innocent):+.2f} s"
        work = f"{BATCH:,} completions of which one never ends its first step, two workers, s"
        times = show_seconds(bombed), show_seconds(innocent), more
        yield work, "the same without it", *times, "+2 s: its last resort"

    def measure_wait_beside_bombs(self) -> Iterator[Line]:
        """Row 5."""
        questions = self._take_questions(BATCH)
        bombs = {
            "counts for ever": self._make_counting_bomb,
            "never ends its first step": self._make_single_step_bomb,
        }
        with self._open_pool(2) as pool:
            score_one_by_one(pool, questions)
            alone_s = median(self._time_calls(pool, questions))
            for what, make_bomb in bombs.items():
                announce(f"one by one, beside a bomb that {what}: {self._beside_s} s")
                is_over = threading.Event()
                bomber = threading.Thread(target=self._throw_bombs, args=(pool, make_bomb, is_over))
                bomber.start()
                beside = self._time_calls(pool, questions)
                is_over.set()
                bomber.join()
                added = [1000 * (seconds - alone_s) for seconds in beside]
                yield (
                    f"ms that one prediction waits more beside one after another that {what},"
                    f" two workers, 99th percentile of {len(beside):,}",
                    "ms alone, median",
                    f"{quantiles(added, n=100)[-1]:.1f} (at most {max(added):.1f})",
                    f"{1000 * alone_s:.1f}",
                    "",
                    "50",
                )

    def measure_growth(self) -> Iterator[Line]:
        """Row 6."""
        with self._open_pool(2) as pool:
            self._score_anything(pool, 5 * BATCH)
            before = count_resources()
            announce(f"{self._scores:,} scores")
            self._score_anything(pool, self._scores)
            after = count_resources()
        names = ("the process that asks", "its two workers")
        for name, (size, files), (new_size, new_files) in zip(names, before, after, strict=True):
            yield (
                f"{self._scores:,} scores, no text twice: growth of {name}",
                "after 5,000 scores",
                f"{(new_size - size) / 1e6:+.1f} MB, {new_files - files:+} files",
                f"{size / 1e6:.1f} MB, {files} files",
                "",
                "+1 MB, +0 files",
            )

    def compare_clock_with_none(self) -> Iterator[Line]:
        """Row 7: the cost of a clock for questions that do not read it, and for those that do."""
        questions = self._take_questions(self._count)
        gold = _list_gold_sql(questions)
        timed, untimed = (
            make_batch([{**question, "now": now} for question in questions], gold)
            for now in (NOW, None)
        )
        with self._open_pool(1) as pool:
            seconds = self._take_turns(
                "with and without a clock",
                {
                    "now": lambda: score_right(pool, timed),
                    "none": lambda: score_right(pool, untimed),
                },
            )
        rates = {way: [len(questions) / s for s in values] for way, values in seconds.items()}
        work = "predictions a second, one worker, with a clock"
        yield compare_rates(work, "the same without", rates["now"], rates["none"], "0.95")
        name = questions[0]["database_name"]
        with self._open_pool(1) as pool, contextlib.closing(sqlite3.connect(":memory:")) as plain:
            for days in (CALLS // 20, CALLS):
                ours = DAYS.format(now="'now'", calls=CALLS, days=days)
                theirs = DAYS.format(now=f"'{NOW}'", calls=CALLS, days=days)
                seconds = self._take_turns(
                    f"{CALLS:,} calls of date()",
                    {
                        "ours": lambda sql=ours: pool.execute(sql, name, now=NOW),
                        "theirs": lambda sql=theirs: plain.execute(sql).fetchall(),
                    },
                )
                times = [seconds["ours"], seconds["theirs"]]
                each = (f"{1e6 * median(values) / CALLS:.2f}" for values in times)
                work = f"µs a call of date('now', ...), of {CALLS:,} with {days:,} results"
                yield work, "SQLite's own date()", *each, show_ratio(*times), ""

    def _open_pool(self, workers: int) -> RewardPool:
        return RewardPool(workers=workers, databases=self._databases)

    def _take_questions(self, number: int) -> list[Question]:
        return list(islice(self._all, number))

    def _take_turns(
        self, what: str, ways: dict[str, Callable[[], object]]
    ) -> dict[str, list[float]]:
        return take_turns(what, ways, repeat=self._repeat)

    def _make_new(self, predictions: Sequence[str]) -> list[str]:
        """Return the same queries as texts that have not been used before."""
        return [f"/* {next(self._numbers)} */ {sql}" for sql in predictions]

    def _make_counting_bomb(self, question: Question) -> str:
        number = next(self._numbers)
        bomb = CROSS_JOIN if number % 2 else COUNT
        return bomb.format(number=number, table=f'"{question["tables_involved"][0]}"')

    def _make_single_step_bomb(self, _: Question) -> str:
        return SINGLE_STEP.format(number=next(self._numbers))

    def _measure_bombs(
        self, make_bomb: Callable[[Question], str], places: Sequence[int]
    ) -> tuple[list[float], list[float]]:
        """Return the seconds of a batch with bombs at these positions, and of one without."""
        questions = self._take_questions(BATCH)
        innocent = make_batch(questions, _list_gold_sql(questions))

        def place_bombs() -> Batch:
            predictions = _list_gold_sql(questions)
            for place in places:
                predictions[place] = make_bomb(questions[place])
            return make_batch(questions, predictions)

        with self._open_pool(2) as pool:
            ways = {
                "bombed": lambda: score(pool, place_bombs()),
                "innocent": lambda: score_right(pool, innocent),
            }
            seconds = self._take_turns(f"a batch with bombs at {len(places)} places", ways)
        return seconds["bombed"], seconds["innocent"]

    def _time_calls(self, pool: RewardPool, questions: Sequence[Question]) -> list[float]:
        """Return the seconds of one call after another."""
        seconds = []
        end = time.perf_counter() + self._beside_s
        for question in cycle(questions):
            start = time.perf_counter()
            if start > end:
                return seconds
            score_one_by_one(pool, [question])
            seconds.append(time.perf_counter() - start)
        raise AssertionError("no questions")

    def _throw_bombs(
        self,
        pool: RewardPool,
        make_bomb: Callable[[Question], str],
        is_over: threading.Event,
    ) -> None:
        while not is_over.is_set():
            (question,) = self._take_questions(1)
            score(pool, make_batch([question], [make_bomb(question)]))

    def _score_anything(self, pool: RewardPool, number: int) -> None:
        """Score batches in which one prediction of ten fails, and one of a hundred is no SQL."""
        for _ in range(number // BATCH):
            questions = self._take_questions(BATCH)
            predictions = self._make_new(_list_gold_sql(questions))
            predictions[::10] = self._make_new(["SELECT nothing FROM nowhere"] * (BATCH // 10))
            batch = make_batch(questions, predictions)
            batch.completions[5::100] = ["I do not know."] * (BATCH // 100)
            score(pool, batch)


def take_turns(
    what: str, ways: dict[str, Callable[[], object]], *, repeat: int
) -> dict[str, list[float]]:
    """Return the seconds of each way, in turns; the first turn does not count."""
    announce(f"{what}: {repeat} times")
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(repeat + 1):
        for way, run in ways.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[way].append(time.perf_counter() - start)
    return seconds


def score(pool: RewardPool, batch: Batch) -> list[float]:
    """Return the reward of each completion."""
    return pool.score_completions(batch.completions, **batch.columns)


def score_right(pool: RewardPool, batch: Batch) -> None:
    """Score completions that are right.

    Raises:
        ValueError: one is not, since a wrong result is not worth measuring.
    """
    check_all_right(score(pool, batch))


def score_one_by_one(pool: RewardPool, questions: Sequence[Question]) -> None:
    """Score gold SQL, one call per question; raises as `score_right`."""
    rewards = []
    for question in questions:
        terms = {name: question[name] for name in TERMS} | {"now": question.get("now")}
        rewards.append(pool.score_sql(question["gold_sql"], question["gold_answer"], **terms))
    check_all_right(rewards)


def execute_one_by_one(pool: RewardPool, questions: Sequence[Question]) -> None:
    """Execute gold SQL, one call per question."""
    for question in questions:
        name, now = question["database_name"], question.get("now")
        pool.execute(question["gold_sql"], name, now=now)


def count_resources() -> list[tuple[int, int]]:
    """Return resident bytes and open files of this process, and of all its children together."""
    children = [
        int(process)
        for path in Path("/proc/self/task").glob("*/children")
        for process in path.read_text().split()
    ]
    return [_add_resources([os.getpid()]), _add_resources(children)]


def _add_resources(processes: Sequence[int]) -> tuple[int, int]:
    pages = files = 0
    for process in processes:
        folder = Path("/proc") / str(process)
        pages += int((folder / "statm").read_text().split()[1])
        files += len(list((folder / "fd").iterdir()))
    return pages * os.sysconf("SC_PAGE_SIZE"), files


def check_all_right(rewards: Sequence[float]) -> None:
    if wrong := len(rewards) - sum(rewards):
        raise ValueError(f"gold SQL: expected rewards of 1.0, found {wrong:.0f} others")


def _list_gold_sql(questions: Sequence[Question]) -> list[str]:
    return [question["gold_sql"] for question in questions]


def compare_rates(
    work: str, peer: str, ours: Sequence[float], theirs: Sequence[float], reach: str = ""
) -> Line:
    """Return a line of the table, of rates."""
    return work, peer, _show_rates(ours), _show_rates(theirs), show_ratio(ours, theirs), reach


def _show_rates(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({', '.join(f'{value:,.0f}' for value in values)})"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    data = ROOT / "data"
    parser.add_argument("--product", type=Path, default=data / "questions")
    parser.add_argument("--databases", type=Path, default=data / "databases")
    parser.add_argument("--repeat", type=int, default=5, help="runs of everything; default: 5")
    parser.add_argument("--rows", default="1,2,3,4,5,6,7", help="some rows; default: all")
    parser.add_argument("--quick", action="store_true", help="one run, and fewer predictions")
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    repeat = 1 if arguments.quick else arguments.repeat
    questions = read_questions(arguments.product)
    bench = Bench(questions, arguments.databases, repeat=repeat, is_quick=arguments.quick)
    rows: dict[str, Callable[[], Iterator[Line]]] = {
        "1": bench.compare_worker_with_bare_loop,
        "2": bench.compare_two_workers_with_one,
        "3": bench.compare_counting_bombs_with_none,
        "4": bench.compare_single_step_bomb_with_none,
        "5": bench.measure_wait_beside_bombs,
        "6": bench.measure_growth,
        "7": bench.compare_clock_with_none,
    }
    print(f"{len(questions)} questions; {describe_machine()}\n", flush=True)
    print_table(HEADER, measure_rows(rows, arguments.rows.split(",")))
    values = "Medians; all values in brackets" if repeat > 1 else "One run"
    print(f"{values}. {describe_machine()}")


if __name__ == "__main__":
    main()
