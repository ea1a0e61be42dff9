"""The prompt for a model that reads a question: the rules, the database with descriptions of its
columns, the question, gold SQL with its answer, and the repairs.

It has no risks, flags or verdicts: a reader who knows the opinion of others is no second reader.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.paths import DATABASES
from answerkey.base.records import encode_json
from answerkey.dataset import Question
from answerkey.engines.answers import answer_rows
from answerkey.engines.database import Database
from answerkey.engines.names import TITLES, name_engine
from answerkey.engines.opening import find_database_file, open_database
from answerkey.engines.schema import Schema, Table, fold_name
from answerkey.engines.sqlite.clock import describe_clock
from answerkey.exports.prompts import DatabaseTexts, read_template
from answerkey.report.columns import summarize_table
from answerkey.risk.explanations import explain_difference
from answerkey.risk.verdicts import SAME

if TYPE_CHECKING:
    from answerkey.doubts.repairs import Repair

TEMPLATE = Path(__file__).with_name("prompt.j2")
RULES = Path(__file__).with_name("rules.md")

_EXAMPLE_ROWS = 3
_SCHEMA_CHARACTERS = 12_000
_COLUMNS_CHARACTERS = 12_000
_ANSWER_CHARACTERS = 2000
_REPAIRS = 3


def write_prompt(question: Question, template: Path, *, queries: int, seed: str) -> str:
    """Return the prompt about a question.

    queries: in how many replies the model may query.
    seed: for the order of the repairs, which differs in each pass.
    """
    name = question.database_name
    path = _find(name)
    facts = {
        "rules": RULES.read_text(encoding="utf-8").strip(),
        "database_name": name,
        "engine": TITLES[name_engine(path)],
        "schema": _read_database(path).schema,
        "columns": _summarize(path, frozenset(map(fold_name, question.tables_involved or ()))),
        "question_text": question.question_text,
        "evidence": question.evidence,
        "clock": describe_clock(question.now),
        "gold_sql": question.gold_sql,
        "gold_answer": _shorten(question.gold_answer),
        "gold_rows": spell_count(len(answer_rows(question.gold_answer)), "row", ","),
        "failure": question.gold_answer is None and f"{question.reason}: {question.detail}",
        "repairs": _list_repairs(question, seed),
        "queries": queries,
    }
    try:
        return read_template(template).render(facts)
    except TemplateError as error:
        words = f"{error}: expected no other names than {', '.join(facts)}"
        raise InputError(f"{template}: {words}") from error


def _list_repairs(question: Question, seed: str) -> list[dict[str, str]]:
    """Return the likeliest repairs, in an order that does not show which is likelier."""
    shown = [
        {
            "sql": repair["sql"],
            "difference": _explain_difference(repair),
            "gold_rows": _shorten(repair.get("gold_rows") or None),
            "repair_rows": _shorten(repair.get("repair_rows") or None),
        }
        for repair in (question.repairs or [])[:_REPAIRS]
    ]
    random.Random(f"{seed} {question.question_id}").shuffle(shown)
    return shown


def _explain_difference(repair: Repair) -> str:
    """Return how a repair differs, without the report's words, which say what is doubted."""
    return (
        "It has the same answer here." if repair["answers"] == SAME else explain_difference(repair)
    )


def _shorten(value: Any) -> str:
    """Return JSON, which distinguishes text from numbers; "" for None."""
    if value is None:
        return ""
    text = encode_json(value).decode()
    return text if len(text) <= _ANSWER_CHARACTERS else f"{text[:_ANSWER_CHARACTERS]} ..."


def _find(database_name: str) -> Path:
    return Path(find_database_file(DATABASES.absolute(), database_name))


def find_database_engine(database_name: str) -> str:
    """Return the engine of a database that the model reads."""
    return name_engine(_find(database_name))


@cache
def _read_database(path: Path) -> DatabaseTexts:
    return DatabaseTexts(path, example_rows=_EXAMPLE_ROWS, max_characters=_SCHEMA_CHARACTERS)


def read_database_schema(database_name: str) -> Schema:
    """Return the schema of a database that the model reads."""
    texts = _read_database(_find(database_name))
    return Schema(tuple(texts.tables), engine=texts.engine)


@lru_cache(maxsize=1024)
def _summarize(path: Path, first: frozenset[str]) -> str:
    """Return descriptions of columns, one per line: those of the tables that gold reads, then
    others while there is room."""
    tables = sorted(
        _summarize_tables(path).items(), key=lambda table: fold_name(table[0]) not in first
    )
    shown, left_out, room = [], [], _COLUMNS_CHARACTERS
    for table, text in tables:
        room -= len(text)
        if room >= 0 or fold_name(table) in first:
            shown.append(text)
        else:
            left_out.append(table)
    if left_out:
        shown.append(f"(and those of {', '.join(left_out)})")
    return "\n".join(shown)


@cache
def _summarize_tables(path: Path) -> dict[str, str]:
    texts = _read_database(path)
    with open_database(path) as database:
        return {table.name: "\n".join(_summarize_table(database, table)) for table in texts.tables}


def _summarize_table(database: Database, table: Table) -> Iterator[str]:
    """Yield the lines of a table. ship.weight: integer, 6 different, 1 NULL, from 12 to 90"""
    summary = summarize_table(database, table)
    yield f"{table.name}: {summary['rows']}"
    for name, words in summary["columns"]:
        yield f"{table.name}.{name}: {words}"
