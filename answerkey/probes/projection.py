"""Projections: what a query selects, and which columns it uses, in one form for probes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlglot import exp

from answerkey.english.columns import (
    MOST_WORDS,
    count_asked_items,
    find_asked_words,
    is_known,
    is_named,
    is_start_of,
    list_own_words,
    may_mean,
    split_name,
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

    @property
    def own_words(self) -> tuple[Word, ...]:
        """The words of the column's name that its table's name does not have."""
        if self.table is None or self.column is None:
            return ()
        return list_own_words(self.table.name, self.column.name)


class Projection:
    """What one query selects and uses. `selected` has its result columns, `used` all columns that
    it names, and `joined` the names of tables and columns that it joins: in a JOIN, or where two
    columns are equal."""

    def __init__(self, inspection: Inspection) -> None:
        scopes = inspection.scopes
        self.tree = inspection.tree
        self.rows = inspection.rows
        self.tables = read_query(inspection).tables
        self.select = first_select(inspection.tree)
        self.has_star = self.select is not None and any(
            expression.is_star and not isinstance(expression, exp.Count)
            for expression in self.select.expressions
        )
        self.aggregates = {_AGGREGATES[type(node)] for node in scopes.nodes.find_all(*_AGGREGATES)}
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
        self.selected = [] if self.has_star else self._read_selected(inspection)

    def _read_selected(self, inspection: Inspection) -> list[Selected]:
        selected = []
        for expression in self.select.expressions if self.select is not None else ():
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
        """Whether every result column is an aggregate, or calculated from some."""
        return bool(self.selected) and all(
            selected.aggregate not in ("", "computed") for selected in self.selected
        )


def read_projection(inspection: Inspection) -> Projection:
    """The projection of an inspection's query."""
    return inspection.once(Projection)


def list_entity_key(inspection: Inspection) -> list[exp.Column] | None:
    """The primary key of the one table whose columns, as they stand, a query selects; None where it
    selects of several tables, or computes, or where the table has no key."""
    scopes = inspection.scopes
    sources = []
    for output in scopes.outputs(inspection.tree):
        found = output.resolution
        if found is None and isinstance(output.expression, exp.Column):
            found = scopes.resolve(output.expression)
        if found is None or not found.is_direct:
            return None
        sources.append(found.source)
    if not sources or any(source is not sources[0] for source in sources):
        return None
    keys = [column for column in sources[0].table.columns if column.primary_key]
    return [exp.column(key.name, table=sources[0].name, quoted=True) for key in keys] or None


# Asked aggregates: where a question asks for one number, or for one of each, and its query
# returns something else.
#
# "How many ports have two piers?" wants one number; GROUP BY without more gives one for each
# port.


_COUNTING = word_set(
    "many number numbers count counts total amount quantity much sum often frequency times size "
    "no enumerate tally"
)
_EACH = word_set("each every per by different distinct unique respective respectively various all")
_EXTREMES = word_set(
    "maximum minimum highest lowest largest smallest greatest least most fewest biggest longest "
    "shortest latest earliest oldest youngest heaviest lightest tallest cheapest expensive"
)
_AVERAGES = word_set("average averages averaged mean")


def find_aggregate_mismatch(projection: Projection, question: Question) -> dict[str, Any] | None:
    """The evidence of the first of these kinds that holds, or None:

    count_not_asked: only a count is returned, and no word of the question counts;
    group_missing: one value of each is asked for, and the query has no GROUP BY;
    value_per_group: one number is asked for, and the query returns one for each group;
    no_number: "how many" or "the number of" is asked for, and no value of the answer is a number;
    unasked_extreme: a greatest or least value stands beside what is asked for, which was to be that
        of the row that has it: "the longest pier of each port" and `SELECT pier, max(length)`;
    no_average: an average is asked for, and nothing in the query or its columns is one.
    """
    words = [word.text for word in question.words]
    evidence: dict[str, Any] = {"selected": projection.shown}
    if not projection.selected:
        return None
    if _returns_a_count(projection) and not _COUNTING & set(words):
        return {"kind": "count_not_asked"} | evidence
    if projection.is_aggregate and projection.tree.find(exp.Group) is None:
        each = _find_each(projection, question)
        if each is not None:
            return {"kind": "group_missing", "asked": each} | evidence
    if projection.is_aggregate and not _EACH & set(words) and _is_list_of_groups(projection):
        return {"kind": "value_per_group"} | evidence
    number = _find_number(projection, question)
    if number is not None:
        return {"kind": "no_number", "asked": number} | evidence
    if _has_unasked_extreme(projection, question):
        return {"kind": "unasked_extreme"} | evidence
    average = next((word for word in words if word in _AVERAGES), None)
    if average is not None and not _has_average(projection):
        return {"kind": "no_average", "asked": average} | evidence
    return None


