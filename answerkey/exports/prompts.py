"""A database in words for a prompt: its CREATE statements, and under each the table's first rows.

    CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);
    -- (1, 'Tern')
    -- (2, 'Sun')

The same database gives the same text: rows come in the order of rowids, or of the primary key. The
compact text has a line a table and no row, for models that read few tokens:

    ship(id INTEGER primary key, name TEXT, port_id INTEGER -> port.id)
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from answerkey.dataset import Question, list_reward_terms
from answerkey.errors import InputError
from answerkey.exports.named_values import find_named, list_texts
from answerkey.records import DESCRIPTIONS, encode_json, read_database_hashes, read_json
from answerkey.shards.database_files import find_database, local_path
from answerkey.sqlite.files import open_database
from answerkey.sqlite.guard import GuardedDatabase, QueryError, Value
from answerkey.sqlite.schema import Schema, Table, fold_name, quote_name, read_schema

_VALUE_CHARACTERS = 60
_MOST_BYTES = 4 * (_VALUE_CHARACTERS + 1)  # of as many characters and one more, in any encoding
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL\b", re.IGNORECASE)
# The guard refuses BLOBs, infinity and text that is not UTF-8, so that none of them reaches it.
# Text is read as bytes: SQLite's functions end it at a NUL.
_VALUE = (
    "CASE typeof({0}) WHEN 'text' THEN 't' || hex(substr(CAST({0} AS BLOB), 1, {1}))"
    " WHEN 'blob' THEN 'b' || length({0})"
    " WHEN 'real' THEN CASE WHEN {0} - {0} IS NOT NULL THEN {0}"
    " WHEN {0} > 0 THEN 'r9e999' ELSE 'r-9e999' END"
    " ELSE {0} END"
)


def read_example_rows(
    database: GuardedDatabase, table: Table, count: int, *, encoding: str
) -> list[str]:
    """The first rows of a table as SQL literals; none of a view, of a virtual table, or of a table
    too wide for the guard. `encoding` is the database's, as PRAGMA encoding has it.

    >>> table = schema.find_table("ship")                               # doctest: +SKIP
    >>> read_example_rows(database, table, 2, encoding="UTF-8")         # doctest: +SKIP
    ["(1, 'Tern')", "(2, 'Sun')"]
    """
    if not count or table.is_view or _VIRTUAL.match(table.sql):
        return []
    values = ", ".join(
        _VALUE.format(quote_name(column.name), _MOST_BYTES) for column in table.columns
    )
    query = f"SELECT {values} FROM {quote_name(table.name)}{_choose_order(table)} LIMIT {count}"
    try:
        rows = database.execute(query)
    except QueryError:
        return []
    return [f"({', '.join(_write_value(value, encoding) for value in row)})" for row in rows]


def _choose_order(table: Table) -> str:
    if table.has_rowid:
        keys = [table.rowid_name] if table.rowid_name else []
    else:
        keys = [quote_name(name) for name in table.unique_keys[0]]
    return f" ORDER BY {', '.join(keys)}" if keys else ""


def _write_value(value: Value, encoding: str) -> str:
    """An SQL literal on one line, cut where it is long: what `_VALUE` made of a value.

    >>> values = ("t" + "O'Neill".encode().hex(), "b512", None)
    >>> [_write_value(value, "UTF-8") for value in values]
    ["'O''Neill'", '<512 bytes>', 'NULL']
    """
    if value is None:
        return "NULL"
    if not isinstance(value, str):
        return repr(value)
    kind, rest = value[0], value[1:]
    if kind == "b":
        return f"<{rest} bytes>"
    if kind == "r":
        return rest
    text = bytes.fromhex(rest).decode(encoding, errors="replace")
    if len(text) > _VALUE_CHARACTERS:
        text = text[:_VALUE_CHARACTERS] + "…"
    escaped = text.replace("'", "''")
    return f"'{' '.join(escaped.splitlines())}'"


def _end_statement(sql: str) -> str:
    """A statement with its semicolon, on a line of its own where the statement ends in a comment.

    >>> _end_statement("CREATE TABLE t (a)"), _end_statement("CREATE VIEW v AS SELECT 1 -- one")
    ('CREATE TABLE t (a);', 'CREATE VIEW v AS SELECT 1 -- one\\n;')
    """
    ended = f"{sql.removesuffix(';')};"
    return ended if sqlite3.complete_statement(ended) else f"{sql}\n;"


def read_descriptions(path: Path) -> dict[str, list[str]]:
    """What the corpus says of the columns of each table, a line a column, by the table's name in
    small letters; nothing if there is no file. A table maps each of its columns to texts under
    name, description and values:

        {"ship": {"tons": {"description": "gross tonnage", "values": "0: not known"}}}

    gives {"ship": ["tons: gross tonnage; values: 0: not known"]}.
    """
    if not path.is_file():
        return {}
    found = {}
    for table, columns in read_json(path).items():
        lines = []
        for column, texts in columns.items():
            values = texts.get("values")
            words = [texts.get("name"), texts.get("description"), values and f"values: {values}"]
            known = [" ".join(text.split()) for text in words if text]
            if known and known != [column]:
                lines.append(f"{column}: {'; '.join(dict.fromkeys(known))}")
        found[table.casefold()] = lines
    return found


def write_schema(
    schema: Schema,
    rows: Mapping[str, Sequence[str]],
    *,
    max_characters: int,
    descriptions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    only: Collection[str] | None = None,
) -> str:
    """The CREATE statements, what the corpus says of columns, and as many of each table's rows as
    leave the whole short enough. `only` has the tables to write, folded, if not all.

    No statement is left out or cut, whatever its length: without it a question may have no answer.
    """
    most = max(map(len, rows.values()), default=0)
    for count in range(most, -1, -1):
        parts = []
        for table in schema.tables:
            if table.sql and (only is None or fold_name(table.name) in only):
                parts.append(_end_statement(table.sql.strip()))
                parts += [f"-- {line}" for line in descriptions.get(table.name.casefold(), ())]
                parts += [f"-- {row}" for row in rows.get(table.name, ())[:count]]
        text = "\n".join(parts)
        if len(text) <= max_characters:
            break
    return text


def write_compact_schema(schema: Schema) -> str:
    """A line a table or view, with its columns, their types, its primary key and what its foreign
    keys refer to. Names are quoted where SQL needs it.

    >>> write_compact_schema(schema)                                    # doctest: +SKIP
    'ship(id INTEGER primary key, name TEXT, port_id INTEGER -> port.id)'
    """
    return "\n".join(
        f"{_quote_where_needed(table.name)}({', '.join(_list_columns(table))})"
        for table in schema.tables
    )


def _list_columns(table: Table) -> list[str]:
    """Each column in words, then keys of several columns."""
    in_key = sorted(table.columns, key=lambda column: column.primary_key)
    keys = [column.name for column in in_key if column.primary_key]
    referred = {
        key.columns[0]: ".".join(map(_quote_where_needed, (key.table, *key.referred)))
        for key in table.foreign_keys
        if len(key.columns) == 1
    }
    found = []
    for column in table.columns:
        words = f"{_quote_where_needed(column.name)} {column.type}".rstrip()
        is_key = " primary key" if keys == [column.name] else ""
        refers = f" -> {referred[column.name]}" if column.name in referred else ""
        found.append(f"{words}{is_key}{refers}")
    if len(keys) > 1:
        found.append(f"primary key ({', '.join(map(_quote_where_needed, keys))})")
    for key in table.foreign_keys:
        if len(key.columns) > 1:
            own, others = (
                ", ".join(map(_quote_where_needed, names)) for names in (key.columns, key.referred)
            )
            found.append(f"({own}) -> {_quote_where_needed(key.table)}({others})")
    return found


def _quote_where_needed(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote_name(name)


class DatabaseTexts(NamedTuple):
    """A database in words: `schema` as `write_schema`, `compact_schema` as `write_compact_schema`
    writes it; `link` writes the schema of some tables only, `name_values` the values that some
    words name."""

    schema: str
    compact_schema: str
    link: Callable[[Collection[str]], str]
    name_values: Callable[[str], list[str]]


def describe_database(
    path: Path, *, example_rows: int, max_characters: int, named_values: int = 0
) -> DatabaseTexts:
    """The texts of a database file.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    with GuardedDatabase(path) as database:
        connection = open_database(path)
        try:
            schema = read_schema(connection)
            (encoding,) = connection.execute("PRAGMA encoding").fetchone()
        finally:
            connection.close()
        rows = {
            table.name: read_example_rows(database, table, example_rows, encoding=encoding)
            for table in schema.tables
        }
        texts = list_texts(database, schema) if named_values else {}
    write = partial(
        write_schema,
        schema,
        rows,
        max_characters=max_characters,
        descriptions=read_descriptions(path.with_name(DESCRIPTIONS)),
    )
    return DatabaseTexts(
        write(),
        write_compact_schema(schema),
        lambda tables: write(only={fold_name(name) for name in tables}),
        partial(find_named, texts, most=named_values),
    )


