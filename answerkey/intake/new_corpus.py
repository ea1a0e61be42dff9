"""`answerkey new`: a corpus in the project, of a database and questions that somebody has.

    data/local/shop/train.jsonl, validation.jsonl   the questions, with gold SQL
    data/local/shop/databases/shop/shop.sqlite      the database, or shop.duckdb.sql: its SQL text
    data/local/shop/conversion.md                   what was kept, and what was lost

All of it is made beside its place and moved there when it is whole; then params.yaml gets an entry,
and dvc.yaml its folder. Nothing that is there is replaced, and nothing stays of what failed.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from sqlglot.dialects.dialect import Dialect

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.paths import PIPELINE
from answerkey.base.records import read_jsonl, write_jsonl
from answerkey.base.secrets import hide_secrets, remember_secrets
from answerkey.base.undo import make_folders, undoing
from answerkey.corpus.choose_corpora import replace_params
from answerkey.corpus.corpora import PAGE
from answerkey.corpus.databases import build_in_process, copy_database, locate_database
from answerkey.corpus.pin_revisions import edit_params
from answerkey.engines.database import QueryError
from answerkey.engines.names import ENGINES, name_engine
from answerkey.engines.opening import find_database_file
from answerkey.engines.opening import open_database as open_kept
from answerkey.engines.settings import read_head
from answerkey.engines.sqlite.clock import read_instant
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.intake.conversion import ConvertedTable
from answerkey.intake.conversion_report import REPORT, MadeDatabase, tell_made, write_report
from answerkey.intake.delimited import TypeChoices
from answerkey.intake.dialects import Comparer, Renaming, Translated, read_renaming
from answerkey.intake.engines import (
    DUCKDB,
    SQLITE,
    DatabaseText,
    DuckDB,
    Engine,
    EngineError,
)
from answerkey.intake.keeping import find_fault, keep_database
from answerkey.intake.other_rows import TranslatedQuery, compare_on_variants
from answerkey.intake.questions import (
    SQL,
    GivenQuestion,
    GivenQuestions,
    find_questions,
    read_questions,
)
from answerkey.intake.sources import (
    DESCRIPTIONS,
    SQLITE_TEXT,
    GivenDatabase,
    find_databases,
    match_databases,
    open_sources,
)
from answerkey.intake.whole_database import convert, list_comments, write_comments
from answerkey.sections.corpora import SOURCE, SOURCE_SPLITS
from answerkey.sections.select_questions import SMALL
from answerkey.sections.whole_file import PARAMS_PATH, read_params

LAYOUT = "own"  # answerkey.corpus.corpora
DATABASES = "databases"
FILES = {split: f"{split}.jsonl" for split in SOURCE_SPLITS}
_MADE = (DATABASES, *FILES.values(), REPORT)  # the report last: with it the corpus is whole
_PLAIN = re.compile(r"[\w./-]+")  # of a path that YAML takes without quotes
_NAME = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
_URL = re.compile(r"\w[\w+.-]*:/")  # as a path
_ANY_DAY = "2000-01-01"  # to see whether a query runs, which may read the clock


def make_corpus(
    folder: Path,
    *,
    databases: Sequence[str] = (),
    questions: Path | None = None,
    dialect: str | None = None,
    now: str | None = None,
    types: Sequence[str] = (),
    engine: str | None = None,
    tell_next: bool = True,
) -> str:
    """Make a corpus of a folder of the project, and what the terminal is told.

    databases: paths or URLs, perhaps NAME=PATH; those in the folder, if none is given.
    questions: a file; that in the folder, if none is given.
    dialect: of gold SQL, as sqlglot calls it; that of the databases, if none is given.
    now: the instant that queries read from the clock.
    types: of columns of CSV and TSV, as TABLE.COLUMN=TYPE, where they are not as guessed.
    engine: of the databases in the corpus: their own, if it is one of `ENGINES`; sqlite converts.
    tell_next: whether what the terminal is told ends with the next commands.

    Raises:
        InputError, FileNotFoundError: what is wrong with what is given, or is there already.
    """
    remember_secrets(*databases)
    if _URL.match(str(folder)):
        words = "expected a folder of the project, and a URL behind --database"
        raise InputError(f"{hide_secrets(str(folder))}: {words}")
    options = {"--database": databases, "--questions": questions}
    options |= {"--dialect": dialect, "--engine": engine}
    place = folder.resolve()
    folder = place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place
    name = _check_place(folder)
    if dialect is not None and dialect not in Dialect.classes:
        known = ", ".join(sorted(filter(None, Dialect.classes)))
        raise InputError(f"--dialect {dialect}: expected one of {known}")
    if engine is not None and engine not in ENGINES:
        raise InputError(f"--engine {engine}: expected one of {', '.join(ENGINES)}")
    if now is not None:
        now = _read_now(now)
    there = [str(folder / file) for file in _MADE if (folder / file).exists()]
    if (folder / REPORT).is_file():
        if options_given := ", ".join(option for option, value in options.items() if value):
            raise InputError(
                f"{folder} has a corpus, and `answerkey new` replaces nothing: {', '.join(there)}."
                f" To make it again by {options_given}, remove these, or choose another DIR; to"
                f" take it as it is, run `answerkey new {folder}` alone"
            )
        words = f"{folder} has a corpus, which is taken as it is. To make it again, remove"
        told = f"{words} {', '.join(there)}."
        return "\n".join(
            [told, _finish(name, folder, now), *([_next(folder)] if tell_next else [])]
        )
    if there:
        words = f"{', '.join(there)}: is there, and `answerkey new` replaces nothing"
        raise InputError(f"{words}: remove or rename it, or choose another DIR")
    with undoing() as new:
        make_folders(folder, new)
        given = read_questions(questions or find_questions(folder))
        new.append(staging := folder / ".new.partial")
        shutil.rmtree(staging, ignore_errors=True)
        how = _How(dialect, now, types, engine)
        made = _make_files(staging, name, given, databases, how)
        for file in _MADE:
            if (staging / file).exists():
                (staging / file).rename(folder / file)
                new.append(folder / file)
        shutil.rmtree(staging)
        told = "\n".join([tell_made(folder, given, made), _finish(name, folder, now)])
    return "\n".join([told, *([_next(folder)] if tell_next else [])])


class _How(NamedTuple):
    """Options of `make_corpus`."""

    dialect: str | None
    now: str | None
    types: Sequence[str]
    engine: str | None


def _make_files(
    staging: Path,
    name: str,
    given: GivenQuestions,
    databases: Sequence[str],
    how: _How,
) -> list[MadeDatabase]:
    """Make all files of a corpus in a folder below its place."""
    with ExitStack() as stack:
        choices = TypeChoices(how.types)
        sources = open_sources(
            databases or find_databases(staging.parent, given.path),
            stack,
            without=given.path,
            types=choices,
            dialect=how.dialect,
            engine=how.engine,
        )
        choices.check_all_taken()
        _check_engines(sources)
        sources, names = match_databases(given, sources)
        made = []
        records: list[dict[str, Any]] = [{}] * len(given.questions)
        for source in sources:
            asked = [
                (index, question)
                for index, question in enumerate(given.questions)
                if names[question.db_id] == source.name
            ]
            path = locate_database(staging / DATABASES, source.name, source.kept)
            make = _make_database if source.kept == SQLITE else _keep_database
            database, written = make(source, path, asked, how)
            made.append(database)
            for (index, _), record in zip(asked, written, strict=True):
                records[index] = record
    for split, file in FILES.items():
        chosen = [
            record
            for question, record in zip(given.questions, records, strict=True)
            if question.split == split
        ]
        if chosen:
            write_jsonl(staging / file, chosen)
    (staging / REPORT).write_text(write_report(name, given, made), encoding="utf-8")
    return made


# --- the place


def _read_now(text: str) -> str:
    try:
        return read_instant(text)
    except ValueError as error:
        raise InputError(f"--now {text}: {error}") from error


def _check_place(folder: Path) -> str:
    """The name of the corpus, which is that of its folder."""
    if not (PIPELINE.is_file() and PARAMS_PATH.is_file()):
        raise InputError(f"{Path.cwd()} has no {PIPELINE} and {PARAMS_PATH}: expected the project")
    params = read_params()
    name = folder.name
    if not _NAME.fullmatch(name):
        raise InputError(f"{folder}: expected a name of letters, digits, _ and -, such as shop")
    entry = params.corpora.get(name)
    if entry is not None and Path(getattr(entry, "root", "")).resolve() != folder.resolve():
        raise InputError(f"{PARAMS_PATH} has a corpus {name} elsewhere: expected another DIR")
    return name


# --- a database, and its questions


def _check_engines(sources: Sequence[GivenDatabase]) -> None:
    kept = {source.kept: source.place for source in sources}
    if len(kept) > 1:
        places = " and ".join(f"{place} is of {engine}" for engine, place in kept.items())
        raise InputError(
            f"{places}: the databases of a corpus are of one engine: make a corpus of each, which"
            f" `answerkey choose` joins, or convert them by --engine {SQLITE}"
        )


def _keep_database(
    source: GivenDatabase, path: Path, asked: list[tuple[int, GivenQuestion]], how: _How
) -> tuple[MadeDatabase, list[dict[str, Any]]]:
    """Make the text of a database that stays one of its engine, and the records of its questions,
    whose gold SQL stays as it is. Each query is executed once."""
    if how.dialect not in (None, source.kept):
        raise InputError(
            f"--dialect {how.dialect}: {source.place} stays a database of {source.kept}, so that"
            f" gold SQL is {source.kept}, too: --engine {SQLITE} makes a corpus of SQLite, and"
            " translates it"
        )
    given = source.text or source.engine
    if not isinstance(given, DatabaseText | DuckDB):
        raise ValueError(f"{source.place}: expected SQL text or DuckDB, found {given!r}")
    kept = keep_database(source.kept, given, path, source.place, now=how.now)
    made = MadeDatabase(source, source.kept, False, kept.tables, kept.notes)
    folder = path.with_name(DESCRIPTIONS)
    if source.descriptions is not None:
        shutil.copytree(source.descriptions, folder)
    else:
        write_comments(kept.comments, folder)
    records = []
    with open_kept(path, now=how.now) as database:
        for _, question in asked:
            for sql in question.sql:
                made.queries += 1
                if (fault := find_fault(database, sql, source.kept, now=how.now)) is not None:
                    made.failing.append((question, sql, fault))
            gold, *others = question.sql
            records.append(
                {
                    "db_id": source.name,
                    "question": question.text,
                    SQL: [gold, *others] if others else gold,
                    **question.kept,
                }
            )
    return made, records


def _make_database(
    source: GivenDatabase, path: Path, asked: list[tuple[int, GivenQuestion]], how: _How
) -> tuple[MadeDatabase, list[dict[str, Any]]]:
    """Make the file of a database of SQLite, and the records of its questions."""
    dialect, now = how.dialect, how.now
    engine, tables, renaming = source.engine, [], Renaming({})
    if engine is not None:
        tables = convert(engine, path)
        renaming = read_renaming(engine, tables)
    elif source.path is not None:
        path.parent.mkdir(parents=True)
        (build_in_process if source.kind == SQLITE_TEXT else copy_database)(source.path, path)
        tables = _list_tables(path)
    folder = path.with_name(DESCRIPTIONS)
    if source.descriptions is not None:
        shutil.copytree(source.descriptions, folder)
    elif engine is not None:
        write_comments(list_comments(engine, tables), folder)
    notes = [] if engine is None else list(engine.notes)
    queries = [sql for _, question in asked for sql in question.sql]
    if dialect is None and source.dialect == SQLITE and engine is not None:
        dialect = _choose_dialect(engine, path, queries, notes, now)
    dialect = dialect or source.dialect
    is_compared = engine is not None and engine.dialect == dialect
    made = MadeDatabase(source, dialect, is_compared, tables, notes)
    records = []
    translated = {sql: Translated(sql) for sql in queries}
    if dialect != SQLITE:
        with Comparer(path, engine if is_compared else None, now=now) as comparer:
            translated = {sql: comparer.check(sql, dialect, renaming) for sql in translated}
        if engine is not None and is_compared:
            translated = _check_on_variants(translated, engine, path, made, now)
    for _, question in asked:
        gold, *others_sql = [translated[sql] for sql in question.sql]
        if gold.differs is not None:
            made.differing.append((question, gold))
        right = [other.sql for other in others_sql if other.differs is None]
        record = {
            "db_id": source.name,
            "question": question.text,
            SQL: [gold.sql, *right] if right else gold.sql,
            **question.kept,
        }
        if gold.sql != question.sql[0]:
            record |= {"dialect": dialect, "source_sql": question.sql[0]}
        if gold.differs is not None:
            record["dialect_differs"] = gold.differs
        records.append(record)
    return made, records


def _check_on_variants(
    translated: Mapping[str, Translated],
    engine: Engine,
    path: Path,
    made: MadeDatabase,
    now: str | None,
) -> dict[str, Translated]:
    """Compare translations that agree on their database on variants of it, too."""
    agreeing = {
        sql: TranslatedQuery(sql, each.sql)
        for sql, each in translated.items()
        if each.differs is None
    }
    compared = compare_on_variants(engine, path, made.tables, [*agreeing.values()], now=now)
    found, made.variants, problem = compared
    if problem is not None:
        made.notes.append(f"gold was compared on the rows of the database alone: {problem}")
    told = dict(translated)
    for sql, query in agreeing.items():
        if query in found:
            evidence = {"dialect": engine.dialect, "source_sql": sql}
            told[sql] = Translated(query.here, evidence | found[query])
    return told


def _choose_dialect(
    engine: Engine, path: Path, queries: Sequence[str], notes: list[str], now: str | None
) -> str:
    """SQLite, unless more of the queries run in DuckDB, which has the same tables. A note says
    which, and how many run in both and answer otherwise."""
    runs = Counter({SQLITE: 0, DUCKDB: 0})
    day = now or _ANY_DAY
    with (
        GuardedDatabase(path, now=day) as database,
        Comparer(path, engine, now=day) as comparer,
    ):
        for sql in queries:
            with contextlib.suppress(QueryError):
                database.execute(sql)
                runs[SQLITE] += 1
            with contextlib.suppress(EngineError):
                engine.execute(sql, max_rows=1)
                runs[DUCKDB] += 1
        differing = [sql for sql in queries if comparer.answers_otherwise(sql)]
    chosen, other = (SQLITE, DUCKDB) if runs[DUCKDB] <= runs[SQLITE] else (DUCKDB, SQLITE)
    if chosen == DUCKDB or differing:
        counts = f"{runs[chosen]} of {spell_count(len(queries), 'query')} run in {chosen}"
        notes.append(
            f"gold SQL is read as {chosen}: {counts}, and {runs[other]} in {other}; --dialect"
            f" {other} says otherwise"
        )
    if differing:
        notes.append(
            f"{spell_count(len(differing), 'query')} of gold run in both, and answer otherwise in"
            f" {other}: say which is meant by --dialect {SQLITE} or --dialect {DUCKDB}; the first"
            f" is {' '.join(differing[0].split()):.100}"
        )
    return chosen


def _list_tables(path: Path) -> list[ConvertedTable]:
    with closing(open_database(path)) as connection:
        made = []
        for table in read_schema(connection).tables:
            columns = [(column.name, column.type, column.type) for column in table.columns]
            kind = "view" if table.is_view else "table"
            made.append(ConvertedTable(("", table.name), table.name, columns, kind))
        return made


# --- params.yaml


def _finish(name: str, folder: Path, now: str | None) -> str:
    """Write the entry of a corpus that is whole, and say so."""
    params = read_params()
    if name in params.corpora:
        words = "; change its `now` there" if now is not None else ""
        return f"{PARAMS_PATH} has it: corpora.{name}{words}"
    text = PARAMS_PATH.read_text(encoding="utf-8")
    told = (
        f"{PARAMS_PATH}: corpora.{name} is new, corpus is {name}, and select_questions.preset is"
        f" {SMALL}: all usable questions are taken"
    )
    before = [params.corpus] if isinstance(params.corpus, str) else [*params.corpus]
    entries = [params.corpora.get(each) for each in before]
    if all(entry is not None and entry.layout == LAYOUT for entry in entries):
        all_of_them = "both" if len(before) == 1 else "all"
        names = " ".join([*before, name])
        told += f"\n{PARAMS_PATH}: `answerkey choose {names}` takes {all_of_them}"
    return "\n".join([told, *replace_params(add_entry(text, name, folder, now=now))])


def add_entry(text: str, name: str, folder: Path, *, now: str | None = None) -> str:
    """Return the text of params.yaml with the entry of a corpus, which is the one that is used, and
    without targets that few questions cannot meet. Comments stay.

    Raises:
        InputError: there is no line `corpora:` below which an entry could stand.
    """
    files = ", ".join(
        f"{split}: [{file}]" for split, file in FILES.items() if (folder / file).is_file()
    )
    root = folder.as_posix()
    lines = [
        f"  {name}:  # made by `answerkey new`: {folder.as_posix()}/{REPORT}",
        "    origin: directory",
        f"    layout: {LAYOUT}",
        f"    root: {root if _PLAIN.fullmatch(root) else json.dumps(root)}",
        "    db_list: all",
        "    license: null",
        f"    questions: {{{files}}}",
        *([f"    split: {{by: {SOURCE}}}"] if _shares_databases(folder) else []),
        *([f'    now: "{now}"'] if now is not None else []),
        *_write_engine(folder),
    ]
    entry = "".join(f"{line}\n" for line in lines)
    edited, count = re.subn(
        r"^corpora:[ \t]*(#.*)?\n", lambda found: f"{found[0]}{entry}\n", text, flags=re.MULTILINE
    )
    if count != 1:
        raise InputError(f"{PARAMS_PATH}: expected a line `corpora:`, to add below it:\n{entry}")
    changes: Mapping[tuple[str, ...], Any] = {
        ("corpus",): name,
        ("select_questions", "preset"): SMALL,
    }
    return edit_params(edited, changes)


def _write_engine(folder: Path) -> list[str]:
    """The lines of an entry that name the engine of its databases, and settings that all have."""
    texts = [
        path
        for each in sorted((folder / DATABASES).iterdir())
        if name_engine(path := Path(find_database_file(folder / DATABASES, each.name))) != SQLITE
    ]
    if not texts:
        return []
    engine, settings = name_engine(texts[0]), [read_head(path) for path in texts]
    lines = [f"    engine: {engine}"]
    if all(each == settings[0] for each in settings):
        words = ", ".join(f"{key}: {json.dumps(value)}" for key, value in settings[0].items())
        lines.append(f"    settings: {{{words}}}")
    return lines


def _shares_databases(folder: Path) -> bool:
    """Whether a database has questions in more than one file."""
    of_files = (
        {record["db_id"] for record in read_jsonl(folder / file)}
        for file in FILES.values()
        if (folder / file).is_file()
    )
    return any(count > 1 for count in Counter(chain.from_iterable(of_files)).values())


def _next(folder: Path) -> str:
    return "\n".join(
        (
            "Next:",
            f"  dvc add -q {quote(folder.as_posix())} && git add {quote(folder.parent.as_posix())}"
            f" {PARAMS_PATH} {PIPELINE}    # takes it into the project",
            "  dvc repro            # builds the dataset, and the page reports/dataset.html",
            "  answerkey explain    # what it takes, and what else it could",
            f"More: {PAGE}",
        )
    )
