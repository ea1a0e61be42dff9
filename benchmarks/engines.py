"""Measure gold, rewards and suites on each engine beside bare loops of the same driver.

    python benchmarks/engines.py [--engines duckdb,postgres] [--repeat 5] [--rows 1,2] [--quick]
    python benchmarks/engines.py --corpus DIR [--now 2025-01-30]

It measures and never asserts. Its three databases are the same in all engines. With --corpus they
are dumps of PostgreSQL in the layout of defog (NAME.sql and questions.json). Things that are
compared run in turns, since the load of a machine varies. Databases are built, and servers started,
before anything is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from engine_corpus import ENGINES, Asked, copy_corpus, write_databases
from measure import (
    Line,
    announce,
    describe_machine,
    measure_rows,
    print_table,
    show_ratio,
    show_seconds,
)
from reward import HEADER, Batch, compare_rates, score_right, take_turns

from answerkey.base.records import Shard, hash_file, read_shards
from answerkey.engines.answers import shape_answer
from answerkey.engines.database import Limits
from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE, name_engine
from answerkey.engines.opening import find_database_file, find_engine, open_database
from answerkey.engines.schema import encode_schema
from answerkey.gold.execution import execute_task
from answerkey.reward import RewardPool
from answerkey.sections.generate_test_suites import SuiteSettings
from answerkey.shards.database_files import Database
from answerkey.shards.runs import QueryTask, ShardDirectory
from answerkey.suites.database_suites import SuiteTask, run_suites
from answerkey.suites.questions import SuiteQuestion

BATCH = 1000
Rows = list[tuple[Any, ...]]
Execute = Callable[[str], Rows]


class Suite(NamedTuple):
    """The test suite of a question, as an export has it, and the paths of its databases."""

    databases: list[dict[str, Any]]
    paths: list[Path]


@contextlib.contextmanager
def open_bare(path: Path, now: str | None) -> Iterator[Execute]:
    """Open a database with the driver of its engine alone, and yield what returns a query's
    rows."""
    engine = name_engine(path)
    if engine == SQLITE:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            yield lambda sql: connection.execute(sql).fetchall()
    elif engine == DUCKDB:
        import duckdb

        file = path.with_suffix(".duckdb")  # it has no settings that change a row
        if not file.exists():
            with duckdb.connect(file) as building:
                building.execute(path.read_text(encoding="utf-8"))
        with duckdb.connect(file, read_only=True) as opened:
            yield lambda sql: opened.execute(sql).fetchall()
    else:
        from answerkey.engines.postgres.loading import build_from_text, write_options
        from answerkey.engines.postgres.server import find_server

        name, settings = build_from_text(path, now)
        options = write_options(settings, {})
        with find_server().connect(name, options=options) as session:
            yield lambda sql: session.execute(sql).fetchall()


class Bench:
    """The rows of the table, on one engine."""

    def __init__(
        self,
        engine: str,
        folder: Path,
        questions: Sequence[Asked],
        *,
        now: str | None,
        repeat: int,
        is_quick: bool,
    ) -> None:
        self._engine = engine
        self._databases = folder / "databases"
        self._suites_folder = folder / "test_suites"
        self._now = now
        self._repeat = repeat
        self._count = BATCH // 4 if is_quick else BATCH
        self._numbers = count()
        self._names = sorted({question.database_name for question in questions})
        self._questions, self._answers = self._keep_answered(questions)
        self._suites: list[Suite] = []

    def compare_gold_with_bare_loop(self) -> Iterator[Line]:
        """Row 1."""
        seconds = self._take_turns("gold", {"ours": self._run_gold, "loop": self._run_bare_gold})
        ours, loop = seconds["ours"], seconds["loop"]
        work = f"{self._engine}: {len(self._questions)} gold queries, one process, s"
        peer = "a bare loop, which opens the databases, too"
        yield work, peer, show_seconds(ours), show_seconds(loop), show_ratio(ours, loop), "2.00"

    def measure_suites(self) -> Iterator[Line]:
        """Row 2. The suites are those of the rows below."""
        announce(f"{self._engine}: suites")
        start = time.perf_counter()
        self._make_suites()
        each_s = (time.perf_counter() - start) / len(self._questions)
        sizes = [len(suite.databases) for suite in self._suites]
        work = f"{self._engine}: suites, s a question, one worker"
        yield work, "databases a question", f"{each_s:.3f}", f"{fmean(sizes):.1f}", "", ""

    def compare_rewards_with_bare_loop(self) -> Iterator[Line]:
        """Row 3."""
        yield from self._compare_rewards(has_suites=False)

    def compare_suites_with_bare_loop(self) -> Iterator[Line]:
        """Row 4."""
        if not self._suites:
            self._make_suites()
        yield from self._compare_rewards(has_suites=True)

    def _compare_rewards(self, *, has_suites: bool) -> Iterator[Line]:
        numbers = list(islice(cycle(range(len(self._questions))), self._count))
        gold = [self._questions[number].gold_sql for number in numbers]
        batch = self._make_batch(numbers, gold, has_suites=has_suites)
        new = partial(self._make_new, gold)
        with (
            self._open_loop(numbers, has_suites=has_suites) as run,
            RewardPool(
                workers=1, databases=self._databases, test_suites=self._suites_folder
            ) as pool,
        ):
            seconds = self._take_turns(
                "rewards",
                {
                    "loop": lambda: run(gold),
                    "pool": lambda: score_right(pool, batch),
                    "loop, new": lambda: run(new()),
                    "pool, new": lambda: score_right(
                        pool, self._make_batch(numbers, new(), has_suites=has_suites)
                    ),
                },
            )
        rates = {way: [self._count / s for s in values] for way, values in seconds.items()}
        work = f"{self._engine}: predictions a second, one worker"
        work += ", with suites" if has_suites else ""
        peer = "a bare loop that keeps its connections"
        yield compare_rates(work, peer, rates["pool"], rates["loop"], "0.40")
        work, peer = (f"{words}, no text twice" for words in (work, peer))
        yield compare_rates(work, peer, rates["pool, new"], rates["loop, new"], "0.40")

    def _take_turns(
        self, what: str, ways: dict[str, Callable[[], object]]
    ) -> dict[str, list[float]]:
        return take_turns(f"{self._engine}: {what}", ways, repeat=self._repeat)

    def _find_path(self, name: str) -> Path:
        return Path(find_database_file(self._databases, name, engine=self._engine))

    def _keep_answered(self, questions: Sequence[Asked]) -> tuple[list[Asked], list[Any]]:
        """Return the questions whose gold has an answer, and these answers."""
        kept, answers = [], []
        with contextlib.ExitStack() as stack:
            opened = {
                name: stack.enter_context(open_database(self._find_path(name), now=self._now))
                for name in self._names
            }
            for question in questions:
                with contextlib.suppress(sqlite3.OperationalError):
                    rows = opened[question.database_name].execute(question.gold_sql)
                    kept.append(question)
                    answers.append(shape_answer(rows))
        return kept, answers

    def _list_queries(self, name: str) -> tuple[str, ...]:
        return tuple(
            question.gold_sql for question in self._questions if question.database_name == name
        )

    def _run_gold(self) -> None:
        for name in self._names:
            database = Database(self._find_path(name), "")
            execute_task(
                QueryTask(Shard(name), database, self._list_queries(name), (Limits(), self._now))
            )

    def _run_bare_gold(self) -> None:
        for name in self._names:
            with open_bare(self._find_path(name), self._now) as execute:
                for sql in self._list_queries(name):
                    execute(sql)

    def _make_suites(self) -> None:
        tasks = []
        for name in self._names:
            path = self._find_path(name)
            asked = [
                SuiteQuestion(str(number), question.gold_sql, question.order_matters)
                for number, question in enumerate(self._questions)
                if question.database_name == name
            ]
            tables = encode_schema(find_engine(path).read_schema(path))
            database = Database(path, hash_file(path))
            tasks.append(SuiteTask(Shard(name), database, tables, asked, self._now))
        directory = ShardDirectory(self._suites_folder.with_name("suite_records"))
        shards, _ = run_suites(
            tasks,
            directory,
            self._suites_folder,
            settings=SuiteSettings(),
            limits=Limits(),
            databases=len(tasks),
            runner="local",
            workers=1,
        )
        records = {
            int(record["question_id"]): record["databases"]
            for record in read_shards(directory.directory, shards)
        }
        self._suites = [
            Suite(records[number], [self._find_suite_path(one["path"]) for one in records[number]])
            for number in range(len(self._questions))
        ]

    def _find_suite_path(self, path: str) -> Path:
        return self._suites_folder.joinpath(*path.split("/")[-2:])

    @contextlib.contextmanager
    def _open_loop(
        self, numbers: Sequence[int], *, has_suites: bool
    ) -> Iterator[Callable[[Sequence[str]], None]]:
        """Yield a loop over connections that stay open. It compares the rows of each database with
        those that it had first."""
        expected: dict[tuple[int, Path], Rows] = {}
        with contextlib.ExitStack() as stack:
            opened: dict[Path, Execute] = {}
            trials = []
            for number in numbers:
                paths = [self._find_path(self._questions[number].database_name)]
                paths += self._suites[number].paths if has_suites else []
                for path in paths:
                    if path not in opened:
                        opened[path] = stack.enter_context(open_bare(path, self._now))
                trials.append((number, [(path, opened[path]) for path in paths]))

            def run(predictions: Sequence[str]) -> None:
                right = 0
                for (number, databases), sql in zip(trials, predictions, strict=True):
                    for path, execute in databases:
                        rows = execute(sql)
                        right += rows == expected.setdefault((number, path), rows)

            yield run

    def _make_batch(
        self, numbers: Sequence[int], predictions: Sequence[str], *, has_suites: bool
    ) -> Batch:
        asked = [self._questions[number] for number in numbers]
        hashes = {
            name: hashlib.sha256(self._find_path(name).read_bytes()).hexdigest()
            for name in self._names
        }
        columns: dict[str, list[Any]] = {
            "database_name": [question.database_name for question in asked],
            "engine": [self._engine for _ in asked],
            "max_steps": [Limits().max_steps for _ in asked],
            "order_matters": [question.order_matters for question in asked],
            "gold_answer": [json.dumps(self._answers[number]) for number in numbers],
            "database_sha256": [hashes[question.database_name] for question in asked],
            "now": [self._now for _ in asked],
        }
        if has_suites:
            columns["test_suite"] = [
                json.dumps(self._suites[number].databases) for number in numbers
            ]
        return Batch([f"```sql\n{sql}\n```" for sql in predictions], columns)

    def _make_new(self, predictions: Sequence[str]) -> list[str]:
        """Return the same queries as texts that have not been used before."""
        return [f"{sql} /* {next(self._numbers)} */" for sql in predictions]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engines", default=",".join(ENGINES), help="some engines; default: all")
    parser.add_argument("--corpus", type=Path, help="dumps of PostgreSQL with questions.json")
    parser.add_argument("--now", help="the time of the clock, such as 2025-01-30")
    parser.add_argument("--repeat", type=int, default=5, help="runs of everything; default: 5")
    parser.add_argument("--rows", default="1,2,3,4", help="some rows; default: all")
    parser.add_argument("--quick", action="store_true", help="one run, and fewer predictions")
    return parser.parse_args()


def measure_engine(engine: str, folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    databases = folder / "databases"
    if arguments.corpus is None:
        questions = write_databases(databases, engine)
    else:
        questions = copy_corpus(arguments.corpus, databases)
    bench = Bench(
        engine,
        folder,
        questions,
        now=arguments.now,
        repeat=1 if arguments.quick else arguments.repeat,
        is_quick=arguments.quick,
    )
    rows: dict[str, Callable[[], Iterator[Line]]] = {
        "1": bench.compare_gold_with_bare_loop,
        "2": bench.measure_suites,
        "3": bench.compare_rewards_with_bare_loop,
        "4": bench.compare_suites_with_bare_loop,
    }
    yield from measure_rows(rows, arguments.rows.split(","))


def main() -> None:
    arguments = read_arguments()
    engines = [POSTGRES] if arguments.corpus else arguments.engines.split(",")
    with tempfile.TemporaryDirectory(prefix="answerkey-engines-") as folder:
        print_table(
            HEADER,
            (
                line
                for engine in engines
                for line in measure_engine(engine, Path(folder) / engine, arguments)
            ),
        )
    values = "One run" if arguments.quick else "Medians; all values in brackets"
    print(f"{values}. {describe_machine()}")


if __name__ == "__main__":
    main()