# Prompts: what a policy is asked, from a template that anyone may change.


Record = dict[str, Any]
Message = dict[str, str]

_FACTS = ("question_id", "database_name", "gold_sql", "answer_type", "difficulty")


@dataclass(frozen=True)
class PromptExample:
    """A question with its prompt, as trainers take it, and its place in its split."""

    question: Question
    prompt: str
    index: int
    schemas: Mapping[str, str] = field(
        default_factory=dict
    )  # by the name that a template has for each

    @property
    def data_source(self) -> str:
        """A name of the dataset, which holds that of the corpus."""
        return f"answerkey/{self.question.corpus}"

    @cached_property
    def ground_truth(self) -> str:
        """The gold answer as JSON text: a column of a table has one type, an answer has not."""
        return encode_json(self.question.gold_answer).decode()

    @cached_property
    def messages(self) -> list[Message]:
        """The prompt as a chat."""
        return [{"role": "user", "content": self.prompt}]

    @cached_property
    def facts(self) -> Record:
        """What a reward or an analysis may want to know besides the answer."""
        known = {name: getattr(self.question, name) for name in _FACTS}
        return known | list_reward_terms(self.question)

    @cached_property
    def extra_info(self) -> Record:
        """The facts, and the place in the split, as verl and SkyRL take them."""
        return {"split": self.question.split, "index": self.index, **self.facts}


