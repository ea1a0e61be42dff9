"""A corpus as params describe it: the places of its questions and databases, and their names.

Releases of corpora differ in their layout. docs/extending.md shows how to add a layout. A database
has one name, whichever corpora ask questions about it, and a question has one id.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from answerkey.base.errors import InputError
from answerkey.base.paths import PIPELINE, SHIPPED, name_page
from answerkey.base.records import ACCEPTED_ANSWERS, encode_json, replace_file
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus.hub import COMMIT, HubError, fetch_file, resolve_revision
from answerkey.corpus.readers import read_source_rows, read_spider2, read_text2sql
from answerkey.corpus.records import SourceQuestion
from answerkey.engines.names import SQLITE, SUFFIXES
from answerkey.engines.sqlite.files import check_db_id, check_db_ids
from answerkey.sections.corpora import (
    ALL,
    Archive,
    DatabaseFiles,
    DirectoryEntry,
    Download,
    Entry,
    HubEntry,
    HubQuestions,
    check_corpora,
)
from answerkey.sections.whole_file import read_params

if TYPE_CHECKING:
    from answerkey.dataset import QuestionSource

DIFFICULTY = "difficulty"
GRADING_METHOD = "grading_method"  # a rule of comparison, as in ReViSQL's BIRD-Verified

PAGE = name_page("docs/your-database.md")
PROJECT_PARAMS = SHIPPED / "params.yaml"
_ROOT_DEP = re.compile(r' *- "?\$\{corpora\.[\w-]+\.root\}')
_ROOT = re.compile(r"\$\{corpora\.([\w-]+)\.root\}")  # a dep in dvc.yaml


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of the fields of a row, and of the folders of databases.

    gold_sql: the query, or a list of queries that are all right; the first is gold.
    databases: the folders below the root that hold databases.
    files: the possible files of a database of SQLite in such a folder, {db_id} its id; the first
        that exists is used. A file that ends in .sql is executed to make a database. `list_files`
        has those of other engines, which are the same in all layouts.
    evidence: knowledge that a question assumes and does not state; it may be missing.
    difficulty: the corpus's own word for the difficulty of a question.
    kept: further fields for the record of a question's origin, if a row has them.
    read: yields the rows of a file of questions.
    """

    question: str
    gold_sql: str
    databases: tuple[str, ...]
    db_id: str = "db_id"
    evidence: str | None = None
    difficulty: str | None = None
    kept: tuple[str, ...] = ()
    files: tuple[str, ...] = ("{db_id}/{db_id}.sqlite", "{db_id}/schema.sql")
    read: Callable[[Path], Iterator[Any]] = read_source_rows

    @property
    def required(self) -> tuple[str, str, str]:
        return (self.db_id, self.gold_sql, self.question)


LAYOUTS = {
    # `answerkey new` writes it from a user's database and questions: docs/your-database.md.
    "own": Layout(
        question="question",
        gold_sql="gold_sql",
        databases=("databases",),
        evidence="evidence",
        difficulty="difficulty",
        kept=(GRADING_METHOD, "dialect", "source_sql", "dialect_differs"),
    ),
    # The release of Spider (Yu et al., 2018), and corpora with the same layout.
    "spider": Layout(
        question="question", gold_sql="query", databases=("database",), kept=(GRADING_METHOD,)
    ),
    # Spider-Syn (Gan et al., 2021): synonyms replace words of a question.
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
    # Questions and the text of their databases in one folder, with the fields of defog's sql-eval.
    "defog": Layout(
        question="question",
        gold_sql="sql",
        databases=("",),
        evidence="evidence",
        kept=("category", GRADING_METHOD),
        files=("{db_id}.sqlite", "{db_id}.sql"),
    ),
    # text2sql-data (Finegan-Dollak et al., 2018): each query with its variants.
    "text2sql-data": Layout(
        question="question",
        gold_sql="query",
        databases=("",),
        kept=("query-split", "question-split"),
        files=("{db_id}-db.added-in-2020.sqlite", "{db_id}-db.sqlite", "{db_id}.sqlite"),
        read=read_text2sql,
    ),
    # The part of Spider 2.0-lite (Lei et al., 2025) that runs on SQLite.
    "spider2-lite": Layout(
        question="question",
        gold_sql="query",
        databases=("resource/databases/spider2-localdb",),
        db_id="db",
        evidence="evidence",
        kept=("instance_id", GRADING_METHOD, ACCEPTED_ANSWERS, "order_matters"),
        files=("{db_id}.sqlite",),
        read=read_spider2,
    ),
}


