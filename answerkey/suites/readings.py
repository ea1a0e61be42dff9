"""Readings: other queries that a question may as well mean as its gold query.

Where one of them gives another answer than the gold, a prediction that follows it is not wrong. A
database that tells them apart is not used for the question. `reading_rules` has a file a rule, with
its reason. No rule weakens what a question says: > and >= are never readings of each other.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema
from answerkey.suites.operators.trees import write_changes
from answerkey.suites.reading_rules import (
    Lookup,
    read_codes,
    read_duplicates,
    read_groupings,
    read_nulls,
    read_set_members,
    read_single_values,
    read_superlatives,
    read_texts,
    read_unnamed,
    read_zero_counts,
)

_RULES = (
    *(read_duplicates, read_groupings, read_nulls, read_set_members, read_single_values),
    *(read_superlatives, read_texts, read_unnamed, read_zero_counts),
)
_MOST = 8  # of each rule


class Reading(NamedTuple):
    """A query that a question may as well mean, and the name of what it reads otherwise."""

    name: str
    sql: str


def list_readings(
    tree: exp.Expression,
    schema: Schema,
    question_text: str,
    *,
    lookup: Lookup | None = None,
) -> list[Reading]:
    """The readings of a gold query and its question, sorted, each text once.

    "Who is the youngest singer?", `SELECT name FROM singer ORDER BY age LIMIT 1` -> all_ties:
    `SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)`

    lookup: what the database of the question says of values; None for no reading that needs it.

    The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    steps = [rule(scopes, question_text) for rule in _RULES]
    if lookup is not None:
        steps.append(read_codes(scopes, question_text, lookup))
    return sorted(Reading(*found) for found in write_changes(scopes, steps, most=_MOST))
