"""projection_mismatch: the query returns other columns or totals than its question asks for.

Doubted: "the first and the last name" and `SELECT first_name, first_name FROM keeper`
Not doubted: "the names of the towns that keepers are born in" and `SELECT birth_town FROM keeper`

Whoever answers the question has no way to know of the other column. The evidence has the first of
these kinds that holds:

count_not_asked: the query returns only a count, and no word of the question counts or asks for yes
    or no.
count_missing: a question that begins with "how many" has a list of texts or keys.
value_per_group: one number is asked for, and the query returns one for each group.
unasked_extreme: a greatest or least value is shown beside the row that has it: "the longest pier of
    each port" and `SELECT pier, max(length) FROM pier GROUP BY port`.
missing_column: the question asks for a column by its name, and the query does not show it.
similar_column: the query shows acc_type, and the question says balance, where there is an acc_bal.

The repair shows what is asked for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.projection import Projection, Selected
from answerkey.doubts.query import with_repair
from answerkey.english.asked import MAX_QUESTION_WORDS, find_asked_words
from answerkey.english.columns import (
    is_named,
    is_start_of,
    list_own_words,
    may_mean,
    name_column,
    split_name,
)
from answerkey.english.counted import asks_for_each, asks_how_many, is_yes_or_no, mentions_count
from answerkey.english.mentions import Mention, find_mentions
from answerkey.english.question import Question, Word, word_set
from answerkey.english.stated_numbers import read_number
from answerkey.english.superlatives import list_extremes
from answerkey.order.inspection import Inspection
from answerkey.rewrites.counts import find_distinct_value
from answerkey.rewrites.outputs import (
    count_rows,
    drop_group,
    show,
    show_distinct_values,
    show_on_both_sides,
    show_row_of_extreme,
    show_values,
)
from answerkey.rewrites.trees import write_change
from answerkey.sql.keys import has_id_name, is_number
from answerkey.sql.query_tree import unwrap
from answerkey.sql.scopes import DirectColumn, list_columns

_MAX_SHOWN_COLUMNS = 10
# Stems that columns of many tables share, so that they distinguish none of them.
_GENERAL = word_set("name id code title detail descript type number key")

_Change = AbstractContextManager[None]


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if what is selected is not what is asked for."""
    projection = inspection.once(Projection)
    if not projection.selected or len(question.words) > MAX_QUESTION_WORDS:
        return []
    evidence = (
        _find_other_aggregate(inspection, projection, question)
        or _find_missing(projection, question)
        or _find_similar_column(projection, question)
    )
    if evidence is None:
        return []
    shown = [selected.text for selected in projection.selected[:_MAX_SHOWN_COLUMNS]]
    change = _repair(inspection, projection, question, evidence)
    repair = write_change(inspection.scopes, change) if change is not None else None
    return [Finding("projection_mismatch", with_repair(evidence | {"selected": shown}, repair))]


# The kinds, in their order.


def _find_other_aggregate(
    inspection: Inspection, projection: Projection, question: Question
) -> dict[str, Any] | None:
    query = inspection.tree
    outputs = query.selects if isinstance(query, exp.Query) else []
    is_count = len(outputs) == 1 and isinstance(outputs[0].unalias(), exp.Count)  # not a share
    if is_count and not is_yes_or_no(question) and not mentions_count(question):
        return {"kind": "count_not_asked"}
    if _lacks_count(inspection, projection, question):
        return {"kind": "count_missing"}
    is_whole = not (query.args.get("order") or query.args.get("limit"))
    returns_each_group = isinstance(query, exp.Select) and query.args.get("group") and is_whole
    aggregates = {selected.aggregate for selected in projection.selected}
    is_total = aggregates.isdisjoint(("", "computed"))
    if returns_each_group and is_total and not asks_for_each(question):
        return {"kind": "value_per_group"}
    if _has_unasked_extreme(projection, question):
        return {"kind": "unasked_extreme"}
    return None


def _lacks_count(inspection: Inspection, projection: Projection, question: Question) -> bool:
    """Return whether a question asks how many there are, and the query lists keys, or texts that
    are not numbers."""
    columns = [selected.column for selected in projection.selected if not selected.aggregate]
    if len(columns) != len(projection.selected) or not asks_how_many(question):
        return False
    if not all(
        column is not None and (not is_number(column) or has_id_name(column.name))
        for column in columns
    ):
        return False
    return not any(
        isinstance(value, str) and read_number(value) is not None
        for row in inspection.rows
        for value in row
    )


