"""Probes of the projection: a query returns other columns or totals than its question asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from answerkey.english.asked import MOST_WORDS, count_asked_items, find_asked_words
from answerkey.english.columns import (
    is_known,
    is_meant,
    is_named,
    is_part_of_name,
    is_start_of,
    may_mean,
    name_column,
    split_name,
    stem_name,
)
from answerkey.english.question import Question, Word, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import read_query
from answerkey.probes.conditions import Mention, find_mentions
from answerkey.records import Finding
from answerkey.sql.query_parts import first_select
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import Column, Table

_AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
}
_SHOWN = 10
_SHOWN_TEXT = 100


@dataclass(frozen=True, slots=True)
class Use:
    """A column of a table, where a query uses it."""

    table: Table
    column: Column
    node: exp.Column

    @property
    def key(self) -> tuple[str, str]:
        """The names of table and column."""
        return self.table.name, self.column.name


@dataclass(frozen=True, slots=True)
class Selected:
    """A result column: the one column of a table that it is, or is computed from (else None), and
    its aggregate: '' for a column as it stands, `several` for more, `computed` for all else."""

    text: str
    table: Table | None
    column: Column | None
    aggregate: str


class Projection:
    """The columns that one query selects and uses.

    selected: its result columns; none if it selects *. used: all columns that it names.
    joined: the names of tables and columns that it joins, in a JOIN or by the equality of two.
    """

    def __init__(self, inspection: Inspection) -> None:
        scopes = inspection.scopes
        self.tree = inspection.tree
        self.tables = read_query(inspection).tables
        self.used = [
            Use(found.table, found.column, node)
            for node in scopes.nodes.find_all(exp.Column)
            if (found := scopes.resolve(node)) is not None and found.column is not None
        ]
        columns = {id(use.node) for use in self.used}
        self.joined = {
            use.key
            for use in self.used
            if use.node.find_ancestor(exp.Join) is not None
            or (
                isinstance(use.node.parent, exp.EQ)
                and columns.issuperset(map(id, use.node.parent.iter_expressions()))
            )
        }
        select = first_select(inspection.tree)
        outputs = select.expressions if select is not None else []
        has_star = any(one.is_star and not isinstance(one, exp.Count) for one in outputs)
        self.selected = [] if has_star else self._read_selected(outputs, inspection)

    def _read_selected(
        self, outputs: list[exp.Expression], inspection: Inspection
    ) -> list[Selected]:
        selected = []
        for expression in outputs:
            columns = list(expression.find_all(exp.Column))
            found = inspection.scopes.resolve(columns[0]) if len(columns) == 1 else None
            aggregates = {name for kind, name in _AGGREGATES.items() if expression.find(kind)}
            is_plain = isinstance(expression.unalias().unnest(), exp.Column)
            if not aggregates and (not is_plain or found is None or found.column is None):
                aggregates = {"computed"}
            selected.append(
                Selected(
                    to_sql(expression)[:_SHOWN_TEXT],
                    found.table if found else None,
                    found.column if found else None,
                    "several" if len(aggregates) > 1 else "".join(aggregates),
                )
            )
        return selected

    @property
    def shown(self) -> list[str]:
        """What is selected, as evidence."""
        return [selected.text for selected in self.selected[:_SHOWN]]

    @property
    def is_aggregate(self) -> bool:
        """Return whether every result column is an aggregate, or calculated from some."""
        return bool(self.selected) and all(
            selected.aggregate not in ("", "computed") for selected in self.selected
        )


def read_projection(inspection: Inspection) -> Projection:
    """The projection of an inspection's query."""
    return inspection.once(Projection)


# What the question asks for. The evidence of the corpus counts as part of it: a column that it
# names is asked for.


