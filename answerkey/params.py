"""What a value of params.yaml may be, each kind with the words that say so."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args, get_type_hints

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic.dataclasses import dataclass

from answerkey.errors import InputError
from answerkey.records import DIFFICULTIES, HARDNESS_LEVELS, read_share
from answerkey.sqlite.files import check_db_ids, find_inside

METHODS = TABLES, SPIDER, SOURCE, PASS_RATE = ("tables", "spider", "source", "pass_rate")
SCOPES = DATASET, SPLIT = ("dataset", "split")


class Policy(StrEnum):
    """What params may say of a flag."""

    EXCLUDE = "exclude"
    FLAG = "flag"
    ACCEPT_TIES = "accept_ties"
    OFF = "off"


TIE_FLAGS = ("tie_at_limit", "limit_without_order")  # which alone may be accept_ties


def expect(words: str) -> WrapValidator:
    """Say in these words what a value may be; a value within it has words of its own."""

    def check(value: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            places = [details["loc"] for details in error.errors()]
            if all(place and place[-1] != "[key]" for place in places):
                raise
        raise ValueError(f"expected {words}, found {value!r}{_explain_text(value)}")

    return WrapValidator(check)


def _explain_text(value: Any) -> str:
    """What to write where YAML takes a number for text, as it does 1e-6."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    written = int(number) if number.is_integer() else number
    return f", a text for YAML: write {yaml.safe_dump(written).split()[0]}"


def _expect_word(words: Iterable[str]) -> WrapValidator:
    """Say which words a value may be."""
    *first, last = words
    return expect(f"{', '.join(first)} or {last}")


def _check_names(names: Iterable[str]) -> AfterValidator:
    """All of these keys, of which a mapping has some."""

    def check(values: Mapping[str, Any]) -> Mapping[str, Any]:
        if missing := [name for name in names if name not in values]:
            raise ValueError(f"no {missing[0]}")
        return values

    return AfterValidator(check)


def _check_flags(policies: Any) -> Any:
    if not isinstance(policies, Mapping):
        raise ValueError(f"expected one policy for each flag, found {policies!r}")
    # By its name: an import is a dep of every stage, and a flag's sentence is read by few of them.
    flags = importlib.import_module("answerkey.flags").FLAGS
    unknown = sorted(str(name) for name in policies if name not in flags)
    missing = sorted(flags.keys() - policies.keys())
    if unknown or missing:
        raise ValueError(
            "expected one policy for each flag;"
            f" unknown: {', '.join(unknown) or 'none'}; missing: {', '.join(missing) or 'none'}"
        )
    return policies


def _check_ties(policies: Mapping[str, Policy]) -> Mapping[str, Policy]:
    for flag, policy in policies.items():
        if policy is Policy.ACCEPT_TIES and flag not in TIE_FLAGS:
            raise ValueError(
                f"{flag}: expected exclude, flag or off, found accept_ties, which only"
                f" {' and '.join(TIE_FLAGS)} may be"
            )
    return policies


def _check_corpus(corpus: Any) -> Any:
    names = [corpus] if isinstance(corpus, str) else corpus
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ValueError(f"expected a name, or a list of names, found {corpus!r}")
    return corpus


def _check_sum(shares: Mapping[str, float]) -> Mapping[str, float]:
    total = sum(map(read_share, shares.values()))
    if total != 1:
        raise ValueError(f"expected a sum of 1, found {float(total):g}: {dict(shares)}")
    return shares


