"""A question of the product: its nine fields in their order, and the words that they may hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS = (
    "question_id",
    "question_text",
    "database_name",
    "gold_sql",
    "gold_answer",
    "answer_type",
    "difficulty",
    "tables_involved",
    "split",
)
SPLITS = TRAIN, EVAL = ("train", "eval")
# Beside the questions.
SIDECARS = AUDIT, EXCLUDED, SUITES, PASS_RATES = (
    "audit.jsonl",
    "excluded.jsonl",
    "test_suites.jsonl",
    "pass_rates.jsonl",
)
DIFFICULTIES = EASY, MEDIUM, HARD = ("easy", "medium", "hard")
HARDNESS_LEVELS = ("easy", "medium", "hard", "extra")  # Spider's own; in the sidecar


def read_curated_exclusion(source: Mapping[str, Any]) -> str | None:
    """Why a curator excluded a question, with the link; None where none did."""
    correction = source["source"].get("correction")
    if correction is None or correction["action"] != "exclude":
        return None
    return " ".join(filter(None, (correction["reason"], correction["link"])))
