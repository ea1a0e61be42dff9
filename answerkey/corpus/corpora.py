"""A corpus as params describe it: where its questions and databases are, and how it names them.

A database has one name, whichever corpora ask questions of it, and a question one id.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.core.errors import InputError
from answerkey.core.param_corpora import ARCHIVE, Entry, HubEntry, HubQuestions
from answerkey.core.params import check_corpora, read_params
from answerkey.corpus.corrections import CORRECTIONS_DIR
from answerkey.corpus.hub import Limits
from answerkey.corpus.layouts import LAYOUTS, Layout

PROJECT_PARAMS = Path(__file__).resolve().parents[2] / "params.yaml"


@dataclass(frozen=True, slots=True)
class DirectoryQuestions:
    """Files below a directory, by source split."""

    root: Path
    files: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class DirectoryDatabases:
    """Folders below a directory that have ID/ID.sqlite or ID/schema.sql."""

    root: Path
    folders: tuple[str, ...]

    def list_ids(self) -> list[str]:
        """Names of the databases' own folders, sorted; none where there is no such directory."""
        found = (self.root / folder for folder in self.folders)
        return sorted(
            {path.name for top in found if top.is_dir() for path in top.iterdir() if path.is_dir()}
        )

    def __str__(self) -> str:
        return " or ".join(str(self.root / folder) for folder in self.folders)


@dataclass(frozen=True, slots=True)
class HubDatabases:
    """A dataset repository with an archive that has a `member` for each database, or (`member` is
    None) with a file for each at `path`."""

    repo_id: str
    revision: str
    path: str
    archive_sha256: str | None
    member: str | None


@dataclass(frozen=True, slots=True)
class Corpus:
    """An entry of `corpora`.

    owner: whose databases they are: its own name, or that of another entry.
    database_prefix: what stands before a db_id in the name of a database; the owner's prefix.
    id_prefix: what stands before the name of a database in question ids, where the databases are
        another's.
    fill_empty: about how many rows a table must have, where the owner's databases are to be filled.
    """

    name: str
    db_list: str | tuple[str, ...]
    layout: Layout
    questions: DirectoryQuestions | HubQuestions
    databases: DirectoryDatabases | HubDatabases
    owner: str
    database_prefix: str = ""
    id_prefix: str = ""
    corrections: str | None = None
    fill_empty: int | None = None

    def name_database(self, db_id: str) -> str:
        """The name of a database in the dataset."""
        return self.database_prefix + db_id


def parse_corpora(chosen: str | list[str], entries: Mapping[str, Any]) -> list[Corpus]:
    """The corpora that `corpus` in params.yaml names, one or a list of several, in its order.

    Raises:
        InputError: where it names one twice, or one that is no entry; as `check_corpora`; where
            any entry names a layout or a file of corrections that there is not.
    """
    names = [chosen] if isinstance(chosen, str) else chosen
    if len(set(names)) < len(names):
        raise InputError(f"params.yaml: corpus is {names}, expected each name once")
    for name in names:
        if name not in entries:
            raise InputError(
                f"params.yaml: corpus is {name!r}, which is none of corpora:"
                f" {suggest_names(name, entries)}"
            )
    checked = check_corpora(entries)
    if mistakes := [*_list_unknown_names(checked)]:
        raise InputError("\n".join(mistakes))
    return [_make_corpus(name, checked) for name in names]


def _list_unknown_names(entries: Mapping[str, Entry]) -> Iterator[str]:
    """What is wrong with the layouts and corrections that entries name, chosen or not."""
    corrections = [path.stem for path in CORRECTIONS_DIR.glob("*.yaml")]
    for name, entry in entries.items():
        if entry.layout not in LAYOUTS:
            yield _describe_layout(name, entry)
        # A project without the folder has no use for corrections, until it chooses the corpus.
        if CORRECTIONS_DIR.is_dir() and entry.corrections not in (None, *corrections):
            yield (
                f"params.yaml: corpora.{name}.corrections: expected a file in {CORRECTIONS_DIR},"
                f" without its ending, or null, found {entry.corrections!r}:"
                f" {suggest_names(entry.corrections, corrections)}"
            )


def parse_corpus(
    name: str, entry: dict[str, Any], entries: Mapping[str, Any] | None = None
) -> Corpus:
    """The corpus that an entry of `corpora` in params.yaml describes; `entries` are all of them,
    since databases may be those of another.

    Raises:
        InputError: as `check_corpora`; on a layout that is not known.
    """
    return _make_corpus(name, check_corpora({**(entries or {}), name: entry}))


def _make_corpus(name: str, entries: Mapping[str, Entry]) -> Corpus:
    entry = entries[name]
    owner = entry.databases_of or name
    prefix = entry.prefix or ""
    return Corpus(
        name,
        entry.db_list if isinstance(entry.db_list, str) else tuple(entry.db_list),
        _find_layout(name, entry),
        entry.questions
        if isinstance(entry, HubEntry)
        else DirectoryQuestions(Path(entry.root), entry.questions),
        _place_databases(owner, entries[owner]),
        owner,
        database_prefix=entries[owner].prefix or "",
        id_prefix="" if owner == name else prefix,
        corrections=entry.corrections,
        fill_empty=entries[owner].fill_empty,
    )


def _find_layout(name: str, entry: Entry) -> Layout:
    if entry.layout not in LAYOUTS:
        raise InputError(_describe_layout(name, entry))
    return LAYOUTS[entry.layout]


def _describe_layout(name: str, entry: Entry) -> str:
    return (
        f"params.yaml: corpora.{name}.layout: expected one of {', '.join(LAYOUTS)}, found"
        f" {entry.layout!r}"
    )


def _place_databases(name: str, entry: Entry) -> DirectoryDatabases | HubDatabases:
    if isinstance(entry, HubEntry):
        place = entry.databases.place
        if entry.databases.kind == ARCHIVE:
            return HubDatabases(
                place.repo_id, place.revision, place.path, place.sha256, place.member
            )
        return HubDatabases(place.repo_id, place.revision, place.path, None, None)
    folders = entry.databases or _find_layout(name, entry).databases
    return DirectoryDatabases(Path(entry.root), tuple(folders))


def parse_limits(download: dict[str, Any]) -> Limits:
    """The limits that the section `download` of params.yaml sets."""
    return Limits(**download)


def read_spider() -> tuple[Corpus, Limits]:
    """Spider as params.yaml describes it, for calls outside the pipeline."""
    entry, download = read_params("corpora.spider", "download", path=PROJECT_PARAMS)
    return parse_corpus("spider", entry), parse_limits(download)


def suggest_names(name: str, known: Iterable[str]) -> str:
    """What to look at where a name is not known.

    >>> suggest_names("pets1", ["pets_1", "car_1"])
    'close to it: pets_1 (2 known)'
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return f"close to it: {', '.join(close)} ({len(names)} known)"
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f"known: {shown}" if names else "none is known"


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
