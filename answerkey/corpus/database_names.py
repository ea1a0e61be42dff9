"""A database has one name, whichever corpora ask questions of it, and a question one id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from answerkey.core.errors import InputError
from answerkey.corpus.corpora import Corpus


class NamedDatabase(NamedTuple):
    """A database as a corpus knows it: by its db_id."""

    corpus: Corpus
    db_id: str


def name_databases(chosen: Iterable[tuple[Corpus, Iterable[str]]]) -> dict[str, NamedDatabase]:
    """The databases of some corpora, each once, by name. A name is the db_id behind the prefix of
    the corpus whose database it is, so that no other corpus has a part in it.

    Raises:
        InputError: where two corpora would give one name to different databases, or one id to two
            questions; with both corpora and the key to set.
    """
    databases: dict[str, NamedDatabase] = {}
    asking: dict[str, Corpus] = {}
    for corpus, db_ids in chosen:
        for db_id in db_ids:
            name = corpus.name_database(db_id)
            first = databases.setdefault(name.casefold(), NamedDatabase(corpus, db_id))
            if (first.corpus.owner, first.db_id) != (corpus.owner, db_id):
                raise InputError(_describe_clash(name, first.corpus, corpus))
            other = asking.setdefault(f"{corpus.id_prefix}{name}".casefold(), corpus)
            if other is not corpus:
                raise InputError(
                    f"Corpora {other.name} and {corpus.name} would give questions of database"
                    f" {name} the same ids: expected a prefix of its own for each, such as"
                    f" corpora.{corpus.name}.prefix: {corpus.name}_"
                )
    return {found.corpus.name_database(found.db_id): found for found in databases.values()}


def _describe_clash(name: str, first: Corpus, second: Corpus) -> str:
    has = f"Corpora {first.name} and {second.name} both have a database {name}"
    if second.owner != second.name:
        return (
            f"{has}, and not the same one: corpora.{second.name}.databases_of is {second.owner},"
            f" expected {first.owner}, or another prefix for {first.owner} or {second.owner}"
        )
    return (
        f"{has}: expected a prefix, such as corpora.{second.name}.prefix: {second.name}_; or, where"
        f" they are the same databases, corpora.{second.name}.databases_of: {first.owner}, and a"
        " prefix for its ids"
    )
