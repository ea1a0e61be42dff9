"""distinct_missing: different things are asked for, and one is returned or counted twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlglot import exp

from answerkey.audit.column_values import shorten
from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.mentions import find_mentions
from answerkey.audit.projections import Projection, list_entity_key, read_projection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.asked import MOST_WORDS
from answerkey.english.question import Question
from answerkey.english.word_sets import word_set
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
    """A finding, of one of these kinds:

    count: different values are asked for, and counted with those that are equal;
    counts_rows: values of a column are counted as rows: `count(*)` for "the number of authors";
    asked: different values are asked for, and the answer has equal rows;
    repeated_row: the answer has equal rows since a join repeats one row of a table;
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
    return [] if evidence is None else [Finding(Flag.DISTINCT_MISSING, evidence)]


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
    key = _find_repeated_key(inspection)
    return None if key is None else {"kind": "repeated_row", "key": key} | evidence


def _is_list_of_ids(projection: Projection) -> bool:
    """Whether the result is a foreign key, and nothing else."""
    return len(projection.selected) == 1 and all(
        selected.table is not None
        and selected.column is not None
        and not selected.aggregate
        and any(selected.column.name in key.columns for key in selected.table.foreign_keys)
        for selected in projection.selected
    )


def _find_repeated_key(inspection: Inspection) -> object | None:
    """The key of a row that a join repeats in the answer, where this selects from one table."""
    tree = inspection.tree
    if not tree.args.get("joins") or tree.args.get("group") or tree.args.get("limit"):
        return None
    keys = list_entity_key(inspection)
    if keys is None:
        return None
    changed = tree.copy()
    changed.set("expressions", keys)
    changed.set("order", None)
    places = ", ".join(str(place) for place in range(1, len(keys) + 1))
    repeated = f"SELECT * FROM ({to_sql(changed)}) GROUP BY {places} HAVING count(*) > 1 LIMIT 1"
    rows = read_query(inspection).values.ask(repeated)
    return shorten(rows[0][0]) if rows else None
