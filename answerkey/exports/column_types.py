"""The types of columns that several tables have: a value, a chat, what is known of a question."""

from __future__ import annotations

from datasets import List, Value

TEXT, WHOLE, REAL, BOOLEAN = Value("string"), Value("int64"), Value("float64"), Value("bool")

CHAT = List({"role": TEXT, "content": TEXT})
FACTS = {
    "question_id": TEXT,
    "database_name": TEXT,
    "gold_sql": TEXT,
    "answer_type": TEXT,
    "difficulty": TEXT,
    "order_matters": BOOLEAN,
}
EXTRA_INFO = {"split": TEXT, "index": WHOLE, **FACTS}
