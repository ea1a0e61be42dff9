"""Query shards: what stages do alike, looking at distinct queries and keeping a shard a database.

A database whose shard is fresh costs nothing. The queries of the others are cut into tasks small
enough that one slow database does not leave a core idle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stages.database_files import Database
from stages.engines import LOCAL, map_with_engine
from stages.progress import track_progress
from stages.reasons import Reason
from stages.shards import ShardDirectory

_QUERIES_PER_TASK = 64
_NOTE_CHARACTERS = 1000

Outcome = dict[str, Any]

DIED: Outcome = {"reason": Reason.WORKER_DIED, "detail": "its worker process died twice"}


class DatabaseWork(NamedTuple):
    """A database, what its shard is made from, and its questions: question_id and query.

    A query is its SQL, or a tuple with what else the outcome depends on; `context` is what all
    queries of the database share, and goes to the workers with each task. `database` is None where
    queries are only read.
    """

    database_name: str
    database: Database | None
    key: str
    questions: list[tuple[str, Hashable]]
    context: Any = None


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


@dataclass(slots=True)
class _Pending:
    work: DatabaseWork
    tasks_left: int
    outcomes: dict[Hashable, Outcome] = field(default_factory=dict)


@dataclass(slots=True)
class QueryRun:
    """One pass over all databases, and what it did.

    function: the outcomes of a task's queries, in their order; runs in a worker.
    died: the outcome of a query that killed two workers, alone in its task the second time.
    finish: the records of a shard from the questions' outcomes, where one needs the others.
    """

    shards: ShardDirectory
    function: Callable[[Task], list[Outcome]]
    died: Outcome
    finish: Callable[[str, list[Outcome]], list[Outcome]] | None = None
    names: list[str] = field(default_factory=list)
    executed: int = 0
    _pending: dict[str, _Pending] = field(default_factory=dict)
    _lost: list[Task] = field(default_factory=list)

    def run(self, works: Iterable[DatabaseWork], *, workers: int = 0, engine: str = LOCAL) -> None:
        """Bring all shards up to date; remove those of databases that are not among the works."""
        self._execute(self._plan(works), engine, workers)
        self._execute(self._lost, engine, workers)
        self.shards.keep_only(self.names)

    def _execute(self, tasks: Iterable[Task], engine: str, workers: int) -> None:
        results = map_with_engine(self.function, tasks, engine=engine, workers=workers)
        with closing(results):
            for task, outcomes in track_progress(results, "executing", unit="task"):
                self._take(task, outcomes)

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
            distinct = list(dict.fromkeys(query for _, query in work.questions))
            starts = range(0, len(distinct), _QUERIES_PER_TASK)
            if not starts:
                self._write(_Pending(work, 0))
                continue
            self._pending[work.database_name] = _Pending(work, len(starts))
            for start in starts:
                queries = tuple(distinct[start : start + _QUERIES_PER_TASK])
                yield Task(work.database_name, work.database, queries, work.context)

    def _take(self, task: Task, outcomes: list[Outcome] | None) -> None:
        pending = self._pending[task.database_name]
        if outcomes is None and len(task.queries) > 1:  # one of them kills: not all need be lost
            self._lost.extend(task._replace(queries=(query,)) for query in task.queries)
            pending.tasks_left += len(task.queries) - 1
            return
        if outcomes is None:
            outcomes = [self.died]
        self.executed += len(task.queries)
        pending.outcomes.update(zip(task.queries, outcomes, strict=True))
        pending.tasks_left -= 1
        if not pending.tasks_left:
            self._write(self._pending.pop(task.database_name))

    def _write(self, pending: _Pending) -> None:
        work = pending.work
        records = [
            {"question_id": question_id, **pending.outcomes[query]}
            for question_id, query in work.questions
        ]
        if self.finish is not None:
            records = self.finish(work.database_name, records)
        self.shards.write_shard(work.database_name, work.key, records)
