"""Copy the databases of a corpus and add rows, so that its queries have answers.

    python -m answerkey.corpus.filling synsql filled --rows 40

Corpora that a model wrote have databases with two rows per table, or none. Half of all queries find
nothing there, and wrong queries find nothing, too. This command writes `ROOT/filled/ID/ID.sqlite`
for each database of the entry `synsql` of params.yaml; then set `databases: [filled]` there.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count, start_log, track_progress
from answerkey.base.records import replace_file
from answerkey.base.stage import make_parser, run_command
from answerkey.corpus.corpora import (
    Corpus,
    DirectoryDatabases,
    parse_corpora,
    read_source_questions,
)
from answerkey.corpus.databases import UnreadableDatabaseError, check_database
from answerkey.engines.names import SQLITE
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sections.corpora import Download
from answerkey.sections.whole_file import read_params
from answerkey.sql.canonical import NO_FORM
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.variants.constants import Conditions, list_conditions
from answerkey.variants.fuzzer import fill_rows
from answerkey.variants.rows import Rows, read_rows, serialize_rows

_NOT_COPIED = (
    "SELECT 1 FROM pragma_table_list WHERE schema = 'main' AND type IN ('virtual', 'shadow')"
)


def fill_database(path: Path, queries: Iterable[str], *, rows: int) -> bytes | None:
    """Return the bytes of a copy of a database whose tables have at least `rows` rows, and rows
    that meet the conditions of the queries. The same input gives the same bytes on any machine.

    Its own rows and all rules of the schema are kept; a table has fewer rows if these allow no
    more. Return None if its tables have that many rows already, or cannot be copied: more than
    1,000 rows, a row of more than 20 kB, a virtual table, statements that this SQLite does not run,
    or a file that is no whole database.
    """
    try:
        check_database(path)
    except UnreadableDatabaseError:
        return None
    with contextlib.closing(open_database(path)) as connection:
        schema = read_schema(connection)
        if connection.execute(_NOT_COPIED).fetchone():
            return None
    try:
        source = read_rows(path)
    except InputError:
        return None
    tables = source.tables.values()
    is_whole = all(table.is_whole for table in tables)
    if not is_whole or all(len(table.rows) >= rows for table in tables):
        return None
    filled = fill_rows(source, _read_conditions(queries, schema, source), max_rows=rows)
    for name, table in source.tables.items():
        if filled.tables[name].rows[: len(table.rows)] != table.rows:
            return None  # a row that violates a CHECK of its own table cannot be written again
    return serialize_rows(filled)


def _read_conditions(queries: Iterable[str], schema: Schema, rows: Rows) -> list[Conditions]:
    conditions: dict[Conditions, None] = {}
    for sql in queries:
        with contextlib.suppress(*NO_FORM, RecursionError):
            scopes = Scopes(parse_sql(sql), schema)
            conditions.update(dict.fromkeys(list_conditions(scopes, rows.tables)))
    return list(conditions)


def fill_corpus(corpus: Corpus, folder: str, *, rows: int, limits: Download) -> int:
    """Write the databases of a corpus into a folder below its root: filled, or unchanged if that is
    not possible. Return how many were filled."""
    databases = corpus.databases
    if not isinstance(databases, DirectoryDatabases):
        raise InputError(f"Corpus {corpus.name} is on the hub: expected one with origin: directory")
    if corpus.engine != SQLITE:
        words = f"Corpus {corpus.name} has databases of {corpus.engine}"
        raise InputError(f"{words}: expected those of SQLite, the only ones that are filled")
    queries: dict[str, dict[str, None]] = defaultdict(dict)
    for question in read_source_questions(corpus, limits=limits):
        queries[question["database_name"]][question["gold_sql"]] = None
    count = 0
    for db_id in track_progress(sorted(queries), "filling", total=len(queries), unit="databases"):
        candidates = databases.list_places(db_id)
        source = next((path for path in candidates if path.is_file()), None)
        if source is None:
            raise FileNotFoundError(f"Database {db_id}: no {' and no '.join(map(str, candidates))}")
        content = fill_database(source, queries[db_id], rows=rows)
        with replace_file(databases.root / folder / db_id / f"{db_id}.sqlite") as file:
            file.write(source.read_bytes() if content is None else content)
        count += content is not None
    return count


def main(*arguments: str) -> None:
    parser = make_parser("answerkey.corpus.filling", __doc__)
    parser.add_argument("corpus", help="an entry of corpora in params.yaml, in a directory")
    parser.add_argument("folder", help="where filled databases go, below its root")
    parser.add_argument("--rows", type=int, default=40, help="least number in a table")
    options = parser.parse_args(arguments)
    params = read_params()
    entries = params.corpora
    limits = params.download
    (corpus,) = parse_corpora(options.corpus, entries)
    filled = fill_corpus(corpus, options.folder, rows=options.rows, limits=limits)
    key = f"corpora.{corpus.name}.databases"
    databases = spell_count(filled, "database")
    start_log("filling").info(f"{databases} filled: set {key} to [{options.folder}]")


if __name__ == "__main__":
    run_command(main)
