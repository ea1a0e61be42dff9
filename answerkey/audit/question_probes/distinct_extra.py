"""distinct_extra: DISTINCT on names makes one of different things that share a name."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.projections import Selected, list_entity_key, read_projection
from answerkey.audit.question_probes.distinct_missing import find_different
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.asked import MOST_WORDS
from answerkey.english.column_words import split_name
from answerkey.english.question import Question
from answerkey.english.word_sets import word_set
from answerkey.sql.query_rewrites import to_sql

_NAMES = word_set("titl name")  # stems


def find_distinct_extra(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding, where the question does not ask for different values, of one of these kinds:

    counted_names: COUNT(DISTINCT name) is less than the number of rows that it counts;
    merged_names: SELECT DISTINCT name drops a row of the table that has another key.
    """
    tree = inspection.tree
    if not isinstance(tree, exp.Select) or tree.args.get("group") or tree.args.get("limit"):
        return []
    selected = read_projection(inspection).selected
    if not selected or not all(_is_name(column) for column in selected):
        return []
    if len(question.words) > MOST_WORDS or find_different(question) is not None:
        return []
    evidence = _find_merged(inspection) if tree.args.get("distinct") else _find_counted(inspection)
    return [] if evidence is None else [Finding(Flag.DISTINCT_EXTRA, evidence)]


def _is_name(selected: Selected) -> bool:
    """Whether a result column is a name beside the key of its table, and no key of another."""
    table, column = selected.table, selected.column
    if table is None or column is None or column.primary_key:
        return False
    if any(column.name in key.columns for key in table.foreign_keys):
        return False
    is_name = bool(_NAMES & {word.stem for word in split_name(column.name)})
    return is_name and any(other.primary_key for other in table.columns)


def _find_merged(inspection: Inspection) -> dict[str, Any] | None:
    keys = list_entity_key(inspection)
    if keys is None:
        return None
    changed = inspection.tree.copy()
    changed.set("expressions", keys)
    changed.set("order", None)
    rows = read_query(inspection).values.ask(to_sql(changed))
    if rows is None or len(rows) <= len(inspection.rows):
        return None
    return {"kind": "merged_names", "rows": len(inspection.rows), "things": len(rows)}


def _find_counted(inspection: Inspection) -> dict[str, Any] | None:
    changed = inspection.tree.copy()
    count = changed.expressions[0].unalias()
    if len(changed.expressions) > 1 or not isinstance(count, exp.Count):
        return None
    selected = read_projection(inspection).selected[0]
    key = next(column for column in selected.table.columns if column.primary_key)
    distinct = count.this
    if not isinstance(distinct, exp.Distinct) or not isinstance(
        distinct.expressions[0], exp.Column
    ):
        return None
    distinct.expressions[0].set("this", exp.to_identifier(key.name, quoted=True))
    rows = read_query(inspection).values.ask(to_sql(changed))
    if rows is None or rows == inspection.rows:
        return None
    return {"kind": "counted_names", "names": inspection.rows[0][0], "things": rows[0][0]}
