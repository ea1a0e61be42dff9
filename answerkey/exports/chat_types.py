"""Arrow types that the trainers' tables share: a chat, the facts of a question, its extra info."""

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
EXTRA_INFO = pa.struct([("split", pa.string()), ("index", pa.int64()), *FACTS])
