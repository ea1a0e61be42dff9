"""What all environments share: questions out of the exports, rewards with a reason, and rows to
show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

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
    "test_suite",
    "database_sha256",
)
_JSON = ("gold_answer", "accepted_rows", "test_suite")
_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 4000


class PromptedQuestion(NamedTuple):
    """A question with its prompt, and the terms by which a reply is scored (`TERMS`)."""

    question_id: str
    prompt: str
    terms: dict[str, Any]


def read_prompted_questions(exports: str, split: str) -> list[PromptedQuestion]:
    """The questions of a split, in their order.

    Raises:
        FileNotFoundError: where the exports have no such split.
    """
    import pyarrow.parquet

    path = Path(exports, "trl", "prompt_completion", f"{split}.parquet")
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro export_trainers`, or `dvc pull`")
    names = ["question_id", "prompt", *TERMS]
    rows = pyarrow.parquet.read_table(path, columns=names).to_pylist()
    return [
        PromptedQuestion(
            row["question_id"], row["prompt"][-1]["content"], {name: row[name] for name in TERMS}
        )
        for row in rows
    ]


def read_terms(columns: dict[str, Any]) -> dict[str, Any]:
    """The terms among the columns of a question, with the values of JSON text.

    >>> read_terms({"database_name": "fleet", "gold_answer": '"Sun"', "order_matters": False})
    {'database_name': 'fleet', 'gold_answer': 'Sun', 'order_matters': False}
    """
    terms = {name: columns[name] for name in TERMS if columns.get(name) is not None}
    return {name: json.loads(term) if name in _JSON else term for name, term in terms.items()}


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
