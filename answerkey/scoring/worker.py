"""A worker process: it reads jobs from a pipe, executes them, and writes the results back.

It executes SQL that nobody has read, so it may be ended at any moment: by the kernel, or on Windows
by a thread, once a job has used its seconds of CPU time, whatever SQLite is doing then (a single
step may heed no interrupt and last for hours). It never outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from answerkey.base.errors import InputError
from answerkey.base.reasons import Reason
from answerkey.engines.answers import OtherAnswer, check_answer, drop_residue
from answerkey.engines.database import Database, Limits, QueryError, Row, end_with
from answerkey.engines.names import POSTGRES, SQLITE, name_engine
from answerkey.engines.opening import load_engine
from answerkey.engines.sqlite.files import find_inside
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.scoring.comparison import (
    DifferenceKind,
    RowDifference,
    cut_texts,
    find_difference,
    read_other_order,
    rows_match,
)
from answerkey.scoring.completions import explain_fence, explain_no_query, extract_sql
from answerkey.scoring.rules import Rule, read_rule
from answerkey.scoring.systems import IS_UNIX, TIMER, open_shared, write_first_byte

RIGHT, WRONG = 1.0, 0.0

# Reasons beside those of the guard (Reason) and of differences (DifferenceKind).
NO_QUERY = "no_query"
WORKER_DIED = "worker_died"
# The detail of a right prediction whose question has no suite.
NO_SUITE = "no suite: right on the database, as is its answer said by heart"
SUMMARY_ROWS = 20
# Environment variables with the folders of databases, and of the databases of test suites.
DATABASES_VARIABLE = "ANSWERKEY_DATABASES"
SUITES_VARIABLE = "ANSWERKEY_TEST_SUITES"

# SQLite keeps 0.2 to 2 MB of a file in memory: 32 large databases are kept open, or ten times as
# many small ones, such as those of test suites. A database of Postgres takes a connection, of which
# its server has 280 for all of a machine. A worker keeps its share of 128, at least 32: the suites
# of five corpus databases take 50, and to connect costs as much as a hundred queries.
_MIN_CACHE_BYTES, _CACHE_BYTES = 220_000, 2_048_000
_KEPT_BYTES = 32 * _CACHE_BYTES
_LEAST_CONNECTIONS, _CONNECTIONS = 32, 128
_KEPT_STATEMENTS = 64  # compiled queries, 5 kB each: predictions for one database are often alike
_KEPT_HASHES = 1 << 16
_KEPT_SUITES = 32  # predictions for one question arrive together

LEAST_STEPS = 1_000_000  # the smallest budget
# A larger budget if the steps of the gold query are unknown: about fifty scans of all tables.
_STEPS_PER_BYTE = 10

_LAST_RESORT_S = 30  # of a prediction in another engine than SQLite

_TRIES = 5  # for a file that changes while it is read
_CHANGING = f"changed {_TRIES} times while it was read: expected a file that stays as it is"


class JobKind(StrEnum):
    """The kind of a job's result: a reward (None if the text has no query), an Explanation, the
    rows of the query or a RowSummary of them (None if it has no rows), or the columns that it reads
    (None if it is refused)."""

    SCORE = "score"
    EXPLAIN = "explain"
    EXECUTE = "execute"
    SUMMARIZE = "summarize"
    LIST_READS = "list_reads"


class Job(NamedTuple):
    """One prediction.

    text: SQL, or a completion that contains SQL; None if nothing was predicted.
    max_steps: the budget of the query; None: it depends on the size of the database.
    max_cpu_s: the budget in an engine that counts no steps; None: that of the limits.
    gold_answer, accepted_rows, other_answers, test_suite: JSON text, as exports have them.
    suites_folder: the folder with the databases of test suites.
    database_sha256: the hash of the file at path; None: unknown, so it is not checked.
    now: the time of the clock, as `read_instant` writes it; None: a query that reads the clock is
        refused.
    """

    kind: JobKind
    path: str
    text: str | None
    is_completion: bool = False
    max_steps: int | None = None
    gold_answer: str = "null"
    order_matters: bool = False
    rule: Rule | None = None
    accepted_rows: str | None = None
    other_answers: str | None = None
    test_suite: str | None = None
    suites_folder: str = ""
    database_sha256: str | None = None
    now: str | None = None
    max_cpu_s: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reward and the reason for it.

    reason: None if the prediction is right; else `no_query`, a value of `Reason` if the query has
        no answer (such as sql_error or time_exceeded), or one of `DifferenceKind` if its rows
        differ (such as too_few_rows).
    detail: a sentence: SQLite's own if it refuses the query; `no suite` if the prediction is
        right, and its question has no test suite.
    missing, unexpected: some rows that the answer lacks, and some that it should not have.
    database: the database of the test suite on which the prediction is wrong; None if it is wrong
        on the real one, or right.
    """

    reward: float
    reason: str | None = None
    detail: str = ""
    missing: list[Row] = field(default_factory=list)
    unexpected: list[Row] = field(default_factory=list)
    database: str | None = None