def list_files(layout: Layout, engine: str) -> tuple[str, ...]:
    """Return the possible files of a database of an engine: those of the layout, or SQL text.

    >>> list_files(LAYOUTS["spider"], "sqlite")
    ('{db_id}/{db_id}.sqlite', '{db_id}/schema.sql')
    >>> list_files(LAYOUTS["spider"], "duckdb")[:2]
    ('{db_id}/{db_id}.duckdb.sql', '{db_id}/{db_id}.sql')
    """
    if engine == SQLITE:
        return layout.files
    names = [f"{{db_id}}{suffix}" for suffix in (SUFFIXES[engine], ".sql")]
    return (*(f"{{db_id}}/{name}" for name in names), "{db_id}/schema.sql", *names)


@dataclass(frozen=True, slots=True)
class DirectoryQuestions:
    root: Path
    files: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class DirectoryDatabases:
    root: Path
    folders: tuple[str, ...]
    files: tuple[str, ...]

    def list_places(self, db_id: str) -> list[Path]:
        """Return the possible paths of a database. A .sqlite file comes before text: in a Spider
        release, the schema.sql beside it is often in another dialect and has no rows."""
        return [
            self.root / folder / file.replace("{db_id}", db_id)
            for folder in self.folders
            for file in self.files
        ]


@dataclass(frozen=True, slots=True)
class Corpus:
    """An entry of `corpora`.

    owner: the entry that has the databases: this one, or another one.
    database_prefix: the prefix of a db_id in the name of a database; the owner's prefix.
    id_prefix: a prefix of that name in question ids, if the databases are another's.
    now: the time of the clock in queries on them; the owner's.
    engine, settings: of the databases; the owner's.
    """

    name: str
    db_list: str | tuple[str, ...]
    layout: Layout
    questions: DirectoryQuestions | HubQuestions
    databases: DirectoryDatabases | Archive | DatabaseFiles
    owner: str
    database_prefix: str = ""
    id_prefix: str = ""
    corrections: str | None = None
    now: str | None = None
    engine: str = SQLITE
    settings: Mapping[str, str] = field(default_factory=dict)

    def name_database(self, db_id: str) -> str:
        return self.database_prefix + db_id


def parse_corpora(chosen: str | list[str], entries: Mapping[str, Any]) -> list[Corpus]:
    """Return the corpora that `corpus` in params.yaml names. All entries are checked."""
    names = [chosen] if isinstance(chosen, str) else chosen
    checked = check_corpora(entries)
    if len(set(names)) < len(names) or not set(names) <= set(checked):
        raise InputError(
            f"params.yaml: corpus is {chosen!r}, expected some of {', '.join(checked)}, each once"
        )
    if mistakes := [
        f"params.yaml: corpora.{name}.layout: expected one of {', '.join(LAYOUTS)}, found"
        f" {entry.layout!r}"
        for name, entry in checked.items()
        if entry.layout not in LAYOUTS
    ]:
        raise InputError("\n".join(mistakes))
    return [_make_corpus(name, checked) for name in names]


def _make_corpus(name: str, entries: Mapping[str, Entry]) -> Corpus:
    entry = entries[name]
    owner = entry.databases_of or name
    return Corpus(
        name,
        entry.db_list if isinstance(entry.db_list, str) else tuple(entry.db_list),
        LAYOUTS[entry.layout],
        entry.questions
        if isinstance(entry, HubEntry)
        else DirectoryQuestions(Path(entry.root), entry.questions),
        _place_databases(entries[owner]),
        owner,
        database_prefix=entries[owner].prefix or "",
        id_prefix="" if owner == name else entry.prefix or "",
        corrections=entry.corrections,
        now=entries[owner].now,
        engine=entries[owner].engine,
        settings=entries[owner].settings or {},
    )


def _place_databases(entry: Entry) -> DirectoryDatabases | Archive | DatabaseFiles:
    if isinstance(entry, HubEntry):
        if entry.databases is None:
            raise InputError("params.yaml: corpora: expected an entry with databases of its own")
        return entry.databases.place
    layout = LAYOUTS[entry.layout]
    folders = tuple(entry.databases or layout.databases)
    return DirectoryDatabases(Path(entry.root), folders, list_files(layout, entry.engine))


