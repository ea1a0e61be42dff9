"""Prompts for a policy, from a template that users may change.

A prompt describes the database in the DDL of its engine: its CREATE statements, each followed by
the table's first rows.

    CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT);
    -- (1, 'Tern')
    -- (2, 'Sun')

The compact schema has one line per table and no rows, for models that read few tokens:

    ship(id INTEGER primary key, name TEXT, port_id INTEGER -> port.id)

Prompts are measured, since a trainer cuts or filters long ones without a message.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from math import ceil
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from answerkey.base.errors import InputError
from answerkey.base.records import DESCRIPTIONS, encode_json, read_database_hashes, read_json
from answerkey.dataset import Question, list_reward_terms
from answerkey.engines.column_texts import write_texts
from answerkey.engines.database import Database, QueryError, Row
from answerkey.engines.names import SQLITE, TITLES, name_engine
from answerkey.engines.opening import find_engine, open_database
from answerkey.engines.schema import Column, Table, fold_name, quote_name
from answerkey.engines.shown import (
    holds_texts,
    read_example_rows,
    read_texts,
    spell_name,
    spell_table,
    write_statement,
)
from answerkey.exports.table_search import TableSearch
from answerkey.shards.database_files import find_database, local_path

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BACKTICKS = re.compile("`+")
_WORD = re.compile(r"\w+")
# A value of SQLite as text for a prompt, or a number; the guard refuses BLOBs.
_VALUE = (
    "CASE typeof({0}) WHEN 'text' THEN"
    " quote(CASE WHEN length({0}) > 60 THEN substr({0}, 1, 60) || '…' ELSE {0} END)"
    " WHEN 'blob' THEN '<' || length({0}) || ' bytes>' ELSE {0} END"
)
_MAX_DISTINCT = 2000  # texts of a column; a column with more holds prose, or keys
_MIN_CHARACTERS = 4  # of a text that is recognized in any case: "us" is no country
SEARCHED = "searched_schema"  # the name for templates to show the tables that a search finds
KNOWN = ("question_id", "database_name", "gold_sql", "answer_type", "difficulty")

Message = dict[str, str]
Links = Mapping[str, list[str]]


def read_links(path: Path) -> Links:
    """The tables that somebody chose for questions, by question id; none without the file.

    Raises:
        InputError: it holds something else.
    """
    links = read_json(path, is_own=False) if path.is_file() else {}
    if not isinstance(links, dict):
        raise InputError(f"{path}: expected lists of tables by question id, found {links!r:.80}")
    for question_id, tables in links.items():
        if not isinstance(tables, list) or not all(isinstance(name, str) for name in tables):
            words = f"expected a list of names of tables, found {tables!r:.80}"
            raise InputError(f"{path}: {question_id}: {words}")
    return links


class DatabaseTexts:
    """The description of a database file.

    example_rows: how many rows of a table are shown, in the order of rowids or of the primary key.
    max_characters: a longer schema shows fewer rows, but all statements.

    Raises:
        FileNotFoundError: there is no such file.
    """

    def __init__(self, path: Path, *, example_rows: int, max_characters: int) -> None:
        self._max_characters = max_characters
        self.descriptions = _read_descriptions(path.with_name(DESCRIPTIONS))
        self.engine = name_engine(path)
        with open_database(path) as database:
            self.tables = find_engine(path).read_schema(path).tables
            self._rows = {
                table.name: self._read_examples(database, table, example_rows)
                for table in self.tables
            }
        self.path = path
        self.schema = self.write_schema()

    def write_schema(self, only: Collection[str] | None = None) -> str:
        """Return the CREATE statements, the corpus's descriptions of columns, and as many rows of
        each table as the length allows. `only` has the names of the tables to write, if not all.

        No statement is left out, whatever its length: the question might need it.
        """
        names = None if only is None else {fold_name(name) for name in only}
        tables = [
            table
            for table in self.tables
            if self._statements[table.name] and (names is None or fold_name(table.name) in names)
        ]
        for count in range(self._example_rows, -1, -1):
            text = "\n".join(self._write_table(table, count) for table in tables)
            if len(text) <= self._max_characters:
                break
        return text

    @cached_property
    def _statements(self) -> Mapping[str, str]:
        """Return the statement of each table, with its semicolon; "" if it has none."""
        if self.engine != SQLITE:
            return {table.name: _end(write_statement(table, self.engine)) for table in self.tables}
        return {table.name: table.sql and _end_statement(table.sql) for table in self.tables}

    def _read_examples(self, database: Database, table: Table, count: int) -> list[str]:
        if not count or not self._holds_rows(table):
            return []
        read = _read_examples if self.engine == SQLITE else read_example_rows
        try:
            return read(database, table, count)
        except QueryError:
            return []

    def _holds_rows(self, table: Table) -> bool:
        is_virtual = self.engine == SQLITE and not table.sql.upper().startswith("CREATE TABLE")
        return not table.is_view and not is_virtual

    @cached_property
    def _example_rows(self) -> int:
        return max(map(len, self._rows.values()), default=0)

    def _write_table(self, table: Table, count: int) -> str:
        comments = [
            *self.descriptions.get(table.name.casefold(), ()),
            *self._rows[table.name][:count],
        ]
        statement = self._statements[table.name]
        return "\n".join([statement, *(f"-- {comment}" for comment in comments)])

    @cached_property
    def _lengths(self) -> Mapping[str, int]:
        """Return the length of each table in a schema with example rows, with its line feed."""
        return {
            fold_name(table.name): len(self._write_table(table, self._example_rows)) + 1
            for table in self.tables
            if self._statements[table.name]
        }

    def choose_tables(self, needed: Collection[str], ranked: Sequence[str]) -> set[str]:
        """Return the tables to show: those that are needed, or else the first one, and each of the
        ranked tables for which the schema has enough room left."""
        shown = {fold_name(name) for name in needed or ranked[:1]}
        left = self._max_characters + 1 - sum(self._lengths.get(name, 0) for name in shown)
        for name in map(fold_name, ranked):
            length = self._lengths.get(name, 0)
            if name not in shown and 0 < length <= left:
                shown.add(name)
                left -= length
        return shown

    @cached_property
    def compact_schema(self) -> str:
        """Return a line per table or view: its columns with their types, its primary key, and the
        targets of its foreign keys. Names are quoted if SQL requires it."""
        return "\n".join(
            f"{_spell_table(table.name, self.engine)}"
            f"({', '.join(_list_columns(table, self.engine))})"
            for table in self.tables
        )

    @cached_property
    def _texts(self) -> Mapping[str, list[NamedValue]]:
        """Return the texts of all columns of tables, by their first word."""
        texts: defaultdict[str, list[NamedValue]] = defaultdict(list)
        with open_database(self.path) as database:
            for table in filter(self._holds_rows, self.tables):
                for column in table.columns:
                    try:
                        rows = self._read_texts(database, table.name, column)
                    except QueryError:
                        continue
                    for (text,) in rows if len(rows) <= _MAX_DISTINCT else ():
                        if isinstance(text, str) and (words := _split(text)):
                            value = NamedValue(text, table.name, column.name, self.engine)
                            texts[words[0]].append(value)
        return texts

    def _read_texts(self, database: Database, table: str, column: Column) -> list[Row]:
        most = _MAX_DISTINCT + 1
        if self.engine == SQLITE:
            query = write_texts(table, column.name, most=most, condition="length({0}) <= 60")
            return database.execute(query)
        if not holds_texts(column, self.engine):
            return []
        return read_texts(database, table, column.name, most=most)

    def name_values(self, question: str, *, most: int) -> list[NamedValue]:
        """Return at most `most` values of the database that occur in a question, the longest first.

        Only the question's words are looked up, so the values reveal nothing of gold SQL.

        >>> texts.name_values("Which ships lie in cape town?", most=8)      # doctest: +SKIP
        [NamedValue(text='Cape Town', table='port', column='name', engine='sqlite')]
        """
        if not most:
            return []
        words, spelt, values = _split(question), set(_WORD.findall(question)), set()
        for word_index, word in enumerate(words):
            for value in self._texts.get(word, ()):
                text = value.text
                parts = _split(text)
                is_long = len(text) >= _MIN_CHARACTERS
                if words[word_index : word_index + len(parts)] == parts and (
                    is_long or (not text.islower() and text in spelt)
                ):
                    values.add(value)
        return sorted(values, key=lambda value: (-len(value.text), value.text, value.place))[:most]


class NamedValue(NamedTuple):
    """A text of a database that a question names: `port.name = 'Cape Town'` in a prompt."""

    text: str
    table: str
    column: str
    engine: str = SQLITE

    @property
    def place(self) -> str:
        """Return the column as SQL writes it; in prompts for SQLite it never had quotes.

        >>> NamedValue("Tidal", "sales.artist", "Stage Name", "duckdb").place
        'sales.artist."Stage Name"'
        """
        if self.engine == SQLITE:
            return f"{self.table}.{self.column}"
        return f"{spell_table(self.table, self.engine)}.{spell_name(self.column, self.engine)}"

    def __str__(self) -> str:
        return f"{self.place} = {_quote(self.text)}"


def _read_examples(database: Database, table: Table, count: int) -> list[str]:
    """Return the first rows of a table of SQLite."""
    values = ", ".join(_VALUE.format(quote_name(column.name)) for column in table.columns)
    if table.has_rowid:
        keys = [table.rowid_name] if table.rowid_name else []
    else:
        keys = [quote_name(name) for name in table.unique_keys[0]]
    order = f" ORDER BY {', '.join(keys)}" if keys else ""
    rows = database.execute(f"SELECT {values} FROM {quote_name(table.name)}{order} LIMIT {count}")
    return [f"({', '.join(map(_write_value, row))})" for row in rows]


def _write_value(value: Any) -> str:
    if value is None:
        return "NULL"
    return " ".join(value.splitlines()) if isinstance(value, str) else repr(value)


def _end(statement: str) -> str:
    """Return a statement of another engine than SQLite with its semicolon; a comment has none."""
    text = statement.strip()
    return text if text.startswith("--") else f"{text.removesuffix(';')};"


def _end_statement(sql: str) -> str:
    """Return a statement of SQLite with its semicolon, on a line of its own after a comment.

    >>> _end_statement("CREATE TABLE t (a)"), _end_statement("CREATE VIEW v AS SELECT 1 -- one")
    ('CREATE TABLE t (a);', 'CREATE VIEW v AS SELECT 1 -- one\\n;')
    """
    sql = sql.strip()
    ended = f"{sql.removesuffix(';')};"
    return ended if sqlite3.complete_statement(ended) else f"{sql}\n;"


def _read_descriptions(path: Path) -> dict[str, list[str]]:
    """Return the corpus's descriptions of the columns of each table, one line per column, by the
    table's name in lower case; {} if there is no file. {"ship": {"tons": {"description": "gross
    tonnage", "values": "0: not known"}}} gives {"ship": ["tons: gross tonnage; values: 0: not
    known"]}."""
    descriptions = {}
    for table, columns in (read_json(path) if path.is_file() else {}).items():
        lines = []
        for column, texts in columns.items():
            values = texts.get("values")
            words = [texts.get("name"), texts.get("description"), values and f"values: {values}"]
            known = [" ".join(text.split()) for text in words if text]
            if known and known != [column]:
                lines.append(f"{column}: {'; '.join(dict.fromkeys(known))}")
        descriptions[table.casefold()] = lines
    return descriptions


