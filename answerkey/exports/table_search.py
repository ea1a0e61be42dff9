"""Search for the tables that a question needs, for the prompt of a large schema.

SQLite's full-text index ranks tables by BM25: the names of tables and columns, and the corpus's
descriptions of columns, against the words of the question. A table scores more if it holds a value
that the question names, and also if a table with a high score joins it: a query may have to pass
through it although the question has no word for it.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Self

from answerkey.engines.schema import Table, fold_name

_WORD = re.compile(r"[^\W_]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OF_NAMED_VALUE = 3.0  # about as much as a word that only one of many tables has
_SHARE_OF_NEIGHBOR = 0.5


class TableSearch:
    """The tables of a database, to be ranked; use it as a context manager.

    descriptions: lines about the columns of tables, by the tables' names in lower case.
    """

    def __init__(self, tables: Sequence[Table], descriptions: Mapping[str, Sequence[str]]) -> None:
        self._tables = tables
        self._descriptions = descriptions
        self._connection = sqlite3.connect(":memory:", isolation_level=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def rank(self, question: str, named: Iterable[str] = ()) -> list[str]:
        """Return the names of all tables, those that match the question best first. Tables with the
        same score keep the order of the schema.

        named: tables that hold a value that the question names.

        >>> search.rank("Which captains are older than 40?")                # doctest: +SKIP
        ['captain', 'ship', 'port', 'voyage']
        """
        scores = self._match(question)
        for name in {fold_name(name) for name in named}:
            scores[name] += _OF_NAMED_VALUE
        totals = {
            name: scores[name]
            + _SHARE_OF_NEIGHBOR * max((scores[neighbor] for neighbor in neighbors), default=0.0)
            for name, neighbors in self._neighbors.items()
        }
        names = [table.name for table in self._tables]
        return sorted(names, key=lambda name: -totals[fold_name(name)])

    def list_neighbors(self, names: Iterable[str]) -> list[str]:
        """Return the tables that join some of these, by a foreign key of either."""
        neighbors = [self._neighbors.get(fold_name(name), set()) for name in names]
        return sorted(set().union(*neighbors))

    def _match(self, question: str) -> defaultdict[str, float]:
        words = dict.fromkeys(_list_words(question))
        scores: defaultdict[str, float] = defaultdict(float)
        if words:
            rows = self._index.execute(
                "SELECT rowid, bm25(tables, 2, 1) FROM tables WHERE tables MATCH ?",
                (" OR ".join(f'"{word}"' for word in words),),
            )
            for table_index, score in rows:
                scores[
                    fold_name(self._tables[table_index].name)
                ] = -score  # SQLite's best is the lowest
        return scores

    @cached_property
    def _index(self) -> sqlite3.Connection:
        self._connection.execute(
            "CREATE VIRTUAL TABLE tables USING fts5 (name, columns, tokenize='porter')"
        )
        for table_index, table in enumerate(self._tables):
            lines = self._descriptions.get(table.name.casefold(), ())
            columns = " ".join([*(column.name for column in table.columns), *lines])
            texts = (" ".join(_list_words(text)) for text in (table.name, columns))
            self._connection.execute(
                "INSERT INTO tables (rowid, name, columns) VALUES (?, ?, ?)", (table_index, *texts)
            )
        return self._connection

    @cached_property
    def _neighbors(self) -> Mapping[str, set[str]]:
        """Return, for each table, those that it refers to, or that refer to it."""
        neighbors: dict[str, set[str]] = {fold_name(table.name): set() for table in self._tables}
        for table in self._tables:
            for key in table.foreign_keys:
                pair = fold_name(table.name), fold_name(key.table)
                if neighbors.keys() >= set(pair) and pair[0] != pair[1]:
                    neighbors[pair[0]].add(pair[1])
                    neighbors[pair[1]].add(pair[0])
        return neighbors


def _list_words(text: str) -> list[str]:
    """
    >>> _list_words("shipOwner_id: who owns it")
    ['ship', 'Owner', 'id', 'who', 'owns', 'it']
    """
    return _WORD.findall(_CAMEL_CASE.sub(" ", text))
