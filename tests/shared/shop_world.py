"""What somebody has who begins: a database of a shop, and a file of questions."""

from __future__ import annotations

import json
from pathlib import Path

from tests.shared.databases import make_database

SHOP = """
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL);
INSERT INTO item VALUES (1, 'lamp', 12.5), (2, 'chair', 40.0), (3, 'desk', 90.0);
"""
QUESTIONS = [
    {"question": "How many items are there?", "sql": "SELECT count(*) FROM item"},
    {"question": "What costs more than 20?", "sql": "SELECT name FROM item WHERE price > 20"},
]


def write_shop(folder: Path) -> tuple[Path, Path]:
    """Write both files, and return their paths: shop.db and questions.json."""
    database = make_database(folder / "shop.db", SHOP)
    questions = folder / "questions.json"
    questions.write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return database, questions