class RowSummary(NamedTuple):
    """Some rows of a query, with long texts cut; the number of rows; and a hash of all rows, with
    floats of six digits. The hash ignores the order of rows unless the job says that it matters."""

    rows: list[Row]
    row_count: int
    answer: str


def answer_without_rows(
    kind: JobKind, reason: str, detail: str, *, database: str | None = None
) -> Any:
    """Return the result of a job whose prediction has no rows."""
    if kind is JobKind.SCORE and reason != NO_QUERY:
        return WRONG
    if kind is not JobKind.EXPLAIN:
        return None
    return Explanation(WRONG, str(reason), detail, database=database)


def write_message(file: int, message: Any) -> None:
    """Write a whole pickle to an open file, without a buffer that a fork could write again."""
    data = memoryview(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))
    while data:
        data = data[os.write(file, data) :]


class Version(NamedTuple):
    """The state of a file: if it is changed or replaced, one of these is another, at least the
    ctime; on Windows that is when the file was made, and the mtime is another."""

    size_bytes: int
    device: int
    inode: int
    ctime_ns: int
    mtime_ns: int


def _read_version(status: os.stat_result) -> Version:
    ids = status.st_size, status.st_dev, status.st_ino
    return Version(*ids, status.st_ctime_ns, status.st_mtime_ns)


class OpenDatabase(NamedTuple):
    """A database, its open file, and the version of that file. On Unix the file is that which
    SQLite has open; Windows lets nobody replace a file that is open, so that any will do. Other
    engines build a database of the file's text, and here the text is open."""

    database: Database
    file: int
    version: Version


_Key = tuple[str, str | None, int | None]  # a path, a clock, and seconds of CPU time


