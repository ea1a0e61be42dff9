"""SkyRL: a Parquet file a split, for the environment `answerkey` (environments/skyrl.py).

Its own environment `text2sql` would execute gold SQL at every reward.

Source: "Dataset Preparation" in SkyRL's documentation (docs/datasets/dataset-preparation.rst):
data_source, prompt (a chat), env_class, reward_spec with method and ground_truth, extra_info. All
columns but the prompt reach the environment as `extras`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from answerkey.exports.parquet_files import CHAT, EXTRA_INFO, TEXT, Table
from answerkey.exports.prompts import PromptExample

ENVIRONMENT = "answerkey"
SCHEMA = pa.schema(
    {
        "data_source": TEXT,
        "prompt": CHAT,
        "env_class": TEXT,
        "reward_spec": pa.struct({"method": TEXT, "ground_truth": TEXT}),
        "extra_info": EXTRA_INFO,
    }
)


def make_row(example: PromptExample) -> dict[str, Any]:
    """The five columns of a question."""
    return {
        "data_source": example.data_source,
        "prompt": example.messages,
        "env_class": ENVIRONMENT,
        "reward_spec": {"method": "rule", "ground_truth": example.ground_truth},
        "extra_info": example.extra_info,
    }


TABLE = Table(SCHEMA, make_row)
