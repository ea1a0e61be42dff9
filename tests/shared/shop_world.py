"""What somebody has who begins: a database of a shop, and a file of questions."""

from __future__ import annotations

import json
from pathlib import Path

from answerkey.engines.names import POSTGRES, SQLITE, SUFFIXES
from tests.shared.databases import make_database

SHOP = """
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL);
INSERT INTO item VALUES (1, 'lamp', 12.5), (2, 'chair', 40.0), (3, 'desk', 90.0);
"""
QUESTIONS = [
    {"question": "How many items are there?", "sql": "SELECT count(*) FROM item"},
    {"question": "What costs more than 20?", "sql": "SELECT name FROM item WHERE price > 20"},
]


# A dump of PostgreSQL, as pg_dump writes it where its head is cut off.
DUMP = """
CREATE TABLE public.item (id bigint NOT NULL, name text, price double precision);
COPY public.item (id, name, price) FROM stdin;
1\tlamp\t12.5
2\tchair\t40
3\tdesk\t90
\\.
ALTER TABLE ONLY public.item ADD CONSTRAINT item_pkey PRIMARY KEY (id);
"""


def write_shop(folder: Path, engine: str = SQLITE) -> tuple[Path, Path]:
    """Write both files, and return their paths: shop.db, or the text of a database of another
    engine, and questions.json."""
    if engine == SQLITE:
        database = make_database(folder / "shop.db", SHOP)
    else:
        database = folder / f"shop{SUFFIXES[engine]}"
        database.write_text(DUMP if engine == POSTGRES else SHOP, encoding="utf-8")
    questions = folder / "questions.json"
    questions.write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return database, questions
