"""Filling of databases that have few rows, where the entry of a corpus asks for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from answerkey.core.records import hash_value
from answerkey.corpus.corpora import Corpus
from answerkey.corpus.databases import replace_database
from answerkey.corpus.hub import Limits
from answerkey.corpus.source_questions import read_source_questions

# To be raised where other code makes other rows: then all filled databases are made again.
VERSION = 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What a database is filled with: so many rows a table, and rows for its gold queries."""

    rows: int
    gold_sql: tuple[str, ...]

    def describe(self) -> dict[str, str]:
        """What the manifest says of it: another filling has other words."""
        return {
            "fill_empty": str(self.rows),
            "filled_for": hash_value([VERSION, self.rows, self.gold_sql]),
        }


def plan_fillings(corpus: Corpus, db_ids: Collection[str], limits: Limits) -> dict[str, Filling]:
    """The filling of each database, by its id; none where the corpus asks for none.

    Raises:
        as `read_source_questions`.
    """
    if corpus.fill_empty is None:
        return {}
    queries: dict[str, dict[str, None]] = {db_id: {} for db_id in db_ids}
    for question in read_source_questions(corpus, limits=limits):
        if question.db_id in queries:
            queries[question.db_id][question.query] = None
    return {db_id: Filling(corpus.fill_empty, tuple(found)) for db_id, found in queries.items()}


def fill_file(path: Path, filling: Filling) -> None:
    """Put the filled copy of a database in its place; it stays where it cannot be filled, or needs
    not to be."""
    from answerkey.suites.filled_database import fill_database  # parses SQL, which few corpora need

    content = fill_database(path, filling.gold_sql, rows=filling.rows)
    if content is not None:
        with replace_database(path) as file:
            file.write(content)
