"""Write the product as the Parquet files of a Hugging Face dataset: the questions, one file per
split, and the files that a reward needs, of the databases and of their test suites.

A row is enough to train with: it has a prompt and a completion, as chats, and all terms of a
reward.

A column has one type, so gold_answer is JSON text, which holds every answer exactly. Beside it are
a typed column for each of the three kinds of a single value, and the answer's number of rows. Lists
and tables have no typed column: the values of one may be of several types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from answerkey.base.records import (
    SPLITS,
    read_database_hashes,
    read_database_paths,
    read_json,
    read_jsonl,
)
from answerkey.dataset import (
    RISK_MEANINGS,
    SUITES,
    Question,
    has_clock,
    list_reward_terms,
    read_product,
)
from answerkey.engines.answers import FLOAT, INTEGER, STRING
from answerkey.engines.names import SQLITE, TITLES
from answerkey.engines.sqlite.files import find_inside
from answerkey.exports.prompts import DatabaseTexts, Message, PromptExample, make_completion
from answerkey.exports.row_files import ParquetTable, WrittenFile, write_files

# The types of columns. Arrow creates them in milliseconds, `datasets` in half a second.
TEXT, WHOLE, REAL, BOOLEAN, BINARY = ("string", "int64", "float64", "bool", "binary")
TEXTS, CHAT = "list of string", "chat"
_ARROW = {
    TEXT: pa.string(),
    WHOLE: pa.int64(),
    REAL: pa.float64(),
    BOOLEAN: pa.bool_(),
    BINARY: pa.binary(),
    TEXTS: pa.list_(pa.string()),
    CHAT: pa.list_(pa.struct({"role": pa.string(), "content": pa.string()})),
}

# Each column: its type, and its meaning.
COLUMNS = {
    "question_id": (TEXT, "database, split and number; stays what it is between versions"),
    "question_text": (TEXT, "the question"),
    "database_name": (TEXT, "the database that it is asked of"),
    "gold_sql": (TEXT, "a query that answers it, in {engine}'s dialect"),
    "gold_answer": (TEXT, "what the query returns, as JSON: a value, a list or a table"),
    "answer_type": (TEXT, "integer, float, string, list or table"),
    "difficulty": (TEXT, "easy, medium or hard"),
    "tables_involved": (TEXTS, "the tables that the query reads, sorted"),
    "split": (TEXT, "train or eval; no database is in both"),
    "hardness": (TEXT, "Spider's official hardness: easy, medium, hard or extra"),
    "engine": (TEXT, "the engine of its database: sqlite, duckdb or postgres"),
    "order_matters": (BOOLEAN, "whether the order of rows counts, but for rows that tie"),
    "max_steps": (WHOLE, "SQLite virtual machine steps that a prediction may take"),
    "max_cpu_s": (
        WHOLE,
        "seconds of CPU time that a prediction may take, where the engine counts no steps; else"
        " null",
    ),
    "rule": (TEXT, "the rule by which the reward compares answers"),
    "accepted_rows": (
        TEXT,
        "where rows tie: the segments of every right answer, as JSON; else null",
    ),
    "other_answers": (TEXT, "other queries that are right, and their answers, as JSON; else null"),
    "test_suite": (
        TEXT,
        "small databases on which a right query gives these answers, too, as JSON; or null",
    ),
    "database_sha256": (TEXT, "checksum of the database file that gold SQL was executed on"),
    "mutation_score": (REAL, "share of near misses of gold SQL that the test suite tells from it"),
    **{name: (REAL, meaning) for name, meaning in RISK_MEANINGS.items()},
    "flags": (TEXTS, "what the audit noticed, as codes"),
    "evidence": (TEXT, "what the question presupposes, as its corpus says; else null"),
    "gold_integer": (WHOLE, "the answer, where its type is integer; else null"),
    "gold_float": (REAL, "the answer, where its type is float; else null"),
    "gold_string": (TEXT, "the answer, where its type is string; else null"),
    "answer_rows": (WHOLE, "how many rows the query returns"),
    "prompt": (CHAT, "what a policy is asked: a chat of one message, schema and all"),
    "completion": (CHAT, "the gold query as an answer to it"),
}
# Only if the corpus of a question has a clock.
_CLOCK = {"now": (TEXT, "what the clock says in queries of it, a date or a time in UTC; or null")}
DATABASES, TEST_SUITES = "databases", "test_suites"
_NAME = {"database_name": (TEXT, "the database of the questions")}
_SCHEMA = {
    "schema": (TEXT, "its CREATE statements"),
    "compact_schema": (TEXT, "its tables, a line each"),
}
_FILE = {
    "path": (TEXT, "where the file belongs in the folder of its kind"),
    "size_bytes": (WHOLE, "how large it is"),
    "sha256": (TEXT, "its checksum"),
    "content": (BINARY, "the file; null where it is not in this dataset"),
}
PACKED_COLUMNS = {DATABASES: {**_NAME, **_SCHEMA, **_FILE}, TEST_SUITES: {**_NAME, **_FILE}}


def list_columns(
    *, has_clock: bool, engines: Sequence[str] = (SQLITE,)
) -> dict[str, tuple[str, str]]:
    """Return the columns of questions, with `now` if some have a clock.

    engines: of their databases.
    """
    title = spell_engine(engines)
    columns = COLUMNS | (_CLOCK if has_clock else {})
    return {name: (kind, meaning.format(engine=title)) for name, (kind, meaning) in columns.items()}


def spell_engine(engines: Sequence[str]) -> str:
    """Return the engine of all questions in words.

    >>> spell_engine(["duckdb"]), spell_engine(["duckdb", "sqlite"])
    ('DuckDB', 'its engine')
    """
    return TITLES[engines[0]] if len(engines) == 1 else "its engine"


def make_schema(columns: Mapping[str, tuple[str, str]]) -> pa.Schema:
    """Return the Arrow types of columns."""
    return pa.schema({name: _ARROW[kind] for name, (kind, _) in columns.items()})


def make_hub_row(example: PromptExample) -> dict[str, Any]:
    """Return a row of the table: the nine fields, the sidecar's, the typed answer, and the
    chats."""
    question = example.question
    answer, answer_type = question.gold_answer, question.answer_type
    return {
        **question.product_record,
        "gold_answer": example.ground_truth,
        "hardness": question.hardness,
        **list_reward_terms(question),
        "mutation_score": question.suite_score,
        "answer_risk": question.answer_risk,
        "sql_risk": question.sql_risk,
        "flags": [flag["code"] for flag in question.flags],
        "evidence": question.evidence,
        "gold_integer": answer if answer_type == INTEGER else None,
        "gold_float": answer if answer_type == FLOAT else None,
        "gold_string": answer if answer_type == STRING else None,
        "answer_rows": len(answer) if isinstance(answer, list) else 1,
        "prompt": example.messages,
        "completion": make_completion(question.gold_sql),
    }


def write_questions(
    product: Path, prompts: Path, out: Path, *, hashes: Mapping[str, str] = MappingProxyType({})
) -> dict[str, WrittenFile]:
    """Write a table for each split that has questions, with the prompts that export_trainers
    rendered. Return the written files.

    hashes: the hashes of databases that it made itself, by their names.

    Raises:
        FileNotFoundError, InputError: as `read_product`.
    """
    columns = list_columns(has_clock=has_clock(product))
    table = ParquetTable(make_schema(columns), make_hub_row)
    written = {}
    for split in SPLITS:
        questions = (
            question._replace(
                database_sha256=hashes.get(question.database_name, question.database_sha256)
            )
            for question in read_product(product, split)
        )
        examples = _read_examples(questions, prompts / f"{split}.parquet")
        path = out / f"{split}.parquet"
        if file := write_files(examples, {path: table}).get(path):
            written[split] = file
    return written


def _read_examples(questions: Iterable[Question], path: Path) -> Iterator[PromptExample]:
    for index, (question, chat) in enumerate(zip(questions, _read_prompts(path), strict=True)):
        yield PromptExample(question, chat[-1]["content"], index)


def _read_prompts(path: Path) -> Iterator[list[Message]]:
    if path.is_file():  # a split without questions has no file
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=["prompt"]):
                yield from batch["prompt"].to_pylist()


class PackedFiles(NamedTuple):
    """The written files of one kind: their sizes, and whether their content is included."""

    written: WrittenFile
    total_bytes: int
    has_content: bool


def write_packed_files(
    product: Path, folders: Mapping[str, Path], out: Path, *, max_bytes: int
) -> dict[str, PackedFiles]:
    """Write databases.parquet and test_suites.parquet, with the files that the questions of a
    product need. Return what was written, by kind. A kind without databases has no file.

    If the files of a kind together exceed `max_bytes`, their rows have no content.

    Raises:
        FileNotFoundError: a manifest or a file in it is missing.
    """
    places = read_database_paths(folders[DATABASES])
    hashes = {
        DATABASES: {
            places[name]: sha256
            for name, sha256 in read_database_hashes(folders[DATABASES]).items()
        },
        TEST_SUITES: read_json(folders[TEST_SUITES] / "manifest.json"),
    }
    packed = {}
    for kind, paths in _list_paths(product, places).items():
        files = {path: find_inside(folders[kind], path) for path in sorted(paths)}
        total = sum(file.stat().st_size for file in files.values())
        has_content = total <= max_bytes
        rows = _read_files(kind, files, hashes[kind], has_content=has_content)
        path = out / f"{kind}.parquet"
        table = ParquetTable(make_schema(PACKED_COLUMNS[kind]), lambda row: row)
        if written := write_files(rows, {path: table}, group_rows=1 if kind == DATABASES else 100):
            packed[kind] = PackedFiles(written[path], total, has_content)
    return packed


def _list_paths(product: Path, places: Mapping[str, str]) -> dict[str, set[str]]:
    names = {
        question["database_name"]
        for split in SPLITS
        for question in read_json(product / f"questions_{split}.json")
    }
    suites = (suite["databases"] for suite in read_jsonl(product / SUITES))
    return {
        DATABASES: {places[name] for name in names},
        TEST_SUITES: {
            "/".join(database["path"].rsplit("/", 2)[-2:])
            for databases in suites
            for database in databases
        },
    }


def _read_files(
    kind: str, files: Mapping[str, Path], hashes: Mapping[str, str], *, has_content: bool
) -> Iterator[dict[str, Any]]:
    for path, file in files.items():
        row = {
            "database_name": path.partition("/")[0],
            "path": path,
            "size_bytes": file.stat().st_size,
            "sha256": hashes[path],
            "content": file.read_bytes() if has_content else None,
        }
        if kind == DATABASES:
            texts = DatabaseTexts(file, example_rows=0, max_characters=0)
            row |= {"schema": texts.schema, "compact_schema": texts.compact_schema}
        yield row