_COUNTING = word_set(
    "many number numbers count counts total amount quantity much sum often frequency times size "
    "no enumerate tally"
)
_EACH = word_set("each every per by different distinct unique respective respectively various all")
_EXTREMES = word_set(
    "maximum minimum highest lowest largest smallest greatest least most fewest biggest longest "
    "shortest latest earliest oldest youngest heaviest lightest tallest cheapest expensive"
)
_GENERAL = word_set("name id code title detail descript type number key")  # stems
_NAMES = word_set("name titl")
# asks for a column without its name
_UNNAMED = re.compile(r"(?:^|[.?!,;:]\s*|\band )(?:how|who|where|when|why)\b", re.IGNORECASE)


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if what is selected is not what is asked for: "the first and last name" and
    `SELECT first_name, first_name`. The evidence has the first of these kinds that holds:

    count_not_asked: only a count is returned, and no word of the question counts;
    value_per_group: one number is asked for, and the query returns one for each group;
    unasked_extreme: a greatest or least value stands beside what is asked for, which was to be that
        of the row that has it: "the longest pier of each port" and `SELECT pier, max(length)`;
    missing_column: the question asks for a column by its name, and the query does not select it;
    other_column: the same, and it selects one that the question does not name;
    similar_column: it selects acc_type where the question says balance, and there is acc_bal;
    unasked_column: beside what is asked for it selects a column that the question does not name.
    """
    projection = read_projection(inspection)
    if not projection.selected or len(question.words) > MOST_WORDS:
        return []
    evidence = (
        _find_other_aggregate(projection, question)
        or _find_missing(projection, question)
        or _find_similar_column(projection, question)
        or _find_unasked(projection, question)
    )
    if evidence is None:
        return []
    return [Finding("projection_mismatch", evidence | {"selected": projection.shown})]


def _find_other_aggregate(projection: Projection, question: Question) -> dict[str, Any] | None:
    words = {word.text for word in question.said_words}
    if _returns_a_count(projection) and not _COUNTING & words:
        return {"kind": "count_not_asked"}
    if projection.is_aggregate and not _EACH & words and _is_list_of_groups(projection):
        return {"kind": "value_per_group"}
    if _has_unasked_extreme(projection, question):
        return {"kind": "unasked_extreme"}
    return None


def _returns_a_count(projection: Projection) -> bool:
    """Whether a count is all that is returned, as it stands: a share is calculated from counts."""
    outputs = projection.tree.selects
    return len(outputs) == 1 and isinstance(outputs[0].unalias(), exp.Count)


def _is_list_of_groups(projection: Projection) -> bool:
    """Return whether all groups are returned, so that there are as many values as groups."""
    select = projection.tree
    return (
        isinstance(select, exp.Select)
        and select.args.get("group") is not None
        and not select.args.get("order")
        and not select.args.get("limit")
    )


def _has_unasked_extreme(projection: Projection, question: Question) -> bool:
    """Whether max() or min() is selected with plain columns, and the question says the greatest or
    least only where it says of what, and lists fewer things than are selected."""
    kinds = {selected.aggregate for selected in projection.selected}
    if kinds not in ({"", "max"}, {"", "min"}) or projection.tree.find(exp.Group) is None:
        return False
    asked = find_asked_words(question)
    if any(word.text == "how" for word in question.words):
        return False  # "how old is the youngest" asks for an age
    places = [place for place, word in enumerate(question.words) if word.text in _EXTREMES]
    is_condition = bool(places) and not any(place in asked for place in places)
    return is_condition and count_asked_items(question) < len(projection.selected)


def _find_missing(projection: Projection, question: Question) -> dict[str, Any] | None:
    for mention in find_mentions(question, projection.tables):
        is_followed = (mention.table.name, mention.column.name) in projection.joined
        if (
            mention.is_asked
            and not is_followed
            and not any(_covers(selected, mention, question) for selected in projection.selected)
        ):
            has_unnamed = any(_is_unnamed(selected, question) for selected in projection.selected)
            return {
                "kind": "other_column" if has_unnamed else "missing_column",
                "asked": mention.quote(question),
                "column": mention.name,
            }
    return None


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Whether a result column may be what the question names. It may if the evidence has its name,
    if its name and its table's have every word that is asked for, if those words have all of a name
    of several words, or if just a name is asked for and it is named elsewhere."""
    if selected.table is None or selected.column is None:
        return True
    if question.explains(selected.column.name):
        return True
    asked = mention.list_words(question)
    name = split_name(selected.column.name)
    if len(name) > 1 and {word.stem for word in name} <= {word.stem for word in asked}:
        return True
    words = (*name_column(selected.column.name, question), *split_name(selected.table.name))
    is_general = all(word.stem in _GENERAL for word in asked) and not selected.column.primary_key
    if is_general and is_named(name, question.words):
        return True
    return all(any(may_mean(own, word) for own in words) for word in asked)


