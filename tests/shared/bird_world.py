"""A small release of BIRD: names with spaces, brackets and quotes, backticks in SQL, evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.shared.databases import make_database

MEALS = """
CREATE TABLE "frpm" (
    CDSCode TEXT NOT NULL PRIMARY KEY, `County Name` TEXT, "School's Name" TEXT,
    `Enrollment (K-12)` REAL, `Free Meal Count (K-12)` REAL, `Charter School (Y/N)` INTEGER);
CREATE TABLE "sat scores" (
    cds TEXT NOT NULL PRIMARY KEY, `Avg Scr Math` INTEGER, "say ""when"" to" TEXT,
    FOREIGN KEY (cds) REFERENCES frpm (CDSCode));
INSERT INTO frpm VALUES
    ('01', 'Alameda', 'Élan Academy', 120.0, 33.0, 1),
    ('02', 'Alameda', 'O''Hara High', 980.0, 410.5, 0),
    ('03', 'Butte', 'Ridge', 310.0, 12.0, 0), ('04', 'Colusa', 'Delta', 75.0, 60.0, 1);
INSERT INTO "sat scores" VALUES ('01', 510, 'now'), ('02', 478, 'later'), ('03', 602, NULL);
"""
RESORTS = """
CREATE TABLE resort (id INTEGER PRIMARY KEY, `Resort Name` TEXT, `Top (m)` INTEGER);
CREATE TABLE `lift list` (
    `lift id` INTEGER PRIMARY KEY, `resort id` INTEGER REFERENCES resort (id), `Seats` INTEGER);
INSERT INTO resort VALUES (1, 'Alta Vista', 3275), (2, 'Monte Corno', 2912),
    (3, 'Passo Nero', 2204);
INSERT INTO `lift list` VALUES (1, 1, 4), (2, 1, 8), (3, 2, 2), (4, 3, 6), (5, 3, 3);
"""
TRAIN = [
    {
        "db_id": "school_meals",
        "question": "Which school has the highest free rate?",
        "evidence": "free rate = `Free Meal Count (K-12)` / `Enrollment (K-12)`",
        "SQL": "SELECT `School's Name` FROM frpm"
        " ORDER BY `Free Meal Count (K-12)` / `Enrollment (K-12)` DESC LIMIT 1",
    },
    {
        "db_id": "school_meals",
        "question": "Which counties have charter schools?",
        "evidence": "",
        "SQL": "SELECT DISTINCT T1.`County Name` FROM frpm AS T1"
        " WHERE T1.`Charter School (Y/N)` = 1",
    },
    {
        "db_id": "school_meals",
        "question": "What is the average score in math in Alameda?",
        "SQL": "SELECT AVG(T2.`Avg Scr Math`) FROM frpm AS T1 INNER JOIN `sat scores` AS T2"
        " ON T1.CDSCode = T2.cds WHERE T1.`County Name` = 'Alameda'",
    },
    {
        "db_id": "school_meals",
        "question": "What does O'Hara High say?",
        "evidence": None,
        "SQL": 'SELECT T2."say ""when"" to" FROM frpm AS T1 JOIN "sat scores" AS T2'
        " ON T2.cds = T1.CDSCode WHERE T1.\"School's Name\" = 'O''Hara High'",
    },
]
DEV = [
    {
        "question_id": 0,
        "db_id": "ski_resorts",
        "question": "How high is the highest resort?",
        "evidence": "height refers to `Top (m)`",
        "SQL": "SELECT MAX(`Top (m)`) FROM resort",
        "difficulty": "simple",
    },
    {
        "question_id": 1,
        "db_id": "ski_resorts",
        "question": "Which resorts have a large lift?",
        "evidence": "large lift refers to Seats > 5",
        "SQL": "SELECT T1.`Resort Name` FROM resort AS T1 INNER JOIN `lift list` AS T2"
        " ON T1.id = T2.`resort id` WHERE T2.Seats > 5",
        "difficulty": "moderate",
    },
]


def write_json(path: Path, rows: list[dict[str, Any]]) -> None:
    """A file of questions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def write_bird(root: Path) -> None:
    """The release, with the folders of descriptions that lie beside its databases."""
    write_json(root / "train.json", TRAIN)
    write_json(root / "dev.json", DEV)
    for folder, name, text in (
        ("train_databases", "school_meals", MEALS),
        ("dev_databases", "ski_resorts", RESORTS),
    ):
        make_database(root / folder / name / f"{name}.sqlite", text)
        description = root / folder / name / "database_description" / "frpm.csv"
        description.parent.mkdir()
        description.write_bytes(b"\xef\xbb\xbforiginal_column_name,column_name\r\nx,\x96\r\n")
