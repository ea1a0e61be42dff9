"""Readings: other queries that a question may as well mean as its gold query.

Where one of them gives another answer than the gold, a prediction that follows it is not wrong. A
database that tells them apart is not used for the question. Each rule has its reason. No rule
weakens what a question says: > and >= are never readings of each other.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.alternatives.amounts import read_single_values
from answerkey.alternatives.codes import read_codes, read_named_values
from answerkey.alternatives.groups import read_groupings, read_zero_counts
from answerkey.alternatives.kept import read_measured, read_uncut
from answerkey.alternatives.rows import read_duplicates, read_nulls, read_set_members
from answerkey.alternatives.stated import read_stated_counts, read_stated_order
from answerkey.alternatives.superlatives import read_superlatives
from answerkey.alternatives.texts import read_texts
from answerkey.alternatives.trees import Change, FindRows, write_changes
from answerkey.alternatives.unnamed import read_unnamed
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema

MAX_READINGS_PER_RULE = 8  # each is executed on the real database, and on each variant

_RULES = (
    read_duplicates,
    read_groupings,
    read_nulls,
    read_set_members,
    read_single_values,
    read_stated_counts,
    read_stated_order,
    read_superlatives,
    read_uncut,
    read_zero_counts,
)
# Those that ask the real rows.
_RULES_OF_ROWS = (read_codes, read_measured, read_named_values, read_texts, read_unnamed)


def list_readings(
    tree: exp.Expr, schema: Schema, question_text: str, find_rows: FindRows
) -> list[Change]:
    """The readings of a gold query and its question, sorted, each text once.

    "Who is the youngest singer?", `SELECT name FROM singer ORDER BY age LIMIT 1` -> all_ties:
    `SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)`

    The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    steps = [rule(scopes, question_text) for rule in _RULES]
    steps += [rule(scopes, question_text, find_rows) for rule in _RULES_OF_ROWS]
    return sorted(write_changes(scopes, steps, most=MAX_READINGS_PER_RULE))
