"""Measure the floor: a bare loop in one process executes each distinct query of a corpus once.

    python bare_loop.py CORPUS DATABASES

prints the seconds of the loop alone, without start-up and reading the questions.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from pathlib import Path

QUESTION_FILES = ("train_spider.json", "dev.json")


def read_questions(corpus: Path) -> list[dict[str, str]]:
    """Return all questions of a corpus in the layout of a Spider release."""
    return [
        question
        for name in QUESTION_FILES
        for question in json.loads((corpus / name).read_text(encoding="utf-8"))
    ]


def group_queries(corpus: Path) -> dict[str, dict[str, None]]:
    """Return the distinct queries of each database, in their order."""
    queries: dict[str, dict[str, None]] = {}
    for question in read_questions(corpus):
        queries.setdefault(question["db_id"], {})[question["query"]] = None
    return queries


def main() -> None:
    corpus, databases = map(Path, sys.argv[1:])
    queries = group_queries(corpus)
    start = time.perf_counter()
    for name, distinct in queries.items():
        connection = sqlite3.connect(databases / name / f"{name}.sqlite")
        for query in distinct:
            try:
                connection.execute(query).fetchall()
            except sqlite3.Error:
                continue
        connection.close()
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
