"""What an entry of `corpora` in params.yaml may hold: where its questions and databases are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from answerkey.core.database_ids import check_db_ids, find_inside
from answerkey.core.param_types import OptionalText, Text, expect

ALL = "all"  # db_list: every database that has questions
SOURCE_SPLITS = TRAIN, VALIDATION = ("train", "validation")
ORIGINS = DIRECTORY, HUB = ("directory", "hub")
KINDS = ARCHIVE, FILES = ("archive", "files")  # of databases on the hub

_section = dataclass(config=ConfigDict(extra="forbid"), frozen=True, slots=True, kw_only=True)


def _check_db_list(db_list: Any) -> str | list[str]:
    if db_list == ALL:
        return ALL
    if not isinstance(db_list, list):
        raise ValueError(f"expected a list of databases, or {ALL}, found {db_list!r}")
    if not db_list:
        raise ValueError(f"No database is listed: expected at least one id, or {ALL}")
    return check_db_ids(db_list)


def _order_splits(files: Mapping[str, list[str]]) -> dict[str, list[str]]:
    if not files:
        raise ValueError
    return {split: files.get(split, []) for split in SOURCE_SPLITS}


def _pattern(pattern: str) -> Any:
    return Field(strict=True, pattern=pattern)


_DbList = Annotated[Any, BeforeValidator(_check_db_list)]
_Quoted = Annotated[str, Field(strict=True, min_length=1), expect("a text, in quotes")]
_SplitFiles = Annotated[
    dict[Literal[*SOURCE_SPLITS], Annotated[list[Text], expect("a list of files, or []")]],
    AfterValidator(_order_splits),
    expect("a list of files for train, one for validation, or both"),
]
_Folders = Annotated[
    list[Text],
    Field(min_length=1),
    expect("a list of folders below root"),
]
_Prefix = Annotated[
    str | None,
    _pattern("^[A-Za-z0-9_-]+$"),
    expect("letters, digits, _ and -, such as 'bird_', or null"),
]
_Corrections = Annotated[
    str | None, _pattern(r"^[\w-]+$"), expect("a name in data/corrections, or null")
]
_FillEmpty = Annotated[
    int | None, Field(strict=True, ge=1, le=250), expect("a whole number from 1 to 250, or null")
]
_Template = Annotated[str, _pattern(r"\{db_id\}"), expect("a text with {db_id}")]
_Checksums = Annotated[
    dict[str, _Quoted],
    BeforeValidator(lambda value: {} if value is None else value),
    expect("a checksum for each of some files"),
]


@_section
class HubQuestions:
    """Parquet files of a dataset repository, by source split; checksums of those that have one."""

    repo_id: _Quoted
    revision: _Quoted
    files: _SplitFiles
    sha256: _Checksums = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_checksums(self) -> HubQuestions:
        if stray := set(self.sha256).difference(*self.files.values()):
            raise ValueError(f"sha256 lists {min(stray)}, which is none of its files")
        return self


@_section
class Archive:
    """A zip file with a member for each database; sha256 is null where it is not known."""

    repo_id: _Quoted
    revision: _Quoted
    path: Text
    sha256: Annotated[str | None, Field(min_length=1), expect("a text, in quotes, or null")]
    member: _Template


@_section
class DatabaseFiles:
    """A file for each database."""

    repo_id: _Quoted
    revision: _Quoted
    path: _Template


@_section
class HubDatabases:
    """Databases on the hub: those that `kind` says; the other section is there to be chosen."""

    kind: Annotated[Literal[*KINDS], expect("archive or files")]
    archive: Archive | None = None
    files: DatabaseFiles | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> HubDatabases:
        if self.place is None:
            raise ValueError(f"kind is {self.kind}: expected a key {self.kind}")
        return self

    @property
    def place(self) -> Archive | DatabaseFiles:
        return self.archive if self.kind == ARCHIVE else self.files


@dataclass(config=ConfigDict(extra="ignore"))
class Origin:
    """What decides which other keys an entry may have."""

    origin: Annotated[Literal[*ORIGINS], expect("directory or hub")]


@_section
class _Entry:
    """What entries of both origins hold.

    db_list: the databases to use; all: every one that has questions.
    layout: a name in `answerkey.corpus.layouts`.
    databases_of: the entry whose databases are asked; null: it has its own.
    prefix: what stands before the names of its databases, or, where they are another entry's,
        before its question ids.
    license: the hub's identifier, for the dataset card.
    language: of its questions, as the hub names it.
    citation: BibTeX, for the dataset card.
    corrections: the name of a file in data/corrections.
    fill_empty: about how many rows each table of its databases must have; null: those that it has.
    """

    db_list: _DbList
    layout: Text = "spider"
    databases_of: OptionalText = None
    prefix: _Prefix = None
    license: OptionalText = None
    language: Text = "en"
    citation: OptionalText = None
    corrections: _Corrections = None
    fill_empty: _FillEmpty = None

    def _check_owner(self, databases: Any) -> None:
        if self.fill_empty is not None and self.databases_of is not None:
            raise ValueError(f"has fill_empty and databases_of: set it for {self.databases_of}")
        if databases is not None and self.databases_of is not None:
            raise ValueError("has databases and databases_of: expected one of them")


@_section
class DirectoryEntry(_Entry):
    """A corpus in a directory; databases: the folders that hold them, if other than those of its
    layout."""

    origin: Literal[DIRECTORY]
    root: Text
    questions: _SplitFiles
    databases: _Folders | None = None

    @model_validator(mode="after")
    def _check_databases(self) -> DirectoryEntry:
        self._check_owner(self.databases)
        for path in chain(self.databases or (), *self.questions.values()):
            if PurePosixPath(path).parts:  # "." is the root
                find_inside(self.root, path)
        return self


@_section
class HubEntry(_Entry):
    """A corpus on the Hugging Face hub."""

    origin: Literal[HUB]
    questions: HubQuestions
    databases: HubDatabases | None = None

    @model_validator(mode="after")
    def _check_databases(self) -> HubEntry:
        self._check_owner(self.databases)
        if self.databases is None and self.databases_of is None:
            raise ValueError("no key databases: expected it, or databases_of")
        return self


Entry = DirectoryEntry | HubEntry
ENTRIES = {DIRECTORY: DirectoryEntry, HUB: HubEntry}


def list_wrong_owners(entries: Mapping[str, Entry], names: Iterable[str]) -> list[str]:
    """The entries, of all `names`, whose `databases_of` names no entry with databases of its own.

    An owner with mistakes of its own, which is a name without an entry, is not looked at.
    """
    return [
        name
        for name, entry in entries.items()
        if (owner := entry.databases_of) is not None
        and (owner not in names or (owner in entries and entries[owner].databases_of is not None))
    ]
