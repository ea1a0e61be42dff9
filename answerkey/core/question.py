"""A question of the product: its nine fields in their order, and the words that they may hold."""

from __future__ import annotations

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
DIFFICULTIES = EASY, MEDIUM, HARD = ("easy", "medium", "hard")
HARDNESS_LEVELS = ("easy", "medium", "hard", "extra")  # Spider's own; in the sidecar
