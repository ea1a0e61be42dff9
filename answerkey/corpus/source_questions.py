"""Questions as a corpus holds them: every row of its files, in order, checked and unaltered."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.base.errors import InputError
from answerkey.corpus.corpora import DIFFICULTY, Corpus, DirectoryQuestions, Layout
from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.sections.corpora import ALL, Download, HubQuestions
from answerkey.sqlite.files import check_db_id, check_db_ids

Record = dict[str, Any]


def read_source_questions(corpus: Corpus, *, limits: Download) -> Iterator[Record]:
    """A record for each row of a corpus: train, then validation, each in the order of its files.

    `source` says which row of which file of which corpus it is, and holds what else its layout
    keeps. `other_sql` are further right queries, and `evidence` is there if a row has some.

    Raises:
        FileNotFoundError: if a file is missing.
        ConnectionError: "Failed to download Spider dataset: ...".
        InputError: with file and row, if a row has no text for a field of its layout.
    """
    questions, source = corpus.questions, {"corpus": corpus.name}
    if isinstance(questions, HubQuestions):
        commit, paths = _fetch(questions, limits)
        source |= {"repo_id": questions.repo_id, "revision": commit}
    else:
        paths = {
            name: questions.root / name for names in questions.files.values() for name in names
        }
    for split, names in questions.files.items():
        for name in names:
            if isinstance(questions, DirectoryQuestions):
                where = str(paths[name])
                rows = _read_file(corpus, paths[name])
            else:
                where = f"{name} of {questions.repo_id} at {commit}"
                rows = _read_parquet(paths[name], corpus.layout, where)
            for index, row in enumerate(rows):
                place = source | {"file": name, "index": index}
                yield _make_record(row, corpus.layout, split, place, f"{where}: row {index}")


def list_db_ids(corpus: Corpus, *, limits: Download) -> list[str]:
    """The ids that db_list means, sorted. `all`: of every database that has questions; then it
    raises as `read_source_questions` and `choose_db_ids`."""
    if corpus.db_list != ALL:
        return sorted(corpus.db_list)
    questions = read_source_questions(corpus, limits=limits)
    return choose_db_ids(corpus, ALL, {question["database_name"] for question in questions})


def choose_db_ids(
    corpus: Corpus, db_ids: str | Iterable[str], with_questions: set[str]
) -> list[str]:
    """The listed ids, sorted, or with `all` those of all databases that have questions.

    Raises:
        InputError: if there is no question at all, or a listed database has none.
    """
    chosen = sorted(check_db_ids(with_questions if db_ids == ALL else db_ids))
    unknown = [db_id for db_id in chosen if db_id not in with_questions]
    if unknown or not chosen:
        raise InputError(
            f"Corpus {corpus.name} has no question{' of ' if unknown else ''}{', '.join(unknown)}:"
            f" expected some (corpora.{corpus.name}.questions and .db_list in params.yaml)"
        )
    return chosen


def _read_file(corpus: Corpus, path: Path) -> Iterator[Any]:
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: expected questions of corpus {corpus.name} (corpora.{corpus.name}.root and"
            " .questions in params.yaml)"
        )
    return corpus.layout.read(path)


def _fetch(questions: HubQuestions, limits: Download) -> tuple[str, dict[str, Path]]:
    """The commit of the questions, and their files."""
    try:
        commit = resolve_revision(questions.repo_id, questions.revision, limits=limits)
        return commit, {
            name: fetch_file(
                questions.repo_id, commit, name, limits=limits, sha256=questions.sha256.get(name)
            )
            for names in questions.files.values()
            for name in names
        }
    except HubError as error:
        raise ConnectionError(f"Failed to download Spider dataset: {error}") from error


def _read_parquet(path: Path, layout: Layout, where: str) -> Iterator[Record]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if missing := [column for column in layout.required if column not in columns]:
                raise InputError(f"{where}: no column {missing[0]!r} among {columns}")
            wanted = [name for name in (*layout.required, *layout.optional) if name in columns]
            for batch in file.iter_batches(columns=wanted):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{where}: not a whole parquet file: {error}") from error


def _make_record(row: Any, layout: Layout, split: str, source: Record, where: str) -> Record:
    fields = row if isinstance(row, dict) else {}
    queries = fields.get(layout.gold_sql)
    gold, *others = queries if isinstance(queries, list) and queries else [queries]
    db_id, question = fields.get(layout.db_id), fields.get(layout.question)
    evidence = fields.get(layout.evidence) or ""
    if not all(isinstance(value, str) for value in (db_id, question, gold, *others, evidence)):
        expected = (*layout.required, *filter(None, [layout.evidence]))
        raise InputError(
            f"{where}: expected text for {', '.join(expected)}, found {row!r:.200}"
            f" (corpora.{source['corpus']}.layout in params.yaml names the fields)"
        )
    try:
        check_db_id(db_id)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    others = [sql for sql in dict.fromkeys(others) if sql != gold]
    kept = {name: row[name] for name in layout.kept if row.get(name) is not None}
    if row.get(layout.difficulty) is not None:
        kept[DIFFICULTY] = row[layout.difficulty]
    return {
        "question_text": question,
        "database_name": sys.intern(db_id),  # one text in memory for all its questions
        "gold_sql": gold,
        **({"other_sql": others} if others else {}),
        **({"evidence": evidence} if evidence.strip() else {}),
        "spider_split": split,
        "source": source | kept,
    }