def choose_spider(corpus: Corpus | None, limits: Download | None) -> tuple[Corpus, Download]:
    """Return a corpus and limits; the defaults are Spider's, as in params.yaml."""
    if corpus and limits:
        return corpus, limits
    params = read_params(PROJECT_PARAMS)
    entries = params.corpora
    download = params.download
    return corpus or parse_corpora("spider", entries)[0], limits or download


def list_unpinned(sources: Mapping[str, Any]) -> list[str]:
    """Return a warning for each corpus, by name, that uses a branch or tag of the hub."""
    return [
        f"warning: corpus {name} reads {source.repo_id} at {source.revision!r}, which is no commit"
        f" and may be another one tomorrow: pin it with `answerkey pin {name}`"
        for name, source in sources.items()
        if not isinstance(source, DirectoryQuestions | DirectoryDatabases)
        and not COMMIT.fullmatch(source.revision)
    ]


def list_unshared(corpora: Iterable[Corpus]) -> list[str]:
    """Return a warning for each corpus in the project that git ignores and DVC does not track."""
    warnings = []
    for corpus in corpora:
        paths: list[Path] = []
        if isinstance(corpus.questions, DirectoryQuestions):
            root, files = corpus.questions.root, corpus.questions.files
            paths += [root / name for names in files.values() for name in names]
        if isinstance(corpus.databases, DirectoryDatabases):
            paths += [corpus.databases.root / folder for folder in corpus.databases.folders]
        inside = [path for path in paths if path.absolute().is_relative_to(Path.cwd())]
        if ignored := [str(path) for path in inside if path.exists() and _is_unshared(path)]:
            warnings.append(
                f"warning: git ignores {', '.join(ignored)} of corpus {corpus.name}: teammates and"
                " experiments will lack it, until you run `dvc add` as"
                f" {name_page('docs/sharing.md')} says"
            )
    return warnings


