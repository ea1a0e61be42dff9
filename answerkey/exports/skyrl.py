"""SkyRL: a Parquet file a split, for the environment `answerkey` (examples/skyrl_environment.py).

Its own environment `text2sql` would execute gold SQL at every reward.

Source: "Dataset Preparation" in SkyRL's documentation (docs/datasets/dataset-preparation.rst):
data_source, prompt (a chat), env_class, reward_spec with method and ground_truth, extra_info. All
columns but the prompt reach the environment as `extras`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from answerkey.exports.prompts import Exercise

if TYPE_CHECKING:
    import pyarrow as pa

ENVIRONMENT = "answerkey"


def make_row(exercise: Exercise) -> dict[str, Any]:
    """The five columns of a question."""
    return {
        "data_source": exercise.data_source,
        "prompt": exercise.messages,
        "env_class": ENVIRONMENT,
        "reward_spec": {"method": "rule", "ground_truth": exercise.ground_truth},
        "extra_info": exercise.extra_info,
    }


def make_schema() -> pa.Schema:
    """The types of `make_row`."""
    import pyarrow as pa

    from answerkey.exports.chat_types import CHAT, EXTRA_INFO

    reward_spec = pa.struct([("method", pa.string()), ("ground_truth", pa.string())])
    return pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", CHAT),
            ("env_class", pa.string()),
            ("reward_spec", reward_spec),
            ("extra_info", EXTRA_INFO),
        ]
    )
