"""verl: a Parquet file a split, for a reward function that reads `ground_truth` as JSON.

Source: "Prepare Data for Post-Training" in verl's documentation
(docs/preparation/prepare_data.rst): data_source, prompt (a chat), ability, reward_model and
extra_info, whose `index` its dataset reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from answerkey.exports.prompts import Exercise

if TYPE_CHECKING:
    import pyarrow as pa

ABILITY = "text-to-sql"


def make_row(exercise: Exercise) -> dict[str, Any]:
    """The five columns of a question."""
    return {
        "data_source": exercise.data_source,
        "prompt": exercise.messages,
        "ability": ABILITY,
        "reward_model": {"style": "rule", "ground_truth": exercise.ground_truth},
        "extra_info": exercise.extra_info,
    }


def make_schema() -> pa.Schema:
    """The types of `make_row`."""
    import pyarrow as pa

    from answerkey.exports.chat_types import CHAT, EXTRA_INFO

    reward_model = pa.struct([("style", pa.string()), ("ground_truth", pa.string())])
    return pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", CHAT),
            ("ability", pa.string()),
            ("reward_model", reward_model),
            ("extra_info", EXTRA_INFO),
        ]
    )