def _is_unshared(own: Path) -> bool:
    if any(path.with_name(f"{path.name}.dvc").is_file() for path in (own, *own.parents[:-1])):
        return False
    try:
        done = subprocess.run(["git", "check-ignore", "-q", own], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0  # 1: it does not, 128: no repository


def name_databases(chosen: Iterable[tuple[Corpus, Iterable[str]]]) -> dict[str, tuple[Corpus, str]]:
    """Return the databases of some corpora, each once, by name: the first corpus that has it, and
    its db_id.

    Raises:
        InputError: names both corpora and the key to set, if two would give one name to different
            databases, or one id to two questions, in any case.
    """
    databases: dict[str, tuple[Corpus, str]] = {}
    asking: dict[str, Corpus] = {}
    for corpus, db_ids in chosen:
        for db_id in db_ids:
            name = corpus.name_database(db_id)
            first, first_id = databases.setdefault(name.casefold(), (corpus, db_id))
            other = asking.setdefault(f"{corpus.id_prefix}{name}".casefold(), corpus)
            if (first.owner, first_id) != (corpus.owner, db_id):
                other, clash = first, "both have a database"
            elif other is not corpus:
                clash = "would give the same ids to questions of database"
            else:
                continue
            raise InputError(
                f"Corpora {other.name} and {corpus.name} {clash} {name}: expected another prefix,"
                f" such as corpora.{corpus.name}.prefix: {corpus.name}_; if both ask the same"
                f" database, with corpora.{corpus.name}.databases_of: {other.owner}"
            )
    return {corpus.name_database(db_id): (corpus, db_id) for corpus, db_id in databases.values()}


def list_roots(corpora: Iterable[Corpus]) -> dict[str, Path]:
    """The directories that some corpora are read from, by the name of their entry."""
    return {
        name: source.root
        for corpus in corpora
        for name, source in ((corpus.name, corpus.questions), (corpus.owner, corpus.databases))
        if isinstance(source, DirectoryQuestions | DirectoryDatabases)
    }


def watch_roots(
    corpora: Iterable[Corpus], entries: Mapping[str, Entry], *, stage: str
) -> list[str]:
    """Make sure that the root of each corpus is among the deps of a stage in dvc.yaml, or below one
    of them: DVC would not notice a change there. Return what was written.

    A root may lack if somebody sets `corpus` by hand and does not run `answerkey choose`. The stage
    runs all the same. DVC has read dvc.yaml by then, so that `dvc repro` runs it once more. A run
    without DVC is not asked.

    Raises:
        InputError: dvc.yaml has no list of deps to write to.
    """
    if not PIPELINE.is_file():
        return []
    of_corpora = list_roots(corpora)
    roots = {
        f"${{corpora.{name}.root}}": entry.root
        for name, entry in entries.items()
        if isinstance(entry, DirectoryEntry)
    }
    text = PIPELINE.read_text(encoding="utf-8")
    deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
    tracked = {Path(roots.get(dep, dep)).absolute() for dep in deps}
    places = {name: place.absolute() for name, place in of_corpora.items()}
    lacking = [name for name, root in places.items() if tracked.isdisjoint([root, *root.parents])]
    if not lacking:
        return []
    with replace_file(PIPELINE) as file:
        file.write(edit_deps(text, {stage: of_corpora}).encode())
    return [
        f"warning: {PIPELINE}: {stage} depends on {of_corpora[name]} now, the root of corpus"
        f" {name}, so that DVC notices changes there; `dvc repro` runs the stage once more"
        for name in lacking
    ]


def edit_deps(pipeline: str, roots: Mapping[str, Iterable[str]]) -> str:
    """The text of dvc.yaml in which stages depend on the roots of some entries, and of no others.

    >>> text = "stages:\\n  load_questions:\\n    deps:\\n      - data/verdicts\\n"
    >>> print(edit_deps(text, {"load_questions": ["shop"]}), end="")
    stages:
      load_questions:
        deps:
          - "${corpora.shop.root}"
          - data/verdicts

    Raises:
        InputError: a stage has no list of deps, one a line.
    """
    for stage, names in roots.items():
        deps = rf"^  {stage}:\n(?:    .*\n)*?    deps:\n((?: +[-#].*\n)+)"
        written = [f'- "${{corpora.{name}.root}}"' for name in names]
        found = re.search(deps, pipeline, re.MULTILINE)
        if found is None:
            raise InputError(
                f"{PIPELINE}: expected a list of deps of {stage}, one a line, and among them"
                f" {' and '.join(written) or 'the root of no corpus'}"
            )
        lines = found[1].splitlines(keepends=True)
        indent = lines[0][: -len(lines[0].lstrip())]
        new = [f"{indent}{line}\n" for line in written]
        new += [line for line in lines if not _ROOT_DEP.match(line)]
        pipeline = pipeline[: found.start(1)] + "".join(new) + pipeline[found.end(1) :]
    return pipeline


def list_idle_roots(corpora: Iterable[Corpus], *, stage: str) -> list[str]:
    """A warning for each entry that no corpus is read from, and on whose root a stage depends."""
    if not PIPELINE.is_file():
        return []
    deps = load_yaml(PIPELINE)["stages"][stage]["deps"]
    listed = [found[1] for dep in deps if (found := _ROOT.fullmatch(dep)) is not None]
    idle = [name for name in listed if name not in list_roots(corpora)]
    return [
        f"warning: {PIPELINE} has the root of {name} among deps of {stage}, and corpus does not"
        " name it: a change there runs the stage again, until you run `answerkey choose`"
        for name in idle
    ]


# The questions of a corpus: every row of its files, in order, checked and unaltered


def read_source_questions(corpus: Corpus, *, limits: Download) -> Iterator[SourceQuestion]:
    """Yield a record for each row of a corpus: train, then validation, each in the order of its
    files.

    `source` has the row, file and corpus, and other fields that its layout keeps. `other_sql` are
    further right queries; `evidence` is present if a row has some.

    Raises:
        FileNotFoundError: a file is missing.
        ConnectionError: "Failed to download Spider dataset: ...".
        InputError: names file and row, if a row has no text for a field of its layout.
    """
    questions = corpus.questions
    if isinstance(questions, HubQuestions):
        commit, paths = _fetch(questions, limits)
    for split, names in questions.files.items():
        for name in names:
            if isinstance(questions, HubQuestions):
                where = f"{name} of {questions.repo_id} at {commit}"
                rows = _read_parquet(paths[name], corpus.layout, where)
            else:
                path = questions.root / name
                where = str(path)
                if not path.is_file():
                    raise FileNotFoundError(
                        f"No {path}: expected questions of corpus {corpus.name}"
                        f" (corpora.{corpus.name}.root and .questions in params.yaml); `dvc pull`"
                        f" fetches a corpus that `dvc add` was told of; {PAGE} says how to make one"
                    )
                rows = corpus.layout.read(path)
            for index, row in enumerate(rows):
                source: QuestionSource = {"corpus": corpus.name, "file": name, "index": index}
                if isinstance(questions, HubQuestions):
                    source = {
                        "corpus": corpus.name,
                        "repo_id": questions.repo_id,
                        "revision": commit,
                        "file": name,
                        "index": index,
                    }
                yield _make_record(row, corpus.layout, split, source, f"{where}: row {index}")


def list_db_ids(corpus: Corpus, *, limits: Download) -> list[str]:
    """Return the ids that db_list means, sorted. `all`: of every database that has questions."""
    if corpus.db_list != ALL:
        return sorted(corpus.db_list)
    questions = read_source_questions(corpus, limits=limits)
    return choose_db_ids(corpus, ALL, {question["database_name"] for question in questions})


def choose_db_ids(
    corpus: Corpus, db_ids: str | Iterable[str], with_questions: set[str]
) -> list[str]:
    chosen = sorted(check_db_ids(with_questions if db_ids == ALL else db_ids))
    unknown = [db_id for db_id in chosen if db_id not in with_questions]
    if unknown or not chosen:
        raise InputError(
            f"Corpus {corpus.name} has no question{' of ' if unknown else ''}{', '.join(unknown)}:"
            f" expected some (corpora.{corpus.name}.questions and .db_list in params.yaml)"
        )
    return chosen


def _fetch(questions: HubQuestions, limits: Download) -> tuple[str, dict[str, Path]]:
    repo_id, known = questions.repo_id, questions.sha256
    try:
        commit = resolve_revision(repo_id, questions.revision, limits=limits)
        return commit, {
            name: fetch_file(repo_id, commit, name, limits=limits, sha256=known.get(name))
            for names in questions.files.values()
            for name in names
        }
    except HubError as error:
        raise ConnectionError(f"Failed to download Spider dataset: {error}") from error


def _read_parquet(path: Path, layout: Layout, where: str) -> Iterator[Any]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if missing := [column for column in layout.required if column not in columns]:
                raise InputError(f"{where}: no column {missing[0]!r} among {columns}")
            fields = (*layout.required, layout.evidence, layout.difficulty, *layout.kept)
            for batch in file.iter_batches(columns=[name for name in fields if name in columns]):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{where}: not a whole parquet file: {error}") from error


def _is_nothing(value: Any) -> bool:
    """Return whether a value is one that pandas and others write for a missing value."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _make_record(
    row: Any, layout: Layout, split: str, source: QuestionSource, where: str
) -> SourceQuestion:
    fields = row if isinstance(row, dict) else {}
    fields = {name: value for name, value in fields.items() if not _is_nothing(value)}
    queries = fields.get(layout.gold_sql)
    gold, *others = queries if isinstance(queries, list) and queries else [queries]
    db_id, question = fields.get(layout.db_id), fields.get(layout.question)
    evidence = fields.get(layout.evidence) or ""
    texts = (question, gold, *others, evidence)
    if not isinstance(db_id, str) or not all(isinstance(value, str) for value in texts):
        expected = (*layout.required, *filter(None, [layout.evidence]))
        raise InputError(
            f"{where}: expected text for {', '.join(expected)}, found {row!r:.200}"
            f" (corpora.{source['corpus']}.layout in params.yaml names the fields; `answerkey new`"
            f" takes others: {PAGE})"
        )
    try:
        check_db_id(db_id)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    others = [sql for sql in dict.fromkeys(others) if sql != gold]
    kept = {name: fields[name] for name in layout.kept if name in fields}
    if layout.difficulty in fields:
        kept[DIFFICULTY] = fields[layout.difficulty]
    try:
        encode_json(kept)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: expected values of JSON, found {kept!r:.200}: {error}"
        ) from error
    record = {
        "question_text": question,
        "database_name": sys.intern(db_id),  # one object in memory for all its questions
        "gold_sql": gold,
        **({"other_sql": others} if others else {}),
        **({"evidence": evidence} if evidence.strip() else {}),
        "spider_split": split,
        "source": source | kept,
    }
    return cast("SourceQuestion", record)