Links = Mapping[str, list[str]]


def read_links(folder: Path) -> Links:
    """The tables that somebody chose for questions, by question id: `tables.json` in a folder, or
    nothing if there is no such file.

    Raises:
        InputError: if it is not of the form {"fleet_train_000": ["ship", "port"]}.
    """
    path = folder / "tables.json"
    links = read_json(path) if path.is_file() else {}
    if not isinstance(links, dict) or not all(isinstance(each, list) for each in links.values()):
        raise InputError(f'{path}: expected {{"QUESTION_ID": ["TABLE", ...], ...}}')
    return links


def _link(question: Question, texts: DatabaseTexts, links: Links) -> str:
    """The schema of the tables that somebody chose, or else of those that gold SQL reads."""
    chosen = links.get(question.question_id)
    if unknown := [name for name in chosen or () if not texts.link([str(name)])]:
        raise InputError(
            f"tables.json: {question.question_id}: database {question.database_name} has no table"
            f" {unknown[0]!r}"
        )
    return texts.link(chosen or question.tables_involved or ())


def read_template(path: Path) -> Template:
    """A template that reaches nothing outside of what it is given, and fails on a name that it is
    not given.

    Raises:
        FileNotFoundError: where there is none.
        InputError: with the line, where it is no template.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No template {path}: see export_trainers.prompt_template in params"
        )
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        return environment.from_string(path.read_text(encoding="utf-8"))
    except TemplateSyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: expected a Jinja template: {error}") from error


def make_prompt_examples(
    questions: Iterable[Question],
    template: Template,
    databases: Path,
    *,
    links: Links = MappingProxyType({}),
    example_rows: int,
    max_schema_characters: int,
    named_values: int = 0,
) -> Iterator[PromptExample]:
    """The prompt examples of a split, in order; each database, whose questions stand together, is
    described once.

    Raises:
        FileNotFoundError: where a database or their manifest is missing.
        InputError: where a database is not the one of the manifest.
        InputError: where the template asks for a name that it is not given.
    """
    index = 0
    hashes = read_database_hashes(databases)
    for name, of_database in groupby(questions, key=attrgetter("database_name")):
        database = find_database(databases, name, sha256=hashes[name], databases_url=None)
        texts = describe_database(
            local_path(database),
            example_rows=example_rows,
            max_characters=max_schema_characters,
            named_values=named_values,
        )
        for question in of_database:
            schemas = {
                "schema": texts.schema,
                "compact_schema": texts.compact_schema,
                "linked_schema": _link(question, texts, links),
            }
            facts = schemas | {
                "database_name": name,
                "named_values": texts.name_values(
                    f"{question.question_text}\n{question.evidence or ''}"
                ),
                "question_text": question.question_text,
                "evidence": question.evidence,
            }
            try:
                prompt = template.render(facts)
            except TemplateError as error:
                raise InputError(
                    f"export_trainers.prompt_template: {error}: expected no other names than"
                    f" {', '.join(facts)}"
                ) from error
            yield PromptExample(question, prompt.strip(), index, schemas)
            index += 1
