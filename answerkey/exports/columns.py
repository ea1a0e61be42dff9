"""Columns that several exports share. They need no trainer's package."""

from __future__ import annotations

import pyarrow as pa

from answerkey.exports.prompts import KNOWN

TEXT = pa.string()
CHAT = pa.list_(pa.struct({"role": TEXT, "content": TEXT}))
# The facts of a question: `PromptExample.facts`. One of `max_steps` and `max_cpu_s` is null, as the
# engine counts steps or not: tables of all engines have the same types. `accepted_rows`,
# `other_answers` and `test_suite` are JSON text, or null.
FACTS = {
    **dict.fromkeys(KNOWN, TEXT),
    "engine": TEXT,
    "order_matters": pa.bool_(),
    "max_steps": pa.int64(),
    "max_cpu_s": pa.int64(),
    "rule": TEXT,
    **dict.fromkeys(
        ("accepted_rows", "other_answers", "test_suite", "database_sha256", "now"), TEXT
    ),
}
EXTRA_INFO = pa.struct({"split": TEXT, "index": pa.int64(), **FACTS})


def drop_clock(schema: pa.Schema) -> pa.Schema:
    """Return the types of columns without `now`, for questions without a clock."""
    fields = []
    for field in schema:
        if pa.types.is_struct(field.type):
            field = field.with_type(pa.struct([own for own in field.type if own.name != "now"]))
        if field.name != "now":
            fields.append(field)
    return pa.schema(fields)
