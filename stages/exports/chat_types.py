"""Arrow types that the trainers' tables share: a chat, and the facts of a question."""

from __future__ import annotations

import pyarrow as pa

CHAT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
FACTS = [
    pa.field("question_id", pa.string()),
    pa.field("database_name", pa.string()),
    pa.field("gold_sql", pa.string()),
    pa.field("answer_type", pa.string()),
    pa.field("difficulty", pa.string()),
    pa.field("order_matters", pa.bool_()),
]
PLACE = [pa.field("split", pa.string()), pa.field("index", pa.int64())]
