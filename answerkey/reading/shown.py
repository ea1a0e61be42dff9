"""What the model reads about a question: the rules, the database with what its columns hold, the
question, gold SQL with its answer, and the repairs.

Not shown are risks, flags and verdicts: a reader that knows what others hold is no second reader.
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
from answerkey.exports.prompts import DatabaseTexts, read_template
from answerkey.report.repairs import tell_difference
from answerkey.risk.verdicts import SAME
from answerkey.sqlite.answers import answer_rows
from answerkey.sqlite.clock import tell_clock
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import Schema, Table, fold_name, quote_name

if TYPE_CHECKING:
    from answerkey.alternatives.repairs import Repair

TEMPLATE = Path(__file__).with_name("prompt.j2")
RULES = Path(__file__).with_name("rules.md")

_EXAMPLE_ROWS = 3
_SCHEMA_CHARACTERS = 12_000
_COLUMNS_CHARACTERS = 12_000
_ANSWER_CHARACTERS = 2000
_REPAIRS = 3
_FREQUENT = 6  # values of a column
_NUMBERS = {"integer", "real"}
_SUMMARY = (
    "SELECT group_concat(DISTINCT typeof({0})), count(DISTINCT {0}), count(*) - count({0}),"
    " quote(min({0})), quote(max({0})) FROM {1}"
)
# Text is cut before it is quoted, so that the last quote stays.
_VALUES = (
    "SELECT CASE typeof({0}) WHEN 'blob' THEN '<' || length({0}) || ' bytes>'"
    " ELSE quote(CASE WHEN typeof({0}) = 'text' AND length({0}) > 40"
    " THEN substr({0}, 1, 40) || '…' ELSE {0} END) END"
    " FROM {1} WHERE {0} IS NOT NULL GROUP BY {0} ORDER BY count(*) DESC, {0} LIMIT {2}"
)


def write_prompt(question: Question, template: Path, *, queries: int, seed: str) -> str:
    """What the model reads about a question.

    queries: in how many replies it may query.
    seed: of the order of the repairs, which is another one in each reading.
    """
    name = question.database_name
    path = _find(name)
    facts = {
        "rules": RULES.read_text(encoding="utf-8").strip(),
        "database_name": name,
        "schema": _read_database(path).schema,
        "columns": _summarize(path, frozenset(map(fold_name, question.tables_involved or ()))),
        "question_text": question.question_text,
        "evidence": question.evidence,
        "clock": tell_clock(question.now),
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
    """The likeliest repairs, in an order that does not tell which is likelier."""
    shown = [
        {
            "sql": repair["sql"],
            "difference": _tell_difference(repair),
            "gold_rows": _shorten(repair.get("gold_rows") or None),
            "repair_rows": _shorten(repair.get("repair_rows") or None),
        }
        for repair in (question.repairs or [])[:_REPAIRS]
    ]
    random.Random(f"{seed} {question.question_id}").shuffle(shown)
    return shown


def _tell_difference(repair: Repair) -> str:
    """Not in the words of the report, which says what is in doubt."""
    return "It has the same answer here." if repair["answers"] == SAME else tell_difference(repair)


def _shorten(value: Any) -> str:
    """JSON, which tells text from numbers; nothing for None."""
    if value is None:
        return ""
    text = encode_json(value).decode()
    return text if len(text) <= _ANSWER_CHARACTERS else f"{text[:_ANSWER_CHARACTERS]} ..."


def _find(database_name: str) -> Path:
    return find_inside(DATABASES.absolute(), f"{database_name}/{database_name}.sqlite")


@cache
def _read_database(path: Path) -> DatabaseTexts:
    return DatabaseTexts(path, example_rows=_EXAMPLE_ROWS, max_characters=_SCHEMA_CHARACTERS)


def read_database_schema(database_name: str) -> Schema:
    """The schema of a database that the model reads."""
    return Schema(tuple(_read_database(_find(database_name)).tables))


@lru_cache(maxsize=1024)
def _summarize(path: Path, first: frozenset[str]) -> str:
    """What columns hold, a line each: those of the tables that gold reads, then others as long as
    there is room."""
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
    with GuardedDatabase(path) as database:
        return {table.name: "\n".join(_summarize_table(database, table)) for table in texts.tables}


def _summarize_table(database: GuardedDatabase, table: Table) -> Iterator[str]:
    """The lines of a table. ship.weight: integer, 6 different, 1 NULL, from 12 to 90"""
    source = quote_name(table.name)
    try:
        yield f"{table.name}: {database.execute(f'SELECT count(*) FROM {source}')[0][0]} rows"
    except QueryError as error:
        yield f"{table.name}: not counted ({error.reason})"
    for column in table.columns:
        name = quote_name(column.name)
        try:
            (facts,) = database.execute(_SUMMARY.format(name, source))
            values = database.execute(_VALUES.format(name, source, _FREQUENT))
        except QueryError as error:
            yield f"{table.name}.{column.name}: not counted ({error.reason})"
            continue
        types, different, nulls, least, most = map(str, facts)
        kinds = {*types.split(",")} - {"null", "None"}
        words = [" and ".join(sorted(kinds)) or "no value", f"{different} different"]
        if nulls != "0":
            words.append(f"{nulls} NULL")
        has_more = int(different) > _FREQUENT
        if has_more and kinds <= _NUMBERS:
            words.append(f"from {least} to {most}")
        elif values:
            shown = ", ".join(" ".join(str(value).split()) for (value,) in values)
            words.append(f"such as {shown}" if has_more else shown)
        yield f"{table.name}.{column.name}: {', '.join(words)}"
