"""How the releases of corpora are laid out: a layout is what differs between them, by name.

To add one, add a Layout to LAYOUTS: docs/corpora.md shows how.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.corpus.corrections import CORRECTIONS_DIR
from answerkey.corpus.hub import Limits
from answerkey.errors import InputError
from answerkey.params import (
    ARCHIVE,
    Entry,
    HubEntry,
    HubQuestions,
    check_corpora,
    load_yaml,
    read_params,
)

SPIDER = "spider"  # where an entry names no layout
DIFFICULTY = "difficulty"  # how the record of where a question comes from names it
GRADING_METHOD = "grading_method"  # a rule of comparison, as in ReViSQL's BIRD-Verified

# What the pipeline itself writes of where a question comes from.
SOURCE_FIELDS = (
    *("corpus", "repo_id", "revision", "file", "index", "db_id", "correction"),
    DIFFICULTY,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of the fields of a row, and where databases lie.

    databases: the folders below the root that have ID/ID.sqlite or ID/schema.sql; a database is in
        one of them, and its train and validation may have one each.
    evidence: the field with what a question presupposes and its text does not say, if there is one.
        A row may lack it, or have null or blank text there.
    difficulty: the field with the corpus's own word for how difficult a question is, if there is
        one.
    kept: further fields that go into the record of where a question comes from, where a row has
        them: the corpus's own id, a grading_method.

    Raises:
        ValueError: where a kept field has the name of one that the pipeline writes.
    """

    question: str
    gold_sql: str
    databases: tuple[str, ...]
    db_id: str = "db_id"
    evidence: str | None = None
    difficulty: str | None = None
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if taken := sorted(set(self.kept) & set(SOURCE_FIELDS)):
            raise ValueError(f"Layout: kept has {taken[0]!r}, which the pipeline writes itself")

    @property
    def required(self) -> tuple[str, str, str]:
        """The fields that every row has as text: database, gold SQL, question."""
        return (self.db_id, self.gold_sql, self.question)

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields that a row may lack."""
        return (*filter(None, [self.evidence, self.difficulty]), *self.kept)


LAYOUTS = {
    # The release of Spider (Yu et al., 2018), and what was made in its image.
    SPIDER: Layout(
        question="question", gold_sql="query", databases=("database",), kept=(GRADING_METHOD,)
    ),
    # Spider-Syn (Gan et al., 2021): the words of a question replaced by synonyms.
    "spider_syn": Layout(
        question="SpiderSynQuestion",
        gold_sql="query",
        databases=("database",),
        kept=("SpiderQuestion", GRADING_METHOD),
    ),
    # The release of BIRD (Li et al., 2023); question_id and difficulty are those of its dev set.
    "bird": Layout(
        question="question",
        gold_sql="SQL",
        databases=("train_databases", "dev_databases"),
        evidence="evidence",
        difficulty="difficulty",
        kept=("question_id", GRADING_METHOD),
    ),
    # The release of SynSQL-2.5M (Li et al., 2025: OmniSQL). Its chains of thought are not kept.
    "synsql": Layout(
        question="question",
        gold_sql="sql",
        databases=("databases",),
        evidence="external_knowledge",
        difficulty="sql_complexity",
        kept=("question_style", GRADING_METHOD),
    ),
}


# A corpus as params describe it: where its questions and databases are, and how it names them.
#
# A database has one name, whichever corpora ask questions of it, and a question one id.


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


# The directories of corpora: what is wrong with one, and whether DVC watches it.


PIPELINE = Path("dvc.yaml")
_ROOT_OF_ENTRY = re.compile(r"\$\{corpora\.([\w-]+)\.root\}")
_SHOWN = 5


def describe_root(
    corpus: str, root: Path, missing: str, expected: Iterable[str], *, section: str
) -> str:
    """What is wrong with the root of a corpus that lacks a file or folder of its entry.

    There is no such directory; or it holds something else, and a directory in it would be the right
    one.
    """
    key = f"corpora.{corpus}.root"
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        found = f"The root of corpus {corpus} {what}: {root} ({key} in params.yaml)"
    else:
        names = sorted(path.name for path in root.iterdir())
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        found = (
            f"No {root / missing}: the root of corpus {corpus} has {shown or 'nothing'}"
            f" ({key} and .{section} in params.yaml)"
        )
        if inner := next((name for name in names if (root / name / missing).exists()), None):
            found += f"; {root / inner} has it: set that"
    return f"{found}; expected a directory with {', '.join(expected)}"


def check_roots(corpora: Iterable[Corpus], entries: Mapping[str, Any], *, stage: str) -> None:
    """Make sure that the root of each corpus is among the deps of a stage in dvc.yaml, or below one
    of them; nothing where there is no dvc.yaml, as where a stage runs without DVC.

    Raises:
        InputError: with the line to add.
    """
    if not PIPELINE.is_file():
        return
    deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
    tracked = {_resolve(dep, entries) for dep in deps}
    for name, root in _list_roots(corpora):
        place = root.absolute()
        if tracked.isdisjoint([place, *place.parents]):
            raise InputError(
                f"{PIPELINE}: DVC would not notice changes in {root}, the root of corpus {name}:"
                f' expected - "${{corpora.{name}.root}}" among deps of {stage}'
            )


def _resolve(dep: str, entries: Mapping[str, Any]) -> Path:
    found = _ROOT_OF_ENTRY.fullmatch(dep)
    root = entries.get(found[1], {}).get("root") if found else None
    return Path(root or dep).absolute()


def _list_roots(corpora: Iterable[Corpus]) -> list[tuple[str, Path]]:
    """The directories that corpora are read from, each with the entry that names it."""
    roots = []
    for corpus in corpora:
        if isinstance(corpus.questions, DirectoryQuestions):
            roots.append((corpus.name, corpus.questions.root))
        if isinstance(corpus.databases, DirectoryDatabases):
            roots.append((corpus.owner, corpus.databases.root))
    return roots
