"""Test suites as the report shows them: scores, operators, and rows that tell neighbors from gold.

A neighbor is a wrong query one step away from gold SQL; what tells it from gold kills it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from answerkey.dataset import AUDIT, EXCLUDED, SUITES, read_classified
from answerkey.records import SchemaFile, read_jsonl
from answerkey.report.questions import choose_ids, cut_text, find_verdict, make_row, show_answer

_FATES = ("killed", "alive", "undecided")
_ROW_CHARACTERS = 100  # of three rows, which stand beside three others

Record = dict[str, Any]


def show_suite(suite: Record, *, max_characters: int) -> Record:
    """What the page's script shows of the test suite of a question; all of it is in the sidecar.

    scores: of the database and of the suite, or None.
    killed: how many neighbors are killed.
    operators: of each that has neighbors that are not, its name, and how many of its neighbors are
        killed, alive and undecided.
    databases: how many there are.
    kill: the neighbor with the shortest SQL that a database kills, or None: the file of the
        database, the operator, the SQL, the rows that gold SQL gives there, and those of the
        neighbor, None if it fails.
    alive: operator and SQL of neighbors that live.
    """
    score = suite["mutation_score"]
    killing = [database for database in suite["databases"] if database["kill"] is not None]
    shown = min(killing, key=lambda database: len(database["kill"]["sql"]), default=None)

    def cut_sql(neighbor: Record) -> list[str]:
        return [neighbor["operator"], cut_text(neighbor["sql"], max_characters)]

    def show_kill(database: Record) -> list[Any]:
        kill = database["kill"]
        rows = (_show_rows(kill[name]) for name in ("gold_rows", "neighbor_rows"))
        return [PurePosixPath(database["path"]).name, *cut_sql(kill), *rows]

    return {
        "scores": None if score is None else [score["database"], score["suite"]],
        "killed": sum(fates["killed"] for fates in suite["operators"].values()),
        "operators": [
            [name, *fates.values()]
            for name, fates in suite["operators"].items()
            if fates["alive"] or fates["undecided"]
        ],
        "databases": len(suite["databases"]),
        "kill": None if shown is None else show_kill(shown),
        "alive": [cut_sql(neighbor) for neighbor in suite["alive"]],
    }


def _show_rows(rows: list[list[Any]] | None) -> list[list[Any]] | None:
    return None if rows is None else show_answer(rows, max_characters=_ROW_CHARACTERS)["rows"]


def tabulate_operators(suites: Iterable[Record]) -> list[Record]:
    """A row for each operator with the fates of its neighbors in all suites, those with the most
    alive first, and the share that is killed of those that count, None if none does.

    >>> tabulate_operators([{"operators": {"limit": {"killed": 3, "alive": 1, "undecided": 2}}}])
    [{'name': 'limit', 'killed': 3, 'alive': 1, 'undecided': 2, 'share': 0.75}]
    """
    operators: dict[str, Counter[str]] = {}
    for suite in suites:
        for name, fates in suite["operators"].items():
            operators.setdefault(name, Counter()).update(fates)
    rows = []
    for name, fates in operators.items():
        counted = fates["killed"] + fates["alive"]
        share = fates["killed"] / counted if counted else None
        rows.append({"name": name, **{fate: fates[fate] for fate in _FATES}, "share": share})
    return sorted(rows, key=lambda row: (-row["alive"], -row["killed"], row["name"]))


# The product as the page shows it: the rows of its table, and the schemas that they ask.


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
    return [
        make_row(question, verdict, suites.get(question_id), max_characters=max_characters)
        for question in read_classified()
        if (verdict := verdicts.get(question_id := question.question_id)) is not None
    ]


def _read_sidecars(product: Path) -> Iterator[Record]:
    """Each question once: with its flags if it is selected, with its reason if it is not."""
    return chain(read_jsonl(product / AUDIT), read_jsonl(product / EXCLUDED))


def read_statements(
    rows: Iterable[Record], schemas: SchemaFile, *, max_characters: int
) -> dict[str, dict[str, str]]:
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
