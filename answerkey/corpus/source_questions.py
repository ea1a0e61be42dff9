"""Questions as a corpus holds them: every row of its files, in order, checked and unaltered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.corpus.corpora import (
    DIFFICULTY,
    Corpus,
    DirectoryDatabases,
    DirectoryQuestions,
    Layout,
    describe_root,
    suggest_names,
)
from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.errors import InputError
from answerkey.sections.corpora import ALL, Download, HubQuestions
from answerkey.sqlite.files import check_db_id, check_db_ids


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """A row of a question file; evidence is '' if there is none; `source` says which row of which
    file of which corpus, and holds what else its layout keeps; `other_queries` are right, too."""

    db_id: str
    query: str
    question: str
    evidence: str
    split: str
    source: dict[str, Any]
    other_queries: tuple[str, ...] = ()


def read_source_questions(corpus: Corpus, *, limits: Download) -> Iterator[SourceQuestion]:
    """All rows of a corpus: train, then validation, each in the order of its files.

    An error is raised when its row is reached.

    Raises:
        FileNotFoundError: if a directory or a file of it is missing.
        ConnectionError: "Failed to download Spider dataset: ...".
        InputError: with file and row, if a row has no text for a field of its layout.
    """
    if isinstance(corpus.questions, DirectoryQuestions):
        return _read_directory(corpus, corpus.questions)
    return _read_hub(corpus, corpus.questions, limits)


def list_db_ids(corpus: Corpus, *, limits: Download) -> list[str]:
    """The ids that db_list means, sorted. `all`: of every database that has questions; then it
    raises as `read_source_questions` and `choose_db_ids`."""
    if corpus.db_list != ALL:
        return sorted(corpus.db_list)
    questions = read_source_questions(corpus, limits=limits)
    return choose_db_ids(corpus, ALL, {question.db_id for question in questions})


def choose_db_ids(
    corpus: Corpus, db_ids: str | Iterable[str], with_questions: set[str]
) -> list[str]:
    """The listed ids, sorted, or with `all` those of all databases that have questions.

    Raises:
        InputError: if there is no question at all, or a listed database has none, or questions have
            no database.
    """
    if not with_questions:
        files = ", ".join(name for names in corpus.questions.files.values() for name in names)
        raise InputError(
            f"Corpus {corpus.name} has no question: expected some in {files or 'a file'}"
            f" (corpora.{corpus.name}.questions in params.yaml)"
        )
    checked = sorted(check_db_ids(with_questions if db_ids == ALL else db_ids))
    if db_ids == ALL:
        if isinstance(corpus.databases, DirectoryDatabases):
            present = corpus.databases.list_ids()
            if missing := sorted(with_questions.difference(present)):
                raise InputError(
                    f"Questions of {', '.join(missing[:5])} ({len(missing)} in all) have no"
                    f" database in {corpus.databases}; {suggest_names(missing[0], present)};"
                    " expected one for each, or a db_list without them"
                )
    elif unknown := [db_id for db_id in checked if db_id not in with_questions]:
        raise InputError(
            f"Database {unknown[0]} has no question in corpus {corpus.name}:"
            f" {suggest_names(unknown[0], with_questions)}"
        )
    return checked


def _read_directory(corpus: Corpus, questions: DirectoryQuestions) -> Iterator[SourceQuestion]:
    for split, names in questions.files.items():
        for name in names:
            path = questions.root / name
            if not path.is_file():
                raise FileNotFoundError(_describe_missing(corpus, questions, name))
            if not path.stat().st_size:
                raise InputError(f"{path}: the file is empty, expected questions")
            rows = corpus.layout.read(path)
            place = {"corpus": corpus.name, "file": name}
            yield from _check_rows(rows, corpus.layout, split, place, str(path))


def _describe_missing(corpus: Corpus, questions: DirectoryQuestions, name: str) -> str:
    expected = [file for files in questions.files.values() for file in files]
    databases = corpus.databases
    if isinstance(databases, DirectoryDatabases) and corpus.owner == corpus.name:
        file = databases.files[0].replace("{db_id}", "ID")
        expected.append(" or ".join(f"{folder}/{file}" for folder in databases.folders))
    words = describe_root(corpus.name, questions.root, name, expected, section="questions")
    for split, files in questions.files.items():
        if files and all((questions.root / file).is_file() for file in files):
            few = f"{{{split}: [{', '.join(files)}]}}"
            words += f"; for {split} alone set corpora.{corpus.name}.questions: {few}"
    return words


def _read_hub(
    corpus: Corpus, questions: HubQuestions, limits: Download
) -> Iterator[SourceQuestion]:
    repo_id, files = questions.repo_id, questions.files
    try:
        revision = resolve_revision(repo_id, questions.revision, limits=limits)
        paths = {
            name: fetch_file(
                repo_id,
                revision,
                name,
                limits=limits,
                sha256=questions.sha256.get(name),
                check=_check_parquet,
            )
            for names in files.values()
            for name in names
        }
    except HubError as error:
        raise ConnectionError(f"Failed to download Spider dataset: {error}") from error
    for split, names in files.items():
        for name in names:
            where = f"{name} of {repo_id} at {revision}"
            place = {"corpus": corpus.name, "repo_id": repo_id, "revision": revision, "file": name}
            rows = _read_parquet(paths[name], corpus.layout, where)
            yield from _check_rows(rows, corpus.layout, split, place, where)


def _check_parquet(path: Path) -> None:
    """Make sure that every row of the file can be read.

    Raises:
        ValueError: "not a whole parquet file: ...".
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches():
                pass
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"not a whole parquet file: {error}") from error


