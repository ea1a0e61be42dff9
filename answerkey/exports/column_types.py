"""The types of columns that several tables have: a value, a chat, what is known of a question."""

from __future__ import annotations

import pyarrow as pa

TEXT, WHOLE, REAL, BOOLEAN = pa.string(), pa.int64(), pa.float64(), pa.bool_()

CHAT = pa.list_(pa.struct({"role": TEXT, "content": TEXT}))
FACTS = {
    "question_id": TEXT,
    "database_name": TEXT,
    "gold_sql": TEXT,
    "answer_type": TEXT,
    "difficulty": TEXT,
    "order_matters": BOOLEAN,
    "max_steps": WHOLE,
    "rule": TEXT,
    "accepted_rows": TEXT,  # JSON, or null
    "test_suite": TEXT,  # JSON, or null
    "database_sha256": TEXT,
}
EXTRA_INFO = pa.struct({"split": TEXT, "index": WHOLE, **FACTS})