def _list_columns(table: Table, engine: str) -> list[str]:
    def spell(name: str) -> str:
        return spell_name(name, engine)

    in_key = sorted(table.columns, key=lambda column: column.primary_key)
    keys = [column.name for column in in_key if column.primary_key]
    referred = {
        key.columns[0]: ".".join([_spell_table(key.table, engine), *map(spell, key.referred)])
        for key in table.foreign_keys
        if len(key.columns) == 1
    }
    lines = []
    for column in table.columns:
        words = f"{spell(column.name)} {column.type}".rstrip()
        is_key = " primary key" if keys == [column.name] else ""
        refers = f" -> {referred[column.name]}" if column.name in referred else ""
        lines.append(f"{words}{is_key}{refers}")
    if len(keys) > 1:
        lines.append(f"primary key ({', '.join(map(spell, keys))})")
    for key in table.foreign_keys:
        if len(key.columns) > 1:
            target = f"{_spell_table(key.table, engine)}({', '.join(map(spell, key.referred))})"
            lines.append(f"({', '.join(map(spell, key.columns))}) -> {target}")
    return lines


def _spell_table(name: str, engine: str) -> str:
    return spell_name(name, engine) if engine == SQLITE else spell_table(name, engine)


def _split(text: str) -> list[str]:
    """Return the words of a text in lower case, without the s of a plural."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return [word.removesuffix("s") if len(word) >= _MIN_CHARACTERS else word for word in words]


def _quote(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{' '.join(escaped.splitlines())}'"


@dataclass(frozen=True)
class PromptExample:
    """A question with its prompt for trainers, and its index in its split.

    schemas: the schemas that its template may show, by their names.
    recalls: if schemas are searched, whether each has all tables that gold SQL reads.
    """

    question: Question
    prompt: str
    index: int
    schemas: Mapping[str, str] = field(default_factory=dict)
    recalls: Mapping[str, bool] = field(default_factory=dict)

    @cached_property
    def ground_truth(self) -> str:
        """Return the gold answer as JSON text: a column of a table has one type, answers have
        not."""
        return encode_json(self.question.gold_answer).decode()

    @property
    def messages(self) -> list[Message]:
        """Return the prompt as a chat."""
        return [{"role": "user", "content": self.prompt}]

    @cached_property
    def reward_terms(self) -> dict[str, Any]:
        """Return the terms of a reward beside the answer."""
        return list_reward_terms(self.question)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return facts for a reward or an analysis beside the answer."""
        return {name: getattr(self.question, name) for name in KNOWN} | self.reward_terms


