"""What a worker process does: jobs come over a pipe, and what they give goes back.

A worker executes SQL that nobody has read, so it may be ended at any moment: by the kernel, once a
job has used its seconds of CPU time, whatever SQLite is doing then (a single step may heed no
interrupt and last for hours). It never outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import select
import signal
import time
from typing import Any

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.completions import extract_sql
from answerkey.scoring.differences import cut_texts, find_difference
from answerkey.scoring.jobs import (
    NO_QUERY,
    RIGHT,
    SUMMARY_ROWS,
    WRONG,
    Explanation,
    Job,
    Kind,
    RowSummary,
    answer_without_rows,
)
from answerkey.scoring.messages import Channel, wait_for_events
from answerkey.scoring.open_databases import OpenDatabases
from answerkey.scoring.rules import RULES
from answerkey.scoring.trials import LEAST_STEPS, Trial, list_trials
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError, Row
from answerkey.sqlite.reasons import QueryReason

# More than the least budget, where nobody knows how many steps the gold query takes: a larger
# database takes more to read, and ten steps a byte are some fifty scans of all its tables.
_STEPS_PER_BYTE = 10

# What is done is told at the end of a message's jobs, and before that where one takes longer.
_SECONDS_UNTOLD = 0.005
_SECONDS_BETWEEN_LOOKS = 1


def serve(channel: Channel, begins: int, limits: Limits) -> None:
    """Do the jobs of one message after another, until the other end is closed.

    Each answer is a pair: what the job gives, or None and an exception. The open file `begins` gets
    the number of each job that is begun, as a byte: the last one tells with which a process ended.
    """
    number = 0
    databases = OpenDatabases(limits)
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    is_soon = False
    while True:
        wait_for_events(poll, None, is_soon=is_soon)
        for jobs in channel.receive():
            done: list[tuple[Any, Exception | None]] = []
            told = time.monotonic()
            for job in jobs:
                if time.monotonic() - told > _SECONDS_UNTOLD:
                    channel.send(done)
                    done, told = [], time.monotonic()
                os.write(begins, bytes((number,)))
                number = (number + 1) % 256
                signal.setitimer(signal.ITIMER_PROF, limits.max_seconds)
                try:
                    done.append((do_job(job, databases), None))
                except Exception as error:  # the process that asked raises it
                    done.append((None, error))
                signal.setitimer(signal.ITIMER_PROF, 0)
            channel.send(done)
            is_soon = len(jobs) == 1


def do_job(job: Job, databases: OpenDatabases) -> Any:
    """What the job's kind says; the first database on which a prediction is wrong decides.

    Raises:
        FileNotFoundError, InputError, sqlite3.DatabaseError: where a database is missing, another
            one or corrupt, which is no fault of the prediction.
        MemoryError: where the machine has less memory than a query may use.
    """
    sql = job.text
    if job.is_completion and sql is not None:
        sql = extract_sql(sql)
    for trial in list_trials(job):
        is_of_suite = trial.name is not None
        database, size_bytes = databases.find(
            trial.path, sha256=trial.sha256, is_of_suite=is_of_suite
        )
        if sql is None:
            return answer_without_rows(job.kind, NO_QUERY, "no SQL in a fenced block")
        max_steps = trial.max_steps or LEAST_STEPS + _STEPS_PER_BYTE * size_bytes
        try:
            rows = _execute(sql, database, databases, min(max_steps, database.limits.max_steps))
        except QueryError as error:
            return answer_without_rows(job.kind, error.reason, error.detail, database=trial.name)
        if job.kind is Kind.EXECUTE:
            return rows
        if job.kind is Kind.SUMMARIZE:
            return _summarize(rows)
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


def _summarize(rows: list[Row]) -> RowSummary:
    text = "\n".join(sorted(map(repr, rows)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return RowSummary([cut_texts(row) for row in rows[:SUMMARY_ROWS]], len(rows), digest[:32])


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


def main(limits: str, parent: str) -> None:
    """Serve over the standard input and output, within limits as pickle in hex digits, as long as
    the process with the number `parent` is there."""
    os.setsid()  # what a terminal sends, such as Ctrl-C, is for the process that asks
    _end_with(int(parent))
    with contextlib.suppress(EOFError, ConnectionError):
        serve(Channel(0), 1, pickle.loads(bytes.fromhex(limits)))


def _end_with(parent: int) -> None:
    """End this process soon after its parent, whatever it waits for then: a fork of the parent may
    hold the pipe open. The kernel would tell the end of the thread that started it."""

    def look(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(0)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_BETWEEN_LOOKS, _SECONDS_BETWEEN_LOOKS)
