"""verl: a Parquet file a split, for a reward function that reads `ground_truth` as JSON.

Source: "Prepare Data for Post-Training" in verl's documentation
(docs/preparation/prepare_data.rst): data_source, prompt (a chat), ability, reward_model and
extra_info, whose `index` its dataset reads.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from answerkey.exports.parquet_files import CHAT, EXTRA_INFO, TEXT, Table
from answerkey.exports.prompts import PromptExample

ABILITY = "text-to-sql"
SCHEMA = pa.schema(
    {
        "data_source": TEXT,
        "prompt": CHAT,
        "ability": TEXT,
        "reward_model": pa.struct({"style": TEXT, "ground_truth": TEXT}),
        "extra_info": EXTRA_INFO,
    }
)


def make_row(example: PromptExample) -> dict[str, Any]:
    """The five columns of a question."""
    return {
        "data_source": example.data_source,
        "prompt": example.messages,
        "ability": ABILITY,
        "reward_model": {"style": "rule", "ground_truth": example.ground_truth},
        "extra_info": example.extra_info,
    }


TABLE = Table(SCHEMA, make_row)
