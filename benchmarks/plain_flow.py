"""The plain flow: one process that does what a script without a pipeline does.

    python plain_flow.py CORPUS DATABASES TARGET

It copies the databases. For each question it connects, executes, classifies the answer, finds
tables by a regular expression, and sets difficulty and split. Then it executes everything again to
validate, and writes JSON. Nothing is audited, selected or exported, and it cannot continue after a
failure.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from bare_loop import QUESTION_FILES

SPLITS = ("train", "eval")


def execute(gold_sql: str, path: Path) -> Any:
    """Return the answer as a JSON value."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(gold_sql).fetchall()
    if len(rows) == 1 and len(rows[0]) == 1:
        return rows[0][0]
    if rows and len(rows[0]) == 1:
        return [row[0] for row in rows]
    return [list(row) for row in rows]


def classify(answer: Any) -> str:
    """Return the type of an answer."""
    if isinstance(answer, int):
        return "integer"
    if isinstance(answer, float):
        return "float"
    if isinstance(answer, list):
        return "table" if answer and isinstance(answer[0], list) else "list"
    return "string"


def extract_tables(gold_sql: str) -> list[str]:
    """Return the names after FROM and JOIN."""
    names = re.findall(r"\b(?:FROM|JOIN)\s+([A-Za-z_]\w*)", gold_sql, re.IGNORECASE)
    return sorted({name.lower() for name in names})


def main() -> None:
    corpus, databases, target = map(Path, sys.argv[1:])
    shutil.copytree(databases, target / "databases")
    paths = {path.stem: path for path in target.glob("databases/*/*.sqlite")}
    records = []
    counts: Counter[tuple[str, str]] = Counter()
    for split, name in zip(SPLITS, QUESTION_FILES, strict=True):
        for question in json.loads((corpus / name).read_text(encoding="utf-8")):
            db_id, gold_sql = question["db_id"], question["query"]
            number = counts[db_id, split]
            counts[db_id, split] += 1
            try:
                answer = execute(gold_sql, paths[db_id])
            except sqlite3.Error as error:
                print(f"{db_id}: {error}", file=sys.stderr)
                continue
            tables = extract_tables(gold_sql)
            records.append(
                {
                    "question_id": f"{db_id}_{split}_{number:03d}",
                    "question_text": question["question"],
                    "database_name": db_id,
                    "gold_sql": gold_sql,
                    "gold_answer": answer,
                    "answer_type": classify(answer),
                    "difficulty": "easy"
                    if len(tables) < 3
                    else "hard"
                    if len(tables) > 3
                    else "medium",
                    "tables_involved": tables,
                    "split": split,
                }
            )
    different = sum(
        execute(record["gold_sql"], paths[record["database_name"]]) != record["gold_answer"]
        for record in records
    )
    print(f"{len(records)} questions, {different} with another answer the second time")
    for split in SPLITS:
        chosen = [record for record in records if record["split"] == split]
        text = json.dumps(chosen, ensure_ascii=False, indent=2, default=repr)
        (target / f"questions_{split}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