def _read_parquet(path: Path, layout: Layout, where: str) -> Iterator[dict[str, Any]]:
    import datasets
    from pyarrow import parquet

    columns = parquet.read_schema(path).names
    if missing := [column for column in layout.required if column not in columns]:
        raise InputError(
            f"{where}: no column {missing[0]!r} among {columns}, expected {layout.required}"
        )
    wanted = [*layout.required, *(column for column in layout.optional if column in columns)]
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(prefix="answerkey-") as cache_dir:
        yield from datasets.Dataset.from_parquet(
            str(path), columns=wanted, cache_dir=cache_dir, keep_in_memory=True
        )


def _check_rows(
    rows: Iterable[Any], layout: Layout, split: str, source: dict[str, Any], where: str
) -> Iterator[SourceQuestion]:
    for index, row in enumerate(rows):
        values = [row.get(name) for name in layout.required] if isinstance(row, dict) else [None]
        others: tuple[str, ...] = ()
        if len(values) > 1 and isinstance(values[1], list) and values[1]:
            values[1], *rest = values[1]
            others = tuple(dict.fromkeys(sql for sql in rest if sql != values[1]))
        if not all(isinstance(value, str) for value in (*values, *others)):
            raise InputError(
                f"{where}: row {index}: expected text for {layout.required}, found {row!r:.200}"
                f" (corpora.{source['corpus']}.layout in params.yaml names the fields)"
            )
        try:
            check_db_id(values[0])
            evidence = _read_evidence(row, layout)
        except InputError as error:
            raise InputError(f"{where}: row {index}: {error}") from error
        kept = {name: row[name] for name in layout.kept if row.get(name) is not None}
        if row.get(layout.difficulty) is not None:
            kept[DIFFICULTY] = row[layout.difficulty]
        yield SourceQuestion(*values, evidence, split, source | {"index": index} | kept, others)


def _read_evidence(row: dict[str, Any], layout: Layout) -> str:
    """The evidence of a row as it stands there; '' if it is missing, null or blank."""
    evidence = None if layout.evidence is None else row.get(layout.evidence)
    if evidence is not None and not isinstance(evidence, str):
        raise InputError(f"expected text for {layout.evidence!r}, found {evidence!r:.200}")
    return evidence if evidence and evidence.strip() else ""