Whole = Annotated[int, Field(strict=True), expect("a whole number")]
From0 = Annotated[int, Field(strict=True, ge=0), expect("a whole number from 0")]
From1 = Annotated[int, Field(strict=True, ge=1), expect("a whole number from 1")]
FromMillion = Annotated[
    int, Field(strict=True, ge=1_000_000), expect("a whole number from 1000000")
]
NumberFrom0 = Annotated[
    float, Field(strict=True, ge=0, allow_inf_nan=False), expect("a number from 0")
]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1), expect("a number from 0 to 1")]
Share = Annotated[float, Field(strict=True, ge=0, le=1), expect("a share from 0 to 1")]
Text = Annotated[str, Field(strict=True, min_length=1), expect("a text")]
OptionalText = Annotated[str | None, Field(strict=True, min_length=1), expect("a text, or null")]
Names = Annotated[
    list[Annotated[str, Field(strict=True, min_length=1)]] | None,
    expect("a list of corpora, or null"),
]
RepoId = Annotated[
    str,
    Field(strict=True, pattern=r"^[\w.-]+/[\w.-]+$"),
    expect("a repository of the hub, such as org/name"),
]
Version = Annotated[
    str, Field(strict=True, pattern=r"^\d+\.\d+\.\d+$"), expect("a version, such as 1.0.0")
]
Date = Annotated[
    str,
    Field(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$"),
    expect('a date in quotes, such as "2026-11-23"'),
]
Policies = Annotated[
    dict[
        str,
        Annotated[
            Policy,
            BeforeValidator(lambda value: "off" if value is False else value),  # a bare off in YAML
            expect(f"exclude, flag or off, or accept_ties for {' and '.join(TIE_FLAGS)}"),
        ],
    ],
    BeforeValidator(_check_flags),
    AfterValidator(_check_ties),
]
Method = Annotated[Literal[*METHODS], _expect_word(METHODS)]
Engine = Annotated[Literal["local", "ray"], expect("local or ray")]
Corpus = Annotated[Any, BeforeValidator(_check_corpus)]
Corpora = Annotated[dict[str, Any], expect("an entry for each corpus")]
_Level = Annotated[Literal[*DIFFICULTIES], _expect_word(DIFFICULTIES)]
HardnessLevels = Annotated[
    dict[Literal[*HARDNESS_LEVELS], _Level],
    _check_names(HARDNESS_LEVELS),
    expect(f"a difficulty for each of {', '.join(HARDNESS_LEVELS)}"),
]
SourceLevels = Annotated[dict[Text, _Level], expect(f"a mapping to {', '.join(DIFFICULTIES)}")]
DifficultyShares = Annotated[
    dict[Literal[*DIFFICULTIES], Share],
    _check_names(DIFFICULTIES),
    expect(f"{', '.join(DIFFICULTIES)}, or null"),
    AfterValidator(_check_sum),
]
Scope = Annotated[Literal[*SCOPES], expect("dataset or split")]
CorpusShares = Annotated[
    dict[Annotated[str, Field(strict=True, min_length=1)], Share],
    Field(min_length=1),
    expect("a share for each corpus, as in {spider: 0.5, bird: 0.5}, or null"),
    AfterValidator(_check_sum),
]


# The sections of params.yaml, and the keys of each. A new key is added here.
#
# A wrong value, or a key that no stage reads, is an error. Otherwise it would be seen in the
# dataset, or not at all. What an entry of `corpora` may hold stands in
# `answerkey.params`.


_section = dataclass(config=ConfigDict(extra="forbid"), frozen=True, slots=True)


@_section
class Download:
    attempts: From1
    backoff_s: NumberFrom0
    deadline_s: NumberFrom0


@_section
class Execution:
    engine: Engine
    workers: From0
    databases_url: OptionalText
    max_warnings: From0


@_section
class ComputeGoldAnswers:
    max_steps: From1
    max_rows: From1
    max_value_bytes: From1
    max_answer_bytes: From1
    max_heap_bytes: From1
    max_seconds: From1


@_section
class AuditGoldAnswers:
    max_rows: From0
    max_bytes: From0
    rel_tol: NumberFrom0
    reordered_copies: From0
    max_copied_bytes: From0


@_section
class GenerateTestSuites:
    seed: Whole
    max_rows: From1
    pool: From1
    max_databases: From1
    max_databases_per_question: From1
    max_neighbors: From1
    min_mutation_score: Ratio


@_section
class ScoreRollouts:
    min_rollouts: From1


@_section
class CompareQuestions:
    min_similarity: Ratio
    held_out: Names
    min_gold_risk: Ratio
    flag_precision: Text


@_section
class ClassifyDifficulty:
    """How questions are classified.

    method: tables, by the thresholds; spider, by the official hardness; source, by what the corpus
        itself says of a question; pass_rate, by the share of its rollouts that are right. Where
        nothing is known of that, by the thresholds of tables.
    hardness_levels: a difficulty for each level of hardness.
    source_levels: a difficulty for each word of a corpus.
    easy_min_pass_rate, medium_min_pass_rate: from which share on a question is easy, and medium.
    """

    method: Method
    easy_max_tables: From0
    medium_max_tables: From0
    hardness_levels: HardnessLevels
    source_levels: SourceLevels
    easy_min_pass_rate: Ratio = 0.75
    medium_min_pass_rate: Ratio = 0.25

    @model_validator(mode="after")
    def _check_thresholds(self) -> ClassifyDifficulty:
        if self.easy_max_tables > self.medium_max_tables:
            raise ValueError(
                "expected easy_max_tables <= medium_max_tables, found"
                f" {self.easy_max_tables} and {self.medium_max_tables}"
            )
        if self.easy_min_pass_rate < self.medium_min_pass_rate:
            raise ValueError(
                "expected easy_min_pass_rate >= medium_min_pass_rate, found"
                f" {self.easy_min_pass_rate} and {self.medium_min_pass_rate}"
            )
        return self


@_section
class Targets:
    """What a selection must meet; None: no such constraint.

    difficulty_shares: share of each difficulty; they add up to 1.
    difficulty_shares_of: dataset, of train and eval together; split, of each of them.
    corpus_shares: share of each corpus in each split; they add up to 1.
    eval_share: share of eval among all.
    tolerance: how far a share may be off (0.02: two points).
    """

    difficulty_shares: DifficultyShares | None = None
    difficulty_shares_of: Scope = DATASET
    corpus_shares: CorpusShares | None = None
    eval_share: Share | None = None
    tolerance: Share = 0.0
    min_questions: From0 | None = None
    max_questions: From0 | None = None
    max_per_database: From0 | None = None
    max_answer_type_share: Share | None = None

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora that have a share, sorted: their order in params changes nothing."""
        return tuple(sorted(self.corpus_shares or ()))

    def check_corpora(self, corpus: str | list[str]) -> None:
        """Make sure that each corpus of params has a share, if any has, and no other one does.

        Raises:
            InputError: with both lists.
        """
        expected = sorted({corpus} if isinstance(corpus, str) else set(corpus))
        if self.corpus_shares is not None and list(self.corpora) != expected:
            raise InputError(
                "select_questions.targets.corpus_shares: expected a share for each of the corpora"
                f" {', '.join(expected)}, found {', '.join(self.corpora)}:"
                " every corpus of `corpus` needs one, which may be 0"
            )


@_section
class SelectQuestions:
    seed: Whole
    policies: Policies
    targets: Targets
    max_per_canonical_sql: From1 | None


@_section
class Reward:
    """What the reward is told of every question.

    max_steps: the most virtual machine steps of a prediction, however many gold SQL takes.
    rule: by which answers are compared, where the corpus names no rule.
    """

    max_steps: FromMillion
    rule: Text


@_section
class ValidateDataset:
    rel_tol: NumberFrom0


@_section
class ExportTrainers:
    prompt_template: Text
    example_rows: From0
    max_schema_characters: From0


@_section
class ExportHuggingface:
    """What the dataset card says beside what the run found.

    repo_id: the repository on the hub that the card's snippets name.
    version, date_published: of this dataset, for Croissant.
    max_packed_bytes: databases, or those of test suites, that together are larger stay out.
    """

    repo_id: RepoId
    version: Version
    date_published: Date
    max_packed_bytes: From0


@_section
class ReportDataset:
    max_rows: From0
    max_answer_characters: From1


@_section
class Params:
    """The whole file."""

    corpus: Corpus
    corpora: Corpora
    download: Download
    execution: Execution
    compute_gold_answers: ComputeGoldAnswers
    audit_gold_answers: AuditGoldAnswers
    generate_test_suites: GenerateTestSuites
    score_rollouts: ScoreRollouts
    compare_questions: CompareQuestions
    classify_difficulty: ClassifyDifficulty
    select_questions: SelectQuestions
    reward: Reward
    validate_dataset: ValidateDataset
    export_trainers: ExportTrainers
    export_huggingface: ExportHuggingface
    report_dataset: ReportDataset

    @model_validator(mode="after")
    def _check_corpus_shares(self) -> Params:
        self.select_questions.targets.check_corpora(self.corpus)
        return self

    @model_validator(mode="after")
    def _check_held_out(self) -> Params:
        for name in self.compare_questions.held_out or ():
            if name not in self.corpora:
                raise ValueError(
                    f"compare_questions.held_out: expected some of {', '.join(self.corpora)},"
                    f" found {name!r}"
                )
        return self


# What an entry of `corpora` in params.yaml may hold: where its questions and databases are.


ALL = "all"  # db_list: every database that has questions
SOURCE_SPLITS = TRAIN, VALIDATION = ("train", "validation")
ORIGINS = DIRECTORY, HUB = ("directory", "hub")
KINDS = ARCHIVE, FILES = ("archive", "files")  # of databases on the hub

_section_param_corpora = dataclass(
    config=ConfigDict(extra="forbid"), frozen=True, slots=True, kw_only=True
)


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


@_section_param_corpora
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


@_section_param_corpora
class Archive:
    """A zip file with a member for each database; sha256 is null where it is not known."""

    repo_id: _Quoted
    revision: _Quoted
    path: Text
    sha256: Annotated[str | None, Field(min_length=1), expect("a text, in quotes, or null")]
    member: _Template


@_section_param_corpora
class DatabaseFiles:
    """A file for each database."""

    repo_id: _Quoted
    revision: _Quoted
    path: _Template


@_section_param_corpora
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


@_section_param_corpora
class _Entry:
    """What entries of both origins hold.

    db_list: the databases to use; all: every one that has questions.
    layout: a name in `answerkey.corpus.corpora`.
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


@_section_param_corpora
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


@_section_param_corpora
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


# Params as the stages read them: every key by its full name, so that dvc.yaml can declare it.
#
# Whoever reads a key has the whole file checked first (`answerkey.params` says what it may
# hold): a mistake ends a run before it starts, whichever stage would have met it.


PARAMS_PATH = Path("params.yaml")
# The same in C, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Values of a file may be more than its bytes only where aliases repeat them: *a, *b, each of which
# holds others. Half a kilobyte is enough for billions.
_MOST_REPEATED = 10_000


def load_yaml(path: Path, loader: type[Any] = _LOADER) -> Any:
    """What a file of YAML holds, by the parser in C where PyYAML has it.

    Raises:
        InputError: with the file and the line, where it is no YAML, or grows by its aliases.
    """
    text = path.read_bytes()
    try:
        reader = loader(text)
        node = reader.get_single_node()
        if node is None:
            return None
        if _count_values(node, {}) > len(text) + _MOST_REPEATED:
            raise InputError(f"{path}: expected fewer aliases: they repeat too many values")
        return reader.construct_document(node)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)  # none where it is no UTF-8
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        words = " ".join(str(getattr(error, "problem", error)).split())
        raise InputError(f"{where}: expected YAML: {words}") from error
    except RecursionError as error:
        raise InputError(f"{path}: expected YAML: brackets deeper than Python reads") from error


