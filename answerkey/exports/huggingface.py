"""The product as the Parquet files of a Hugging Face dataset, one a split, with typed columns.

A column has one type, so gold_answer is JSON text, which holds every answer exactly. Beside it
stand a typed column for each of the three kinds of a single value, and the answer's number of rows.
Lists and tables have no typed column: the values of one may be of several types.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from answerkey.core.records import encode_json, hash_file
from answerkey.exports.parquet_files import open_parquet, write_rows
from answerkey.sqlite.answers import FLOAT, INTEGER, STRING

if TYPE_CHECKING:
    import pyarrow as pa

Record = dict[str, Any]

_GROUP_ROWS = 5000

TEXT, WHOLE, REAL, BOOLEAN = "string", "int64", "float64", "bool"
# Each column: its type, whether it is a list of that, and what it holds.
COLUMNS: dict[str, tuple[str, bool, str]] = {
    "question_id": (TEXT, False, "database, split and number; stays what it is between versions"),
    "question_text": (TEXT, False, "the question"),
    "database_name": (TEXT, False, "the database that it is asked of"),
    "gold_sql": (TEXT, False, "a query that answers it, in SQLite's dialect"),
    "gold_answer": (TEXT, False, "what the query returns, as JSON: a value, a list or a table"),
    "answer_type": (TEXT, False, "integer, float, string, list or table"),
    "difficulty": (TEXT, False, "easy, medium or hard"),
    "tables_involved": (TEXT, True, "the tables that the query reads, sorted"),
    "split": (TEXT, False, "train or eval; no database is in both"),
    "hardness": (TEXT, False, "Spider's official hardness: easy, medium, hard or extra"),
    "order_matters": (BOOLEAN, False, "whether the rows of the answer come in a fixed order"),
    "flags": (TEXT, True, "what the audit noticed, as codes"),
    "evidence": (TEXT, False, "what the question presupposes, as its corpus says; else null"),
    "gold_integer": (WHOLE, False, "the answer, where its type is integer; else null"),
    "gold_float": (REAL, False, "the answer, where its type is float; else null"),
    "gold_string": (TEXT, False, "the answer, where its type is string; else null"),
    "answer_rows": (WHOLE, False, "how many rows the query returns"),
}


class WrittenFile(NamedTuple):
    """What a card says of a file: its rows, their size in memory, its own size and checksum."""

    rows: int
    size_bytes: int
    file_bytes: int
    sha256: str


def make_row(question: Record, audit: Record) -> Record:
    """A row of the table: the nine fields, what the sidecar knows, and the typed answer.

    >>> question = {"gold_answer": [["x", 1]], "answer_type": "table"}
    >>> audit = {"hardness": "easy", "order_matters": False, "flags": [{"code": "guessable"}]}
    >>> row = make_row(question, audit | {"evidence": None})
    >>> row["gold_answer"], row["flags"], row["gold_integer"], row["answer_rows"]
    ('[["x", 1]]', ['guessable'], None, 1)
    """
    answer, answer_type = question["gold_answer"], question["answer_type"]
    return {
        **question,
        "gold_answer": encode_json(answer).decode(),
        "hardness": audit["hardness"],
        "order_matters": audit["order_matters"],
        "flags": [flag["code"] for flag in audit["flags"]],
        "evidence": audit["evidence"],
        "gold_integer": answer if answer_type == INTEGER else None,
        "gold_float": answer if answer_type == FLOAT else None,
        "gold_string": answer if answer_type == STRING else None,
        "answer_rows": len(answer) if isinstance(answer, list) else 1,
    }


def make_schema() -> pa.Schema:
    """COLUMNS as Arrow knows them."""
    import pyarrow as pa

    types = {TEXT: pa.string(), WHOLE: pa.int64(), REAL: pa.float64(), BOOLEAN: pa.bool_()}
    return pa.schema(
        (name, pa.list_(types[kind]) if is_list else types[kind])
        for name, (kind, is_list, _) in COLUMNS.items()
    )


def write_parquet(path: Path, rows: Iterable[Record]) -> WrittenFile:
    """Write rows of `make_row`. The same rows give the same bytes."""
    schema = make_schema()
    with open_parquet(path, schema) as file:
        write_rows(rows, [file], schema, group_rows=_GROUP_ROWS)
    return WrittenFile(file.rows, file.size_bytes, path.stat().st_size, hash_file(path))