def _has_unasked_extreme(projection: Projection, question: Question) -> bool:
    """Return whether max() or min() is selected beside plain columns, and the question has "most"
    or "oldest" only to say which row it means."""
    kinds = {selected.aggregate for selected in projection.selected}
    if kinds not in ({"", "max"}, {"", "min"}):
        return False
    asked = find_asked_words(question)
    if not asked or any(word.text == "how" for word in question.words):
        return False  # "how old is the youngest" asks for an age
    extremes = list_extremes(question)
    if not extremes or not asked.isdisjoint(extremes):
        return False
    words = [question.words[index] for index in asked]
    plain = [selected.column for selected in projection.selected if not selected.aggregate]
    columns = [selected.column for selected in projection.selected if selected.aggregate]
    # "the name and the price of the cheapest" asks for the extreme, unless that is shown twice
    return not any(
        column is not None and column not in plain and is_named(split_name(column.name), words)
        for column in columns
    )


def _find_missing(projection: Projection, question: Question) -> dict[str, Any] | None:
    for mention in find_mentions(question, projection.names):
        name = mention.table, mention.column
        is_covered = any(_covers(shown, mention, question) for shown in projection.selected)
        is_asked = mention.is_asked or (mention.is_listed and name not in projection.used)
        if is_asked and name not in projection.joined and not is_covered:
            return {"kind": "missing_column"} | mention.show()
    return None


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Return whether a result column may be what the question names.

    It may be if the evidence has its name; if its own name and that of its table have every word
    that is asked for; or if only a name is asked for, and the column is named elsewhere.
    """
    if selected.table is None or selected.column is None:
        return True
    if question.explains(selected.column.name):
        return True
    asked = mention.words
    name = split_name(selected.column.name)
    words = (*name_column(selected.column.name, question), *split_name(selected.table.name))
    is_general = all(word.stem in _GENERAL for word in asked) and not selected.column.primary_key
    if is_general and is_named(name, question.words):
        return True
    return all(any(may_mean(own, word) for own in words) for word in asked)


def _find_similar_column(projection: Projection, question: Question) -> dict[str, Any] | None:
    """Return the evidence of a column that shares a word with a selected one, if the question has
    the words by which it differs, no column of the query has them, and the question has none of the
    selected column's own."""
    for selected in projection.selected:
        table, selected_column = selected.table, selected.column
        if table is None or selected_column is None or selected.aggregate:
            continue
        of_table = [column for name, column in projection.used if name == table.name]
        used = {word.stem for name in of_table for word in split_name(name)}
        own = {word.stem: word for word in split_name(selected_column.name)}
        for column in table.columns:
            other = {word.stem: word for word in split_name(column.name)}
            its_own = [word for stem, word in own.items() if stem not in other]
            differing = other.keys() - own.keys()
            if (
                0 < len(its_own) < len(own)
                and differing
                and used.isdisjoint(differing)
                and not is_named(its_own, question.said_words)
                and all(_is_asked(other[stem], question) for stem in differing)
            ):
                return {"kind": "similar_column", "column": f"{table.name}.{column.name}"}
    return None


def _is_asked(word: Word, question: Question) -> bool:
    """Return whether a word of a name is asked for. If nothing says what is asked for, return
    whether the question has it, but not the last word of "the oldest first"."""
    asked = [question.words[index] for index in sorted(find_asked_words(question))]
    said = asked or [word for word in question.words if word.text not in ("first", "last")]
    return any(word.stem == other.stem or is_start_of(word, other) for other in said)


# The repair of each kind.


def _repair(
    inspection: Inspection, projection: Projection, question: Question, evidence: dict[str, Any]
) -> _Change | None:
    """Return the change to the columns, or the aggregate, that the question asks for."""
    kind, query = evidence["kind"], unwrap(inspection.tree)
    if kind == "missing_column" and isinstance(query, exp.SetOperation):
        return _show_on_both_sides(inspection, query, evidence["column"])
    if not isinstance(query, exp.Select):
        return None
    if kind in ("missing_column", "similar_column"):
        return _show_column(inspection, query, projection, question, evidence["column"])
    if kind == "count_missing":
        return count_rows(query)
    if kind == "count_not_asked":
        return _show_counted(query)
    having = query.args.get("having")
    if kind == "value_per_group" and having is None:
        return drop_group(query)
    if kind == "value_per_group" and len(query.selects) == 1:
        return count_rows(query) if isinstance(query.selects[0], exp.Count) else None
    if kind == "unasked_extreme" and having is None:
        return _show_row_of_extreme(query, projection)
    return None


