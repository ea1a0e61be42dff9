"""Copy a folder of questions and databases with corrections applied.

    answerkey correct data/local/spider data/local/spider_corrected --corrections spider

The copy has the same files in the same layout, so that any evaluator or trainer can read it. Files
of questions and files of gold SQL have the corrected SQL, and lack the questions that a correction
excludes. `corrections.jsonl` lists both. All other bytes are unchanged.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import stat
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log
from answerkey.base.paths import CORRECTIONS, VERDICTS
from answerkey.base.records import cut_in_shards, hash_question, replace_folder, write_jsonl
from answerkey.base.shipped import find_file
from answerkey.corpus.corpora import LAYOUTS, DirectoryDatabases, Layout
from answerkey.corpus.databases import build_in_process
from answerkey.corpus.import_corrections import fold_sql
from answerkey.corpus.judged_queries import (
    Context,
    JudgedQuery,
    Pair,
    describe_withdrawn,
    execute_task,
    list_judged_queries,
    withdraw_unconfirmed,
)
from answerkey.corpus.loading import REPLACE, Correction, apply_corrections, read_corrections
from answerkey.corpus.question_texts import (
    ROW_LAYOUTS,
    GoldLine,
    QuestionFile,
    encode_text,
    find_gold_files,
    put_in_line,
    read_gold_lines,
    read_question_file,
    read_text,
    rejoin,
    rewrite_row,
)
from answerkey.corpus.records import SourceQuestion
from answerkey.engines.database import Limits
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.risk.verdicts import QUERIES, Execution, read_executions, read_verdict_file
from answerkey.shards.database_files import Database
from answerkey.shards.runs import DatabaseWork, QueryRun

LIST = "corrections.jsonl"  # in the copy: the questions that a correction changed or excluded
NOT_APPLIED = "not_applied"  # an action in the list, beside `replace` and `exclude`
_DATABASE_FILES = LAYOUTS["own"].files  # the same in all layouts that have rows

# Fields that are made from gold SQL: the parse of Spider, the chain of thought of SynSQL, and notes
# of `answerkey new` on SQL in another dialect. They do not exist for the corrected query.
_MADE_FROM_SQL = ("sql", "cot", "dialect", "source_sql", "dialect_differs")
_TOKENS = ("toks", "toks_no_value")  # query_toks, query_toks_no_value, question_toks

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON, _LINES = (".json", ".jsonl"), (".sql", ".txt", ".csv", ".tsv")
_NAMED = 3  # examples of one kind in a line of the log


def correct_folder(
    folder: Path,
    out: Path,
    *,
    corrections: str | Path,
    layout: str | None = None,
    without_databases: bool = False,
) -> None:
    """Write a copy of a folder with corrections applied, and log the changes.

    corrections: the name of a list in data/corrections, or its file.
    layout: a name in ROW_LAYOUTS; None: each file has the layout whose fields its first row has.
    without_databases: leave out the folders of databases.

    Raises:
        InputError: there is no such folder, layout or list, or no file of questions; `out` is not
            empty; a link leads out of the folder; or a file cannot be corrected.
    """
    log = start_log("correct")
    root, target = _check_places(folder, out)
    layouts = _choose_layouts(layout)
    path = _find_list(corrections)
    entries = read_corrections(path)
    tree = _read_tree(root)
    names = [name for name in tree.files if not tree.is_of_databases(name)]
    read_files = (read_question_file(root, name, layouts) for name in names)
    files = [file for file in read_files if file is not None]
    if not files:
        known = "; ".join(f"{name}: {', '.join(each.required)}" for name, each in layouts.items())
        raise InputError(
            f"{folder}: no layout found: expected a file of questions in JSON or JSON Lines, whose"
            f" rows have the fields of a layout ({known})"
        )
    applied = _apply(files, entries, path, root, tree.databases)
    texts: dict[str, str] = {}
    records: list[dict[str, Any]] = []
    for file in files:
        texts[file.name], of_file = _rewrite_questions(file, applied.questions[file.name])
        records += of_file
    golds, warnings = _rewrite_golds(root, names, files, applied.questions)
    texts |= golds
    gone = [each for each in records if each["action"] != NOT_APPLIED]
    old = {each["old_sql"] for each in gone if each["old_sql"] != each["new_sql"]}
    warnings += _list_stale(root, [name for name in names if name not in texts], old)

    with replace_folder(target) as partial:
        _copy(root, partial, tree, texts, without_databases=without_databases)
        write_jsonl(partial / LIST, records)
    for line in [*warnings, *applied.warnings]:
        log.warning(f"warning: {line}")
    actions = Counter(each["action"] for each in records)
    log.info(
        f"{spell_count(sum(len(file.questions) for file in files), 'question', ',')},"
        f" {actions[REPLACE]:,} corrected, {actions['exclude']:,} left out,"
        f" {spell_count(applied.unused, 'correction', ',')} without a question here"
    )


def _check_places(folder: Path, out: Path) -> tuple[Path, Path]:
    """Return the real paths of both."""
    if not folder.is_dir():
        raise InputError(f"No folder {folder}: expected a release of Spider or BIRD, or a corpus")
    root, target = folder.resolve(), out.resolve()
    if target != root and target.is_relative_to(root):
        raise InputError(f"{out}: lies in {folder}: expected a place outside of it")
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{out}: is there, and not empty: expected a new or an empty folder")
    if (root / LIST).exists():
        raise InputError(
            f"{folder / LIST}: is there already: expected none, since the copy has a list of that"
            " name; rename it"
        )
    return root, target


def _choose_layouts(layout: str | None) -> dict[str, Layout]:
    if layout is None:
        return ROW_LAYOUTS
    if layout not in ROW_LAYOUTS:
        raise InputError(f"--layout is {layout!r}, expected one of {', '.join(ROW_LAYOUTS)}")
    return {layout: ROW_LAYOUTS[layout]}


def _find_list(corrections: str | Path) -> Path:
    if isinstance(corrections, str):
        path = find_file(CORRECTIONS / f"{corrections}.yaml")
    else:
        path = corrections
    if not path.is_file():
        raise InputError(
            f"No {path}: expected a list of corrections: its name in {CORRECTIONS} of the project"
            " in which you are, or its path"
        )
    return path


# The folder


class _Tree(NamedTuple):
    """The content of a folder, as relative paths. databases: the folders with databases."""

    folders: list[str]
    files: list[str]
    links: list[str]
    databases: list[str]

    def is_of_databases(self, name: str) -> bool:
        return any(name == each or name.startswith(f"{each}/") for each in self.databases)


def _read_tree(root: Path) -> _Tree:
    """Return the content of a folder. Links are not followed: each must lead to a place in the
    folder, by a relative path, so that the same link leads there in the copy.

    Raises:
        InputError: a link leads elsewhere, or an entry is neither a file nor a folder.
        OSError: a folder cannot be read.
    """
    tree = _Tree([], [], [], [])
    for folder, folders, files in os.walk(root, onerror=_raise):
        folders.sort()
        here = Path(folder)
        if _holds_databases(here, folders):
            tree.databases.append(here.relative_to(root).as_posix())
        for path in [here / name for name in (*folders, *sorted(files))]:
            name, mode = path.relative_to(root).as_posix(), path.lstat().st_mode
            if stat.S_ISLNK(mode):
                _check_link(root, path, name)
                tree.links.append(name)
            elif stat.S_ISDIR(mode):
                tree.folders.append(name)
            elif stat.S_ISREG(mode):
                tree.files.append(name)
            else:
                raise InputError(f"{path}: expected a file or a folder")
    return tree


def _raise(error: OSError) -> None:
    raise error


def _holds_databases(folder: Path, children: Iterable[str]) -> bool:
    """Return whether it has a folder ID with ID.sqlite or schema.sql."""
    places = DirectoryDatabases(folder, ("",), _DATABASE_FILES)
    return any(path.is_file() for child in children for path in places.list_places(child))


def _check_link(root: Path, path: Path, name: str) -> None:
    target = os.readlink(path)
    destination = os.path.normpath(os.path.join(os.path.dirname(name), target))
    leads_out = os.path.isabs(target) or destination.split(os.sep)[0] == os.pardir
    if leads_out or not Path(os.path.realpath(path)).is_relative_to(root):
        raise InputError(
            f"{path}: links to {target}: expected no link that leads out of the folder; `cp -rL`"
            " makes a folder with the files themselves"
        )


def _copy(
    root: Path, target: Path, tree: _Tree, texts: Mapping[str, str], *, without_databases: bool
) -> None:
    def is_kept(name: str) -> bool:
        return not (without_databases and tree.is_of_databases(name))

    for name in filter(is_kept, tree.folders):
        (target / name).mkdir()
    for name in filter(is_kept, tree.links):
        os.symlink(os.readlink(root / name), target / name)
    for name in filter(is_kept, tree.files):
        if name in texts:
            (target / name).write_bytes(encode_text(texts[name]))
        else:
            shutil.copy(root / name, target / name)


# Corrections that are valid here


class _Applied(NamedTuple):
    """The questions of each file from `apply_corrections`; warnings; and the number of corrections
    that have no question here."""

    questions: Mapping[str, list[SourceQuestion]]
    warnings: list[str]
    unused: int


def _apply(
    files: Iterable[QuestionFile],
    corrections: Sequence[Correction],
    path: Path,
    root: Path,
    databases: Sequence[str],
) -> _Applied:
    questions = [question for file in files for question in file.questions]
    queries: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for question in questions:
        queries[question["database_name"], question["question_text"]].add(question["gold_sql"])
    quoted = [each for each in corrections if _is_quoted_here(each, queries)]
    hashed = [each for each in corrections if each.sha256 is not None]
    corrected = apply_corrections(questions, [*quoted, *hashed])
    by_key = {(each.database, str(each.sha256)): each for each in corrected.hits}
    judged = list_judged_queries(corrected.records, by_key, ())
    executions = _execute(judged, root, databases)
    verdicts = read_verdict_file(path.parent.parent / VERDICTS.name / f"{path.stem}.jsonl")
    records, withdrawn = withdraw_unconfirmed(corrected.records, by_key, verdicts, executions)
    by_file: dict[str, list[SourceQuestion]] = defaultdict(list)
    for record in records:
        by_file[record["source"]["file"]].append(record)
    unchecked = [query for query in judged if query.name not in executions]
    warnings = _describe_unchecked(unchecked) + describe_withdrawn(withdrawn)
    return _Applied(by_file, warnings, len(corrections) - len(quoted) - len(corrected.hits))


def _is_quoted_here(correction: Correction, queries: Mapping[tuple[str, str], set[str]]) -> bool:
    if correction.question is None:
        return False
    known = queries.get((correction.database, correction.question), set())
    return bool(known) if correction.gold_sql is None else correction.gold_sql in known


def _execute(
    judged: Sequence[JudgedQuery], root: Path, databases: Sequence[str]
) -> dict[str, Execution]:
    """Return the result of each query beside gold, by its name, if its database can be read."""
    limits = Limits()
    overdue = Execution(
        answers=None, is_void=False, detail=f"more than {limits.max_seconds} seconds"
    )
    works: list[DatabaseWork[Pair, Context, Execution]] = []
    with tempfile.TemporaryDirectory(prefix="answerkey-") as folder:
        scratch = Path(folder)
        places = DirectoryDatabases(root, tuple(databases), _DATABASE_FILES)
        names = dict.fromkeys(query.database_name for query in judged)
        opened = {name: _open(name, places, scratch / "databases") for name in names}
        ready = {name: found for name, found in opened.items() if found is not None}
        records = [query._asdict() | {"name": query.name} for query in judged]
        for shard, group in cut_in_shards(r for r in records if r["database_name"] in ready):
            database, schema = ready[shard.database_name]
            pairs = [(each["name"], (each["gold_sql"], each["sql"])) for each in group]
            context = (schema, limits, None)
            works.append(DatabaseWork(shard, Database(database, ""), "", pairs, context))
        run = QueryRun[Pair, Context, Execution](scratch / QUERIES, execute_task, overdue)
        run.run(works, databases=len(ready))
        return read_executions(scratch)


def _open(db_id: str, places: DirectoryDatabases, made: Path) -> tuple[Path, Schema] | None:
    """Return a database and its schema; None if there is none that can be read."""
    path = next((candidate for candidate in places.list_places(db_id) if candidate.is_file()), None)
    if path is None:
        return None
    try:
        if path.suffix == ".sql":
            text, path = path, made / f"{db_id}.sqlite"
            build_in_process(text, path)
        with contextlib.closing(open_database(path)) as connection:
            return path, read_schema(connection)
    except (InputError, sqlite3.Error):
        return None


def _describe_unchecked(unchecked: Sequence[JudgedQuery]) -> list[str]:
    if not unchecked:
        return []
    names = sorted({query.database_name for query in unchecked})
    named = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    count = spell_count(len(unchecked), "corrected query", ",")
    return [f"{count} not executed, since there is no database that can be read: {named}"]


# Corrected files


def _is_left_out(question: SourceQuestion) -> bool:
    note = question["source"].get("correction")
    return note is not None and note["action"] != REPLACE


def _read_original(question: SourceQuestion) -> Mapping[str, str]:
    """Return the former fields of a corrected question; {} for another question."""
    note = question["source"].get("correction")
    return {} if note is None else note.get("original", {})


def _rewrite_questions(
    file: QuestionFile, questions: Sequence[SourceQuestion]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a file with its corrected questions, and a record of each correction."""
    pieces: list[str | None] = []
    records = []
    for index, question in enumerate(questions):
        start, end = file.spans[index]
        piece: str | None = file.text[start:end]
        removed: list[str] = []
        if _is_left_out(question):
            piece = None
        elif _read_original(question):
            piece, removed = _rewrite(file, index, question)
        pieces.append(piece)
        if "correction" in question["source"] or "unconfirmed" in question["source"]:
            records.append(_describe(file, index, question, removed))
    return rejoin(file.text, file.spans, pieces), records


