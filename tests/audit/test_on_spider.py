"""How often each probe of a query fires on Spider's questions.

The probes of order, compared with attestql 0.4 on the same files. Its `arbitrary-cut` fires on 144
questions, and tie_at_limit on the same 144 and 2 more, a comparison with a scalar subquery that
takes one of several rows of the greatest value (tests/audit/test_order.py has its form). It looks
at the outermost query only. Its `ordering-over-numeric-text` fires on 8 questions, all of them
among ours; the others compare by < or > or take min() or max(), which it does not look at, or have
a word for NULL among the numbers. Its `not-a-function-of-the-data` fires on 163: on 48 of the 87
where row_order_dependent does, on 88 where ties inside ORDER BY are order_underdetermined here, and
on 27 sums and means of floats, which it compares exactly: there the order of their terms shows.
"""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerkey.order.accepted_rows import has_fixed_rows
from answerkey.order.cuts import is_order_certain, is_order_settled
from answerkey.order.inspection import Inspection
from answerkey.order.reordered_copies import ReorderedCopies
from answerkey.probes.registry import ask_probes
from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.column_values import ColumnValues
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import read_schema

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "SPIDER_ROOT" not in os.environ, reason="SPIDER_ROOT names no Spider release"
    ),
]

# Numbers kept as text and compared as text, "null" in quotes where NULL was meant, names in the
# wrong case or order, T2.id = T2.id, the start of a booking again where its end is asked for. No
# double-quoted literal of Spider's 866 is a risk, every join is on a key or on shared values, and
# no table is empty. 61 of 4,382 answers are 0 or 1, two F.
COUNTS = {
    "tie_at_limit": 146,
    "bare_column": 12,
    "row_order_dependent": 87,
    "numeric_text_order": 36,
    "type_mismatch": 24,
    "cross_join": 8,
    "duplicate_rows": 188,
    "empty_answer": 100,
    "all_null": 10,
    "boolean_answer": 63,
    "many_rows": 22,
    "too_large": 8,
    # How often gold with these is wrong: docs/probes.md.
    "aggregate_of_other_rows": 4,
    "date_text_order": 4,
    "join_repeats_rows": 266,
    "latent_tie": 58,
    "limit_on_joined_rows": 9,
    "literal_not_in_column": 45,
    "order_without_effect": 4,
    "set_operation_on_non_key": 114,
    "text_arithmetic": 14,
}


def _read_inspections() -> Iterator[tuple[int, Inspection]]:
    """Each distinct query that runs, with the number of its questions."""
    root = Path(os.environ["SPIDER_ROOT"])
    asked: dict[str, Counter[str]] = {}
    for file in ("train_spider.json", "dev.json"):
        for record in json.loads((root / file).read_text()):
            asked.setdefault(record["db_id"], Counter())[record["query"]] += 1
    for name, queries in asked.items():
        path = root / "database" / name / f"{name}.sqlite"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)
        schema = read_schema(connection)
        connection.close()
        with GuardedDatabase(path) as database, ReorderedCopies(path) as copies:
            for sql, number in queries.items():
                try:
                    rows = database.execute(sql)
                except QueryError:
                    continue
                yield number, Inspection(sql, parse_sql(sql), schema, rows, database, copies)


def test_counts_of_flags_and_what_explains_row_order():
    """Every answer that changes with the storage has a cut through ties or a bare column."""
    explained = {"tie_at_limit", "bare_column"}
    questions, counts = 0, Counter()
    for number, inspection in _read_inspections():
        codes = {finding.code for finding in ask_probes(inspection)}
        assert "row_order_dependent" not in codes or codes & explained
        questions += number
        counts.update(dict.fromkeys(codes, number))
    assert questions == 4382
    assert counts == COUNTS


def test_proven_rows_are_the_same_on_every_storage():
    proven = executed = 0
    for _, inspection in _read_inspections():
        is_ordered, is_settled = is_order_certain(inspection), is_order_settled(inspection)
        is_sure = is_settled or not is_ordered
        values = ColumnValues(inspection.database)
        if is_sure and has_fixed_rows(inspection.scopes, values, is_cut_settled=is_settled):
            proven += 1
            answer = shape_answer(inspection.rows)
            for name, database in inspection.copies.storages_for(inspection.sql):
                executed += 1
                other = shape_answer(database.execute(inspection.sql))
                assert answers_match(answer, other, ordered=is_ordered), (name, inspection.sql)
    assert proven > 2200
    assert executed > proven
