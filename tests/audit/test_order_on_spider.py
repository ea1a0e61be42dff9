"""How often the probes of order fire on Spider's questions, each kind looked at by hand.

Compared with attestql 0.4 on the same files: its `arbitrary-cut` fires on 144 questions, and
tie_at_limit on the same 144 and 2 more, a comparison with a scalar subquery that takes one of
several rows of the greatest value (tests/audit/test_order_probes.py has its form). It looks at the
outermost query only. Its `ordering-over-numeric-text` fires on 8 questions, all of them among ours;
the others compare by < or > or take min() or max(), which it does not look at, or have a word for
NULL among the numbers. Its `not-a-function-of-the-data` fires on 163: on 48 of the 87 where
row_order_dependent does, on 88 where ties inside ORDER BY are order_underdetermined here, and on
27 sums and means of floats, which it compares exactly, so that the order of their terms shows.
"""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot

from answerkey.audit.bare_columns import find_bare_column
from answerkey.audit.column_values import ColumnValues
from answerkey.audit.inspection import Inspection
from answerkey.audit.numeric_text import find_numeric_text_order
from answerkey.audit.order_probes import find_order_findings, is_order_certain, read_order
from answerkey.audit.row_independence import has_fixed_rows
from answerkey.audit.row_order import find_row_order_dependent
from answerkey.audit.shuffles import Shuffles
from answerkey.core.reasons import Flag
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import read_schema

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "SPIDER_ROOT" not in os.environ, reason="SPIDER_ROOT names no Spider release"
    ),
]


def _find_all(inspection: Inspection, shuffles: Shuffles) -> set[Flag]:
    findings = find_order_findings(inspection)
    is_ordered = is_order_certain(inspection.tree, findings)
    findings += [
        find_row_order_dependent(inspection, shuffles, is_ordered=is_ordered),
        find_bare_column(inspection),
        find_numeric_text_order(inspection),
    ]
    return {finding.code for finding in findings if finding is not None}


def _read_inspections() -> Iterator[tuple[list[int], Inspection, Shuffles]]:
    """Each distinct query that runs, with the places of its questions in the release."""
    root = Path(os.environ["SPIDER_ROOT"])
    places: dict[str, dict[str, list[int]]] = {}
    place = 0
    for file in ("train_spider.json", "dev.json"):
        for record in json.loads((root / file).read_text()):
            asked = places.setdefault(record["db_id"], {})
            asked.setdefault(record["query"], []).append(place)
            place += 1
    for name, asked in places.items():
        path = root / "database" / name / f"{name}.sqlite"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        schema = read_schema(connection)
        connection.close()
        with GuardedDatabase(path) as database, Shuffles(path) as shuffles:
            for sql, numbers in asked.items():
                try:
                    rows = database.execute(sql)
                except QueryError:
                    continue
                tree = sqlglot.parse_one(sql, read="sqlite")
                yield numbers, Inspection(sql, tree, schema, rows, database), shuffles


@pytest.fixture(scope="module")
def flags() -> dict[int, set[Flag]]:
    """The flags of each question that runs, by its place in the release."""
    return {
        place: found
        for places, inspection, shuffles in _read_inspections()
        for found in [_find_all(inspection, shuffles)]
        for place in places
    }


def test_counts_of_flags(flags):
    assert len(flags) == 4382
    assert Counter(flag for codes in flags.values() for flag in codes) == {
        Flag.TIE_AT_LIMIT: 146,
        Flag.ORDER_UNDERDETERMINED: 139,
        Flag.NUMERIC_TEXT_ORDER: 36,
        Flag.ROW_ORDER_DEPENDENT: 87,
        Flag.BARE_COLUMN: 12,
    }


def test_row_order_shows_only_what_other_probes_explain(flags):
    """Every answer that changes with the storage has a cut through ties or a bare column."""
    explained = {Flag.TIE_AT_LIMIT, Flag.BARE_COLUMN}
    for codes in flags.values():
        assert Flag.ROW_ORDER_DEPENDENT not in codes or codes & explained


def test_proven_rows_are_the_same_on_every_storage():
    proven = executed = 0
    for _, inspection, shuffles in _read_inspections():
        order = read_order(inspection)
        is_ordered = is_order_certain(inspection.tree, order.findings)
        is_sure = order.is_settled or not is_ordered
        values = ColumnValues(inspection.database)
        if is_sure and has_fixed_rows(inspection.scopes, values, is_cut_settled=order.is_settled):
            proven += 1
            for name, database in shuffles.storages_for(inspection.sql):
                executed += 1
                other = shape_answer(database.execute(inspection.sql))
                answer = shape_answer(inspection.rows)
                assert answers_match(answer, other, ordered=is_ordered), (name, inspection.sql)
    assert proven > 2000
    assert executed > proven