def _rewrite(file: QuestionFile, index: int, question: SourceQuestion) -> tuple[str, list[str]]:
    layout, original = file.layout, _read_original(question)
    keys = {"gold_sql": layout.gold_sql, "question_text": layout.question}
    if layout.evidence is not None:
        keys["evidence"] = layout.evidence
    elif "evidence" in original:
        where = f"{file.name}: row {index}"
        raise InputError(f"{where}: its correction has evidence, and its layout has none")
    changed = {keys[name]: cast("dict[str, str]", question)[name] for name in original}
    stale = {f"{key}_{end}" for key in changed for end in _TOKENS}
    if layout.gold_sql in changed:
        stale.update(_MADE_FROM_SQL)
    sql = original.get("gold_sql", question["gold_sql"]), question["gold_sql"]
    return rewrite_row(file, index, changed, sql=sql, stale=stale)


def _describe(
    file: QuestionFile, index: int, question: SourceQuestion, removed: list[str]
) -> dict[str, Any]:
    """Return a line of the list."""
    before, source = cast("dict[str, Any]", file.questions[index]), question["source"]
    note: Mapping[str, Any] = source.get("unconfirmed") or cast("Any", source["correction"])
    new_sql = note.get("sql", question["gold_sql"])
    record = {
        "file": file.name,
        "index": index,
        "question_id": file.ids[index],
        "db_id": before["database_name"],
        "action": note.get("action", NOT_APPLIED),
        "sha256": hash_question(before["question_text"], before["gold_sql"]),
        "old_sql": before["gold_sql"],
        "new_sql": None if _is_left_out(question) else new_sql,
    }
    for name in _read_original(question):
        if name != "gold_sql":
            record[f"old_{name}"] = before.get(name)
            record[f"new_{name}"] = cast("dict[str, Any]", question)[name]
    record |= {
        "removed_fields": removed or None,
        "not_applied_because": note.get("here"),
        **{name: note.get(name) for name in ("reason", "source", "link")},
    }
    return {name: value for name, value in record.items() if value is not None or name == "new_sql"}