def make_completion(gold_sql: str) -> list[Message]:
    """Return gold SQL as an assistant would answer the prompt.

    >>> make_completion("SELECT 1")
    [{'role': 'assistant', 'content': '```sql\\nSELECT 1\\n```'}]

    The fence is longer than any run of backticks in the query, as in Markdown.
    """
    fence = "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(gold_sql)), default=0))
    return [{"role": "assistant", "content": f"{fence}sql\n{gold_sql}\n{fence}"}]


# The template reaches only the given values, and fails on an unknown name.
_ENVIRONMENT = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
)


def read_template(path: Path) -> Template:
    """Return the template of a file.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: names the line that is invalid.
    """
    try:
        return _ENVIRONMENT.from_string(path.read_text(encoding="utf-8"))
    except TemplateSyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: expected a Jinja template: {error}") from error


def shows(path: Path, name: str) -> bool:
    """Return whether the template of a file uses a name."""
    tree = _ENVIRONMENT.parse(path.read_text(encoding="utf-8"))
    return name in meta.find_undeclared_variables(tree)


def make_prompt_examples(
    questions: Iterable[Question],
    template: Template,
    databases: Path,
    *,
    links: Links = MappingProxyType({}),
    example_rows: int,
    max_schema_characters: int,
    named_values: int = 0,
    is_searched: bool = False,
    is_widened: bool = False,
) -> Iterator[PromptExample]:
    """Yield the prompt examples of a split, in order. Each database, whose questions are together,
    is described once.

    links: tables that were chosen for questions, by question id.
    is_searched: templates may show `searched_schema`, and `recalls` are filled.
    is_widened: the databases have tables of others (`answerkey.exports.widened`). A linked schema
        then shows, beside gold's tables, as many as fit: tables that they join, and tables that the
        search finds.

    Raises:
        FileNotFoundError: a database or the manifest is missing.
        InputError: a database is not the one of the manifest, links name a table that it does not
            have, or the template uses an unknown name.
    """
    index = 0
    hashes = read_database_hashes(databases)
    for name, of_database in groupby(questions, key=attrgetter("database_name")):
        database = find_database(databases, name, sha256=hashes[name], databases_url=None)
        texts = DatabaseTexts(
            local_path(database), example_rows=example_rows, max_characters=max_schema_characters
        )
        with TableSearch(texts.tables, texts.descriptions) as search:
            for known in of_database:
                question = known._replace(database_sha256=hashes[name]) if is_widened else known
                chosen = links.get(question.question_id, ())
                if unknown := [table for table in chosen if not texts.write_schema([table])]:
                    raise InputError(
                        f"tables.json: {question.question_id}: database {name} has no table"
                        f" {unknown[0]!r}"
                    )
                asked = f"{question.question_text}\n{question.evidence or ''}"
                values = texts.name_values(asked, most=named_values)
                gold = question.tables_involved or ()
                tables: dict[str, Collection[str]] = {"linked_schema": chosen or gold}
                if is_searched:
                    ranked = search.rank(asked, [value.table for value in values])
                    tables[SEARCHED] = texts.choose_tables((), ranked)
                    if is_widened and not chosen:
                        ranked = [*search.list_neighbors(gold), *ranked]
                        tables["linked_schema"] = texts.choose_tables(gold, ranked)
                schemas = {"schema": texts.schema, "compact_schema": texts.compact_schema}
                schemas |= {form: texts.write_schema(only) for form, only in tables.items()}
                facts = schemas | {
                    "database_name": name,
                    "engine": TITLES[texts.engine],
                    "named_values": [*map(str, values)],
                    "question_text": question.question_text,
                    "evidence": question.evidence,
                    "now": question.now,
                }
                try:
                    prompt = template.render(facts)
                except TemplateError as error:
                    raise InputError(
                        f"export_trainers.prompt_template: {error}: expected no other names than"
                        f" {', '.join(facts)}"
                    ) from error
                every = [table.name for table in texts.tables]
                recalls = {
                    form: _is_within(gold, tables.get(form, every))
                    for form in schemas
                    if is_searched
                }
                yield PromptExample(question, prompt.strip(), index, schemas, recalls)
                index += 1