def _returns_a_count(projection: Projection) -> bool:
    """Whether a count is all that is returned, as it stands: a share is calculated from counts."""
    outputs = projection.tree.selects
    return len(outputs) == 1 and isinstance(outputs[0].unalias(), exp.Count)


def _find_each(projection: Projection, question: Question) -> str | None:
    """The words that ask for one value of each: not the `per` of a column such as cost_per_day, nor
    an average that "each has", nor "each counted once"."""
    names = [
        [word.stem for word in split_name(name) if not word.text.endswith("ly")]
        for table in projection.tables
        for name in (table.name, *(column.name for column in table.columns))
    ]
    words = question.words
    for place, word in enumerate(words):
        before = words[place - 1].text if place else ""
        is_each = word.text == "each" and before in ("of", "by", "from")
        if is_each or (word.text in ("each", "every") and before in ("for", "in")):
            return f"{before} {word.text}"
        is_once = any(word.text == "once" for word in words[place + 1 : place + 4])
        if word.text == "each" and projection.aggregates != {"avg"} and not is_once:
            return "each"
        after = words[place + 1].stem if place + 1 < len(words) else ""
        is_name = any(after in name for name in names)
        if (
            word.text == "per"
            and is_name
            and not any(pair == ("per", after) for name in names for pair in pairwise(name))
        ):
            return f"per {words[place + 1].text}"
    return None


def _is_list_of_groups(projection: Projection) -> bool:
    """Whether all groups are returned, so that there are as many values as groups."""
    select = projection.tree
    return (
        isinstance(select, exp.Select)
        and select.args.get("group") is not None
        and not select.args.get("order")
        and not select.args.get("limit")
    )


def _find_number(projection: Projection, question: Question) -> str | None:
    """`how many` or `number of`, asked for where no value is a number, nor a text that starts with
    one."""
    if not projection.rows or any(selected.aggregate for selected in projection.selected):
        return None
    words = [word.text for word in question.words]
    asked = find_asked_words(question)
    for place, pair in enumerate(pairwise(words)):
        is_number = (
            pair == ("number", "of")
            and words[place - 1] == "the"
            and place - 1 in asked
            and any(word.endswith("s") for word in words[place + 2 : place + 5])
        )
        if is_number or (pair == ("how", "many") and (place == 0 or place in asked)):
            has_number = any(
                not isinstance(value, str) or value[:1].isdigit()
                for row in projection.rows
                for value in row
                if value is not None
            )
            is_named = any(
                word.stem == "number"
                for use in projection.used
                for word in split_name(use.column.name)
            )
            return None if has_number or is_named else " ".join(pair)
    return None


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


def _has_average(projection: Projection) -> bool:
    names = {
        word.text for table in projection.tables for column in table.columns
        for word in split_name(column.name)
    }  # fmt: skip
    return (
        "avg" in projection.aggregates
        or projection.tree.find(exp.Div, exp.Avg) is not None
        or bool(names & {"average", "avg", "mean"})
    )


# Asked columns: where a question names a column that its query does not return, or a query
# returns one that its question does not name.


_GENERAL = word_set("name id code title detail descript type number key")  # stems
_NAMES = word_set("name titl")
_WHOLE = word_set(
    "all inform detail info everyth record complet entir whole data row content field attribut "
    "column everi"
)


