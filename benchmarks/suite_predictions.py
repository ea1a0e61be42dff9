"""Read predictions for questions that have a test suite, for benchmarks/test_suites.py."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from answerkey.base.records import read_jsonl
from answerkey.engines.answers import Order, answer_rows, read_order


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold answer and the record of its test suite."""

    question_id: str
    database_name: str
    text: str
    gold_sql: str
    gold_answer: Any
    order_matters: bool
    accepted_rows: list[Any] | None
    record: dict[str, Any]

    @property
    def order(self) -> Order:
        """Return whether the order of the gold answer's rows counts, as an `Order`."""
        return read_order(self.order_matters, self.accepted_rows)

    @property
    def suite(self) -> list[dict[str, Any]]:
        return self.record["databases"]

    @property
    def operators(self) -> dict[str, dict[str, int]]:
        return self.record["operators"]

    def list_rows(self) -> list[tuple[Any, ...]]:
        """Return the rows of the gold answer."""
        return [tuple(row) for row in answer_rows(self.gold_answer)]

    def count_neighbors(self) -> Counter[str]:
        """Return the neighbors of all operators, by their fate."""
        total: Counter[str] = Counter()
        for counts in self.operators.values():
            total.update(counts)
        return total

    def count_killed_by_database(self) -> int:
        """Return the number of neighbors that the real database kills, from the mutation score."""
        counts, score = self.count_neighbors(), self.record["mutation_score"]
        return round(score["database"] * (counts["killed"] + counts["alive"])) if score else 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """SQL for a question, the systems that predicted it, and the labels of people on it and on
    gold.

    verdict: worse, as_good or better than gold; "" if nobody has read it. kind: its class.
    """

    question: Question
    sql: str
    systems: tuple[str, ...] = ()
    is_gold_wrong: bool = False
    verdict: str = ""
    kind: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """Return the key of a prediction."""
        return self.question.question_id, self.sql


def read_questions(folder: Path) -> list[Question]:
    """Return the questions of a checkout that have a record of the stage that makes suites."""
    interim = folder / "data" / "interim"
    known: dict[str, dict[str, Any]] = {}
    for name in ("gold_answers", "audit", "test_suites"):
        for path in sorted((interim / name).rglob("*.jsonl")):
            for record in read_jsonl(path):
                known.setdefault(record["question_id"], {})[name] = record
    questions = []
    for question in read_jsonl(interim / "splits.jsonl"):
        records = known.get(question["question_id"], {})
        if "test_suites" in records:
            questions.append(
                Question(
                    question["question_id"],
                    question["database_name"],
                    question["question_text"],
                    question["gold_sql"],
                    records["gold_answers"]["gold_answer"],
                    records["audit"]["order_matters"],
                    records["audit"]["accepted_rows"],
                    records["test_suites"],
                )
            )
    return questions


def fold_sql(sql: str) -> str:
    """Return SQL in lower case, with single spaces between its parts."""
    return " ".join(sql.split()).rstrip("; ").lower()


def join_operators(sql: str) -> str:
    """Return SQL with operators joined that a tokenizer has cut, as Spider's evaluation reads it.

    >>> join_operators("SELECT name FROM ship WHERE mass > = 4")
    'SELECT name FROM ship WHERE mass >= 4'
    """
    return sql.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")


def read_predictions(
    path: Path, questions: list[Question], wrong_gold: Path | None
) -> list[Prediction]:
    """Return the distinct predictions of a file, without those for no question."""
    wrong = set()
    if wrong_gold is not None:
        wrong = {each["question_id"] for each in json.loads(wrong_gold.read_text("utf-8"))}
    known: dict[tuple[str, str], Question] = {}
    for question in questions:
        for name in (question.question_id, question.text):
            known[name, fold_sql(question.gold_sql)] = question
    predictions = []
    for record in read_jsonl(path):
        name = record["question"] if "question" in record else record["question_id"]
        asked = known.get((name, fold_sql(record["query"])))
        if asked is None:
            continue
        systems: dict[str, list[str]] = {}
        for system, sql in record["predictions"].items():
            systems.setdefault(" ".join(sql.split()), []).append(system)
        predictions += [
            Prediction(asked, sql, tuple(of), record.get("question_id") in wrong)
            for sql, of in systems.items()
        ]
    return predictions


def read_labels(path: Path, predictions: list[Prediction]) -> list[Prediction]:
    """Return the labelled predictions, with verdict and class."""
    labels = {
        (label["question_id"], " ".join(label["prediction"].split())): label
        for label in json.loads(path.read_text("utf-8"))
    }
    labelled = []
    for prediction in predictions:
        label = labels.get(prediction.name)
        changes = {"verdict": label["verdict"], "kind": label["class"]} if label is not None else {}
        labelled.append(replace(prediction, **changes))
    return labelled


def read_pairs(path: Path, questions: list[Question]) -> list[Prediction]:
    """Return the predictions of a list of pairs, each for the first question with its gold SQL."""
    by_gold: dict[tuple[str, str], Question] = {}
    for question in questions:
        by_gold.setdefault((question.database_name, fold_sql(question.gold_sql)), question)
    predictions = []
    for pair in json.loads(path.read_text("utf-8")):
        question = by_gold.get((pair["db_id"], fold_sql(pair["gold"])))
        if question is not None:
            predictions.append(Prediction(question, pair["prediction"]))
    return predictions
