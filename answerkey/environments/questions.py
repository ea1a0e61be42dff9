"""The core of all environments: questions out of the exports, rewards with a reason, and rows to
show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answerkey.dataset import Question, decode_columns, list_reward_terms, read_export
from answerkey.records import encode_json
from answerkey.reward import Explanation, RewardPool, extract_sql
from answerkey.scoring.completions import read_completion

EXPORTS = "data/exports"
# The columns by which a reply is scored, as exports have them.
TERMS = (
    "database_name",
    "gold_answer",
    "order_matters",
    "max_steps",
    "rule",
    "accepted_rows",
    "other_answers",
    "test_suite",
    "database_sha256",
)
_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 4000


def read_prompted_questions(exports: str, split: str) -> list[Question]:
    """The questions of a split with their prompts, in order.

    Raises:
        FileNotFoundError: if the exports have no such split.
    """
    path = Path(exports, "trl", "prompt_completion", f"{split}.parquet")
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro export_trainers`, or `dvc pull`")
    return list(read_export(path))


def list_terms(question: Question) -> dict[str, Any]:
    """The columns by which a reply to a question is scored, as exports have them."""
    return {
        "database_name": question.database_name,
        "gold_answer": encode_json(question.gold_answer).decode(),
        **list_reward_terms(question),
    }


def read_terms(columns: dict[str, Any]) -> dict[str, Any]:
    """The terms among the columns of a question, with the values of JSON text.

    >>> read_terms({"database_name": "fleet", "gold_answer": '"Sun"', "order_matters": False})
    {'database_name': 'fleet', 'gold_answer': 'Sun', 'order_matters': False}
    """
    return decode_columns({name: columns[name] for name in TERMS if columns.get(name) is not None})


def explain_reply(pool: RewardPool, reply: Any, columns: dict[str, Any]) -> Explanation:
    """The reward of a model's reply, and why. Raises as `answerkey.reward.explain_score`."""
    return pool.explain_score(extract_sql(read_completion(reply)), **read_terms(columns))


def show_rows(pool: RewardPool, sql: str, database_name: str) -> str:
    """The first rows of a query as JSON, or in SQLite's words why it has none.

    >>> show_rows(pool, "SELECT nam FROM ship", "fleet")                    # doctest: +SKIP
    'sql_error: no such column: nam'

    It reads alone: what would change the database is refused. Raises as `answerkey.reward.execute`.
    """
    rows = pool.execute(sql, database_name)
    if rows is None:
        failed = pool.explain_score(sql, None, database_name=database_name, order_matters=False)
        return f"{failed.reason}: {failed.detail}"
    shown = json.dumps(rows[:_SHOWN_ROWS], ensure_ascii=False)
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"{shown[:_SHOWN_CHARACTERS]}... (cut)"
    return shown if len(rows) <= _SHOWN_ROWS else f"{shown} (the first of {len(rows)} rows)"