def find_column_mismatch(projection: Projection, question: Question) -> dict[str, Any] | None:
    """The evidence of the first of these kinds that holds, or None:

    missing_column: the question asks for a column by its name, and the query does not select it;
    other_column: the same, and it selects one that the question does not name;
    similar_column: it selects acc_type where the question says balance, and there is acc_bal;
    unasked_column: beside what is asked for it selects a column that the question does not name;
    star: the question asks for a column by its name, and the query selects all.
    """
    if projection.has_star:
        return _find_star(projection, question)
    evidence = {"selected": projection.shown}
    unnamed = [selected for selected in projection.selected if _is_unnamed(selected, question)]
    for mention in find_mentions(question, projection.tables):
        is_followed = (mention.table.name, mention.column.name) in projection.joined
        if (
            mention.is_asked
            and not is_followed
            and not any(_covers(selected, mention, question) for selected in projection.selected)
        ):
            return {
                "kind": "other_column" if unnamed else "missing_column",
                "asked": mention.quote(question),
                "column": mention.name,
            } | evidence
    for selected in projection.selected:
        if selected.table is not None and selected.column is not None and not selected.aggregate:
            similar = find_similar(projection, question, selected.table, selected.column)
            if similar is not None:
                return {"kind": "similar_column", "column": similar} | evidence
    if unnamed and _is_more_than_asked(projection, unnamed, question):
        return {"kind": "unasked_column", "unasked": [s.text for s in unnamed]} | evidence
    return None


def _find_star(projection: Projection, question: Question) -> dict[str, Any] | None:
    if any(word.stem in _WHOLE for word in question.words):
        return None
    for mention in find_mentions(question, projection.tables):
        if mention.is_asked:
            return {"kind": "star", "asked": mention.quote(question), "column": mention.name}
    return None


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Whether a result column may be what the question names: its name and its table's have every
    word of it, or it is a column that is named elsewhere, where just a name is asked for."""
    if selected.table is None or selected.column is None:
        return True
    asked = mention.list_words(question)
    name = split_name(selected.column.name)
    words = (*name, *split_name(selected.table.name))
    is_general = all(word.stem in _GENERAL for word in asked) and not selected.column.primary_key
    if is_general and is_named(name, question.words):
        return True
    return all(any(may_mean(own, word) for own in words) for word in asked)


def _is_unnamed(selected: Selected, question: Question) -> bool:
    """Whether no word of the question may mean a result column, nor is its whole name: `username`
    is user_name."""
    words = selected.own_words
    if selected.column is None or selected.aggregate or not words:
        return False
    whole = "".join(word.text for word in split_name(selected.column.name))
    return not is_named(words, question.words) and not any(
        word.text.startswith(whole) for word in question.words
    )


def find_similar(
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
            and not is_named(its_own, question.words)
            and all(_is_said(word, question) for word in differing)
        ):
            return f"{table.name}.{column.name}"
    return None


def _is_said(word: Word, question: Question) -> bool:
    return any(word.stem == said.stem or is_start_of(word, said) for said in question.words)


def _is_more_than_asked(
    projection: Projection, unnamed: list[Selected], question: Question
) -> bool:
    """Whether columns stand beside others that are named, and are more than the question lists, or
    a key or detail in the place of what it lists. Codes that nobody can read are left alone."""
    if len(unnamed) == len(projection.selected):
        return False
    if any(selected.aggregate for selected in projection.selected):
        return False
    names = [split_name(selected.column.name) for selected in unnamed if selected.column]
    if any(_NAMES & {word.stem for word in name} for name in names):
        return False  # a name stands for its thing
    if not any(is_known(word) for name in names for word in name):
        return False
    is_general = all(_GENERAL & {word.stem for word in name} for name in names)
    return is_general or count_asked_items(question) < len(projection.selected)


# projection_mismatch: the query returns other columns or aggregates than its question asks for.


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where what is selected is not what is asked for: "the first and last name" and
    `SELECT first_name, first_name`.

    The modules asked_aggregates and asked_columns have the kinds that its evidence tells.
    """
    projection = read_projection(inspection)
    if projection.select is None or len(question.words) > MOST_WORDS:
        return []
    evidence = find_aggregate_mismatch(projection, question)
    if evidence is None:
        evidence = find_column_mismatch(projection, question)
    return [] if evidence is None else [Finding("projection_mismatch", evidence)]


QUESTION_PROBES = (find_projection_mismatch,)