class OpenDatabases:
    """Open databases by path, clock and seconds of CPU time. Each is read once, and again if its
    file has changed. A connection has one clock, and the limits with which it was opened, so
    questions with different ones never share it.

    A path may lead to another file at any moment. So the file that SQLite reads is hashed, and it
    must have the same version when the query is done.

    workers: how many processes open databases beside each other.
    """

    def __init__(self, limits: Limits, *, workers: int = 1) -> None:
        self._limits = limits
        kept = max(_LEAST_CONNECTIONS, _CONNECTIONS // workers)
        self._connection_bytes = _KEPT_BYTES // kept
        self._open: OrderedDict[_Key, OpenDatabase] = OrderedDict()
        self._hashes: dict[Version, str] = {}
        self._cached_bytes = 0

    def find(
        self,
        path: str,
        *,
        sha256: str | None = None,
        now: str | None = None,
        max_cpu_s: int | None = None,
        is_of_suite: bool = False,
    ) -> OpenDatabase:
        """Return the open database.

        Raises:
            FileNotFoundError: there is no such file.
            InputError: its sha256 is another one, or the file changes again and again.
            sqlite3.DatabaseError: it is no database, or a corrupt one.
        """
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if status is None or not stat.S_ISREG(status.st_mode):
            files = "test suites" if is_of_suite else "databases"
            variable = SUITES_VARIABLE if is_of_suite else DATABASES_VARIABLE
            raise FileNotFoundError(
                f"No database at {path}: expected the {files} of the dataset in"
                f" {Path(path).parents[1]}; elsewhere, say so by the environment variable"
                f" {variable}"
            )
        key = path, now, max_cpu_s
        known = self._open.get(key)
        if known is not None and known.version == _read_version(status):
            self._open.move_to_end(key)
            self._check_hash(path, known.file, known.version, sha256)
        else:
            self.close(*key)
            known = self._open_file(*key, sha256=sha256)
            self._open[key] = known
            self._cached_bytes += self._count_cached(path, known.version.size_bytes)
            while self._cached_bytes > _KEPT_BYTES:
                self.close(*next(iter(self._open)))
        return known

    def _open_file(
        self, path: str, now: str | None, max_cpu_s: int | None, *, sha256: str | None
    ) -> OpenDatabase:
        for _ in range(_TRIES):
            file = os.open(path, os.O_RDONLY)
            try:
                version = _read_version(os.fstat(file))
                self._check_hash(path, file, version, sha256)
                sqlite_file = os.dup(file)
                engine = name_engine(path)
                if IS_UNIX and engine == SQLITE:
                    os.close(sqlite_file)  # SQLite opens by name, and takes the lowest free number
                database = self._open_database(path, engine, now, max_cpu_s)
                if _is_version(sqlite_file, version):
                    return OpenDatabase(database, sqlite_file, version)
                _close(database, sqlite_file)
            finally:
                os.close(file)
        raise InputError(f"{path}: {_CHANGING}")

    def _open_database(
        self, path: str, engine: str, now: str | None, max_cpu_s: int | None
    ) -> Database:
        if engine == SQLITE:
            return GuardedDatabase(
                Path(path),
                self._limits,
                now=now,
                watchdog=None,
                kept_statements=_KEPT_STATEMENTS,
            )
        # Building a database takes seconds that are not the prediction's.
        left = TIMER.stop()
        try:
            limits = limit_cpu_time(self._limits, max_cpu_s)
            return load_engine(engine).open(Path(path), limits, now=now)
        finally:
            TIMER.start(left)

    def _check_hash(self, path: str, file: int, version: Version, sha256: str | None) -> None:
        if sha256 is None:
            return
        if version not in self._hashes:
            if len(self._hashes) == _KEPT_HASHES:
                self._hashes.clear()
            self._hashes[version] = _hash_file(file)
        if (actual := self._hashes[version]) != sha256:
            raise InputError(
                f"{path}: expected sha256 {sha256}, with which its questions were made, found"
                f" {actual}: fetch the databases of this version of the dataset, or name their"
                f" folder ({DATABASES_VARIABLE}), which is data/exports/widened if schemas are"
                " widened"
            )

    def close(self, path: str, now: str | None = None, max_cpu_s: int | None = None) -> None:
        if (path, now, max_cpu_s) in self._open:
            database, file, version = self._open.pop((path, now, max_cpu_s))
            self._cached_bytes -= self._count_cached(path, version.size_bytes)
            _close(database, file)

    def _count_cached(self, path: str, size_bytes: int) -> int:
        if name_engine(path) == POSTGRES:
            return self._connection_bytes
        return max(_MIN_CACHE_BYTES, min(size_bytes, _CACHE_BYTES))

    def close_others(self, database: Database) -> bool:
        others = [key for key, opened in self._open.items() if opened.database is not database]
        for key in others:
            self.close(*key)
        return bool(others)


def _close(database: Database, file: int) -> None:
    database.close()
    if not IS_UNIX or name_engine(database.path) != SQLITE:  # else SQLite has closed it
        os.close(file)


def limit_cpu_time(limits: Limits, max_cpu_s: int | None = None) -> Limits:
    """Return the limits of a prediction for an engine that runs beside the worker: its seconds are
    CPU time there, too, and the seconds that pass are the last resort.

    max_cpu_s: the budget of its question, within the limits; None: the seconds of the limits.
    """
    seconds = min(max_cpu_s, limits.max_cpu_s) if max_cpu_s else limits.max_seconds
    return replace(limits, max_cpu_s=seconds, max_seconds=max(_LAST_RESORT_S, 10 * seconds))


def _is_version(file: int, version: Version) -> bool:
    try:
        return _read_version(os.fstat(file)) == version
    except OSError:  # it is closed
        return False


def _hash_file(number: int) -> str:
    """sha256 of an open file; the seconds of the prediction that is tried stand still."""
    left = TIMER.stop()
    try:
        with open(number, "rb", closefd=False) as file:
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest()
    finally:
        TIMER.start(left)


class SuiteDatabase(TypedDict):
    """A database of a test suite.

    path: its last two parts lead to the file in the folder of test suites.
    """

    path: str
    sha256: NotRequired[str]
    gold_answer: Any
    order_matters: bool
    accepted_rows: NotRequired[list[Any] | None]
    other_answers: NotRequired[list[OtherAnswer]]


class DatabaseTrial(NamedTuple):
    """A database on which a prediction must be right, and the right answers there.

    max_steps: None: it depends on the size of the database.
    max_cpu_s: in an engine that counts no steps.
    name: its path in the test suite; None for the real database.
    now: the time of the clock.
    """

    path: str
    gold_answer: Any
    order_matters: bool
    max_steps: int | None
    accepted_rows: list[Any] | None = None
    other_answers: list[OtherAnswer] | None = None
    name: str | None = None
    sha256: str | None = None
    now: str | None = None
    max_cpu_s: int | None = None


def list_trials(job: Job) -> Iterator[DatabaseTrial]:
    """Yield the real database, then those of the suite. The suite is parsed only when needed.

    Raises:
        ValueError: gold_answer, accepted_rows or test_suite is not what exports have.
    """
    yield DatabaseTrial(
        job.path,
        check_answer("gold_answer", _read_json("gold_answer", job.gold_answer)),
        job.order_matters,
        job.max_steps,
        _read_json("accepted_rows", job.accepted_rows) if job.accepted_rows else None,
        _read_json("other_answers", job.other_answers) if job.other_answers else None,
        sha256=job.database_sha256,
        now=job.now,
        max_cpu_s=job.max_cpu_s,
    )
    if job.test_suite:
        yield from _read_suite(job.test_suite, job.suites_folder, job.now, job.max_cpu_s)


@lru_cache(_KEPT_SUITES)
def _read_suite(
    text: str, folder: str, now: str | None, max_cpu_s: int | None
) -> list[DatabaseTrial]:
    try:
        suite: list[SuiteDatabase] = _read_json("test_suite", text)
        return [
            DatabaseTrial(
                str(find_inside(folder, "/".join(database["path"].split("/")[-2:]))),
                database["gold_answer"],
                database["order_matters"],
                LEAST_STEPS,
                database.get("accepted_rows"),
                database.get("other_answers"),
                name=database["path"],
                sha256=database.get("sha256"),
                now=now,
                max_cpu_s=max_cpu_s,
            )
            for database in suite
        ]
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(
            "test_suite: expected a list of databases with path, gold_answer and order_matters,"
            f" found {text!r:.80}"
        ) from error


def _read_json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{name}: expected JSON text, found {text!r:.80}: {error}") from error


def serve(limits: Limits, begun: int, workers: int) -> None:
    """Do the jobs of one message after another, until the standard input ends. Write the result of
    each job, or the exception that it raised. The first byte of the open file `begun` is the index
    of the last job that was begun: if this process is killed, it shows which job was running."""
    databases = OpenDatabases(limits, workers=workers)
    with open(0, "rb") as messages:
        while True:
            answers: list[Any] = []
            for number, job in enumerate(pickle.load(messages)):
                write_first_byte(begun, number)
                TIMER.start(limits.max_seconds)
                try:
                    answers.append(do_job(job, databases))
                except Exception as error:  # the calling thread raises it
                    answers.append(error)
            TIMER.stop()
            write_message(1, answers)


def do_job(job: Job, databases: OpenDatabases) -> Any:
    """Return the result for the job's kind. The first database that rejects the prediction decides.

    Raises:
        FileNotFoundError, InputError, sqlite3.DatabaseError: a database is missing, is another file
            or is corrupt, which is not the prediction's fault.
    """
    sql = job.text
    if job.is_completion and sql is not None:
        sql = extract_sql(sql)
    agreeing: list[str] | None = None
    for trial in list_trials(job):
        if sql is None:
            _find_database(trial, databases)
            return answer_without_rows(job.kind, NO_QUERY, explain_no_query(job.text))
        if job.kind is JobKind.LIST_READS:
            return _find_database(trial, databases).database.list_reads(sql)
        try:
            rows = _find_rows(sql, trial, databases)
        except QueryError as error:
            hint = explain_fence(sql) if job.kind is JobKind.EXPLAIN else ""
            detail = f"{error.detail}{hint}"
            return answer_without_rows(job.kind, error.reason, detail, database=trial.name)
        if job.kind is JobKind.EXECUTE:
            return rows
        if job.kind is JobKind.SUMMARIZE:
            return _summarize(rows, is_ordered=trial.order_matters)
        agreeing = _list_agreeing(rows, trial, job, agreeing)
        if not agreeing:
            return _explain_wrong(rows, trial, job)
    if job.kind is JobKind.SCORE:
        return RIGHT
    return Explanation(RIGHT, detail=NO_SUITE if trial.name is None else "")


def _find_database(trial: DatabaseTrial, databases: OpenDatabases) -> OpenDatabase:
    return databases.find(
        trial.path,
        sha256=trial.sha256,
        now=trial.now,
        max_cpu_s=trial.max_cpu_s,
        is_of_suite=trial.name is not None,
    )


def _find_rows(sql: str, trial: DatabaseTrial, databases: OpenDatabases) -> list[Row]:
    for _ in range(_TRIES):
        opened = _find_database(trial, databases)
        max_steps = trial.max_steps or LEAST_STEPS + _STEPS_PER_BYTE * opened.version.size_bytes
        rows: list[Row] = []
        failure = None
        try:
            rows = _execute(sql, opened.database, databases, max_steps)
        except QueryError as error:
            failure = error
        if _is_version(opened.file, opened.version):
            if failure is not None:
                raise failure
            return rows
    raise InputError(f"{trial.path}: {_CHANGING}")


def _execute(sql: str, database: Database, databases: OpenDatabases, max_steps: int) -> list[Row]:
    max_steps = min(max_steps, database.limits.max_steps)
    try:
        return database.execute(sql, max_steps=max_steps)
    except QueryError as error:
        if error.reason is not Reason.HEAP_EXCEEDED:
            raise
        # Memory that other databases hold is not this query's fault.
        if not databases.close_others(database):
            raise
    return database.execute(sql, max_steps=max_steps)


def _summarize(rows: list[Row], *, is_ordered: bool) -> RowSummary:
    def round_float(value: Any) -> Any:
        return float(f"{drop_residue(value):.6g}") if type(value) is float else value

    lines = [repr([*map(round_float, row)]) for row in rows]
    text = "\n".join(lines if is_ordered else sorted(lines))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return RowSummary([cut_texts(row) for row in rows[:SUMMARY_ROWS]], len(rows), digest[:32])


def _list_agreeing(
    rows: list[Row], trial: DatabaseTrial, job: Job, agreeing: list[str] | None
) -> list[str]:
    """Return the SQL of the right queries that have these rows ("": gold). Only queries that agreed
    on the databases before count: the same query must agree on all databases."""
    matches = partial(rows_match, rows, rule=read_rule(job.rule))
    answers: list[tuple[str, Any, bool, Sequence[Any] | None]] = [
        ("", trial.gold_answer, trial.order_matters, trial.accepted_rows)
    ]
    answers += [
        (other["sql"], other["answer"], *read_other_order(other, order_matters=trial.order_matters))
        for other in trial.other_answers or ()
    ]
    return [
        sql
        for sql, answer, order_matters, accepted in answers
        if (agreeing is None or sql in agreeing)
        and matches(answer, order_matters=order_matters, accepted_rows=accepted)
    ]


def _explain_wrong(rows: list[Row], trial: DatabaseTrial, job: Job) -> Any:
    if job.kind is JobKind.SCORE:
        return WRONG
    difference = find_difference(
        rows,
        trial.gold_answer,
        rule=read_rule(job.rule),
        order_matters=trial.order_matters,
        accepted_rows=trial.accepted_rows,
    )
    if difference is None:  # these rows are gold's, and those before were another right query's
        words = "gold's rows here, and those of another right query on a database before"
        difference = RowDifference(DifferenceKind.WRONG_ROWS, words, [], [])
    reason, detail, missing, unexpected = difference
    return Explanation(WRONG, str(reason), detail, missing, unexpected, trial.name)


def main(limits: str, begun: str, parent: str, workers: str) -> None:
    """Serve within limits (a pickle in hex digits) as long as the process `parent` is there.

    workers: how many there are of them.
    """
    file = open_shared(int(begun))
    TIMER.watch(file)
    if IS_UNIX:  # elsewhere nobody holds a pipe open whose process is gone
        threading.Thread(target=end_with, args=[int(parent)], daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError):
        serve(pickle.loads(bytes.fromhex(limits)), file, int(workers))
