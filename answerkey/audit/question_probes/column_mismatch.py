"""column_mismatch: the query sorts by, adds up or compares another column than is named."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.asked_columns import find_similar
from answerkey.audit.inspection import Inspection
from answerkey.audit.mentions import Mention, find_mentions
from answerkey.audit.projections import Projection, Use, read_projection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.asked import MOST_WORDS
from answerkey.english.column_words import is_named, list_own_words, may_mean, split_name
from answerkey.english.question import Question

_ORDERS = ("ordered by", "sorted by", "sort by", "order by", "order of", "ranked by")
_BETWEEN = frozenset({"the", "their", "its", "his", "her"})


def find_column_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding, of one of these kinds:

    other_column: `ORDER BY height` where the question names age, which the query does not use, and
        no word of the question may mean height;
    similar_column: `avg(bath_count)` where the question says beds, and there is bed_count;
    order_column: the question says "in order of age", and no term of ORDER BY has to do with age;
    key_measured: sum() or avg() of a key that the question does not name.
    """
    projection = read_projection(inspection)
    if len(question.words) > MOST_WORDS or not projection.measured:
        return []
    evidence = _find_other(projection, question) or _find_order(projection, question)
    return [] if evidence is None else [Finding(Flag.COLUMN_MISMATCH, evidence)]


def _find_other(projection: Projection, question: Question) -> dict[str, Any] | None:
    mentions = None
    for use in projection.measured:
        own = list_own_words(*use.key)
        evidence = {"used": ".".join(use.key)}
        if own and not projection.has_star and not is_named(own, question.words):
            if mentions is None:
                mentions = find_mentions(question, projection.tables)
            for mention in mentions:
                if not any(_covers(used, mention, question) for used in projection.used):
                    asked = {"asked": mention.quote(question), "column": mention.name}
                    return {"kind": "other_column"} | asked | evidence
            if _is_key_measured(use):
                return {"kind": "key_measured"} | evidence
        similar = find_similar(projection, question, use.table, use.column)
        if similar is not None:
            return {"kind": "similar_column", "column": similar} | evidence
    return None


def _covers(use: Use, mention: Mention, question: Question) -> bool:
    """Whether a column that is used has every word by which the question names another."""
    words = (*split_name(use.column.name), *split_name(use.table.name))
    return all(any(may_mean(own, w) for own in words) for w in mention.list_words(question))


def _is_key_measured(use: Use) -> bool:
    return isinstance(use.node.parent, exp.Sum | exp.Avg) and any(
        key == (use.column.name,)
        for key in (*use.table.unique_keys, *(key.columns for key in use.table.foreign_keys))
    )


def _find_order(projection: Projection, question: Question) -> dict[str, Any] | None:
    terms = [use for use in projection.measured if use.node.find_ancestor(exp.Order) is not None]
    orders = list(projection.tree.find_all(exp.Order))
    if not terms or len(orders) != 1 or orders[0].find(exp.AggFunc) is not None:
        return None
    for mention in find_mentions(question, projection.tables):
        before = [word.text for word in question.words[: mention.places[0]]]
        while before and before[-1] in _BETWEEN:
            before.pop()
        is_order = " ".join(before[-2:]) in _ORDERS
        if is_order and not any(_covers(use, mention, question) for use in terms):
            return {
                "kind": "order_column",
                "asked": mention.quote(question),
                "column": mention.name,
                "used": ".".join(terms[0].key),
            }
    return None
