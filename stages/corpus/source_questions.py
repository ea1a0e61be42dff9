"""Questions as a corpus holds them: every row of its files, in order, checked and unaltered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.corpus.corpora import (
    ALL,
    Corpus,
    DirectoryCorpus,
    HubCorpus,
    list_local_databases,
    suggest_names,
)
from stages.corpus.databases import check_db_id, check_db_ids
from stages.corpus.hub import HubError, Limits, fetch_file, resolve_revision
from stages.corpus.json_arrays import read_array

COLUMNS = ("db_id", "query", "question")


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """A row of a question file; `source` says which row of which file of which corpus."""

    db_id: str
    query: str
    question: str
    split: str
    source: dict[str, Any]


def read_source_questions(corpus: Corpus, *, limits: Limits) -> Iterator[SourceQuestion]:
    """All rows of a corpus: train, then validation, each in the order of its files. They are read
    as they are asked for, and so are found the faults that are raised.

    Raises:
        FileNotFoundError: where a file of a directory is missing.
        ConnectionError: "Failed to download Spider dataset: ...".
        ValueError: with file and row, where a row has no text for one of `COLUMNS`.
    """
    is_local = isinstance(corpus, DirectoryCorpus)
    return _read_directory(corpus) if is_local else _read_hub(corpus, limits)


def list_db_ids(corpus: Corpus, *, limits: Limits) -> list[str]:
    """The ids that db_list means, sorted. `all`: of every database that has questions.

    Raises:
        as `read_source_questions` and `choose_db_ids`, where it is `all`.
    """
    if corpus.db_list != ALL:
        return sorted(corpus.db_list)
    questions = read_source_questions(corpus, limits=limits)
    return choose_db_ids(corpus, ALL, {question.db_id for question in questions})


def choose_db_ids(
    corpus: Corpus, db_ids: str | Iterable[str], with_questions: set[str]
) -> list[str]:
    """The listed ids, sorted, or with `all` those of all databases that have questions.

    Raises:
        ValueError: where a listed database has no question, or questions have no database.
    """
    if db_ids == ALL:
        if isinstance(corpus, DirectoryCorpus):
            present = list_local_databases(corpus)
            if missing := sorted(with_questions.difference(present)):
                raise ValueError(
                    f"Questions of {', '.join(missing[:5])} ({len(missing)} in all) have no"
                    f" database in {corpus.databases_dir}; {suggest_names(missing[0], present)}"
                )
        return sorted(check_db_ids(with_questions))
    checked = sorted(check_db_ids(db_ids))
    for db_id in checked:
        if db_id not in with_questions:
            raise ValueError(
                f"Database {db_id} has no question in corpus {corpus.name}:"
                f" {suggest_names(db_id, with_questions)}"
            )
    return checked


def _read_directory(corpus: DirectoryCorpus) -> Iterator[SourceQuestion]:
    for split, names in corpus.question_files.items():
        for name in names:
            path = corpus.root / name
            if not path.is_file():
                raise FileNotFoundError(
                    f"No {path}: expected a JSON array of questions, as in a Spider release, for"
                    f" corpus {corpus.name} (corpora.{corpus.name}.root in params.yaml)"
                )
            rows = read_array(path)
            yield from _check_rows(rows, split, {"corpus": corpus.name, "file": name}, str(path))


def _read_hub(corpus: HubCorpus, limits: Limits) -> Iterator[SourceQuestion]:
    try:
        revision = resolve_revision(corpus.repo_id, corpus.revision, limits=limits)
        paths = {
            name: fetch_file(
                corpus.repo_id, revision, name, limits=limits, sha256=corpus.sha256.get(name)
            )
            for names in corpus.question_files.values()
            for name in names
        }
    except HubError as error:
        raise ConnectionError(f"Failed to download Spider dataset: {error}") from error
    place = {"corpus": corpus.name, "repo_id": corpus.repo_id, "revision": revision}
    for split, names in corpus.question_files.items():
        for name in names:
            where = f"{name} of {corpus.repo_id} at {revision}"
            rows = _read_parquet(paths[name], where)
            yield from _check_rows(rows, split, place | {"file": name}, where)


def _read_parquet(path: Path, where: str) -> Iterator[dict[str, Any]]:
    import datasets
    import pyarrow
    from pyarrow import parquet

    try:
        columns = parquet.read_schema(path).names
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{where}: not a parquet file: {error}") from error
    if missing := [column for column in COLUMNS if column not in columns]:
        raise ValueError(f"{where}: no column {missing[0]!r} among {columns}, expected {COLUMNS}")
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(prefix="answerkey-") as cache_dir:
        yield from datasets.Dataset.from_parquet(
            str(path), columns=list(COLUMNS), cache_dir=cache_dir, keep_in_memory=True
        )


def _check_rows(
    rows: Iterable[Any], split: str, source: dict[str, Any], where: str
) -> Iterator[SourceQuestion]:
    for index, row in enumerate(rows):
        values = [row.get(column) for column in COLUMNS] if isinstance(row, dict) else [None]
        if not all(isinstance(value, str) for value in values):
            raise ValueError(
                f"{where}: row {index}: expected text for {COLUMNS}, found {row!r:.200}"
            )
        try:
            check_db_id(values[0])
        except ValueError as error:
            raise ValueError(f"{where}: row {index}: {error}") from error
        yield SourceQuestion(*values, split, source | {"index": index})