def _show_on_both_sides(
    inspection: Inspection, query: exp.SetOperation, name: str
) -> _Change | None:
    """Show another column in place of the one that both sides of a set operation show."""
    sides: list[tuple[exp.Select, exp.Expr]] = []
    shown = set()
    for side in (query.this, query.expression):
        if not isinstance(side, exp.Select) or len(side.expressions) != 1:
            return None
        own = inspection.scopes.find_direct(side.expressions[0])
        column = _find_in_from(inspection, side, name)
        if own is None or column is None:
            return None
        shown.add(own.full_name)
        sides.append((side, column.write()))
    return show_on_both_sides(sides) if len(shown) == 1 else None


def _show_column(
    inspection: Inspection,
    select: exp.Select,
    projection: Projection,
    question: Question,
    name: str,
) -> _Change | None:
    """Show another column of a table in FROM: in place of the one output that is shown twice or
    that the question does not name, or else beside the others."""
    column = _find_in_from(inspection, select, name)
    if column is None or len(projection.selected) != len(select.expressions):
        return None
    texts = [selected.text for selected in projection.selected]
    repeated = [index for index, text in enumerate(texts) if texts.index(text) < index]
    unasked = repeated or [
        index
        for index, selected in enumerate(projection.selected)
        if not _is_named(selected, column, question)
    ]
    outputs = [selected.node for selected in projection.selected]
    group = select.args.get("group")
    keys = [inspection.scopes.find_direct(key) for key in group.expressions] if group else []
    has_one_value = not group or any(key is not None and key.is_same(column) for key in keys)
    if len(unasked) == 1:
        own = inspection.scopes.find_direct(select.expressions[unasked[0]])
        is_beside = own is not None and own.source is column.source
        if not has_one_value and not is_beside:
            return None  # a group may have several values
        outputs[unasked[0]] = column.write()
    elif unasked or not has_one_value or {s.aggregate for s in projection.selected} != {""}:
        return None
    else:
        outputs.append(column.write())
    return show(select, outputs)


def _find_in_from(inspection: Inspection, select: exp.Select, name: str) -> DirectColumn | None:
    """Return the column of this full name, if FROM has its table once."""
    scope = inspection.scopes.scope_of(select)
    columns = [column for column in list_columns(scope) if column.full_name == name]
    return columns[0] if len(columns) == 1 else None


def _is_named(selected: Selected, other: DirectColumn, question: Question) -> bool:
    """Return whether the question may name an output by the words that distinguish it from another
    column."""
    if selected.table is None or selected.column is None:
        return True
    shared = {word.stem for word in split_name(other.column.name)} | _GENERAL
    table_words = split_name(selected.table.name)
    words = list_own_words(selected.table.name, selected.column.name)
    short_forms = {word for word in words for whole in table_words if is_start_of(word, whole)}
    rest = [word for word in words if word not in short_forms]
    own = [word for word in rest if word.stem not in shared] or rest or words
    of_table = {word.stem for word in table_words}
    said = [word for word in question.said_words if word.stem not in of_table]
    return all(is_named([word], said) for word in own)


def _show_row_of_extreme(select: exp.Select, projection: Projection) -> _Change | None:
    plain = [selected.node for selected in projection.selected if not selected.aggregate]
    extremes = [selected.node.unalias() for selected in projection.selected if selected.aggregate]
    if len(extremes) != 1 or len(projection.selected) != len(select.expressions):
        return None
    extreme = extremes[0]
    if not isinstance(extreme, exp.Min | exp.Max):
        return None
    return show_row_of_extreme(select, plain, extreme)


def _show_counted(select: exp.Select) -> _Change | None:
    if select.args.get("group") or len(select.expressions) != 1:
        return None
    call = select.expressions[0].unalias()
    value = find_distinct_value(call)
    if value is not None:
        return show_distinct_values(select, value)
    return show_values(select, call.this) if isinstance(call.this, exp.Column) else None


DOUBT = Doubt("projection_mismatch", find_in_question=find_projection_mismatch)
