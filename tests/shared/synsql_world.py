"""A release in the layout of SynSQL-2.5M: one indented array of questions, and databases of which a
table has two rows, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.shared.databases import make_database

# As OmniSQL makes them: quoted names, a comment behind each column, keys that count from 0.
CLINICS = """
CREATE TABLE "clinics" (
  "clinic_id" INTEGER /* Unique number of the clinic */,
  "clinic_name" TEXT /* Name of the clinic */,
  "city" TEXT /* City where it lies */,
  "beds" INTEGER /* Number of beds */,
  PRIMARY KEY ("clinic_id")
);
CREATE TABLE "doctors" (
  "doctor_id" TEXT /* Unique code of the doctor */,
  "doctor_name" TEXT /* Name */,
  "clinic_id" INTEGER /* Where the doctor works */,
  "salary" REAL /* Salary a month */,
  "hired_on" TEXT /* Day of the contract */,
  PRIMARY KEY ("doctor_id"),
  CONSTRAINT fk_doctors_clinic_id FOREIGN KEY ("clinic_id") REFERENCES clinics ("clinic_id")
);
CREATE TABLE "visits" (
  "visit_id" INTEGER /* Unique number of the visit */,
  "doctor_id" TEXT /* Who was visited */,
  "fee" REAL /* What was paid */,
  "status" TEXT /* planned or done */ CHECK ("status" IN ('planned', 'done')),
  PRIMARY KEY ("visit_id"),
  CONSTRAINT fk_visits_doctor_id FOREIGN KEY ("doctor_id") REFERENCES doctors ("doctor_id")
);
INSERT INTO clinics VALUES (0, 'North', 'Oslo', 120), (1, 'South', 'Bergen', 64);
INSERT INTO doctors VALUES
    ('0', 'Ada', 0, 4200.5, '2019-04-01'), ('1', 'Ben', 1, 3900.0, '2021-09-15');
"""
ROWS = [
    {
        "db_id": "clinic_staffing",
        "sql_complexity": "Simple",
        "question_style": "Formal",
        "question": "Which clinics have more than 100 beds?",
        "external_knowledge": "",
        "cot": "Read the table of clinics, then keep those with more than 100 beds.",
        "sql": "SELECT clinic_name FROM clinics WHERE beds > 100",
    },
    {
        "db_id": "clinic_staffing",
        "sql_complexity": "Moderate",
        "question_style": "Colloquial",
        "question": "Who works in Trondheim?",
        "external_knowledge": "",
        "cot": "Join doctors and clinics, then compare the city.",
        "sql": "SELECT d.doctor_name FROM doctors AS d JOIN clinics AS c"
        " ON d.clinic_id = c.clinic_id WHERE c.city = 'Trondheim'",
    },
    {
        "db_id": "clinic_staffing",
        "sql_complexity": "Complex",
        "question_style": "Vague",
        "question": "What did the visits bring to each of the well paid?",
        "external_knowledge": '"well paid" refers to doctors with a salary above 4000.',
        "cot": "Group the fees of visits by doctor.",
        "sql": "SELECT d.doctor_name, SUM(v.fee) FROM doctors AS d JOIN visits AS v"
        " ON v.doctor_id = d.doctor_id WHERE d.salary > 4000 GROUP BY d.doctor_id, d.doctor_name",
    },
    {
        "db_id": "clinic_staffing",
        "sql_complexity": "Highly Complex",
        "question_style": "Imperative",
        "question": "Count the visits that are done and cost more than the mean.",
        "external_knowledge": "",
        "cot": "Find the mean fee first.",
        "sql": "WITH m AS (SELECT AVG(fee) AS mean FROM visits) SELECT COUNT(*) FROM visits, m"
        " WHERE visits.status = 'done' AND visits.fee > m.mean",
    },
]


def write_synsql(root: Path) -> None:
    """The release as its archives unpack."""
    root.mkdir(parents=True, exist_ok=True)
    write_rows(root, ROWS)
    make_database(root / "databases/clinic_staffing/clinic_staffing.sqlite", CLINICS)


def write_rows(root: Path, rows: list[dict[str, Any]]) -> None:
    """The file of questions, indented as the release has it."""
    text = json.dumps(rows, ensure_ascii=False, indent=2)
    (root / "data.json").write_text(text, encoding="utf-8")


def synsql_entry(root: Path | str, **others: Any) -> dict[str, Any]:
    """The entry of params.yaml for it."""
    entry = {"origin": "directory", "layout": "synsql", "root": str(root), "db_list": "all"}
    return {**entry, "questions": {"train": ["data.json"], "validation": []}, **others}
