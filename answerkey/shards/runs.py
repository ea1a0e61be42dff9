"""Run one function over the queries of all databases, and write shards: files for at most 256
questions of a database.

A shard is made again only if its inputs have changed; a fresh one costs nothing. A file of keys
beside the directory records the inputs of each shard. It is an output of the same stage, so a clone
that has pulled the shards has it, too. In stale shards, each distinct query is worked on once, in
tasks so small that a slow database keeps all cores busy.

A fault of the machine (a killed worker, or no memory) is never recorded as a fact about a query.
The queries of such a task run again, each in a process of its own. If that process dies, too, the
shard is not written, and the run fails after all others are written.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from answerkey.base.errors import InputError
from answerkey.base.log import make_printable, show_progress, spell_count, track_progress
from answerkey.base.reasons import NO_FAILURES
from answerkey.base.records import (
    Shard,
    encode_json,
    hash_file,
    hash_value,
    read_shards,
    replace_file,
    write_jsonl,
)
from answerkey.engines.database import OVERDUE_STATUS
from answerkey.engines.sqlite.files import find_inside
from answerkey.shards.database_files import Database
from answerkey.shards.processes import LOCAL, Died, map_tasks, run_alone

_QUERIES_PER_TASK = 64
_NOTE_CHARACTERS = 1000
_DETAIL_CHARACTERS = 200  # of SQLite's message: enough to show the fault in one line of the log

Query = TypeVar("Query", bound=Hashable)
Context = TypeVar("Context")
Result = TypeVar("Result", bound=Mapping[str, object])


class ShardDirectory:
    """The shards of one stage, with their keys in `NAME.keys` beside the directory.

    A shard is fresh if it was written under the same key and its bytes have not changed. Keys are
    appended when shards are written, so that a run that is killed keeps what it finished.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys_path = directory.with_name(f"{directory.name}.keys")
        self._identities = _read_identities(self.keys_path)
        directory.mkdir(parents=True, exist_ok=True)
        self._write_identities()  # drop an incomplete last line, and replace a link into the cache

    def shard_path(self, shard: Shard) -> Path:
        """Return the path of a shard."""
        return find_inside(self.directory, f"{shard.name}.jsonl")

    def is_fresh(self, shard: Shard, key: str) -> bool:
        """Return whether the shard was made under this key and has not changed since."""
        known, path = self._identities.get(shard.name), self.shard_path(shard)
        return known is not None and path.is_file() and known == _identify(path, key)

    def write_shard(self, shard: Shard, key: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write a shard and its key."""
        path = self.shard_path(shard)
        write_jsonl(path, records)
        self._identities[shard.name] = _identify(path, key)
        with self.keys_path.open("ab") as file:
            file.write(self._encode_entry(shard.name))

    def keep_only(self, shards: Iterable[Shard]) -> None:
        """Remove every other file of the directory; sort the keys."""
        kept = {shard.name for shard in shards}
        remove_others(self.directory, {f"{name}.jsonl" for name in kept})
        left = sorted(kept & self._identities.keys())
        self._identities = {name: self._identities[name] for name in left}
        self._write_identities()

    def _write_identities(self) -> None:
        with replace_file(self.keys_path) as file:
            file.writelines(map(self._encode_entry, self._identities))

    def _encode_entry(self, name: str) -> bytes:
        return encode_json({"name": name, "identity": self._identities[name]}) + b"\n"


def _identify(path: Path, key: str) -> str:
    return hash_value([hash_file(path), key])


def _read_identities(path: Path) -> dict[str, str]:
    """Return the last entry of each shard, up to a line that a kill cut off, or that is no
    entry."""
    identities: dict[str, str] = {}
    if path.is_file():
        with path.open("rb") as file, contextlib.suppress(ValueError, RecursionError):
            for line in file:
                match json.loads(line):
                    case {"name": str(name), "identity": str(identity)}:
                        identities[name] = identity
                    case _:
                        break
    return identities


def remove_others(folder: Path, kept: Collection[str]) -> None:
    """Remove every file below a folder but those at these paths, and then empty folders."""
    for path in sorted(folder.rglob("*"), reverse=True):  # contents before their folder
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):  # the folder is not empty
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in kept:
            path.unlink()


def count_databases(shards: Iterable[Shard]) -> int:
    return len({shard.database_name for shard in shards})


def list_set_aside(questions: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ids of questions whose SQL was written for another engine and differs in SQLite,
    unless a correction has replaced it."""
    ids = set()
    for question in questions:
        source = question["source"]
        is_corrected = "gold_sql" in (source.get("correction") or {}).get("original", ())
        if source.get("dialect_differs") is not None and not is_corrected:
            ids.add(question["question_id"])
    return ids


def count_reasons(
    directory: Path, shards: Iterable[Shard], *, told: Collection[str] = ()
) -> tuple[Counter[str], list[str]]:
    """Count the questions of some shards by reason, "" for an outcome. Return a line for each whose
    SQL failed, too, with SQLite's message. told: ids of questions whose fault was logged before;
    they share one line."""
    reasons: Counter[str] = Counter()
    failures = []
    if told:
        words = "`answerkey new` has no SQL of SQLite that is right for them (conversion.md)"
        failures.append(
            f"{spell_count(len(told), 'question')} set aside as dialect_differs: {words}"
        )
    for shard in shards:
        for record in read_shards(directory, [shard]):
            reasons[reason := record.get("reason", "")] += 1
            if reason and reason not in NO_FAILURES and record["question_id"] not in told:
                words = make_printable(record["detail"][:_DETAIL_CHARACTERS])
                named = f"{record['question_id']}, {reason}"
                failures.append(
                    f"SQL execution failed for {shard.database_name}: {words} ({named})"
                )
    return reasons, failures


class DatabaseWork(NamedTuple, Generic[Query, Context, Result]):
    """A shard, its database, the inputs of its key, and its questions: question_id and query.

    A query is its SQL, or a tuple with everything else that the outcome depends on. `context` is
    shared by all queries of the database and is sent to the workers with each task. `database` is
    None if queries are parsed and not executed. `known` has the outcomes of questions whose query
    needs no work.
    """

    shard: Shard
    database: Database | None
    key: str
    questions: list[tuple[str, Query]]
    context: Context
    known: Mapping[str, Result] = MappingProxyType({})


class QueryTask(NamedTuple, Generic[Query, Context]):
    """Some distinct queries of one shard, for one worker."""

    shard: Shard
    database: Database | None
    queries: tuple[Query, ...]
    context: Context

    def find_executed(self) -> Database:
        """Return the database on which the queries are executed.

        Raises:
            ValueError: the queries are only parsed.
        """
        if self.database is None:
            name = self.shard.database_name
            raise ValueError(f"{name}: expected a database to execute queries on")
        return self.database

    def map_queries(self, function: Callable[[Query], Result]) -> list[Result]:
        """Return the function's result for each query; an exception gets a note with its query."""
        outcomes = []
        for query in self.queries:
            try:
                outcomes.append(function(query))
            except Exception as error:
                name = self.shard.database_name
                error.add_note(f"on a query of {name}: {query!r:.{_NOTE_CHARACTERS}}")
                raise
        return outcomes


@dataclass(slots=True)
class _Pending(Generic[Query, Context, Result]):
    work: DatabaseWork[Query, Context, Result]
    queries_left: int
    outcomes: dict[Query, Result] = field(default_factory=dict)


@dataclass(slots=True)
class QueryRun(Generic[Query, Context, Result]):
    """One pass over all databases, and its counts.

    out: the directory of the shards.
    function: returns the outcomes of a task's queries, in their order; runs in a worker.
    overdue: the outcome of a query that the watchdog ended together with its process.
    """

    out: Path
    function: Callable[[QueryTask[Query, Context]], list[Result]]
    overdue: Result
    shards: list[Shard] = field(default_factory=list)
    executed: int = 0
    _directory: ShardDirectory = field(init=False)
    _pending: dict[Shard, _Pending[Query, Context, Result]] = field(default_factory=dict)
    _advance: Callable[[float], object] = field(init=False)

    def __post_init__(self) -> None:
        self._directory = ShardDirectory(self.out)

    @property
    def databases(self) -> int:
        """Return the number of databases that have shards."""
        return count_databases(self.shards)

    def run(
        self,
        works: Iterable[DatabaseWork[Query, Context, Result]],
        *,
        databases: int,
        workers: int = 0,
        runner: str = LOCAL,
    ) -> None:
        """Bring all shards up to date, and remove those that are not among the works.

        databases: their number, for the progress bar.

        Raises:
            InputError: names the queries whose process died even when it had nothing else to do;
                all other shards are up to date then.
        """
        lost: list[QueryTask[Query, Context]] = []
        results = map_tasks(self.function, self._plan(works), runner=runner, workers=workers)
        progress = show_progress(self.out.name, total=databases, unit="databases")
        with contextlib.closing(results), progress as self._advance:
            for task, outcomes in results:
                if isinstance(outcomes, Died):
                    lost += [task._replace(queries=(query,)) for query in task.queries]
                else:
                    self._take(task, outcomes)
        ended = []
        for task in track_progress(lost, "trying again", total=len(lost), unit="queries"):
            outcomes = run_alone(self.function, task)
            if outcomes == Died(OVERDUE_STATUS):
                outcomes = [self.overdue]
            if isinstance(outcomes, Died):
                ended.append(self._describe_end(task, outcomes))
            else:
                self._take(task, outcomes)
        if ended:
            raise InputError(_explain_ends(ended))
        self._directory.keep_only(self.shards)

    def _plan(
        self, works: Iterable[DatabaseWork[Query, Context, Result]]
    ) -> Iterator[QueryTask[Query, Context]]:
        for work in works:
            self.shards.append(work.shard)
            if self._directory.is_fresh(work.shard, work.key):
                self._advance(1 / work.shard.of)
                continue
            asked = (query for name, query in work.questions if name not in work.known)
            distinct = list(dict.fromkeys(asked))
            pending = _Pending(work, len(distinct))
            if not distinct:
                self._write(pending)
                continue
            self._pending[work.shard] = pending
            for start in range(0, len(distinct), _QUERIES_PER_TASK):
                queries = tuple(distinct[start : start + _QUERIES_PER_TASK])
                yield QueryTask(work.shard, work.database, queries, work.context)

    def _take(self, task: QueryTask[Query, Context], outcomes: list[Result]) -> None:
        pending = self._pending[task.shard]
        pending.outcomes.update(zip(task.queries, outcomes, strict=True))
        pending.queries_left -= len(task.queries)
        self.executed += len(task.queries)
        if not pending.queries_left:
            self._write(self._pending.pop(task.shard))

    def _write(self, pending: _Pending[Query, Context, Result]) -> None:
        work = pending.work
        records = (
            {"question_id": question_id, **(work.known.get(question_id) or pending.outcomes[query])}
            for question_id, query in work.questions
        )
        self._directory.write_shard(work.shard, work.key, records)
        self._advance(1 / work.shard.of)

    def _describe_end(self, task: QueryTask[Query, Context], died: Died) -> str:
        questions = self._pending[task.shard].work.questions
        ids = ", ".join(question_id for question_id, query in questions if query in task.queries)
        return f"  {ids} of database {task.shard.database_name}: {died}"


def _explain_ends(ended: list[str]) -> str:
    return "\n".join(
        [
            f"The process of {spell_count(len(ended), 'query')} ended before it did, also where it"
            " had nothing else to do:",
            *ended,
            "Nothing is recorded of them, and all other shards are kept. If memory was short"
            " (signal 9, out of memory), make room or set execution.workers in params.yaml to"
            " fewer processes, and run `dvc repro`. If it happens each time, the query is at"
            " fault: replace its gold_sql or leave the question out by an entry in"
            " data/corrections (docs/corpora.md says how).",
        ]
    )
