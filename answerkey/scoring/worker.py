"""What a worker process does: jobs come over a pipe, and what they give goes back.

A worker executes SQL that nobody has read, so it may be ended at any moment: by the kernel, once a
job has used its seconds of CPU time, whatever SQLite is doing then (a single step may heed no
interrupt and last for hours). It never outlives the process that started it.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.completions import extract_sql
from answerkey.scoring.differences import find_difference
from answerkey.scoring.jobs import (
    NO_QUERY,
    RIGHT,
    WRONG,
    Explanation,
    Job,
    Kind,
    answer_without_rows,
)
from answerkey.scoring.open_databases import OpenDatabases
from answerkey.scoring.polling import wait_for_events
from answerkey.scoring.rules import RULES
from answerkey.scoring.trials import LEAST_STEPS, Trial, list_trials
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError, Row
from answerkey.sqlite.reasons import QueryReason

# More than the least budget, where nobody knows how many steps the gold query takes: a larger
# database takes more to read, and ten steps a byte are some fifty scans of all its tables.
_STEPS_PER_BYTE = 10

# What is done is told at the end of a message's jobs, and before that where one takes longer.
_SECONDS_UNTOLD = 0.005
_MS_BETWEEN_LOOKS = 5000


def serve(connection: Connection, begins: int, limits: Limits) -> None:
    """Do the jobs of one message after another, until the pipe's other end is closed.

    Each answer is a pair: what the job gives, or None and an exception. The open file `begins` gets
    the number of each job that is begun, as a byte: the last one tells with which a process ended.
    """
    number = 0
    parent = os.getppid()
    databases = OpenDatabases(limits)
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    is_soon = False
    while True:
        while not wait_for_events(poll, _MS_BETWEEN_LOOKS, is_soon=is_soon):
            if os.getppid() != parent:  # a fork of the parent may hold the pipe open
                return
        try:
            jobs = connection.recv()
        except EOFError:
            return
        done: list[tuple[Any, Exception | None]] = []
        told = time.monotonic()
        for job in jobs:
            if time.monotonic() - told > _SECONDS_UNTOLD:
                connection.send(done)
                done, told = [], time.monotonic()
            os.write(begins, bytes((number,)))
            number = (number + 1) % 256
            signal.setitimer(signal.ITIMER_PROF, limits.max_seconds)
            try:
                done.append((do_job(job, databases), None))
            except Exception as error:  # the process that asked raises it
                done.append((None, error))
            signal.setitimer(signal.ITIMER_PROF, 0)
        connection.send(done)
        is_soon = len(jobs) == 1


def do_job(job: Job, databases: OpenDatabases) -> Any:
    """What the job's kind says; the first database on which a prediction is wrong decides.

    Raises:
        FileNotFoundError, sqlite3.DatabaseError: where a database is missing or corrupt, which is
            no fault of the prediction.
        MemoryError: where the machine has less memory than a query may use.
    """
    sql = job.text
    if job.is_completion and sql is not None:
        sql = extract_sql(sql)
    for trial in list_trials(job):
        is_of_suite = trial.name is not None
        database, size_bytes = databases.find(trial.path, is_of_suite=is_of_suite)
        if sql is None:
            return answer_without_rows(job.kind, NO_QUERY, "no SQL in a fenced block")
        max_steps = trial.max_steps or LEAST_STEPS + _STEPS_PER_BYTE * size_bytes
        try:
            rows = _execute(sql, database, databases, min(max_steps, database.limits.max_steps))
        except QueryError as error:
            return answer_without_rows(job.kind, error.reason, error.detail, database=trial.name)
        if job.kind is Kind.EXECUTE:
            return rows
        wrong = _find_wrong(rows, trial, job)
        if wrong is not None:
            return wrong
    return RIGHT if job.kind is Kind.SCORE else Explanation(RIGHT)


def _execute(
    sql: str, database: GuardedDatabase, databases: OpenDatabases, max_steps: int
) -> list[Row]:
    try:
        return database.execute(sql, max_steps=max_steps)
    except QueryError as error:
        # What other databases keep in memory is no fault of this query.
        is_alone = error.reason is not QueryReason.HEAP_EXCEEDED or not databases.close_others(
            str(database.path)
        )
        if is_alone:
            raise
    return database.execute(sql, max_steps=max_steps)


def _find_wrong(rows: list[Row], trial: Trial, job: Job) -> Any:
    """What the job gives where the rows are wrong; None where they are right."""
    known = {
        "rule": job.rule or RULES["strict"],
        "order_matters": trial.order_matters,
        "accepted_rows": trial.accepted_rows,
    }
    if job.kind is Kind.SCORE:
        return None if rows_match(rows, trial.gold_answer, **known) else WRONG
    difference = find_difference(rows, trial.gold_answer, **known)
    return None if difference is None else Explanation(WRONG, *difference, database=trial.name)


def main(limits: str) -> None:
    """Serve over the standard input and output, within limits as pickle in hex digits."""
    os.setsid()  # what a terminal sends, such as Ctrl-C, is for the process that asks
    serve(Connection(0), 1, pickle.loads(bytes.fromhex(limits)))
