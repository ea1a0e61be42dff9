"""Query runs: one function over the queries of all databases, and one shard for each database.

A database whose shard is fresh costs nothing. Of the others, each distinct query is worked on once,
in tasks so small that a slow database keeps all cores busy.

What the machine does to a run (it kills a worker, or has no memory left) is never recorded as a
fact about a query. The queries of such a task are tried again, each in a process of its own. Where
that process ends too, the database gets no shard, and the run fails when all others have theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from answerkey.errors import InputError
from answerkey.log import hide_progress, track_progress
from answerkey.records import Reason
from answerkey.shards.database_files import Database
from answerkey.shards.processes import LOCAL, Died, map_with_engine, run_alone
from answerkey.shards.shard_directory import ShardDirectory
from answerkey.sqlite.bounds import OVERDUE_STATUS

_QUERIES_PER_TASK = 64
_NOTE_CHARACTERS = 1000
_NAMED_QUERIES = 10

Outcome = dict[str, Any]


class DatabaseWork(NamedTuple):
    """A database, what its shard is made from, and its questions: question_id and query.

    A query is its SQL, or a tuple with what else the outcome depends on; `context` is what all
    queries of the database share, and goes to the workers with each task. `database` is None where
    queries are read and not executed. `known` has the outcomes of questions whose query is not
    worked on.
    """

    database_name: str
    database: Database | None
    key: str
    questions: list[tuple[str, Hashable]]
    context: Any = None
    known: Mapping[str, Outcome] = MappingProxyType({})


class Task(NamedTuple):
    """Some distinct queries of one database, for one worker."""

    database_name: str
    database: Database | None
    queries: tuple[Hashable, ...]
    context: Any

    def map_queries(self, function: Callable[[Any], Outcome]) -> list[Outcome]:
        """What the function gives for each query, in their order; what it raises names the query.

        Raises:
            Exception: of any kind, as the function does, with a note.
        """
        outcomes = []
        for query in self.queries:
            try:
                outcomes.append(function(query))
            except Exception as error:
                error.add_note(f"on a query of {self.database_name}: {query!r:.{_NOTE_CHARACTERS}}")
                raise
        return outcomes


def _try_task(function: Callable[[Task], list[Outcome]], task: Task) -> list[Outcome] | None:
    """What the function gives; None where there was no memory for it."""
    try:
        return function(task)
    except MemoryError:
        return None


@dataclass(slots=True)
class _Pending:
    work: DatabaseWork
    tasks_left: int
    outcomes: dict[Hashable, Outcome] = field(default_factory=dict)


@dataclass(slots=True)
class QueryRun:
    """One pass over all databases, and what it did.

    function: gives the outcomes of a task's queries, in their order; runs in a worker.
    overdue: the outcome of a query that the watchdog ended together with its own process; None
        where no watchdog looks.
    finish: changes the records of a shard, where one needs the others.
    watch: is told the outcome of each query that is worked on, as it comes.
    """

    shards: ShardDirectory
    function: Callable[[Task], list[Outcome]]
    overdue: Outcome | None = None
    finish: Callable[[str, list[Outcome]], list[Outcome]] | None = None
    watch: Callable[[DatabaseWork, Hashable, Outcome], None] | None = None
    names: list[str] = field(default_factory=list)
    executed: int = 0
    _pending: dict[str, _Pending] = field(default_factory=dict)
    _lost: list[Task] = field(default_factory=list)

    def run(self, works: Iterable[DatabaseWork], *, workers: int = 0, engine: str = LOCAL) -> None:
        """Bring all shards up to date; remove those of databases that are not among the works.

        Raises:
            InputError: naming the queries whose process ended also where it had nothing else to do;
                the shards of all other databases are up to date then.
        """
        results = map_with_engine(
            partial(_try_task, self.function), self._plan(works), engine=engine, workers=workers
        )
        with closing(results):
            for task, outcomes in track_progress(results, "executing", unit="task"):
                if outcomes is None or isinstance(outcomes, Died):
                    self._lost.append(task)  # one of its queries may be at fault, or none
                else:
                    self._take(task, outcomes)
        self._try_lost_alone()
        self.shards.keep_only(self.names)

    def _try_lost_alone(self) -> None:
        """Every query of the lost tasks in a process of its own on this machine, one at a time."""
        queries = [task._replace(queries=(query,)) for task in self._lost for query in task.queries]
        for task in self._lost:
            self._pending[task.database_name].tasks_left += len(task.queries) - 1
        ended = []
        for task in track_progress(queries, "trying again", unit="query"):
            outcomes = run_alone(partial(_try_task, self.function), task)
            if outcomes == Died(OVERDUE_STATUS) and self.overdue is not None:
                outcomes = [self.overdue]
            if outcomes is None or isinstance(outcomes, Died):
                ended.append(self._describe_end(task, outcomes))
            else:
                self._take(task, outcomes)
        if ended:
            raise InputError(_explain_ends(ended))

    def _describe_end(self, task: Task, died: Died | None) -> str:
        [query] = task.queries
        work = self._pending[task.database_name].work
        ids = [question_id for question_id, other in work.questions if other == query]
        how = "out of memory" if died is None else died
        return f"{', '.join(ids)} of database {task.database_name}: {how}"

    def _plan(self, works: Iterable[DatabaseWork]) -> Iterator[Task]:
        seen: set[str] = set()
        for work in works:
            if work.database_name in seen:  # the second shard would take the place of the first
                raise ValueError(
                    f"The questions of {work.database_name} come in two places: expected each"
                    " database once"
                )
            seen.add(work.database_name)
            self.names.append(work.database_name)
            if self.shards.is_fresh(work.database_name, work.key):
                continue
            asked = (query for name, query in work.questions if name not in work.known)
            distinct = list(dict.fromkeys(asked))
            starts = range(0, len(distinct), _QUERIES_PER_TASK)
            if not starts:
                self._write(_Pending(work, 0))
                continue
            self._pending[work.database_name] = _Pending(work, len(starts))
            for start in starts:
                queries = tuple(distinct[start : start + _QUERIES_PER_TASK])
                yield Task(work.database_name, work.database, queries, work.context)

    def _take(self, task: Task, outcomes: list[Outcome]) -> None:
        pending = self._pending[task.database_name]
        self.executed += len(task.queries)
        for query, outcome in zip(task.queries, outcomes, strict=True):
            pending.outcomes[query] = outcome
            if self.watch is not None:
                self.watch(pending.work, query, outcome)
        pending.tasks_left -= 1
        if not pending.tasks_left:
            self._write(self._pending.pop(task.database_name))

    def _write(self, pending: _Pending) -> None:
        work = pending.work
        records = [
            {"question_id": question_id, **(work.known.get(question_id) or pending.outcomes[query])}
            for question_id, query in work.questions
        ]
        if self.finish is not None:
            records = self.finish(work.database_name, records)
        self.shards.write_shard(work.database_name, work.key, records)


def _explain_ends(ended: list[str]) -> str:
    more = len(ended) - _NAMED_QUERIES
    return "\n".join(
        [
            f"The process of {len(ended)} queries ended before they did, also where each had one"
            " for itself:",
            *(f"  {words}" for words in ended[:_NAMED_QUERIES]),
            *([f"  and {more} more"] if more > 0 else []),
            "Nothing is recorded of them, and the other databases are kept. Where memory was short"
            " (signal 9, out of memory), make room or set execution.workers in params.yaml to"
            " fewer processes, and run `dvc repro`. Where it happens each time, the query is at"
            " fault: replace its gold_sql or leave the question out by an entry in"
            " data/corrections (docs/corpora.md says how).",
        ]
    )


# Gold queries that fail are told while a stage runs, and the first of them one by one, in the
# words of the exception that `compute_gold_answer` raises.


EXCLUDED = "data/questions/excluded.jsonl"
_DETAIL_CHARACTERS = 200


class FailureLog:
    """A warning for each question whose gold query fails, on one line, and at the end how many
    there were beyond `max_warnings`; 0: none of this.

    A query that answers with NULL has not failed.
    """

    def __init__(self, log: logging.Logger, *, max_warnings: int) -> None:
        self._log = log
        self._max_warnings = max_warnings
        self._count = 0

    def note(self, work: DatabaseWork, query: Hashable, outcome: Outcome) -> None:
        """Take in the outcome of a query."""
        reason = outcome.get("reason", Reason.NULL_ANSWER)
        if reason == Reason.NULL_ANSWER:
            return
        for question_id, other in work.questions:
            if other != query or question_id in work.known:
                continue
            self._count += 1
            if self._count <= self._max_warnings:
                with hide_progress():
                    self._log.warning(
                        "warning: SQL execution failed for %s: %s (%s, %s)",
                        work.database_name,
                        show_line(outcome["detail"]),
                        question_id,
                        reason,
                    )

    def finish(self) -> None:
        """Say how many more there were, and where they are."""
        more = self._count - self._max_warnings
        if self._max_warnings and more > 0:
            self._log.warning("warning: and %d more in %s", more, EXCLUDED)


def show_line(text: str) -> str:
    """Foreign text as one line of a terminal, which it cannot command; cut where it is long.

    >>> show_line("no such column: a\\nb")
    'no such column: a b'
    """
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= _DETAIL_CHARACTERS else f"{line[:_DETAIL_CHARACTERS]}…"
