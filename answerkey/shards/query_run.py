"""Query runs: one function over the queries of all databases, and one shard for each database.

A database whose shard is fresh costs nothing. Of the others, each distinct query is worked on once,
in tasks so small that a slow database keeps all cores busy.

What the machine does to a run (it kills a worker, or has no memory left) is never recorded as a
fact about a query. The queries of such a task are tried again, each in a process of its own. If
that process ends too, the database gets no shard, and the run fails when all others have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import track_progress
from answerkey.shards.database_files import Database
from answerkey.shards.processes import LOCAL, Died, map_tasks, run_alone
from answerkey.shards.shard_directory import ShardDirectory
from answerkey.sqlite.guard import OVERDUE_STATUS

_QUERIES_PER_TASK = 64
_NOTE_CHARACTERS = 1000

Outcome = dict[str, Any]


class DatabaseWork(NamedTuple):
    """A database, what its shard is made from, and its questions: question_id and query.

    A query is its SQL, or a tuple with what else the outcome depends on; `context` is what all
    queries of the database share, and goes to the workers with each task. `database` is None if
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
        """What the function gives for each query; an exception has a note with its query."""
        outcomes = []
        for query in self.queries:
            try:
                outcomes.append(function(query))
            except Exception as error:
                error.add_note(f"on a query of {self.database_name}: {query!r:.{_NOTE_CHARACTERS}}")
                raise
        return outcomes


@dataclass(slots=True)
class _Pending:
    work: DatabaseWork
    queries_left: int
    outcomes: dict[Hashable, Outcome] = field(default_factory=dict)


@dataclass(slots=True)
class QueryRun:
    """One pass over all databases, and what it did.

    function: gives the outcomes of a task's queries, in their order; runs in a worker.
    overdue: the outcome of a query that the watchdog ended together with its own process.
    """

    shards: ShardDirectory
    function: Callable[[Task], list[Outcome]]
    overdue: Outcome
    names: list[str] = field(default_factory=list)
    executed: int = 0
    _pending: dict[str, _Pending] = field(default_factory=dict)

    def run(self, works: Iterable[DatabaseWork], *, workers: int = 0, engine: str = LOCAL) -> None:
        """Bring all shards up to date; remove those of databases that are not among the works.

        Raises:
            InputError: naming the queries whose process ended also where it had nothing else to do;
                the shards of all other databases are up to date then.
        """
        lost = []
        results = map_tasks(self.function, self._plan(works), engine=engine, workers=workers)
        with closing(results):
            for task, outcomes in track_progress(results, "executing", unit="task"):
                if isinstance(outcomes, Died):
                    lost += [task._replace(queries=(query,)) for query in task.queries]
                else:
                    self._take(task, outcomes)
        ended = []
        for task in track_progress(lost, "trying again", unit="query"):
            outcomes = run_alone(self.function, task)
            if outcomes == Died(OVERDUE_STATUS):
                outcomes = [self.overdue]
            if isinstance(outcomes, Died):
                ended.append(self._describe_end(task, outcomes))
            else:
                self._take(task, outcomes)
        if ended:
            raise InputError(_explain_ends(ended))
        self.shards.keep_only(self.names)

    def _plan(self, works: Iterable[DatabaseWork]) -> Iterator[Task]:
        for work in works:
            self.names.append(work.database_name)
            if self.shards.is_fresh(work.database_name, work.key):
                continue
            asked = (query for name, query in work.questions if name not in work.known)
            distinct = list(dict.fromkeys(asked))
            pending = _Pending(work, len(distinct))
            if not distinct:
                self._write(pending)
                continue
            self._pending[work.database_name] = pending
            for start in range(0, len(distinct), _QUERIES_PER_TASK):
                queries = tuple(distinct[start : start + _QUERIES_PER_TASK])
                yield Task(work.database_name, work.database, queries, work.context)

    def _take(self, task: Task, outcomes: list[Outcome]) -> None:
        pending = self._pending[task.database_name]
        pending.outcomes.update(zip(task.queries, outcomes, strict=True))
        pending.queries_left -= len(task.queries)
        self.executed += len(task.queries)
        if not pending.queries_left:
            self._write(self._pending.pop(task.database_name))

    def _write(self, pending: _Pending) -> None:
        work = pending.work
        records = (
            {"question_id": question_id, **(work.known.get(question_id) or pending.outcomes[query])}
            for question_id, query in work.questions
        )
        self.shards.write_shard(work.database_name, work.key, records)

    def _describe_end(self, task: Task, died: Died) -> str:
        questions = self._pending[task.database_name].work.questions
        ids = ", ".join(question_id for question_id, query in questions if query in task.queries)
        return f"  {ids} of database {task.database_name}: {died}"


def _explain_ends(ended: list[str]) -> str:
    return "\n".join(
        [
            f"The process of {len(ended)} queries ended before they did, also where each had one"
            " for itself:",
            *ended,
            "Nothing is recorded of them, and the other databases are kept. If memory was short"
            " (signal 9, out of memory), make room or set execution.workers in params.yaml to"
            " fewer processes, and run `dvc repro`. If it happens each time, the query is at"
            " fault: replace its gold_sql or leave the question out by an entry in"
            " data/corrections (docs/corpora.md says how).",
        ]
    )
