"""Fifty questions of a small database as environments read them, and replies of a scripted policy:
gold, wrong and hostile ones, and one that only a test suite finds wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from answerkey.base.records import hash_file
from answerkey.dataset import Question
from answerkey.engines.gold_answers import compute_gold_answer
from answerkey.exports.prompts import PromptExample
from answerkey.exports.row_files import write_files
from answerkey.exports.trainers import FORMATS
from answerkey.reward import score_completions
from tests.shared.databases import make_database
from tests.shared.project_world import HARBOUR

COUNT = 50
OTHER_ROWS = HARBOUR.replace("'Sun', 55", "'Sun', 56").replace("'Kite', 12", "'Kite', 99")
QUERIES = (
    "SELECT name FROM ship WHERE weight > {least}",
    "SELECT count(*) FROM ship WHERE weight > {least}",
    "SELECT name, length FROM ship WHERE weight > {least} ORDER BY length",
    "SELECT port.name, sum(weight) FROM ship JOIN port ON port.id = port_id"
    " WHERE weight > {least} GROUP BY port.name",
    "SELECT max(length), date('now', '+1 day'), CURRENT_TIME FROM ship WHERE weight > {least}",
)
CLOCKS = ("2025-01-30", "2024-02-28 12:30:00")  # of every other question
HOSTILE = (
    "DROP TABLE ship",
    "ATTACH DATABASE '/etc/passwd' AS other",
    "SELECT load_extension('other')",
    "SELECT name FROM ship; DROP TABLE ship",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT zeroblob(1000000000)",
    "SELECT hex(zeroblob(400000)) FROM ship, ship AS s, ship AS t",
    "SELECT x'00', 9e999, NULL",
    "SELECT wage FROM ship",
    "SELECT '" + "x" * 100_000,
)
# Queries of the tool run_sql, and what each shows.
LOOKS = [
    ("SELECT name FROM ship ORDER BY name LIMIT 1", '[["Alda"]]'),
    ("SELECT wage FROM ship", "sql_error: no such column: wage"),
    ("DELETE FROM ship", "not_a_select"),
    ("SELECT CURRENT_DATE BETWEEN '2024-02-28' AND '2025-01-30'", "[[1]]"),
]


class QuestionWorld:
    """A folder with databases, test suites and exports of one split, `train`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = make_database(folder / "data/databases/harbour/harbour.sqlite", HARBOUR)
        suite = make_database(folder / "data/test_suites/harbour/harbour.00.sqlite", OTHER_ROWS)
        examples = [self._make_example(index, suite) for index in range(COUNT)]
        exports = folder / "data/exports"
        formats = {
            exports / name / f"train{format_.suffix}": format_
            for name in ("trl/prompt_only", "trl/prompt_completion", "skyrl", "openenv", "verl")
            for format_ in [FORMATS[name].format]
        }
        for path in formats:
            path.parent.mkdir(parents=True)
        write_files(examples, formats)
        self.examples = examples
        self.replies = [self._make_reply(index) for index in range(COUNT)]

    def _make_example(self, index: int, suite: Path) -> PromptExample:
        least = 10 * (index // len(QUERIES)) % 80
        sql = QUERIES[index % len(QUERIES)].format(least=least)
        now = CLOCKS[index % 2]
        in_suite = {
            "path": "harbour/harbour.00.sqlite",
            "sha256": hash_file(suite),
            "gold_answer": compute_gold_answer(sql, suite, now=now),
            "order_matters": "ORDER BY" in sql,
            "accepted_rows": None,
        }
        question = Question(
            question_id=f"harbour_train_{index:03d}",
            question_text=f"Question {index}?",
            database_name="harbour",
            gold_sql=sql,
            gold_answer=compute_gold_answer(sql, self.database, now=now),
            answer_type="table",
            difficulty="easy",
            tables_involved=["ship"],
            split="train",
            order_matters="ORDER BY" in sql,
            max_steps=1_000_000 if index % 2 else None,
            rule="spider" if index % 7 == 0 else "strict",
            test_suite=[in_suite] if index % 2 else None,
            source={"corpus": "world"},
            flags=[],
            database_sha256=hash_file(self.database),
            now=now,
        )
        # A word that stands in no other prompt: the policy knows the question by it.
        prompt = f"Question number {index:03d}. Answer with SQL."
        return PromptExample(question, prompt, index)

    def _make_reply(self, index: int) -> str:
        question = self.examples[index].question
        sql = question.gold_sql
        hostile = HOSTILE[index // 5]
        replies = (
            f"```sql\n{sql}\n```",
            "```sql\nSELECT 'no such answer'\n```",
            f"```sql\n{hostile}\n```",
            f"<think>```sql\n{sql}\n```</think> I do not know.",
            f"```sql\n{make_constant(question.gold_answer)}\n```",
        )
        return replies[(index + index // 5) % 5]

    def find_reply(self, prompt: str) -> str:
        """The reply to a prompt that holds that of a question."""
        return self.replies[int(prompt.split("Question number ")[1][:3])]


def score_fifty(world: QuestionWorld) -> list[float]:
    """What every environment must give: the rewards of the replies, some 1.0 and some 0.0."""
    facts = [example.facts for example in world.examples]
    columns = {name: [fact[name] for fact in facts] for name in facts[0]}
    answers = [example.ground_truth for example in world.examples]
    rewards = score_completions(world.replies, workers=1, gold_answer=answers, **columns)
    assert set(rewards) == {0.0, 1.0}
    return rewards


def make_constant(gold_answer: Any) -> str:
    """A query that reads no table and gives that answer."""
    rows = gold_answer if isinstance(gold_answer, list) else [gold_answer]
    lists = [row if isinstance(row, list) else [row] for row in rows]
    if not lists:
        return "SELECT 1 WHERE 0"
    return "VALUES " + ", ".join(
        "(" + ", ".join(json.dumps(cell).replace("'", "''").replace('"', "'") for cell in row) + ")"
        for row in lists
    )
