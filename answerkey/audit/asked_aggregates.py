"""Asked aggregates: where a question asks for one number, or for one of each, and its query returns
something else.

"How many ports have two piers?" wants one number; GROUP BY without more gives one for each port.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sqlglot import exp

from answerkey.audit.projections import Projection
from answerkey.english.asked import count_asked_items, find_asked_words
from answerkey.english.column_words import split_name
from answerkey.english.question import Question
from answerkey.english.word_sets import word_set

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