def _count_values(node: yaml.Node, counts: dict[yaml.Node, float]) -> float:
    """How many values a node stands for, with those that its aliases repeat."""
    if node not in counts:
        counts[node] = math.inf  # while it is counted: an alias of what it stands in has no end
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in parts for part in pair]
        counts[node] = 1 + sum(_count_values(part, counts) for part in parts)
    return counts[node]


def look_up(params: dict[str, Any], key: str, *, where: Path = PARAMS_PATH) -> Any:
    """The value of a dotted key.

    >>> look_up({"corpora": {"sample": {"db_list": "all"}}}, "corpora.sample.db_list")
    'all'

    Raises:
        InputError: with the file, the key and the names that do exist there.
    """
    value: Any = params
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(map(str, value)) if isinstance(value, dict) else "no keys"
            raise InputError(f"{where}: no key {key}: expected {part!r} among: {known}")
        value = value[part]
    return value


def check_value(kind: Any, value: Any, *, key: str = "", where: Path = PARAMS_PATH) -> Any:
    """A value of params as a type of `answerkey.params`.

    key: where the value stands; "": it is the whole file.

    Raises:
        InputError: a line for each mistake, with the file, the key, what was expected and what was
            found.
    """
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        mistakes = error.errors()
    lines = (_describe_mistake(kind, mistake, key) for mistake in mistakes)
    raise InputError("\n".join(f"{where}: {line}" for line in lines))


