"""Execute the queries of corrections and verdicts again on the database at hand.

A list that names questions by hashes was made on one edition of a database. Another database may
have its name: if a column has 'US' in place of 'USA', the corrected query finds nothing. So each
query that a correction or a verdict has beside gold is executed here. A correction by a hash whose
query gives another result than stated is withdrawn, and the question says so.
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
from answerkey.engines.answers import are_same_rows, has_choice, read_order
from answerkey.engines.database import Database, Limits, Row
from answerkey.engines.executions import Executions, are_same, is_void
from answerkey.engines.names import name_engine
from answerkey.engines.opening import open_database
from answerkey.engines.schema import Schema, SchemaFile, decode_schema
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
from answerkey.shards.engine_versions import describe_engine
from answerkey.shards.runs import DatabaseWork, QueryTask
from answerkey.sql.query_tree import TooComplexError, parse_sql, speaking

_NAMED = 3  # corrections in a line of the log

Pair = tuple[str, str]  # gold SQL, and the query beside it
Context = tuple[Schema, Limits, str | None]  # the last one is the time of the clock


class JudgedQuery(NamedTuple):
    """A query that a correction or a verdict has beside gold SQL.

    now: the time of the clock on its database.
    """

    database_name: str
    gold_sql: str
    sql: str
    now: str | None

    @property
    def name(self) -> str:
        return name_pair(self.database_name, self.gold_sql, self.sql)


def execute_task(task: QueryTask[Pair, Context]) -> list[Execution]:
    """Return the result of the second query of each pair, compared with the first one."""
    schema, limits, now = task.context
    path = local_path(task.find_executed())
    with (
        speaking(name_engine(path)),
        open_database(path, limits, now=now) as database,
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
    gold_sql: str, rows: list[Row], schema: Schema, database: Database, copy: ReorderedCopy
) -> bool:
    """Return whether rows are a right answer by gold SQL: in its order, with any choice at ties."""
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
    """Return the queries that verdicts, and corrections by a hash, have beside gold, each once, by
    database. They may be about a question's present SQL or its SQL before such a correction.

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
    """Return a question as it is in its corpus."""
    correction = question["source"].get("correction")
    if correction is None:
        return question
    source = {name: value for name, value in question["source"].items() if name != "correction"}
    fields: dict[str, Any] = {**question, **correction.get("original", {}), "source": source}
    if not fields.get("evidence", True):  # the corpus has none
        del fields["evidence"]
    return cast("SourceQuestion", fields)


def _list_keys(question: SourceQuestion) -> list[Key]:
    """Return the keys of verdicts on a question; its database may have its name in the corpus."""
    here = question["database_name"]
    sha256 = hash_question(question["question_text"], question["gold_sql"])
    return [(name, sha256) for name in dict.fromkeys((here, question["source"].get("db_id", here)))]


def _find_correction(
    question: SourceQuestion, original: SourceQuestion, corrections: Mapping[Key, Correction]
) -> Correction | None:
    """Return the correction by a hash that gave a question another query; None if there is none, or
    if a correction that quotes the question had priority."""
    if original["gold_sql"] == question["gold_sql"]:
        return None
    note = {**question["source"].get("correction", {})}
    del note["original"]
    correction = corrections.get(_list_keys(original)[0])
    return correction if correction is not None and correction.note == note else None


def plan_works(
    judged: Iterable[JudgedQuery], limits: Limits, *, databases_url: str | None
) -> Iterator[DatabaseWork[Pair, Context, Execution]]:
    """Yield a shard for at most 256 of the queries of each readable database."""
    records = [query._asdict() | {"name": query.name} for query in judged]
    if not records:
        return
    hashes, schemas = read_database_hashes(DATABASES), SchemaFile(SCHEMAS)
    made_by = [hash_code(execute_task), version("sqlglot"), asdict(limits)]
    readable = (record for record in records if record["database_name"] in hashes)
    for shard, group in cut_in_shards(readable):
        name, now = shard.database_name, group[0]["now"]  # `now` is the same for a whole database
        pairs = [(record["name"], (record["gold_sql"], record["sql"])) for record in group]
        tables, sha256 = schemas.read_tables(name), hashes[name]
        database = find_database(DATABASES, name, sha256=sha256, databases_url=databases_url)
        engine = describe_engine(database.place)
        key = hash_value([*made_by, *engine, sha256, pairs, tables, now])
        yield DatabaseWork(shard, database, key, pairs, (decode_schema(tables), limits, now))


class Withdrawn(NamedTuple):
    """A correction whose query gives another result than stated, and its question."""

    correction: Correction
    question: SourceQuestion


def withdraw_unconfirmed(
    questions: Iterable[SourceQuestion],
    corrections: Mapping[Key, Correction],
    verdicts: Iterable[Verdict],
    executions: Mapping[str, Execution],
) -> tuple[list[SourceQuestion], list[Withdrawn]]:
    """Return all questions in their order, and the corrections that the database at hand
    contradicts. The question of such a correction is as in its corpus. Its `source` has
    `unconfirmed`: the query, its answer here, and the reason of the correction.

    corrections: those by a hash, by the questions that they have changed.
    """
    verdicts_by_query = {
        (*verdict.key, verdict.sql): verdict for verdict in verdicts if verdict.sql
    }
    kept: list[SourceQuestion] = []
    withdrawn: list[Withdrawn] = []
    for question in questions:
        original = _find_original(question)
        keys = _list_keys(original)
        correction = _find_correction(question, original, corrections)
        judged = question["database_name"], original["gold_sql"], question["gold_sql"]
        execution = executions.get(name_pair(*judged))
        if correction is not None and execution is not None:
            verdicts_here = (verdicts_by_query.get((*key, question["gold_sql"])) for key in keys)
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
    """Return the line of the log; [] if all corrections are confirmed."""
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
    """Return a record for each: the question as in its corpus, and the note."""
    return [
        {
            **{name: question[name] for name in ("database_name", "question_text", "gold_sql")},
            **_read_note(question),
        }
        for _, question in withdrawn
    ]


def _read_note(question: SourceQuestion) -> dict[str, Any]:
    return question["source"]["unconfirmed"]