def _is_unnamed(selected: Selected, question: Question) -> bool:
    """Whether no word of the question may mean a result column, nor is its whole name: `username`
    is user_name."""
    table, column = selected.table, selected.column
    if table is None or column is None or selected.aggregate:
        return False
    of_table = {word.stem for word in split_name(table.name)}
    words = [word for word in name_column(column.name, question) if word.stem not in of_table]
    whole = "".join(word.text for word in split_name(column.name))
    is_said = any(word.text.startswith(whole) for word in question.said_words)
    return bool(words) and not is_said and not is_meant(words, question)


def _find_similar_column(projection: Projection, question: Question) -> dict[str, Any] | None:
    for selected in projection.selected:
        if selected.table is not None and selected.column is not None and not selected.aggregate:
            similar = _find_similar(projection, question, selected.table, selected.column)
            if similar is not None:
                return {"kind": "similar_column", "column": similar}
    return None


def _find_similar(
    projection: Projection, question: Question, table: Table, chosen: Column
) -> str | None:
    """A column that shares a word with a chosen one and is not used, where the question has the
    words by which it differs, and none by which the chosen one does."""
    used = {use.key for use in projection.used}
    own = split_name(chosen.name)
    known = {
        word.stem
        for use in projection.used
        if use.table is table
        for word in split_name(use.column.name)
    }
    for column in table.columns:
        other = split_name(column.name)
        stems = {word.stem for word in other}
        shared = {word.stem for word in own} & stems
        its_own = [word for word in own if word.stem not in stems]
        differing = [word for word in other if word.stem not in shared]
        if (
            shared
            and its_own
            and differing
            and not known & {word.stem for word in differing}
            and (table.name, column.name) not in used
            and "name" not in {word.stem for word in its_own}
            and not is_meant(its_own, question)
            and all(_is_said(word, question) for word in differing)
        ):
            return f"{table.name}.{column.name}"
    return None


def _is_said(word: Word, question: Question) -> bool:
    return any(word.stem == said.stem or is_start_of(word, said) for said in question.words)


def _find_unasked(projection: Projection, question: Question) -> dict[str, Any] | None:
    """The evidence of columns that stand beside others that are named, and are more than the
    question lists, or a detail in the place of what it lists. A name and a key stand for their
    thing, and codes that nobody can read are left alone."""
    unnamed = [selected for selected in projection.selected if _is_unnamed(selected, question)]
    if not unnamed or len(unnamed) == len(projection.selected):
        return None
    if any(selected.aggregate for selected in projection.selected):
        return None
    if _UNNAMED.search(question.text):
        return None
    if any(_stands_for_thing(selected, question) for selected in unnamed):
        return None
    names = [split_name(selected.column.name) for selected in unnamed if selected.column]
    is_general = all(_GENERAL & {word.stem for word in name} for name in names)
    is_readable = any(is_known(word) for name in names for word in name)
    if is_readable and (is_general or count_asked_items(question) < len(projection.selected)):
        return {"kind": "unasked_column", "unasked": [selected.text for selected in unnamed]}
    return None


def _stands_for_thing(selected: Selected, question: Question) -> bool:
    """Return whether a result column is a name, or the key of a table that the question names."""
    table, column = selected.table, selected.column
    if table is None or column is None:
        return False
    if _NAMES & {word.stem for word in split_name(column.name)} or is_part_of_name(column.name):
        return True
    stems = {word.stem for word in question.words}
    return column.primary_key and not stems.isdisjoint(stem_name(table.name)[-1:])


QUESTION_PROBES = (find_projection_mismatch,)
