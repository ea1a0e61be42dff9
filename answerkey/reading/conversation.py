"""A conversation with a model about one question. It may query the database by the tool `run_sql`
for some replies, and must end with a verdict whose query runs.

If a reply is wrong (an unknown tool, words after the verdict, a verdict without its query, SQL that
does not run), the model is told so, and may correct it while it has replies left. Its thoughts are
no
verdict: it may consider `right` and decide against it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from typing import Any, NamedTuple

from answerkey.base.records import decode_json
from answerkey.dataset import Question
from answerkey.engines.sqlite.statement import trim_statement
from answerkey.environments.questions import RUN_SQL, run_sql
from answerkey.reading.model import Message, Model, ToolCall
from answerkey.reading.shown import find_database_engine, read_database_schema
from answerkey.reward import RewardPool
from answerkey.risk.verdicts import KINDS, OTHER, RIGHT, SAME, VERDICT_WORDS
from answerkey.sql.parsed_query import parse_query
from answerkey.sql.query_tree import speaking

_FOR_VERDICT = 2  # the last replies, without the tool: one of them to correct the verdict
_CALLS = 4  # of one reply
_REASON_CHARACTERS = 1000
_VERDICT_CHARACTERS = 20_000  # the end of a reply, which contains its verdict
_DECODER = json.JSONDecoder(strict=False)  # models break lines inside strings
# Thoughts, as models mark them: <think>, <Thinking>, <seed:think>, <|begin_of_thought|>, [THINK],
# and the channels of gpt-oss (<|channel|>analysis) and Gemma (<|channel>thought).
_THINKING = r"[\w:]{0,20}(?:think|thought|reason|reflect|scratchpad|monologue|analysis)\w{0,20}"
_THOUGHT = re.compile(
    rf"""(?P<end> </{_THINKING}\s*> | <\|(?:/|end_?(?:of_?)?){_THINKING}\|> | \[/think\]
        | ◁/think▷ | <\|?channel\|?>\s*final | <channel\|> )
    | <\|?{_THINKING}(?:\s[^<>]*)?\|?> | \[think\] | ◁think▷
    | <\|?channel\|?>\s*(?:analysis|commentary|thought)""",
    re.IGNORECASE | re.VERBOSE,
)
# Allowed after a verdict: the end of a fence, of emphasis or of a tag, and marks of a chat
# template.
_BEHIND = re.compile(
    rf"(?:[\s`~*]|</(?!{_THINKING}\s*>)\w+>|<\|(?!/?{_THINKING}\|>)\w+\|>)*", re.IGNORECASE
)
_TOO_MANY = f"It was not run: a reply has {_CALLS} calls at most."
_NO_MORE = "No more queries: give your verdict, as a line of JSON."
_WAS_CUT = "The reply was cut at its greatest length: expected a shorter one."
_MEND = "{fault} Answer again, and end with the line of JSON."


class NoVerdictError(Exception):
    """A conversation without a verdict; the message says why."""


class Judgement(NamedTuple):
    """The result of one pass.

    sql: the query that the question asks for; for an ambiguous question, the reading other than
    gold.
    answers: whether its answer is gold's.
    rows_sha256: a hash of its rows in any order.
    """

    verdict: str
    reason: str
    sql: str | None = None
    kind: str | None = None
    answers: str | None = None
    rows_sha256: str | None = None


class _FaultError(Exception):
    """What is wrong with a reply, as a message for the model."""


def count_queries(turns: int) -> int:
    """Return in how many of its replies the model may query."""
    return max(0, turns - _FOR_VERDICT)


async def read_question(
    question: Question, prompt: str, model: Model, pool: RewardPool, *, turns: int
) -> Judgement:
    """Return the model's judgement of a question within `turns` replies.

    Raises:
        NoVerdictError: no reply had a valid verdict.
        NoReplyError, OutOfTokensError: as `Model.ask`.
        OSError, sqlite3.DatabaseError: the database is missing or corrupt.
    """
    messages: list[Message] = [{"role": "user", "content": prompt}]
    queries, fault = count_queries(turns), ""
    engine = find_database_engine(question.database_name)
    for turn in range(1, turns + 1):
        tools = None if not queries else "auto" if turn <= queries else "none"
        reply = await model.ask(messages, tools=tools, engine=engine)
        messages.append(reply.message)
        if reply.calls:
            fault = "it went on querying"
            for index, call in enumerate(reply.calls):
                answer = _TOO_MANY
                if turn > queries:
                    answer = _NO_MORE
                elif index < _CALLS:
                    answer = await _answer(call, question, pool)
                messages.append({"role": "tool", "tool_call_id": call.call_id, "content": answer})
            if turn >= queries:
                messages.append({"role": "user", "content": _NO_MORE})
            continue
        try:
            if reply.is_cut:
                raise _FaultError(_WAS_CUT)
            judgement = parse_verdict(reply.text)
            return await asyncio.to_thread(_check_judgement, judgement, question, pool)
        except _FaultError as error:
            fault = str(error)
            messages.append({"role": "user", "content": _MEND.format(fault=fault)})
    raise NoVerdictError(f"no verdict in {turns} replies: {fault}")


async def _answer(call: ToolCall, question: Question, pool: RewardPool) -> str:
    """Return the tool's answer to a call."""
    if call.name != RUN_SQL:
        return f"There is no tool {call.name[:80]}: expected {RUN_SQL}."
    try:
        arguments = decode_json(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    sql = arguments.get("sql") if isinstance(arguments, dict) else None
    if not isinstance(sql, str):
        return f'Expected the arguments {{"sql": "SELECT ..."}}, found {call.arguments[:200]}'
    return await asyncio.to_thread(run_sql, pool, sql, question.database_name, question.now)


def parse_verdict(text: str) -> Judgement:
    """Return the verdict at the end of a text: a JSON object without words after it.

    >>> parse_verdict('Each ship is counted. {"verdict": "right"}').verdict
    'right'
    """
    tail = text[-_VERDICT_CHARACTERS:]
    stop = tail.rfind("}") + 1
    start = tail.rfind("{") if _BEHIND.fullmatch(tail, stop) else -1
    while start >= 0:
        try:
            value, last = _DECODER.raw_decode(tail, start)
        except (ValueError, RecursionError):
            value, last = None, start
        if last == stop and isinstance(value, dict) and "verdict" in value:
            if _is_thought(text[: len(text) - len(tail) + start]):
                raise _FaultError("The verdict stands in a thought: expected it behind.")
            return _read_verdict(value)
        start = tail.rfind("{", 0, start)
    raise _FaultError(f"Expected a verdict as JSON, and nothing behind it, found {text[-200:]!r}.")


def _is_thought(before: str) -> bool:
    """Return whether a text ends inside a thought.

    >>> _is_thought("<think>Hm. </think> So:"), _is_thought("</think> Hm. <think>")
    (False, True)
    """
    marks = list(_THOUGHT.finditer(before))
    return bool(marks) and marks[-1]["end"] is None


def _read_verdict(record: dict[str, Any]) -> Judgement:
    verdict = record["verdict"]
    if verdict not in VERDICT_WORDS:
        expected = ", ".join(VERDICT_WORDS)
        raise _FaultError(f"verdict: expected one of {expected}, found {verdict!r:.80}.")
    texts: dict[str, str] = {}
    for name in ("reason", "sql", "kind"):
        value = record.get(name)
        texts[name] = value.strip() if isinstance(value, str) else ""
    reason = " ".join(texts["reason"].split())[:_REASON_CHARACTERS]
    reason = reason.encode(errors="replace").decode()  # JSON may contain a lone surrogate
    if verdict == RIGHT:
        return Judgement(verdict, reason)
    if not reason or not texts["sql"]:
        raise _FaultError(f"{verdict}: expected sql and reason beside it.")
    kind = texts["kind"] if texts["kind"] in KINDS else KINDS[-1]
    return Judgement(verdict, reason, texts["sql"], kind)


def _check_judgement(judgement: Judgement, question: Question, pool: RewardPool) -> Judgement:
    """Return the judgement with the answer of its query, which must run and differ from gold's.
    Gold without an answer cannot be right."""
    if judgement.sql is None:
        if question.gold_answer is None:
            words = f"gold has no answer ({question.reason}: {question.detail})"
            raise _FaultError(f"{judgement.verdict}: {words}: expected a query that has one.")
        return judgement
    sql, name, now = trim_statement(judgement.sql), question.database_name, question.now
    rows = pool.execute(sql, name, now=now)
    if rows is None:
        raise _FaultError(f"sql: it does not run: {run_sql(pool, sql, name, now)}.")
    schema = read_database_schema(name)
    with speaking(schema.engine):
        parsed = parse_query(sql, schema)
    if sql == trim_statement(question.gold_sql) or (
        "reason" not in parsed and parsed["canonical_sql"] == question.canonical_sql
    ):
        raise _FaultError("sql: it says the same as gold: expected another query, or right.")
    answers = OTHER
    if question.gold_answer is not None:
        reward = pool.score_sql(
            sql,
            question.gold_answer,
            database_name=name,
            order_matters=bool(question.order_matters),
            accepted_rows=question.accepted_rows,
            rule=f"strict,abs_tol={question.abs_tol or 0.0}",
            now=now,
        )
        answers = SAME if reward else OTHER
    return judgement._replace(sql=sql, answers=answers, rows_sha256=hash_rows(rows))


def hash_rows(rows: list[tuple[Any, ...]]) -> str:
    """Return the sha256 of rows in any order; floats that differ by rounding are equal.

    >>> hash_rows([(1, "a"), (0.1 + 0.2, None)]) == hash_rows([(0.3, None), (1, "a")])
    True
    >>> hash_rows([("1",)]) == hash_rows([(1,)])
    False
    """
    lines = sorted(json.dumps([_round(value) for value in row]) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _round(value: object) -> object:
    return [f"{value:.9g}"] if isinstance(value, float) else value
