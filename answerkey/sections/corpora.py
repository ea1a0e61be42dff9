"""The sections that say which questions and databases to read, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated, Any

from answerkey.base.kinds import (
    Kind,
    NumberFrom0,
    Text,
    Whole,
    check_value,
    listing,
    mapping,
    one_of,
    text,
)
from answerkey.engines.names import ENGINES, SQLITE
from answerkey.engines.settings import DEFAULTS
from answerkey.engines.sqlite.clock import EXPECTED_INSTANT, read_instant
from answerkey.engines.sqlite.files import check_db_ids, find_inside

ALL = "all"  # db_list: every database that has questions
SOURCE_SPLITS = TRAIN, VALIDATION = ("train", "validation")
ORIGINS = DIRECTORY, HUB = ("directory", "hub")
KINDS = ARCHIVE, FILES = ("archive", "files")  # of databases on the hub
SPLIT_BY = SOURCE, DATABASE, QUERY = ("source", "database", "query")


@dataclass(frozen=True, slots=True)
class Download:
    """deadline_s: how long to wait for one file of the hub."""

    deadline_s: NumberFrom0 = 900


@dataclass(frozen=True, slots=True)
class LoadQuestions:
    """held_out: corpora. A question that is in their validation files gets the flag overlap."""

    held_out: Annotated[list[str], listing("a list of corpora", Text)] | None = None


def _check_db_list(db_list: str | list[str]) -> str | list[str]:
    if db_list == ALL:
        return ALL
    if not db_list:
        raise ValueError(f"No database is listed: expected at least one id, or {ALL}")
    return check_db_ids(db_list)


def _order_splits(files: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {split: files.get(split, []) for split in SOURCE_SPLITS}


DbList = Annotated[
    str | list[str],
    Kind(
        f"a list of databases, or {ALL}",
        lambda value: value == ALL or isinstance(value, list),
        finish=_check_db_list,
    ),
]
Quoted = Annotated[str, text("a text, in quotes")]
SplitFiles = Annotated[
    dict[str, list[str]],
    mapping(
        "a list of files for train, one for validation, or both",
        listing("a list of files, or []", Text),
        keys=SOURCE_SPLITS,
        finish=_order_splits,
    ),
]
Folders = Annotated[list[str], listing("a list of folders below root", Text, least=1)]
Prefix = Annotated[
    str, text("letters, digits, _ and -, such as 'bird_'", pattern=r"^[A-Za-z0-9_-]+\Z")
]
Corrections = Annotated[str, text("a name in data/corrections", pattern=r"^[\w-]+\Z")]
Instant = Annotated[str, Kind(EXPECTED_INSTANT, lambda _: True, finish=read_instant)]
Template = Annotated[str, text("a text with {db_id}", pattern=r"\{db_id\}")]
SETTING_NAMES = tuple(dict.fromkeys(chain.from_iterable(DEFAULTS.values())))
Settings = Annotated[
    dict[str, str],
    mapping(
        f"some of {', '.join(SETTING_NAMES)}",
        text("a text of one line", pattern=r"^[^\x00-\x1f]+\Z"),
        keys=SETTING_NAMES,
    ),
]
PartShare = Annotated[
    float, Kind("a share between 0 and 1", lambda value: type(value) is float and 0 < value < 1)
]
Checksums = Annotated[dict[str, str], mapping("a checksum for each of some files", Quoted)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubQuestions:
    """Parquet files of a dataset repository, by source split, with checksums if they are known."""

    repo_id: Quoted
    revision: Quoted
    files: SplitFiles
    sha256: Checksums = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """A zip file with a member for each database; sha256 is null if it is unknown."""

    repo_id: Quoted
    revision: Quoted
    path: Text
    sha256: Quoted | None
    member: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFiles:
    repo_id: Quoted
    revision: Quoted
    path: Template


@dataclass(frozen=True, slots=True, kw_only=True)
class HubDatabases:
    """Databases on the hub, at the place that `kind` names; the other place is an alternative."""

    kind: Annotated[str, one_of(KINDS)]
    archive: Archive | None = None
    files: DatabaseFiles | None = None

    def __post_init__(self) -> None:
        _ = self.place  # raises if it is missing

    @property
    def place(self) -> Archive | DatabaseFiles:
        place = self.archive if self.kind == ARCHIVE else self.files
        if place is None:
            raise ValueError(f"kind is {self.kind}: expected a key {self.kind}")
        return place


_EVAL_SHARE, _SEED = 0.3, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """How questions are divided into train and eval.

    by: source, as the files of questions say, also if there is only one database; database or
        query: a share of the databases or of the queries is eval, whatever the files say. Queries
        that differ only in constants are one. With source and query, a database may be in both
        splits, and a question of eval that repeats one of train gets the flag seen_in_train.
    eval_share: about this share. Each is drawn by its own hash, so that none moves if others are
        added.
    seed: another seed draws others.
    """

    by: Annotated[str, one_of(SPLIT_BY)]
    eval_share: PartShare = _EVAL_SHARE
    seed: Whole = _SEED

    def __post_init__(self) -> None:
        if self.by == SOURCE and (self.eval_share, self.seed) != (_EVAL_SHARE, _SEED):
            raise ValueError(
                "by: source keeps the split of the files: expected eval_share and seed with"
                f" {DATABASE} or {QUERY} alone"
            )

    @property
    def lets_databases_cross(self) -> bool:
        return self.by != DATABASE


def list_crossing(entries: Mapping[str, Entry]) -> frozenset[str]:
    """Return the corpora whose databases may be in both splits."""
    return frozenset(
        name
        for name, entry in entries.items()
        if entry.split is not None and entry.split.lets_databases_cross
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """
    db_list: the databases to use; all: every one that has questions.
    layout: a name in `answerkey.corpus.corpora`.
    databases_of: the entry whose databases it uses; null: its own.
    prefix: the prefix of the names of its databases, or of its question ids if the databases are
        another entry's.
    license: the hub's identifier, for the dataset card.
    language: of its questions, as the hub names it.
    citation: BibTeX, for the dataset card.
    corrections: the name of a file in data/corrections.
    split: null: as the files of questions say, and no database is in both splits.
    now: the time of the clock in all queries on its databases; null: queries that read it are left
        out.
    engine: of its databases, and of the SQL of its questions.
    settings: of sessions on its databases; those that are missing have the defaults of their
        engine (`answerkey.engines.settings`).
    """

    origin: Annotated[str, one_of(ORIGINS)]
    db_list: DbList
    layout: Text = "spider"
    databases_of: Text | None = None
    prefix: Prefix | None = None
    license: Text | None = None
    language: Text = "en"
    citation: Text | None = None
    corrections: Corrections | None = None
    split: SplitRule | None = None
    now: Instant | None = None
    engine: Annotated[str, one_of(ENGINES)] = SQLITE
    settings: Settings | None = None

    def _check_engine(self) -> None:
        known = DEFAULTS[self.engine]
        unknown = [name for name in self.settings or () if name not in known]
        if unknown and not known:
            others = " or ".join(engine for engine in ENGINES if DEFAULTS[engine])
            raise ValueError(
                f"has settings, and databases of {self.engine} have none: expected them with"
                f" engine: {others}"
            )
        if unknown:
            raise ValueError(
                f"settings: databases of {self.engine} have no {' and no '.join(unknown)}: expected"
                f" some of {', '.join(known)}"
            )

    def _check_owner(self, databases: Any) -> None:
        if databases is not None and self.databases_of is not None:
            raise ValueError("has databases and databases_of: expected one of them")
        for key, is_given in (
            ("engine", self.engine != SQLITE),
            ("settings", self.settings is not None),
        ):
            if is_given and self.databases_of is not None:
                raise ValueError(
                    f"has {key} and databases_of: expected {key} in the entry {self.databases_of},"
                    " which has the databases"
                )
        if self.now is not None and self.databases_of is not None:
            raise ValueError(
                f"has now and databases_of: expected now in the entry {self.databases_of}, for all"
                " queries on its databases"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryEntry(_Entry):
    """databases: the folders of databases, if they differ from those of its layout."""

    root: Text
    questions: SplitFiles
    databases: Folders | None = None

    def __post_init__(self) -> None:
        self._check_engine()
        self._check_owner(self.databases)
        for path in chain(self.databases or (), *self.questions.values()):
            if PurePosixPath(path).parts:  # "." is the root
                find_inside(self.root, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubEntry(_Entry):
    questions: HubQuestions
    databases: HubDatabases | None = None

    def __post_init__(self) -> None:
        if self.engine != SQLITE or self.settings is not None:
            raise ValueError(
                "has engine or settings: databases on the hub are files of SQLite: expected origin:"
                f" {DIRECTORY} for those of another engine"
            )
        self._check_owner(self.databases)
        if self.databases is None and self.databases_of is None:
            raise ValueError("no key databases: expected it, or databases_of")


Entry = DirectoryEntry | HubEntry


def _find_kind(entry: Any) -> type | Kind:
    """Return the section for an entry, by its origin, or by its keys if the origin is wrong."""
    if isinstance(entry, Entry):
        return type(entry)
    if not isinstance(entry, dict):
        return Kind("origin", lambda _: False)
    origin = entry.get("origin")
    is_hub = origin == HUB if origin in ORIGINS else "root" not in entry
    return HubEntry if is_hub else DirectoryEntry


def _check_owners(entries: dict[str, Entry]) -> dict[str, Entry]:
    for name, entry in entries.items():
        owner = entry.databases_of
        if owner is not None and (owner not in entries or entries[owner].databases_of is not None):
            raise ValueError(
                f"corpora.{name}.databases_of: expected an entry with databases of its own, found"
                f" {owner!r}"
            )
    return entries


Corpora = Annotated[
    dict[str, Entry],
    mapping(
        "an entry for each corpus",
        Kind("", lambda _: True, choose=_find_kind),
        finish=_check_owners,
    ),
]


def check_corpora(entries: Mapping[str, Any]) -> dict[str, Entry]:
    checked: dict[str, Entry] = check_value(Corpora, dict(entries), key="corpora")
    return checked