def _is_within(names: Iterable[str], others: Iterable[str]) -> bool:
    return set(map(fold_name, names)) <= set(map(fold_name, others))


# The lengths of prompts.


SCHEMAS = ("schema", "compact_schema", "linked_schema")
RECALL = "recall_of_gold_tables"
LIMITS = (512, 1024, 2048, 4096, 8192)  # tokens: verl filters at 512 by default, TRL cuts at 1,024


def read_tokenizer(folder: Path) -> Tokenizer | None:
    """Return the tokenizer of `tokenizer.json` in a folder; None if there is no such file.

    Raises:
        InputError: the package `tokenizers` is missing.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise InputError(f"{path}: counting tokens needs pip install -e '.[tokens]'") from error
    return Tokenizer.from_file(str(path))


class PromptLengths:
    """The lengths of prompts, and of chats, each of which is a prompt with its completion.

    >>> lengths = PromptLengths(None)
    >>> lengths.add("Which ships?", "SELECT name")
    >>> lengths.summarize()["prompt"]["characters"]
    {'median': 12, 'p95': 12, 'longest': 12}
    """

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        # By what is measured (prompt, chat, or a schema) and its unit (characters or tokens).
        self._counts: defaultdict[tuple[str, str], list[int]] = defaultdict(list)

    def add_example(self, example: PromptExample) -> None:
        """Measure the prompt of a question, its completion, and its schemas."""
        (message,) = make_completion(example.question.gold_sql)
        self.add(example.prompt, message["content"])
        for name, schema in example.schemas.items():
            self._counts[name, "characters"].append(len(schema))
        for name, has_all in example.recalls.items():
            self._counts[name, RECALL].append(has_all)

    def add(self, prompt: str, completion: str) -> None:
        """Measure a prompt and its completion."""
        sizes = {"characters": (len(prompt), len(completion))}
        if self._tokenizer is not None:
            # A tokenizer does not accept a lone surrogate, which JSON text may contain.
            texts = [part.encode(errors="replace").decode() for part in (prompt, completion)]
            encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            of_prompt, of_completion = (len(encoding.ids) for encoding in encodings)
            sizes["tokens"] = (of_prompt, of_completion)
        for unit, (own, more) in sizes.items():
            self._counts["prompt", unit].append(own)
            self._counts["chat", unit].append(own + more)

    def summarize(self) -> dict[str, Any]:
        """Return median, 95th percentile and maximum for prompts, chats and each kind of schema;
        the number above each of the LIMITS in tokens; and, if schemas are searched, the share of
        questions for which one has all tables that gold SQL reads. None: not counted."""
        lengths: dict[str, Any] = {}
        for name in ("prompt", "chat"):
            tokens = self._counts[name, "tokens"]
            lengths[name] = {
                "characters": _summarize(self._counts[name, "characters"]),
                "tokens": _summarize(tokens),
                "more_tokens_than": {
                    str(limit): sum(count > limit for count in tokens) if tokens else None
                    for limit in LIMITS
                },
            }
        searched = [SEARCHED] if (SEARCHED, "characters") in self._counts else []
        for name in (*SCHEMAS, *searched):
            lengths[name] = {"characters": _summarize(self._counts[name, "characters"])}
            if has_all := self._counts[name, RECALL]:
                lengths[name][RECALL] = round(sum(has_all) / len(has_all), 4)
        return lengths


def _summarize(counts: list[int]) -> dict[str, int | None]:
    """Return nearest-rank percentiles, which are lengths that occur."""
    ordered, shares = sorted(counts), {"median": 0.5, "p95": 0.95, "longest": 1}
    return {
        name: ordered[ceil(share * len(ordered)) - 1] if ordered else None
        for name, share in shares.items()
    }
