"""A corpus of one large database: what a stage takes where rows are many."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

_ROW = 100  # bytes, about, of a row of sale
_QUESTIONS = (
    ("How many shops are there?", "SELECT count(*) FROM shop"),
    ("Which cities have shops?", "SELECT DISTINCT city FROM shop"),
    ("What was the highest price?", "SELECT max(price) FROM sale"),
    ("How many sales cost more than 90?", "SELECT count(*) FROM sale WHERE price > 90"),
    (
        "What did each city sell in total?",
        "SELECT shop.city, sum(sale.price) FROM sale JOIN shop ON sale.shop_id = shop.id"
        " GROUP BY shop.city",
    ),
    (
        "Which shops have sold nothing?",
        "SELECT name FROM shop WHERE id NOT IN (SELECT shop_id FROM sale)",
    ),
)


def make_large_corpus(folder: Path, megabytes: int) -> Path:
    """Write a corpus in the layout of a Spider release, with one database of about that size."""
    path = folder / "database" / "market" / "market.sqlite"
    path.parent.mkdir(parents=True)
    count = megabytes * 1_000_000 // (_ROW + 20)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);"
            "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop_id INTEGER NOT NULL"
            " REFERENCES shop (id), price REAL, note TEXT);"
        )
        shops = ((number, f"shop {number}", f"city {number % 50}") for number in range(5_000))
        connection.executemany("INSERT INTO shop VALUES (?, ?, ?)", shops)
        sales = (
            (number, number * 7 % 4_900, number * 31 % 10_000 / 100, f"{number:0{_ROW}}")
            for number in range(count)
        )
        connection.executemany("INSERT INTO sale VALUES (?, ?, ?, ?)", sales)
        connection.commit()
    questions = [{"db_id": "market", "question": text, "query": sql} for text, sql in _QUESTIONS]
    (folder / "train_spider.json").write_text(json.dumps(questions), encoding="utf-8")
    (folder / "dev.json").write_text("[]", encoding="utf-8")
    return folder
