"""Score a thousand predicted queries without executing gold SQL, and measure what that saves.

    python examples/score_predictions.py

A prediction is a question_id and SQL; `--predictions FILE` reads them as JSON Lines. Without a
file, they are made up from the gold SQL: half of it as it is, half of it of another question.

Both ways execute every prediction within the bounds of the pipeline and compare its rows. One
reads the gold answer from the dataset; the other executes gold SQL every time, as cheaply as it
goes: on a connection that stays open, without any bounds. Measured are CPU seconds, the least of
three turns.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.errors import let_reader_leave
from answerkey.evaluation.predictions import read_records
from answerkey.reward import RIGHT, score
from answerkey.sqlite.answers import shape_answer
from answerkey.sqlite.guard import GuardedDatabase, QueryError

SPLITS = ("train", "eval")
TERMS = ("order_matters", "rule", "accepted_rows")
TURNS = 3


class Prediction(NamedTuple):
    """A predicted query, the question that it answers, and what the reward is told of that."""

    sql: str
    question: dict[str, Any]
    terms: dict[str, Any]


def read_dataset(
    product: Path,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """The questions by id, and what the reward is told of each."""
    questions = {
        question["question_id"]: question
        for split in SPLITS
        for question in json.loads((product / f"questions_{split}.json").read_text("utf-8"))
    }
    with (product / "audit.jsonl").open(encoding="utf-8") as file:
        audits = [json.loads(line) for line in file]
    return questions, {
        audit["question_id"]: {name: audit[name] for name in TERMS} for audit in audits
    }


def make_up(
    questions: list[dict[str, Any]], count: int, generator: random.Random
) -> list[tuple[str, str]]:
    """So many predictions: the gold SQL of a question, or of another one of its database."""
    made = []
    for number in range(count):
        question = generator.choice(questions)
        same = [other for other in questions if other["database_name"] == question["database_name"]]
        source = question if number % 2 else generator.choice(same)
        made.append((question["question_id"], source["gold_sql"]))
    return made


class Databases:
    """All databases that are asked: each open twice, within bounds for predictions and without for
    gold SQL."""

    def __init__(self, folder: Path, names: Iterable[str], stack: contextlib.ExitStack) -> None:
        self.guarded, self.plain = {}, {}
        for name in sorted(set(names)):
            path = folder / name / f"{name}.sqlite"
            self.guarded[name] = stack.enter_context(GuardedDatabase(path))
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            self.plain[name] = stack.enter_context(contextlib.closing(connection))

    def execute(self, sql: str, name: str) -> list[tuple[Any, ...]] | None:
        """The rows of a prediction; None where it has none."""
        try:
            return self.guarded[name].execute(sql)
        except QueryError:
            return None

    def execute_gold(self, question: dict[str, Any]) -> Any:
        """The answer of a question's gold SQL."""
        name, sql = question["database_name"], question["gold_sql"]
        return shape_answer(self.plain[name].execute(sql).fetchall())


class Cost(NamedTuple):
    """How many predictions were right, and CPU seconds: all of them, and those for gold answers."""

    right: int
    total_s: float
    gold_s: float


def score_all(
    predictions: list[Prediction],
    databases: Databases,
    find_gold_answer: Callable[[dict[str, Any]], Any],
) -> Cost:
    """Score every prediction, with gold answers from that function."""
    right, gold_s = 0, 0.0
    start = time.process_time()
    for prediction in predictions:
        question = prediction.question
        rows = databases.execute(prediction.sql, question["database_name"])
        before = time.process_time()
        gold_answer = find_gold_answer(question)
        gold_s += time.process_time() - before
        if rows is not None:
            right += score(rows, gold_answer, **prediction.terms) == RIGHT
    return Cost(right, time.process_time() - start, gold_s)


def measure(predictions: list[Prediction], folder: Path) -> tuple[Cost, Cost]:
    """The costs with stored gold answers, and with executed ones.

    Raises:
        ValueError: where the two ways do not agree.
    """
    with contextlib.ExitStack() as stack:
        names = (prediction.question["database_name"] for prediction in predictions)
        databases = Databases(folder, names, stack)
        ways = (itemgetter("gold_answer"), databases.execute_gold)
        turns = [[score_all(predictions, databases, way) for way in ways] for _ in range(TURNS)]
    stored, executed = (
        min(costs, key=lambda cost: cost.total_s) for costs in zip(*turns, strict=True)
    )
    if stored.right != executed.right:
        raise ValueError(f"{stored.right} right by stored answers, {executed.right} by executed")
    return stored, executed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--product", type=Path, default=Path("data/questions"))
    parser.add_argument("--databases", type=Path, default=Path("data/databases"))
    parser.add_argument("--predictions", type=Path, help='lines of {"question_id", "sql"}')
    parser.add_argument("--count", type=int, default=1000, help="how many to make up")
    parser.add_argument("--seed", type=int, default=20)
    arguments = parser.parse_args()
    questions, terms = read_dataset(arguments.product)
    if arguments.predictions:
        records = read_records(arguments.predictions)
        pairs = [(record["question_id"], record["sql"]) for _, record in records]
    else:
        pairs = make_up(list(questions.values()), arguments.count, random.Random(arguments.seed))
    predictions = [
        Prediction(sql, questions[question_id], terms[question_id]) for question_id, sql in pairs
    ]
    stored, executed = measure(predictions, arguments.databases)
    print(f"{len(predictions)} predictions scored, {stored.right} of them right")
    for name, cost in (("stored", stored), ("executed", executed)):
        print(f"gold answers {name}: {cost.total_s:.3f} s, {cost.gold_s:.4f} s of it for gold")
    print(f"speed-up: {executed.total_s / stored.total_s:.1f}")


if __name__ == "__main__":
    with let_reader_leave():
        main()
