"""TRL: two datasets, each a Parquet file a split.

`prompt_completion` is for SFTTrainer, and for GRPOTrainer, which takes its prompt and hands every
other column to the reward function and to an environment's reset. `messages` is the whole chat, for
what reads language modelling. One table with both would leave it to the trainer which to read.

Source: "Dataset formats and types" and "OpenEnv Integration" in TRL's documentation.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from answerkey.exports.parquet_files import CHAT, FACTS, TEXT, Table
from answerkey.exports.prompts import Message, PromptExample

_BACKTICKS = re.compile("`+")


def make_completion(gold_sql: str) -> list[Message]:
    """What the prompt asks for, as an assistant would say it.

    >>> make_completion("SELECT 1")
    [{'role': 'assistant', 'content': '```sql\\nSELECT 1\\n```'}]

    The fence is longer than any run of backticks in the query, as in Markdown.
    """
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(gold_sql)), default=0))
    return [{"role": "assistant", "content": f"{fence}sql\n{gold_sql}\n{fence}"}]


def make_prompt_completion(example: PromptExample) -> dict[str, Any]:
    """A prompt, its completion, and columns for rewards: gold_answer is JSON text."""
    return {
        "prompt": example.messages,
        "completion": make_completion(example.question.gold_sql),
        "gold_answer": example.ground_truth,
        **example.facts,
    }


def make_messages(example: PromptExample) -> dict[str, Any]:
    """A chat of two messages, and whose it is."""
    return {
        "messages": example.messages + make_completion(example.question.gold_sql),
        "question_id": example.question.question_id,
    }


PROMPT_COMPLETION = Table(
    pa.schema({"prompt": CHAT, "completion": CHAT, "gold_answer": TEXT, **FACTS}),
    make_prompt_completion,
)
MESSAGES = Table(pa.schema({"messages": CHAT, "question_id": TEXT}), make_messages)
