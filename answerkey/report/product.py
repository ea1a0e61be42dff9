"""The product as the page shows it: the rows of its table, and the schemas that they ask."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from answerkey.core.joined import read_classified
from answerkey.core.question import AUDIT, EXCLUDED, SUITES
from answerkey.core.records import read_jsonl
from answerkey.core.schema_file import SchemaFile
from answerkey.report.questions import choose_ids, cut_text, find_verdict, make_rows
from answerkey.report.suites import show_suite

Record = dict[str, Any]


def read_rows(product: Path, *, max_rows: int, max_characters: int) -> list[Record]:
    """The rows of the page's table, in the order of the corpus."""
    ids = choose_ids(_read_sidecars(product), max_rows=max_rows)
    verdicts = {
        record["question_id"]: find_verdict(record)
        for record in _read_sidecars(product)
        if record["question_id"] in ids
    }
    suites = {
        suite["question_id"]: show_suite(suite, max_characters=max_characters)
        for suite in read_jsonl(product / SUITES)
        if suite["question_id"] in ids
    }
    return list(make_rows(read_classified(), verdicts, suites, max_characters=max_characters))


def _read_sidecars(product: Path) -> Iterator[Record]:
    """Each question once: with its flags if it is selected, with its reason if it is not."""
    return chain(read_jsonl(product / AUDIT), read_jsonl(product / EXCLUDED))


def read_statements(
    rows: Iterable[Record], schemas: SchemaFile, *, max_characters: int
) -> dict[str, dict[str, str]]:
    """The CREATE statements of the tables that the rows ask, by database and table."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        asked[row["database"]].update(row["tables"])
    return {
        database: {
            table["name"]: cut_text(table["sql"], max_characters)
            for table in schemas.read_tables(database)
            if table["name"] in asked[database]
        }
        for database in sorted(asked)
    }
