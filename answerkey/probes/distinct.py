"""Probes of DISTINCT: it is missing, or drops what the question counts."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlglot import exp

from answerkey.english.columns import MOST_WORDS, split_name
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import shorten
from answerkey.probes.compared_values import read_query
from answerkey.probes.conditions import find_mentions
from answerkey.probes.projection import Projection, Selected, list_entity_key, read_projection
from answerkey.records import Finding
from answerkey.sql.query_rewrites import to_sql

_DIFFERENT = word_set("different distinct unique distinctive distinctly")
_COUNTED = ("number of", "number of all", "number of the", "count of", "how many", "the most",
            "the fewest", "count the")  # fmt: skip
_SHOWN = 5


def find_different(question: Question) -> str | None:
    """The word that asks for different values: not that of `different from`."""
    words = [word.text for word in question.words] + [""]
    for place, word in enumerate(words):
        if word in _DIFFERENT and words[place + 1] not in ("from", "than", "to"):
            return word
    return None


def find_distinct_missing(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding of one of these kinds; rows that a join repeats are join_repeats_rows:

    count: different values are asked for, and counted with those that are equal;
    counts_rows: values of a column are counted as rows: `count(*)` for "the number of authors";
    asked: different values are asked for, and the answer has equal rows;
    repeated_id: a list of ids of another table has one twice.
    """
    tree = inspection.tree
    if not isinstance(tree, exp.Select) or tree.args.get("distinct"):
        return []
    if len(question.words) > MOST_WORDS:
        return []
    projection = read_projection(inspection)
    asked = find_different(question)
    evidence = _find_count(inspection, asked) if asked else _find_rows_counted(projection, question)
    if evidence is None:
        evidence = _find_equal_rows(inspection, projection, question, asked)
    return [] if evidence is None else [Finding("distinct_missing", evidence)]


def _find_count(inspection: Inspection, asked: str) -> dict[str, Any] | None:
    """COUNT(x) as the only result, where COUNT(DISTINCT x) gives another."""
    changed = inspection.tree.copy()
    count = changed.expressions[0].unalias()
    if len(changed.expressions) > 1 or not isinstance(count, exp.Count):
        return None
    if not isinstance(count.this, exp.Column):
        return None
    count.set("this", exp.Distinct(expressions=[count.this.copy()]))
    rows = read_query(inspection).values.ask(to_sql(changed))
    if rows is None or rows == inspection.rows:
        return None
    counted = [row[0] for row in inspection.rows[:_SHOWN]]
    distinct = [row[0] for row in rows[:_SHOWN]]
    return {"kind": "count", "asked": asked, "counted": counted, "distinct": distinct}


def _find_rows_counted(projection: Projection, question: Question) -> dict[str, Any] | None:
    """count(*) on one table, where the values of a column that is no key are to be counted."""
    counts = list(projection.tree.find_all(exp.Count))
    if not counts or len(projection.tables) != 1:
        return None
    if not all(isinstance(count.this, exp.Star) for count in counts):
        return None
    used = {use.column.name for use in projection.used}
    for mention in find_mentions(question, projection.tables):
        before = question.words[max(0, mention.places[0] - 3) : mention.places[0]]
        is_counted = " ".join(word.text for word in before).endswith(_COUNTED)
        is_key = any(mention.column.name in key for key in mention.table.unique_keys)
        if is_counted and not is_key and mention.column.name not in used:
            asked = mention.quote(question)
            return {"kind": "counts_rows", "asked": asked, "column": mention.name}
    return None


def _find_equal_rows(
    inspection: Inspection, projection: Projection, question: Question, asked: str | None
) -> dict[str, Any] | None:
    row, times = Counter(inspection.rows).most_common(1)[0] if inspection.rows else ((), 0)
    if times < 2:
        return None
    evidence: dict[str, Any] = {"row": [shorten(value) for value in row[:_SHOWN]], "times": times}
    if asked is not None:
        return {"kind": "asked", "asked": asked} | evidence
    if _is_list_of_ids(projection) and any(word.stem == "id" for word in question.words):
        return {"kind": "repeated_id"} | evidence
    return None


def _is_list_of_ids(projection: Projection) -> bool:
    """Return whether the result is a foreign key, and nothing else."""
    return len(projection.selected) == 1 and all(
        selected.table is not None
        and selected.column is not None
        and not selected.aggregate
        and any(selected.column.name in key.columns for key in selected.table.foreign_keys)
        for selected in projection.selected
    )


# distinct_extra: DISTINCT on names makes one of different things that share a name.


_NAMES = word_set("titl name")  # stems


def find_distinct_extra(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding, if the question does not ask for different values, of one of these kinds:

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
    return [] if evidence is None else [Finding("distinct_extra", evidence)]


def _is_name(selected: Selected) -> bool:
    """Tell whether a result column is a name beside the key of its table, and no key of another."""
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


QUESTION_PROBES = (
    find_distinct_missing,
    find_distinct_extra,
)
