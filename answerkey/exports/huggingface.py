"""The product as the Parquet files of a Hugging Face dataset, one a split, with typed columns.

A row trains by itself: it has a prompt and a completion, as chats, and all that a reward needs.

A column has one type, so gold_answer is JSON text, which holds every answer exactly. Beside it
stand a typed column for each of the three kinds of a single value, and the answer's number of rows.
Lists and tables have no typed column: the values of one may be of several types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from datasets import Features, List, Value

from answerkey.dataset import Question, list_reward_terms
from answerkey.errors import InputError
from answerkey.exports.parquet_files import Table, WrittenFile, write_tables
from answerkey.exports.prompts import Message, PromptExample
from answerkey.exports.rows import make_completion
from answerkey.sqlite.answers import FLOAT, INTEGER, STRING

TEXT, WHOLE, REAL, BOOLEAN = map(Value, ("string", "int64", "float64", "bool"))
CHAT = List({"role": TEXT, "content": TEXT})

# Each column: its type, and what it holds.
COLUMNS = {
    "question_id": (TEXT, "database, split and number; stays what it is between versions"),
    "question_text": (TEXT, "the question"),
    "database_name": (TEXT, "the database that it is asked of"),
    "gold_sql": (TEXT, "a query that answers it, in SQLite's dialect"),
    "gold_answer": (TEXT, "what the query returns, as JSON: a value, a list or a table"),
    "answer_type": (TEXT, "integer, float, string, list or table"),
    "difficulty": (TEXT, "easy, medium or hard"),
    "tables_involved": (List(TEXT), "the tables that the query reads, sorted"),
    "split": (TEXT, "train or eval; no database is in both"),
    "hardness": (TEXT, "Spider's official hardness: easy, medium, hard or extra"),
    "order_matters": (BOOLEAN, "whether the order of rows counts, but for rows that tie"),
    "max_steps": (WHOLE, "SQLite virtual machine steps that a prediction may take"),
    "rule": (TEXT, "the rule by which the reward compares answers"),
    "accepted_rows": (
        TEXT,
        "where rows tie: the segments of every right answer, as JSON; else null",
    ),
    "other_answers": (
        TEXT,
        "other queries that are right, and their answers, as JSON; else null",
    ),
    "test_suite": (
        TEXT,
        "small databases on which a right query gives these answers, too, as JSON; or null",
    ),
    "database_sha256": (TEXT, "checksum of the database file that gold SQL was executed on"),
    "flags": (List(TEXT), "what the audit noticed, as codes"),
    "evidence": (TEXT, "what the question presupposes, as its corpus says; else null"),
    "gold_integer": (WHOLE, "the answer, where its type is integer; else null"),
    "gold_float": (REAL, "the answer, where its type is float; else null"),
    "gold_string": (TEXT, "the answer, where its type is string; else null"),
    "answer_rows": (WHOLE, "how many rows the query returns"),
    "prompt": (CHAT, "what a policy is asked: a chat of one message, schema and all"),
    "completion": (CHAT, "the gold query as an answer to it"),
}
FEATURES = Features({name: kind for name, (kind, _) in COLUMNS.items()})


def make_row(example: PromptExample) -> dict[str, Any]:
    """A row of the table: the nine fields, what the sidecar knows, the typed answer, the chats.

    >>> from answerkey.dataset import Question
    >>> names = ("a_train_000", "a", "train", "x and 1?", "SELECT 'x', 1")
    >>> question = Question(*names, {"corpus": "sample"}, [{"code": "latent_tie"}])
    >>> question = question._replace(gold_answer=[["x", 1]], answer_type="table")
    >>> row = make_row(PromptExample(question, "x and 1?", 0))
    >>> row["gold_answer"], row["flags"], row["gold_integer"], row["answer_rows"]
    ('[["x", 1]]', ['latent_tie'], None, 1)
    >>> row["prompt"]
    [{'role': 'user', 'content': 'x and 1?'}]
    """
    question = example.question
    answer, answer_type = question.gold_answer, question.answer_type
    return {
        **question.product_record,
        "gold_answer": example.ground_truth,
        "hardness": question.hardness,
        **list_reward_terms(question),
        "flags": [flag["code"] for flag in question.flags],
        "evidence": question.evidence,
        "gold_integer": answer if answer_type == INTEGER else None,
        "gold_float": answer if answer_type == FLOAT else None,
        "gold_string": answer if answer_type == STRING else None,
        "answer_rows": len(answer) if isinstance(answer, list) else 1,
        "prompt": example.messages,
        "completion": make_completion(question.gold_sql),
    }


# The features stand in the file, so that `load_dataset` reads the same types.
TABLE = Table(FEATURES.arrow_schema, make_row)


def read_examples(questions: Iterable[Question], path: Path) -> Iterator[PromptExample]:
    """The questions of a split with the prompts that export_trainers rendered for TRL.

    Raises:
        FileNotFoundError: if there is no such file, and there are questions.
        InputError: if its prompts are those of other questions.
    """
    rows = _read_prompts(path)
    for index, question in enumerate(questions):
        question_id, messages = next(rows, (None, None))
        if question_id != question.question_id:
            raise InputError(
                f"{path}: expected the prompt of {question.question_id}, found that of"
                f" {question_id}: run `dvc repro`"
            )
        yield PromptExample(question, messages[0]["content"], index)


def _read_prompts(path: Path) -> Iterator[tuple[str, list[Message]]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["question_id", "prompt"]):
            yield from zip(*(batch[name].to_pylist() for name in batch.schema.names), strict=True)


def write_split(examples: Iterable[PromptExample], path: Path) -> WrittenFile | None:
    """Write the table of a split; what was written, or None where the split has no question."""
    return write_tables(examples, {path: TABLE}).get(path)