def _describe_mistake(kind: Any, mistake: Any, key: str) -> str:
    """What one thing is that pydantic found wrong."""
    *sections, last = mistake["loc"] or [""]
    name = ".".join(map(str, [key, *mistake["loc"]])).removeprefix(".")
    found = mistake["input"]
    match mistake["type"]:
        case "value_error":  # raised by answerkey.params
            words = str(mistake["ctx"]["error"])
            return f"{name}: {words}".removeprefix(": ")
        case "missing":
            return f"no key {name}: expected {last!r} among: {', '.join(map(str, found))}"
        case "unexpected_keyword_argument" | "invalid_key":
            known = _list_names(kind, sections)
            close = difflib.get_close_matches(str(last), known, n=1)
            return f"unknown key {name}: expected {close[0] if close else _some_of(known)}"
        case "dataclass_type":
            known = ", ".join(_list_names(kind, [*sections, last] if last else []))
            return f"{name}: expected {known}, found {found!r}".removeprefix(": ")
    return f"{name}: {mistake['msg']}, found {found!r}"


def _some_of(names: list[str]) -> str:
    return f"some of {', '.join(names)}"


def _list_names(kind: Any, sections: list[Any]) -> list[str]:
    """The keys of a section within a section, which may be null."""
    for section in sections:
        kind = get_type_hints(kind)[section]
        kind = next(filter(is_dataclass, get_args(kind)), kind)
    return list(get_type_hints(kind))


