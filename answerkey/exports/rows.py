"""The rows of the Parquet files that verl, SkyRL and TRL read, a file a split.

verl's reward function and SkyRL's environment `answerkey` read `ground_truth` as JSON. (SkyRL's own
`text2sql` would execute gold SQL at every reward.) TRL has two tables: one with both would leave it
to the trainer which columns to read. `prompt_completion` is for SFTTrainer, and for GRPOTrainer,
which hands every column but the prompt to the reward function and to an environment's reset;
`messages` is the whole chat, for language modelling.

Sources: "Prepare Data for Post-Training" in verl's documentation, whose dataset reads `index` of
extra_info; "Dataset Preparation" in SkyRL's; "Dataset formats and types" and "OpenEnv Integration"
in TRL's.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from answerkey.exports.parquet_files import CHAT, EXTRA_INFO, FACTS, TEXT, Table
from answerkey.exports.prompts import Message, PromptExample

_BACKTICKS = re.compile("`+")


def _make_table(*, own: tuple[str, str], reward: tuple[str, str]) -> Table:
    """A table of verl or SkyRL, which differ in a column of their own and in the words of a reward:
    the name of its column, and of its field beside ground_truth."""
    (name, value), (column, method) = own, reward
    schema = pa.schema(
        {
            "data_source": TEXT,
            "prompt": CHAT,
            name: TEXT,
            column: pa.struct({method: TEXT, "ground_truth": TEXT}),
            "extra_info": EXTRA_INFO,
        }
    )

    def make_row(example: PromptExample) -> dict[str, Any]:
        return {
            "data_source": example.data_source,
            "prompt": example.messages,
            name: value,
            column: {method: "rule", "ground_truth": example.ground_truth},
            "extra_info": example.extra_info,
        }

    return Table(schema, make_row)


VERL = _make_table(own=("ability", "text-to-sql"), reward=("reward_model", "style"))
SKYRL = _make_table(own=("env_class", "answerkey"), reward=("reward_spec", "method"))


def make_completion(gold_sql: str) -> list[Message]:
    """What the prompt asks for, as an assistant would say it.

    >>> make_completion("SELECT 1")
    [{'role': 'assistant', 'content': '```sql\\nSELECT 1\\n```'}]

    The fence is longer than any run of backticks in the query, as in Markdown.
    """
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(gold_sql)), default=0))
    return [{"role": "assistant", "content": f"{fence}sql\n{gold_sql}\n{fence}"}]


def _make_prompt_completion(example: PromptExample) -> dict[str, Any]:
    return {
        "prompt": example.messages,
        "completion": make_completion(example.question.gold_sql),
        "gold_answer": example.ground_truth,
        **example.facts,
    }


def _make_messages(example: PromptExample) -> dict[str, Any]:
    return {
        "messages": example.messages + make_completion(example.question.gold_sql),
        "question_id": example.question.question_id,
    }


PROMPT_COMPLETION = Table(
    pa.schema({"prompt": CHAT, "completion": CHAT, "gold_answer": TEXT, **FACTS}),
    _make_prompt_completion,
)
MESSAGES = Table(pa.schema({"messages": CHAT, "question_id": TEXT}), _make_messages)
