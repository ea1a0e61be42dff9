"""What corrections and verdicts say of answers, executed again on the database at hand.

A list that names questions by hashes was made on one edition of a database, and any database may
have its name: where the column holds 'US', and no longer 'USA', the corrected query finds nothing.
So each query that a correction or a verdict puts beside gold is executed here. A correction by a
hash that does not come out as it was judged is taken back, and the question says so.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from operator import attrgetter
from typing import Any, NamedTuple, cast

from sqlglot.errors import SqlglotError

from answerkey.base.code import hash_code
from answerkey.base.log import spell_count
from answerkey.base.paths import DATABASES, SCHEMAS
from answerkey.base.records import (
    cut_in_shards,
    hash_question,
    hash_value,
    read_database_hashes,
    read_exclusion,
)
from answerkey.corpus.loading import Correction
from answerkey.corpus.records import SourceQuestion
from answerkey.order.additions import find_abs_tol
from answerkey.order.inspection import Inspection, ReorderedCopy
from answerkey.order.row_order import find_row_order
from answerkey.risk.verdicts import (
    OTHER,
    SAME,
    Execution,
    Key,
    Verdict,
    choose_verdicts,
    explain_contradiction,
    name_pair,
)
from answerkey.shards.database_files import find_database, local_path
from answerkey.shards.runs import DatabaseWork, QueryTask
from answerkey.sql.query_tree import TooComplexError, parse_sql
from answerkey.sqlite.answers import are_same_rows, has_choice, read_order
from answerkey.sqlite.executions import Executions, are_same, is_void
from answerkey.sqlite.guard import GuardedDatabase, Limits, Row
from answerkey.sqlite.schema import Schema, SchemaFile, decode_schema

_NAMED = 3  # corrections that the log names

Pair = tuple[str, str]  # gold SQL, and the query beside it
Context = tuple[Schema, Limits, str | None]  # the last: what the clock says


class JudgedQuery(NamedTuple):
    """A query that a correction or a verdict puts beside gold SQL.

    now: what the clock says on its database.
    """

    database_name: str
    gold_sql: str
    sql: str
    now: str | None

    @property
    def name(self) -> str:
        return name_pair(self.database_name, self.gold_sql, self.sql)


def execute_task(task: QueryTask[Pair, Context]) -> list[Execution]:
    """What the second query of each pair gives, beside the first one."""
    schema, limits, now = task.context
    path = local_path(task.find_executed())
    with (
        GuardedDatabase(path, limits, now=now) as database,
        ReorderedCopy(path, limits, now=now) as copy,
    ):

        def execute(pair: Pair) -> Execution:
            gold_sql, sql = pair
            try:
                rows = database.execute(sql)
            except sqlite3.DatabaseError as error:
                detail = getattr(error, "detail", "the file is damaged")
                return {"answers": None, "is_void": False, "detail": detail}
            answers = SAME if _is_same(gold_sql, rows, schema, database, copy) else OTHER
            return {"answers": answers, "is_void": is_void(rows), "detail": ""}

        return task.map_queries(execute)


def _is_same(
    gold_sql: str, rows: list[Row], schema: Schema, database: GuardedDatabase, copy: ReorderedCopy
) -> bool:
    """Whether rows are a right answer by gold SQL: in its order, and of its ties any."""
    try:
        gold_rows = database.execute(gold_sql)
    except sqlite3.DatabaseError:
        return False
    if are_same_rows(gold_rows, rows):
        return True
    order_matters, accepted_rows, abs_tol = False, None, 0.0
    with contextlib.suppress(SqlglotError, RecursionError, TooComplexError):
        tree = parse_sql(gold_sql)
        inspection = Inspection(gold_sql, tree, schema, gold_rows, Executions(database), copy)
        abs_tol = find_abs_tol(inspection)
        inspection.bounds = replace(inspection.bounds, abs_tol=abs_tol)
        order_matters, accepted_rows = find_row_order(inspection)
    return are_same(
        gold_rows,
        rows,
        ordered=read_order(order_matters, accepted_rows),
        accepted_rows=accepted_rows if has_choice(accepted_rows) else None,
        abs_tol=abs_tol,
    )


def list_judged_queries(
    questions: Iterable[SourceQuestion],
    corrections: Mapping[Key, Correction],
    verdicts: Iterable[Verdict],
) -> list[JudgedQuery]:
    """The queries that corrections by a hash and verdicts put beside gold, each once, by database:
    those of a question as it is, and as it was before such a correction.

    corrections: by the questions that they have changed.
    """
    chosen = choose_verdicts(verdicts)
    judged: dict[JudgedQuery, None] = {}
    for question in questions:
        if read_exclusion(question) is not None:
            continue
        database_name, now = question["database_name"], question.get("now")
        states = [question]
        original = _find_original(question)
        if _find_correction(question, original, corrections) is not None:
            states.append(original)
            queries = database_name, original["gold_sql"], question["gold_sql"]
            judged[JudgedQuery(*queries, now)] = None
        for state in states:
            verdict = next(filter(None, map(chosen.get, _list_keys(state))), None)
            if verdict is not None and verdict.sql is not None and verdict.needs_execution:
                queries = database_name, state["gold_sql"], verdict.sql
                judged[JudgedQuery(*queries, now)] = None
    return sorted(judged, key=attrgetter("database_name"))


def _find_original(question: SourceQuestion) -> SourceQuestion:
    """A question as its corpus has it."""
    correction = question["source"].get("correction")
    if correction is None:
        return question
    source = {name: value for name, value in question["source"].items() if name != "correction"}
    fields: dict[str, Any] = {**question, **correction.get("original", {}), "source": source}
    if not fields.get("evidence", True):  # which it did not have
        del fields["evidence"]
    return cast("SourceQuestion", fields)


def _list_keys(question: SourceQuestion) -> list[Key]:
    """The keys of verdicts about a question, whose database may have its name in the corpus."""
    here = question["database_name"]
    sha256 = hash_question(question["question_text"], question["gold_sql"])
    return [(name, sha256) for name in dict.fromkeys((here, question["source"].get("db_id", here)))]


def _find_correction(
    question: SourceQuestion, original: SourceQuestion, corrections: Mapping[Key, Correction]
) -> Correction | None:
    """The correction by a hash that gave a question another query; None if there is none, or if one
    that quotes the question went before it."""
    if original["gold_sql"] == question["gold_sql"]:
        return None
    note = {**question["source"].get("correction", {})}
    del note["original"]
    correction = corrections.get(_list_keys(original)[0])
    return correction if correction is not None and correction.note == note else None


def plan_works(
    judged: Iterable[JudgedQuery], limits: Limits, *, databases_url: str | None
) -> Iterator[DatabaseWork[Pair, Context, Execution]]:
    """A shard for up to 256 of the queries of a database that can be read."""
    records = [query._asdict() | {"name": query.name} for query in judged]
    if not records:
        return
    hashes, schemas = read_database_hashes(DATABASES), SchemaFile(SCHEMAS)
    made_by = [hash_code(execute_task), version("sqlglot"), sqlite3.sqlite_version, asdict(limits)]
    readable = (record for record in records if record["database_name"] in hashes)
    for shard, group in cut_in_shards(readable):
        name, now = shard.database_name, group[0]["now"]  # the same for all of a database
        pairs = [(record["name"], (record["gold_sql"], record["sql"])) for record in group]
        tables, sha256 = schemas.read_tables(name), hashes[name]
        key = hash_value([*made_by, sha256, pairs, tables, now])
        database = find_database(DATABASES, name, sha256=sha256, databases_url=databases_url)
        yield DatabaseWork(shard, database, key, pairs, (decode_schema(tables), limits, now))


class Withdrawn(NamedTuple):
    """A correction that does not come out as it was judged, and its question."""

    correction: Correction
    question: SourceQuestion


def withdraw_unconfirmed(
    questions: Iterable[SourceQuestion],
    corrections: Mapping[Key, Correction],
    verdicts: Iterable[Verdict],
    executions: Mapping[str, Execution],
) -> tuple[list[SourceQuestion], list[Withdrawn]]:
    """All questions in their order, and the corrections that do not hold on the database at hand.
    A question of one is as its corpus has it, and its `source` has `unconfirmed`: the query, what
    it gives here, and the reason that the correction had.

    corrections: those by a hash, by the questions that they have changed.
    """
    said = {(*verdict.key, verdict.sql): verdict for verdict in verdicts if verdict.sql}
    kept: list[SourceQuestion] = []
    withdrawn: list[Withdrawn] = []
    for question in questions:
        original = _find_original(question)
        keys = _list_keys(original)
        correction = _find_correction(question, original, corrections)
        judged = question["database_name"], original["gold_sql"], question["gold_sql"]
        execution = executions.get(name_pair(*judged))
        if correction is not None and execution is not None:
            verdicts_here = (said.get((*key, question["gold_sql"])) for key in keys)
            verdict = next(filter(None, verdicts_here), None)
            why = explain_contradiction(
                execution,
                answers=None if verdict is None else verdict.answers,
                is_void=verdict is not None and bool(verdict.void),
            )
            if why is not None:
                known = {"source": correction.source, "date": correction.date}
                note: dict[str, Any] = {
                    "sql": question["gold_sql"],
                    "here": why,
                    "reason": correction.reason,
                    **{name: value for name, value in known.items() if value is not None},
                }
                original["source"]["unconfirmed"] = note
                withdrawn.append(Withdrawn(correction, original))
                question = original
        kept.append(question)
    return kept, withdrawn


def describe_withdrawn(withdrawn: Sequence[Withdrawn]) -> list[str]:
    """The line of the log; none if all corrections hold."""
    if not withdrawn:
        return []
    named = [
        f"{each.correction.where}, {each.correction.name} ({_read_note(each.question)['here']})"
        for each in withdrawn[:_NAMED]
    ]
    named += ["..."] if len(withdrawn) > _NAMED else []
    return [
        f"{spell_count(len(withdrawn), 'correction')} by hash not applied, since the database here"
        f" is not the one that was read: {'; '.join(named)}"
    ]


def list_withdrawn(withdrawn: Iterable[Withdrawn]) -> list[dict[str, Any]]:
    """A record each: the question as its corpus has it, and the note."""
    return [
        {
            **{name: question[name] for name in ("database_name", "question_text", "gold_sql")},
            **_read_note(question),
        }
        for _, question in withdrawn
    ]


def _read_note(question: SourceQuestion) -> dict[str, Any]:
    return question["source"]["unconfirmed"]