def _rewrite_golds(
    root: Path,
    names: Iterable[str],
    files: Sequence[QuestionFile],
    questions: Mapping[str, list[SourceQuestion]],
) -> tuple[dict[str, str], list[str]]:
    """Return the text of each file of gold SQL, matching the questions, and warnings.

    Raises:
        InputError: a file has such a name, and its lines are not those of the questions.
    """
    texts, warnings = {}, []
    for name in names:
        path = Path(name)
        beside = [file for file in files if Path(file.name).parent == path.parent]
        touched = (each for file in beside for each in questions[file.name])
        if path.suffix != ".sql" or not any(map(_is_touched, touched)):
            continue
        text = read_text(root / name)
        lines = read_gold_lines(text)
        run = find_gold_files(lines, beside) if lines else None
        if lines is None or run is None:
            if path.stem.endswith("gold") or path.stem in {Path(file.name).stem for file in beside}:
                raise InputError(
                    f"{root / name}: expected SQL, a tab and the database in each line, for the"
                    f" questions of {', '.join(file.name for file in beside)} in their order;"
                    " correct a folder without this file"
                )
            continue
        after = [question for file in run for question in questions[file.name]]
        pieces, others = _correct_lines(name, text, lines, after)
        texts[name] = rejoin(text, [line.span for line in lines], pieces)
        if others:
            numbers = ", ".join(map(str, others[:_NAMED]))
            numbers += ", ..." if len(others) > _NAMED else ""
            count = spell_count(len(others), "corrected line", ",")
            warnings.append(f"{name}: {count} had other SQL than the question: {numbers}")
    return texts, warnings


