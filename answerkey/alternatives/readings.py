"""Readings: other queries that a question may as well mean as its gold query.

Where one of them gives another answer than the gold, a prediction that follows it is not wrong. A
database that tells them apart is not used for the question. Each rule has its reason. No rule
weakens what a question says: > and >= are never readings of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sqlglot import exp

from answerkey.engines.schema import Schema
from answerkey.english.phrases import asks_for_each_row, says_how_often
from answerkey.rewrites.amounts import read_single_values
from answerkey.rewrites.groups import read_groupings, read_zero_counts
from answerkey.rewrites.kept import read_measured, read_uncut
from answerkey.rewrites.named_values import read_named_values
from answerkey.rewrites.rows import (
    read_distinct_rows,
    read_nulls,
    read_repeated_rows,
    read_set_members,
)
from answerkey.rewrites.stated import read_codes, read_stated_counts, read_stated_order
from answerkey.rewrites.superlatives import read_superlatives
from answerkey.rewrites.texts import read_texts
from answerkey.rewrites.trees import Change, FindRows, Steps, write_changes
from answerkey.rewrites.unnamed import read_unnamed
from answerkey.sql.scopes import Scopes

MAX_READINGS_PER_RULE = 8  # each is executed on the real database, and on each variant


def _read_duplicates(scopes: Scopes, question_text: str) -> Steps:
    """Equal rows as often as they come, and once, as far as the question leaves it open."""
    is_said = says_how_often(question_text)
    if not is_said:
        yield from read_repeated_rows(scopes)
    if is_said or not asks_for_each_row(question_text):
        yield from read_distinct_rows(scopes)


class Reading(NamedTuple):
    """A reading by its name, and the rewrite that writes it.

    repairs: whether it repairs gold where it answers otherwise. A reading that is seldom meant
        there says only which variants count for a question, and repairs what a doubt names it for.
    """

    name: str
    rewrite: Callable[..., Steps]
    repairs: bool = True


# A rewrite may write several readings.
READINGS = (
    Reading("distinct_rows", _read_duplicates),
    Reading("without_distinct", _read_duplicates, repairs=False),
    Reading("distinct_values", _read_duplicates),
    Reading("each_thing_once", _read_duplicates),
    Reading("grouped_by_key", read_groupings),
    Reading("grouped_by_name", read_groupings),
    Reading("without_null", read_nulls),
    Reading("counted_rows", read_nulls),
    Reading("counted_names", read_nulls, repairs=False),
    Reading("members_by_key", read_set_members),
    Reading("one_value", read_single_values),
    Reading("summed_value", read_single_values, repairs=False),
    Reading("average", read_single_values, repairs=False),
    Reading("stated_count", read_stated_counts),
    Reading("stated_order", read_stated_order),
    Reading("all_ties", read_superlatives),
    Reading("one_row", read_superlatives),
    Reading("extreme_of_all", read_superlatives),
    Reading("uncut", read_uncut),
    Reading("with_zero_counts", read_zero_counts, repairs=False),
    Reading("without_zero_counts", read_zero_counts),
)
# These rewrites ask the real rows, too.
READINGS_OF_ROWS = (
    Reading("stated_code", read_codes),
    Reading("stated_name", read_codes, repairs=False),
    Reading("measured_rows", read_measured),
    Reading("named_value", read_named_values, repairs=False),
    Reading("contained_text", read_texts),
    Reading("any_case", read_texts),
    Reading("question_spelling", read_texts),
    Reading("absent_spelling", read_texts, repairs=False),
    Reading("stored_spelling", read_texts),
    Reading("unnamed_condition", read_unnamed, repairs=False),
    Reading("unnamed_join", read_unnamed, repairs=False),
    Reading("unneeded_join", read_unnamed),
)
READINGS_BY_NAME = {reading.name: reading for reading in (*READINGS, *READINGS_OF_ROWS)}


def list_readings(
    tree: exp.Expr, schema: Schema, question_text: str, find_rows: FindRows
) -> list[Change]:
    """The readings of a gold query and its question, sorted, each text once.

    "Who is the youngest singer?", `SELECT name FROM singer ORDER BY age LIMIT 1` -> all_ties:
    `SELECT name FROM singer WHERE age = (SELECT MIN(age) FROM singer)`

    The tree is changed on the way and ends as it was.
    """
    scopes = Scopes(tree, schema)
    steps = [rewrite(scopes, question_text) for rewrite in _list_rewrites(READINGS)]
    steps += [
        rewrite(scopes, question_text, find_rows) for rewrite in _list_rewrites(READINGS_OF_ROWS)
    ]
    return sorted(write_changes(scopes, steps, most=MAX_READINGS_PER_RULE))


def _list_rewrites(readings: Iterable[Reading]) -> list[Callable[..., Steps]]:
    """Return the rewrites of some readings, each once."""
    return list(dict.fromkeys(reading.rewrite for reading in readings))