def _list_keys(section: Any, prefix: str = "") -> Iterator[str]:
    """The full names of all keys of a section, and of the sections in it."""
    for name, kind in get_type_hints(section).items():
        yield prefix + name
        if is_dataclass(kind):
            yield from _list_keys(kind, f"{prefix}{name}.")


def check_corpora(entries: Mapping[str, Any], *, where: Path = PARAMS_PATH) -> dict[str, Entry]:
    """The entries of `corpora`, by name.

    Raises:
        InputError: as `check_value`, with the mistakes of all entries.
    """
    checked: dict[str, Entry] = {}
    mistakes = []
    for name, entry in entries.items():
        key = f"corpora.{name}"
        try:
            origin = check_value(Origin, entry, key=key, where=where).origin
            checked[name] = check_value(ENTRIES[origin], entry, key=key, where=where)
        except InputError as error:
            mistakes.append(str(error))
    mistakes += [
        f"{where}: corpora.{name}.databases_of: expected an entry with databases of its own, found"
        f" {checked[name].databases_of!r}"
        for name in list_wrong_owners(checked, entries)
    ]
    if mistakes:
        raise InputError("\n".join(mistakes))
    return checked


def load_params(path: Path = PARAMS_PATH) -> dict[str, Any]:
    """The whole of params.yaml, checked.

    Raises:
        FileNotFoundError: where there is none.
        InputError: as `load_yaml`, `check_value` and `check_corpora`; where a key is missing, as
            `look_up`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: run stages from the project's root")
    params = load_yaml(path)
    check_value(Params, params, where=path)
    check_corpora(params["corpora"], where=path)
    for key in _list_keys(Params):  # those too that have a default where they are not params
        look_up(params, key, where=path)
    return params


def read_params(*keys: str, path: Path = PARAMS_PATH) -> list[Any]:
    """The values of some keys of params.yaml, in the order asked for.

    A stage names its keys as literals, and dvc.yaml lists the same ones: a test compares the two,
    since a key that is read and not declared leaves results silently stale.

    Raises:
        FileNotFoundError, InputError: as `load_params`; as `look_up`.
    """
    params = load_params(path)
    return [look_up(params, key, where=path) for key in keys]
