"""Probes of the projection: a query returns other columns or totals than its question asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.asked import MOST_WORDS, find_asked_words
from answerkey.english.columns import (
    is_named,
    is_start_of,
    may_mean,
    name_column,
    split_name,
)
from answerkey.english.question import Question, Word, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.compared_values import read_query
from answerkey.probes.conditions import Mention, find_mentions
from answerkey.sql.query_tree import first_select, to_sql
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


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if what is selected is not what is asked for: "the first and last name" and
    `SELECT first_name, first_name`. The evidence has the first of these kinds that holds:

    count_not_asked: only a count is returned, and no word of the question counts;
    value_per_group: one number is asked for, and the query returns one for each group;
    unasked_extreme: a greatest or least value stands beside what is asked for, which was to be that
        of the row that has it: "the longest pier of each port" and `SELECT pier, max(length)`;
    missing_column: the question asks for a column by its name, and the query does not select it;
    similar_column: it selects acc_type where the question says balance, and there is acc_bal.
    """
    projection = read_projection(inspection)
    if not projection.selected or len(question.words) > MOST_WORDS:
        return []
    evidence = (
        _find_other_aggregate(projection, question)
        or _find_missing(projection, question)
        or _find_similar_column(projection, question)
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
    least only where it says of what."""
    kinds = {selected.aggregate for selected in projection.selected}
    if kinds not in ({"", "max"}, {"", "min"}):
        return False
    asked = find_asked_words(question)
    if any(word.text == "how" for word in question.words):
        return False  # "how old is the youngest" asks for an age
    places = [place for place, word in enumerate(question.words) if word.text in _EXTREMES]
    return bool(places) and asked.isdisjoint(places)


def _find_missing(projection: Projection, question: Question) -> dict[str, Any] | None:
    for mention in find_mentions(question, projection.tables):
        is_followed = (mention.table.name, mention.column.name) in projection.joined
        if (
            mention.is_asked
            and not is_followed
            and not any(_covers(selected, mention, question) for selected in projection.selected)
        ):
            asked = mention.quote(question)
            return {"kind": "missing_column", "asked": asked, "column": mention.name}
    return None


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Whether a result column may be what the question names. It may if the evidence has its name,
    if its name and its table's have every word that is asked for, or if just a name is asked for
    and it is named elsewhere."""
    if selected.table is None or selected.column is None:
        return True
    if question.explains(selected.column.name):
        return True
    asked = mention.list_words(question)
    name = split_name(selected.column.name)
    words = (*name_column(selected.column.name, question), *split_name(selected.table.name))
    is_general = all(word.stem in _GENERAL for word in asked) and not selected.column.primary_key
    if is_general and is_named(name, question.words):
        return True
    return all(any(may_mean(own, word) for own in words) for word in asked)


def _find_similar_column(projection: Projection, question: Question) -> dict[str, Any] | None:
    """The evidence of a column that shares a word with a selected one, where the question has the
    words by which it differs, which no column of the query has, and none of the selected one's."""
    for selected in projection.selected:
        table = selected.table
        if table is None or selected.column is None or selected.aggregate:
            continue
        of_table = [use.column.name for use in projection.used if use.table is table]
        used = {word.stem for name in of_table for word in split_name(name)}
        own = {word.stem: word for word in split_name(selected.column.name)}
        for column in table.columns:
            other = {word.stem: word for word in split_name(column.name)}
            its_own = [word for stem, word in own.items() if stem not in other]
            differing = other.keys() - own.keys()
            if (
                0 < len(its_own) < len(own)
                and differing
                and used.isdisjoint(differing)
                and not is_named(its_own, question.said_words)
                and all(_is_said(other[stem], question) for stem in differing)
            ):
                return {"kind": "similar_column", "column": f"{table.name}.{column.name}"}
    return None


def _is_said(word: Word, question: Question) -> bool:
    return any(word.stem == said.stem or is_start_of(word, said) for said in question.words)


QUESTION_PROBES = (find_projection_mismatch,)
