"""A corpus as params describe it: where its questions and databases are, and which are meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.params import read_params
from answerkey.corpus.databases import check_db_ids
from answerkey.corpus.hub import Limits
from answerkey.corpus.layouts import LAYOUTS, SPIDER, Layout

ALL = "all"  # db_list: every database that has questions
SOURCE_SPLITS = ("train", "validation")
PROJECT_PARAMS = Path(__file__).resolve().parents[2] / "params.yaml"

DIRECTORY, HUB = "directory", "hub"  # origins
ARCHIVE, FILES = "archive", "files"  # kinds of databases on the hub

_REQUIRED = {"origin", "db_list", "questions"}
_OPTIONAL = {"layout", "root", "databases", "databases_of", "prefix", "license", "corrections"}


@dataclass(frozen=True, slots=True)
class DirectoryQuestions:
    """Files below a directory, by source split."""

    root: Path
    files: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class HubQuestions:
    """Parquet files of a dataset repository, by source split; checksums of those that have one."""

    repo_id: str
    revision: str
    files: dict[str, tuple[str, ...]]
    sha256: dict[str, str]


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

    def name_database(self, db_id: str) -> str:
        """The name of a database in the dataset."""
        return self.database_prefix + db_id


def parse_corpora(chosen: str | list[str], entries: Mapping[str, Any]) -> list[Corpus]:
    """The corpora that `corpus` in params.yaml names, one or a list of several, in its order.

    Raises:
        InputError: where it names one twice, or one that is no entry; as `parse_corpus`.
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
    return [parse_corpus(name, entries[name], entries) for name in names]


def parse_corpus(
    name: str, entry: dict[str, Any], entries: Mapping[str, Any] | None = None
) -> Corpus:
    """The corpus that an entry of `corpora` in params.yaml describes; `entries` are all of them,
    since databases may be those of another.

    Raises:
        InputError: naming the corpus and the key, where one is missing or has an unknown value.
    """
    try:
        return _parse_entry(name, entry, entries or {})
    except KeyError as error:
        raise InputError(
            f"params.yaml: corpora.{name}: expected a key {error.args[0]!r}"
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"params.yaml: corpora.{name}: {error}") from error


def _parse_entry(name: str, entry: dict[str, Any], entries: Mapping[str, Any]) -> Corpus:
    if unknown := sorted(set(entry) - _REQUIRED - _OPTIONAL):
        known = ", ".join(sorted(_REQUIRED | _OPTIONAL))
        raise InputError(f"unknown key {unknown[0]!r}, expected some of: {known}")
    db_list = entry["db_list"]
    if db_list != ALL:
        if not isinstance(db_list, list):
            raise InputError(f"db_list is {db_list!r}, expected a list of databases, or {ALL}")
        db_list = tuple(check_db_ids(db_list))
    _parse_text(entry, "license")
    layout = _parse_layout(entry)
    questions = _parse_questions(entry)
    corrections, prefix = _parse_corrections(entry), _parse_prefix(entry)
    other = entry.get("databases_of")
    if other is None:
        databases = _parse_databases(entry, layout)
        return Corpus(
            name, db_list, layout, questions, databases, name, prefix, corrections=corrections
        )
    if "databases" in entry:
        raise InputError("has databases and databases_of: expected one of them")
    if other not in entries or entries[other].get("databases_of") is not None:
        raise InputError(f"databases_of is {other!r}, expected an entry with databases of its own")
    owner = parse_corpus(other, entries[other])
    return Corpus(
        name,
        db_list,
        layout,
        questions,
        owner.databases,
        other,
        owner.database_prefix,
        prefix,
        corrections,
    )


