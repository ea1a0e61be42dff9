"""A probe of DISTINCT: different values are asked for, and equal ones are returned."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.asked import MOST_WORDS
from answerkey.english.question import Question, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.column_values import shorten
from answerkey.probes.compared_values import read_query
from answerkey.probes.conditions import find_mentions
from answerkey.probes.projection import Projection, read_projection
from answerkey.sql.query_tree import to_sql

_DIFFERENT = word_set("different distinct unique distinctive distinctly")
_COUNTED = ("number of", "number of all", "number of the", "count of", "how many", "the most",
            "the fewest", "count the")  # fmt: skip
_SHOWN = 5


def _find_different(question: Question) -> str | None:
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
    asked: different values are asked for, and the answer has equal rows.
    """
    tree = inspection.tree
    if not isinstance(tree, exp.Select) or tree.args.get("distinct"):
        return []
    if len(question.words) > MOST_WORDS:
        return []
    asked = _find_different(question)
    if asked is None:
        evidence = _find_rows_counted(read_projection(inspection), question)
    else:
        evidence = _find_count(inspection, asked) or _find_equal_rows(inspection, asked)
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


def _find_equal_rows(inspection: Inspection, asked: str) -> dict[str, Any] | None:
    row, times = Counter(inspection.rows).most_common(1)[0] if inspection.rows else ((), 0)
    if times < 2:
        return None
    shown = [shorten(value) for value in row[:_SHOWN]]
    return {"kind": "asked", "asked": asked, "row": shown, "times": times}


QUESTION_PROBES = (find_distinct_missing,)
