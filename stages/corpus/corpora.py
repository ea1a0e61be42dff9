"""A corpus as params describe it: where its questions and databases are, and which are meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.corpus.databases import check_db_ids
from stages.corpus.hub import Limits
from stages.params import read_params

ALL = "all"  # db_list: every database that has questions
SOURCE_SPLITS = ("train", "validation")
PROJECT_PARAMS = Path(__file__).resolve().parents[2] / "params.yaml"

ARCHIVE, FILES = "archive", "files"  # kinds of databases on the hub


@dataclass(frozen=True, slots=True)
class DirectoryCorpus:
    """A directory in the layout of a Spider release; question files by source split."""

    name: str
    db_list: str | tuple[str, ...]
    root: Path
    question_files: dict[str, tuple[str, ...]]
    corrections: str | None = None

    @property
    def databases_dir(self) -> Path:
        return self.root / "database"


@dataclass(frozen=True, slots=True)
class HubCorpus:
    """Questions as parquet files of one dataset repository, databases in another: an archive with
    a `member` for each database, or (`member` is None) a file for each at `path`."""

    name: str
    db_list: str | tuple[str, ...]
    repo_id: str
    revision: str
    question_files: dict[str, tuple[str, ...]]
    sha256: dict[str, str]
    databases_repo_id: str
    databases_revision: str
    databases_path: str
    archive_sha256: str | None
    member: str | None
    corrections: str | None = None


Corpus = DirectoryCorpus | HubCorpus


def parse_corpus(name: str, entry: dict[str, Any]) -> Corpus:
    """The corpus that an entry of `corpora` in params.yaml describes.

    Raises:
        ValueError: naming the corpus and the key, where one is missing or has an unknown value.
    """
    try:
        return _parse_entry(name, entry)
    except KeyError as error:
        raise ValueError(
            f"params.yaml: corpora.{name}: expected a key {error.args[0]!r}"
        ) from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"params.yaml: corpora.{name}: {error}") from error


def _parse_entry(name: str, entry: dict[str, Any]) -> Corpus:
    db_list = entry["db_list"]
    if db_list != ALL:
        db_list = tuple(check_db_ids(db_list))
    questions, origin = entry["questions"], entry["origin"]
    corrections = _parse_corrections(entry)
    if origin == "directory":
        files = _parse_files(questions)
        return DirectoryCorpus(name, db_list, Path(entry["root"]), files, corrections)
    if origin != "hub":
        raise ValueError(f"origin is {origin!r}, expected 'directory' or 'hub'")
    question_files = _parse_files(questions["files"])
    sha256 = dict(questions.get("sha256") or {})
    if stray := set(sha256) - {path for paths in question_files.values() for path in paths}:
        raise ValueError(f"questions.sha256 lists {min(stray)}, which is none of its files")
    kind = entry["databases"]["kind"]
    if kind not in (ARCHIVE, FILES):
        raise ValueError(f"databases.kind is {kind!r}, expected {ARCHIVE!r} or {FILES!r}")
    databases = entry["databases"][kind]
    is_archive = kind == ARCHIVE
    template = databases["member" if is_archive else "path"]
    if "{db_id}" not in template:
        raise ValueError(f"databases.{kind}: expected {{db_id}} in {template!r}")
    return HubCorpus(
        name,
        db_list,
        questions["repo_id"],
        questions["revision"],
        question_files,
        sha256,
        databases["repo_id"],
        databases["revision"],
        databases["path"],
        databases["sha256"] if is_archive else None,
        template if is_archive else None,
        corrections,
    )


def _parse_corrections(entry: dict[str, Any]) -> str | None:
    name = entry.get("corrections")
    if name is not None and not (isinstance(name, str) and re.fullmatch(r"[\w-]+", name)):
        raise ValueError(f"corrections is {name!r}, expected a name in data/corrections, or null")
    return name


def _parse_files(files: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    if set(files) != set(SOURCE_SPLITS):
        raise ValueError(f"questions are given for {sorted(files)}, expected {SOURCE_SPLITS}")
    return {split: tuple(files[split]) for split in SOURCE_SPLITS}


def parse_limits(download: dict[str, Any]) -> Limits:
    """The limits that the section `download` of params.yaml sets."""
    return Limits(download["attempts"], download["backoff_s"], download["deadline_s"])


def read_spider() -> tuple[Corpus, Limits]:
    """Spider as params.yaml describes it, for calls outside the pipeline."""
    entry, download = read_params("corpora.spider", "download", path=PROJECT_PARAMS)
    return parse_corpus("spider", entry), parse_limits(download)


def list_local_databases(corpus: DirectoryCorpus) -> list[str]:
    """Names of the folders under `database`, sorted; none where there is no such directory."""
    if not corpus.databases_dir.is_dir():
        return []
    return sorted(path.name for path in corpus.databases_dir.iterdir() if path.is_dir())


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
