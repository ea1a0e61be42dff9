"""The values of a database that the words of a question name, for its prompt.

They are looked up by the question's words alone, so that they tell nothing of the gold SQL.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import Schema, quote_name

_MOST_DISTINCT = 2000  # texts of a column; one with more holds prose, or keys
_MOST_CHARACTERS = 60  # of a text
_FEWEST_CHARACTERS = 4  # of a text that is named in any case: "us" is no country
_WORD = re.compile(r"\w+")

Texts = Mapping[str, list[tuple[str, str]]]


def list_texts(database: GuardedDatabase, schema: Schema) -> Texts:
    """The texts of all columns of tables, each with its column, by their first word.

    >>> list_texts(database, schema)["cape"]                            # doctest: +SKIP
    [('Cape Town', 'port.name')]
    """
    found = defaultdict(list)
    for table in schema.tables:
        if table.is_view or not table.sql.upper().startswith("CREATE TABLE"):
            continue
        for column in table.columns:
            name = quote_name(column.name)
            query = (
                f"SELECT DISTINCT {name} FROM {quote_name(table.name)} WHERE typeof({name}) ="
                f" 'text' AND length({name}) <= {_MOST_CHARACTERS} LIMIT {_MOST_DISTINCT + 1}"
            )
            try:
                rows = database.execute(query)
            except QueryError:
                continue
            if len(rows) <= _MOST_DISTINCT:
                for (text,) in rows:
                    if words := _split(text):
                        found[words[0]].append((text, f"{table.name}.{column.name}"))
    return found


def find_named(texts: Texts, question: str, *, most: int) -> list[str]:
    """As many values as that which stand in a question, the longest first.

    >>> texts = {"cape": [("Cape Town", "port.name"), ("Cape", "port.kind")]}
    >>> find_named(texts, "Which ships lie in cape town?", most=8)
    ["port.name = 'Cape Town'", "port.kind = 'Cape'"]
    """
    if not most:
        return []
    found = set(_find_all(texts, question))
    chosen = sorted(found, key=lambda value: (-len(value[0]), value))[:most]
    return [f"{column} = {_quote(text)}" for text, column in chosen]


def _find_all(texts: Texts, question: str) -> Iterator[tuple[str, str]]:
    words = _split(question)
    for place, word in enumerate(words):
        for text, column in texts.get(word, ()):
            parts = _split(text)
            is_short = len(text) < _FEWEST_CHARACTERS
            if words[place : place + len(parts)] == parts and (
                not is_short or (not text.islower() and text in _WORD.findall(question))
            ):
                yield text, column


def _split(text: str) -> list[str]:
    """The words of a text in small letters, without the s of a plural."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return [word.removesuffix("s") if len(word) >= _FEWEST_CHARACTERS else word for word in words]


def _quote(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{' '.join(escaped.splitlines())}'"