def _parse_layout(entry: dict[str, Any]) -> Layout:
    name = entry.get("layout", SPIDER)
    if name not in LAYOUTS:
        raise InputError(f"layout is {name!r}, expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]


def _parse_prefix(entry: dict[str, Any]) -> str:
    prefix = entry.get("prefix")
    if prefix is None:
        return ""
    if not isinstance(prefix, str) or not re.fullmatch(r"[A-Za-z0-9_-]+", prefix):
        raise InputError(
            f"prefix is {prefix!r}, expected letters, digits, _ and -, such as 'bird_', or null"
        )
    return prefix


def _parse_text(entry: dict[str, Any], key: str) -> str | None:
    text = entry.get(key)
    if text is not None and (not isinstance(text, str) or not text):
        raise InputError(f"{key} is {text!r}, expected a text, or null")
    return text


def _check_texts(section: str, values: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if not isinstance(values[key], str) or not values[key]:
            raise InputError(f"{section}.{key} is {values[key]!r}, expected a text, in quotes")


def _parse_root(entry: dict[str, Any]) -> Path:
    root = _parse_text(entry, "root")
    if root is None:
        raise InputError("root is missing: expected the directory that the files are below")
    return Path(root)


def _parse_questions(entry: dict[str, Any]) -> DirectoryQuestions | HubQuestions:
    questions, origin = entry["questions"], entry["origin"]
    if origin == DIRECTORY:
        return DirectoryQuestions(_parse_root(entry), _parse_files(questions))
    if origin != HUB:
        raise InputError(f"origin is {origin!r}, expected {DIRECTORY!r} or {HUB!r}")
    files = _parse_files(questions["files"])
    sha256 = dict(questions.get("sha256") or {})
    _check_texts("questions", questions, "repo_id", "revision")
    _check_texts("questions.sha256", sha256, *sha256)
    if stray := set(sha256) - {path for paths in files.values() for path in paths}:
        raise InputError(f"questions.sha256 lists {min(stray)}, which is none of its files")
    return HubQuestions(questions["repo_id"], questions["revision"], files, sha256)


def _parse_databases(entry: dict[str, Any], layout: Layout) -> DirectoryDatabases | HubDatabases:
    if entry["origin"] == DIRECTORY:
        folders = entry.get("databases", list(layout.databases))
        if not isinstance(folders, list) or not folders:
            raise InputError(f"databases is {folders!r}, expected a list of folders below root")
        for folder in map(PurePosixPath, folders):
            if folder.is_absolute() or ".." in folder.parts:
                raise InputError(f"databases has {str(folder)!r}, expected a folder below root")
        return DirectoryDatabases(_parse_root(entry), tuple(folders))
    kind = entry["databases"]["kind"]
    if kind not in (ARCHIVE, FILES):
        raise InputError(f"databases.kind is {kind!r}, expected {ARCHIVE!r} or {FILES!r}")
    databases = entry["databases"][kind]
    is_archive = kind == ARCHIVE
    template = databases["member" if is_archive else "path"]
    _check_texts(f"databases.{kind}", databases, "repo_id", "revision", "path")
    if is_archive and databases["sha256"] is not None:
        _check_texts("databases.archive", databases, "sha256")
    if "{db_id}" not in template:
        raise InputError(f"databases.{kind}: expected {{db_id}} in {template!r}")
    return HubDatabases(
        databases["repo_id"],
        databases["revision"],
        databases["path"],
        databases["sha256"] if is_archive else None,
        template if is_archive else None,
    )


def _parse_corrections(entry: dict[str, Any]) -> str | None:
    name = entry.get("corrections")
    if name is not None and not (isinstance(name, str) and re.fullmatch(r"[\w-]+", name)):
        raise InputError(f"corrections is {name!r}, expected a name in data/corrections, or null")
    return name


def _parse_files(files: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(files, dict) or set(files) != set(SOURCE_SPLITS):
        found = sorted(files) if isinstance(files, dict) else files
        raise InputError(f"questions are given for {found}, expected {' and '.join(SOURCE_SPLITS)}")
    for split, names in files.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"questions.{split} is {names!r}, expected a list of files, or []")
    return {split: tuple(files[split]) for split in SOURCE_SPLITS}


def parse_limits(download: dict[str, Any]) -> Limits:
    """The limits that the section `download` of params.yaml sets."""
    return Limits(download["attempts"], download["backoff_s"], download["deadline_s"])


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