def _is_touched(question: SourceQuestion) -> bool:
    return "correction" in question["source"]


def _correct_lines(
    name: str, text: str, lines: Sequence[GoldLine], questions: Sequence[SourceQuestion]
) -> tuple[list[str | None], list[int]]:
    """Return the replacement of each line, and the numbers of the lines that had other SQL."""
    pieces: list[str | None] = []
    others = []
    for line, question in zip(lines, questions, strict=True):
        start, end = line.span
        piece: str | None = text[start:end]
        old_sql = _read_original(question).get("gold_sql")
        if _is_left_out(question):
            piece = None
        elif old_sql is not None:
            try:
                piece = put_in_line(question["gold_sql"]) + text[start + len(line.sql) : end]
            except InputError as error:
                raise InputError(f"{name}: {error}") from error
            if fold_sql(line.sql) != fold_sql(old_sql):
                others.append(text.count("\n", 0, start) + 1)
        pieces.append(piece)
    return pieces, others


def _list_stale(root: Path, names: Iterable[str], old: set[str]) -> list[str]:
    """Return a warning for each file that is copied unchanged, and has SQL of changed questions."""
    quoted = {json.dumps(sql, ensure_ascii=is_ascii) for sql in old for is_ascii in (True, False)}
    warnings = []
    for name in names:
        if Path(name).suffix in _JSON:
            held = quoted.intersection(_JSON_TEXT.findall(read_text(root / name)))
        elif Path(name).suffix in _LINES:
            lines = read_text(root / name).splitlines()
            held = old.intersection(line.partition("\t")[0] for line in lines)
        else:
            continue
        if held:
            count = spell_count(len(held), "query", ",")
            warnings.append(
                f"{name}: copied as it is, with gold SQL that was corrected or left out: {count}"
            )
    return warnings
