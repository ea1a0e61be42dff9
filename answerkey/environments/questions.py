"""The core of all environments: one reader of questions, one read-only SQL tool, one scorer.

An adapter translates these for its library, so that a policy has the same score everywhere.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from answerkey.base.paths import WIDENED
from answerkey.base.records import encode_json
from answerkey.dataset import (
    Question,
    decode_columns,
    list_reward_terms,
    make_questions,
    read_export,
)
from answerkey.engines.names import SQLITE, TITLES
from answerkey.loading import load
from answerkey.reward import TERMS, Explanation, Options, RewardPool
from answerkey.scoring.worker import DATABASES_VARIABLE

EXPORTS = "data/exports"
# The columns for scoring a reply, as exports have them.
COLUMNS = ("database_name", "gold_answer", "order_matters", *TERMS)
RUN_SQL = "run_sql"  # the name of the tool
_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 4000
_THINKING = re.compile(r".*</think>", re.DOTALL)


def describe_tool(engine: str = SQLITE) -> dict[str, Any]:
    """Return the description of the tool `run_sql` for models, in OpenAI's format of functions.

    >>> describe_tool("duckdb")["parameters"]["properties"]["sql"]["description"]
    'A query of DuckDB.'

    engine: of the database of the question.
    """
    title = TITLES[engine]
    return {
        "name": RUN_SQL,
        "description": "Run a query on the database of the question, which it cannot change. Gives"
        f" the first rows as JSON, or the error of {title}.",
        "parameters": {
            "type": "object",
            "properties": {"sql": {"type": "string", "description": f"A query of {title}."}},
            "required": ["sql"],
            "additionalProperties": False,
        },
    }


def load_questions(source: str, split: str) -> tuple[list[Question], Options]:
    """Return the questions of a split with their prompts, and the folders of their databases as
    options of the reward. Raises FileNotFoundError if there is no such source or split.

    source: data/exports, for which a reward finds databases by itself, except widened ones, which
        are in data/exports; or a source of `answerkey.load`, such as "your-name/your-dataset" on
        the Hugging Face hub.
    """
    table = Path(source, "trl", "prompt_only", f"{split}.parquet")
    if table.is_file():
        widened = Path(source, WIDENED.name)
        is_named = DATABASES_VARIABLE in os.environ or not (widened / "manifest.json").is_file()
        return list(read_export(table)), {} if is_named else {"databases": str(widened)}
    if source == EXPORTS or table.parent.is_dir():
        raise FileNotFoundError(f"No {table}: run `dvc repro export_trainers`, or `dvc pull`")
    loaded = load(source, split=split)
    questions = list(make_questions(loaded.questions, split=split))
    return questions, {
        "databases": str(loaded.databases),
        "test_suites": str(loaded.test_suites),
    }


def list_terms(question: Question) -> dict[str, Any]:
    """Return the columns for scoring a reply to a question, as exports have them."""
    return {
        "database_name": question.database_name,
        "gold_answer": encode_json(question.gold_answer).decode(),
        **list_reward_terms(question),
    }


def read_terms(columns: dict[str, Any]) -> dict[str, Any]:
    """Return the terms among the columns of a question, with the values of JSON text.

    >>> read_terms({"database_name": "fleet", "gold_answer": '"Sun"', "order_matters": False})
    {'database_name': 'fleet', 'gold_answer': 'Sun', 'order_matters': False}
    """
    known = {name: columns[name] for name in COLUMNS if columns.get(name) is not None}
    return decode_columns(known)


def explain_reply(pool: RewardPool, reply: Any, columns: dict[str, Any]) -> Explanation:
    """Return the reward of a model's reply, and why. Raises as `answerkey.reward.explain_score`."""
    return pool.explain_completion(reply, **read_terms(columns))


def explain_query(pool: RewardPool, sql: str | None, columns: dict[str, Any]) -> Explanation:
    """Return the reward of a query without other text, and why. Raises as `explain_reply`."""
    return pool.explain_score(sql, **read_terms(columns))


def find_tag(reply: str, tag: str) -> str | None:
    """Return the content of the last pair of tags after the thinking; None without one.

    >>> find_tag("<think><sql>SELECT 0</sql></think> <sql>SELECT 1</sql>", "sql")
    'SELECT 1'
    """
    _, opened, rest = _THINKING.sub("", reply).rpartition(f"<{tag}>")
    content, closed, _ = rest.partition(f"</{tag}>")
    return content.strip() if opened and closed else None


def run_sql(pool: RewardPool, sql: str, database_name: str, now: str | None = None) -> str:
    """Return the first rows of a query as JSON, or the engine's message if it fails.

    >>> run_sql(pool, "SELECT nam FROM ship", "fleet")                      # doctest: +SKIP
    'sql_error: no such column: nam'

    It only reads: a query that would change the database is refused. now: the time of its clock,
    the term of the question. Raises as `answerkey.reward.execute`.
    """
    rows = pool.execute(sql, database_name, now=now)
    if rows is None:
        failed = pool.explain_score(
            sql, None, database_name=database_name, order_matters=False, now=now
        )
        return f"{failed.reason}: {failed.detail}"
    shown = json.dumps(rows[:_SHOWN_ROWS], ensure_ascii=False)
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"{shown[:_SHOWN_CHARACTERS]}... (cut)"
    return shown if len(rows) <= _SHOWN_ROWS else f"{shown} (the first of {len(rows)} rows)"
