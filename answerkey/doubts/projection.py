"""Probes of the projection: a query returns other columns or totals than its question asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.doubts.query import Query, read_query, with_repair
from answerkey.english.asked import MAX_QUESTION_WORDS, find_asked_words, list_counted
from answerkey.english.columns import (
    is_named,
    is_start_of,
    list_own_words,
    may_mean,
    name_column,
    split_name,
)
from answerkey.english.measures import read_number
from answerkey.english.question import Question, Word, word_set
from answerkey.order.inspection import Inspection
from answerkey.sql.keys import has_id_name, is_number
from answerkey.sql.query_tree import (
    copy_nodes,
    find_cte,
    first_select,
    make_limit,
    to_sql,
    unwrap,
    write_with,
)
from answerkey.sql.scopes import DirectColumn, list_columns
from answerkey.sqlite.schema import Column, Table

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_MAX_SHOWN_COLUMNS = 10
_MAX_SHOWN_CHARACTERS = 100
COUNTING = word_set(
    "many number numbers count counts total amount quantity much sum often frequency times size "
    "no enumerate tally popular popularity population frequent frequently common often"
)
_YES_OR_NO = word_set("is are was were do does did has have had can could will would")
_EACH = word_set("each every per by different distinct unique respective respectively various all")
_EXTREMES = word_set(
    "maximum minimum max min highest lowest largest smallest greatest least most fewest biggest "
    "longest shortest latest earliest oldest youngest heaviest lightest tallest cheapest expensive"
)
# stems that columns of many tables share: they tell none of them from the others
_GENERAL = word_set("name id code title detail descript type number key")
_MAX_SHOWN_VALUES = 5
_HOW_MANY = re.compile(
    r"\W*(?:how many|(?:what is|find|give|show|return) the (?:total )?(?:number|count) of)\b"
)


class Selected(NamedTuple):
    """A result column: the one column of a table that it is, or is computed from (else None), and
    its aggregate: '' for a column as it stands, `several` for more, `computed` for all else."""

    node: exp.Expr
    text: str
    table: Table | None
    column: Column | None
    aggregate: str


class Projection:
    """The columns that one query selects and uses.

    selected: its result columns; none if it selects *. used: all columns that it names.
    joined: those that it joins, in a JOIN or by the equality of two.
    """

    def __init__(self, inspection: Inspection) -> None:
        query = read_query(inspection)
        self.tree = inspection.tree
        self.tables = _list_tables(query)
        resolved = {}
        for node in query.scopes.nodes.find_all(exp.Column):
            base = query.base_column(node)
            if base is not None:
                resolved[id(node)] = node, base
        self.used = {(table.name, column.name) for _, (table, column) in resolved.values()}
        self.joined = {
            (table.name, column.name)
            for node, (table, column) in resolved.values()
            if node.find_ancestor(exp.Join) is not None
            or (
                isinstance(node.parent, exp.EQ)
                and resolved.keys() >= set(map(id, node.parent.iter_expressions()))
            )
        }
        select = first_select(inspection.tree)
        outputs = select.expressions if select is not None else []
        has_star = any(output.is_star and not isinstance(output, exp.Count) for output in outputs)
        self.selected = [] if has_star else [_read_selected(output, query) for output in outputs]


def _list_tables(query: Query) -> list[Table]:
    tables: dict[str, Table] = {}
    for node in query.scopes.nodes.find_all(exp.Table):
        table = query.schema.find_table(node.name)
        if table is not None and find_cte(node, node.name) is None:
            tables[table.name] = table
    return [tables[name] for name in sorted(tables)]


def _read_selected(expression: exp.Expr, query: Query) -> Selected:
    columns = list(expression.find_all(exp.Column))
    base = query.base_column(columns[0]) if len(columns) == 1 else None
    aggregates = {kind.key for kind in _AGGREGATES if expression.find(kind)}
    if not aggregates and not (base and isinstance(expression.unalias().unnest(), exp.Column)):
        aggregates = {"computed"}
    aggregate = "several" if len(aggregates) > 1 else "".join(aggregates)
    table, column = base if base is not None else (None, None)
    return Selected(
        expression, to_sql(expression)[:_MAX_SHOWN_CHARACTERS], table, column, aggregate
    )


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if what is selected is not what is asked for: "the first and last name" and
    `SELECT first_name, first_name`. The evidence has the first of these kinds that holds:

    count_not_asked: only a count is returned, and no word of the question counts, nor can it be
        answered by yes or no;
    count_missing: a question that begins with "how many" has a list of texts or keys;
    value_per_group: one number is asked for, and the query returns one for each group;
    unasked_extreme: a greatest or least value stands beside what is asked for, which was to be that
        of the row that has it: "the longest pier of each port" and `SELECT pier, max(length)`;
    missing_column: the question asks for a column by its name, and the query does not select it;
    similar_column: it selects acc_type where the question says balance, and there is acc_bal.
    """
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
    repair = _write_asked(inspection, projection, question, evidence)
    evidence = with_repair(evidence | {"selected": shown}, repair)
    return [Finding("projection_mismatch", evidence)]


def _write_asked(
    inspection: Inspection, projection: Projection, question: Question, evidence: dict[str, Any]
) -> str | None:
    """The query with the columns, or the aggregate, that the question asks for."""
    kind, query = evidence["kind"], unwrap(inspection.tree)
    if kind == "missing_column" and isinstance(query, exp.SetOperation):
        return _write_on_both_sides(inspection, query, evidence["column"])
    if not isinstance(query, exp.Select):
        return None
    if kind in ("missing_column", "similar_column"):
        return _write_columns(inspection, query, projection, question, evidence["column"])
    if kind == "value_per_group":
        is_of_groups = query.args.get("having") and isinstance(query.selects[0], exp.Count)
        if is_of_groups and len(query.selects) == 1:
            return f"SELECT count(*) FROM ({to_sql(query)})"
        return None if query.args.get("having") else write_with(query, group=None)
    if kind == "unasked_extreme" and not query.args.get("having"):
        return _write_row_of_extreme(query, projection)
    if kind == "count_missing":
        return f"SELECT count(*) FROM ({to_sql(query)})"
    return _write_counted(query) if kind == "count_not_asked" else None


def _write_on_both_sides(inspection: Inspection, query: exp.SetOperation, name: str) -> str | None:
    """The query with another column in place of the one that both of its SELECTs show."""
    sides = [query.this, query.expression]
    twins = copy_nodes(inspection.tree)
    shown = set()
    for side in sides:
        if not isinstance(side, exp.Select) or len(side.expressions) != 1:
            return None
        own = inspection.scopes.find_direct(side.expressions[0])
        column = _find_in_from(inspection, side, name)
        if own is None or column is None:
            return None
        shown.add(own.full_name)
        twins[id(side)].set("expressions", [column.write()])
    return to_sql(twins[id(inspection.tree)]) if len(shown) == 1 else None


def _write_columns(
    inspection: Inspection,
    select: exp.Select,
    projection: Projection,
    question: Question,
    name: str,
) -> str | None:
    """The query with another column of a table in its FROM: in place of the one output that is
    shown twice or that no word of the question names, or else added."""
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
    written = [selected.node.copy() for selected in projection.selected]
    group = select.args.get("group")
    keys = [inspection.scopes.find_direct(key) for key in group.expressions] if group else []
    has_one_value = not group or any(key is not None and key.is_same(column) for key in keys)
    if len(unasked) == 1:
        replaced = inspection.scopes.find_direct(select.expressions[unasked[0]])
        is_beside = replaced is not None and replaced.source is column.source
        if not has_one_value and not is_beside:
            return None  # in a group
        written[unasked[0]] = column.write()
    elif unasked or not has_one_value or {s.aggregate for s in projection.selected} != {""}:
        return None
    else:
        written.append(column.write())
    return write_with(select, expressions=written)


def _find_in_from(inspection: Inspection, select: exp.Select, name: str) -> DirectColumn | None:
    """The column of this full name in a FROM that has its table once."""
    scope = inspection.scopes.scope_of(select)
    columns = [column for column in list_columns(scope) if column.full_name == name]
    return columns[0] if len(columns) == 1 else None


def _is_named(selected: Selected, other: DirectColumn, question: Question) -> bool:
    """Whether the question may name an output by the words that tell it from another column."""
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


def _write_row_of_extreme(select: exp.Select, projection: Projection) -> str | None:
    """`SELECT pier, max(length) FROM pier` -> `SELECT pier FROM pier ORDER BY length DESC LIMIT 1`;
    in groups, where SQLite shows the columns of the row that has the extreme, without that."""
    plain = [selected for selected in projection.selected if not selected.aggregate]
    extremes = [selected.node.unalias() for selected in projection.selected if selected.aggregate]
    if len(extremes) != 1 or len(projection.selected) != len(select.expressions):
        return None
    call = extremes[0]
    outputs = [selected.node.copy() for selected in plain]
    if not isinstance(call, exp.Min | exp.Max):
        return None
    if select.args.get("group"):
        is_known = exp.Not(this=exp.Is(this=call.copy(), expression=exp.null()))
        return write_with(select, expressions=outputs, having=exp.Having(this=is_known))
    is_max = isinstance(call, exp.Max)
    term = exp.Ordered(this=call.this.copy(), desc=is_max, nulls_first=False)
    order, limit = exp.Order(expressions=[term]), make_limit(1)
    return write_with(select, expressions=outputs, order=order, limit=limit)


def _write_counted(select: exp.Select) -> str | None:
    """The query with what it counts in place of the count: of different values, each once."""
    counted = select.expressions[0].unalias().this
    if select.args.get("group") or len(select.expressions) != 1:
        return None
    if isinstance(counted, exp.Distinct) and len(counted.expressions) == 1:
        column = counted.expressions[0].copy()
        return write_with(select, expressions=[column], distinct=exp.Distinct())
    if isinstance(counted, exp.Column):
        return write_with(select, expressions=[counted.copy()])
    return None


def _find_other_aggregate(
    inspection: Inspection, projection: Projection, question: Question
) -> dict[str, Any] | None:
    words = {word.text for word in question.said_words}
    query = projection.tree
    outputs = query.selects if isinstance(query, exp.Query) else []
    is_count = len(outputs) == 1 and isinstance(outputs[0].unalias(), exp.Count)  # not a share
    is_yes_or_no = any(word.text in _YES_OR_NO for word in question.words[:1])
    if is_count and not is_yes_or_no and not COUNTING & words:
        return {"kind": "count_not_asked"}
    if _lacks_count(inspection, projection, question):
        return {"kind": "count_missing"}
    is_whole = not (query.args.get("order") or query.args.get("limit"))
    returns_each_group = isinstance(query, exp.Select) and query.args.get("group") and is_whole
    aggregates = {selected.aggregate for selected in projection.selected}
    if returns_each_group and aggregates.isdisjoint(("", "computed")) and not _EACH & words:
        return {"kind": "value_per_group"}
    if _has_unasked_extreme(projection, question):
        return {"kind": "unasked_extreme"}
    return None


def _lacks_count(inspection: Inspection, projection: Projection, question: Question) -> bool:
    """Whether a question begins with "how many" or "the number of", and the query lists keys, or
    texts that are no numbers."""
    columns = [selected.column for selected in projection.selected if not selected.aggregate]
    counted = (asked.phrase.lower() for asked in list_counted(question))
    # "the number of the keeper" is no count
    is_asked = any(phrase.startswith(("how many", "number of", "count of")) for phrase in counted)
    is_asked = is_asked and _HOW_MANY.match(question.plain_text) is not None
    if len(columns) != len(projection.selected) or not is_asked:
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
    """Whether max() or min() is selected with plain columns, and the question says the greatest or
    least only where it says of what."""
    kinds = {selected.aggregate for selected in projection.selected}
    if kinds not in ({"", "max"}, {"", "min"}):
        return False
    asked = find_asked_words(question)
    if not asked or any(word.text == "how" for word in question.words):
        return False  # "how old is the youngest" asks for an age
    extreme_words = [index for index, word in enumerate(question.words) if word.text in _EXTREMES]
    if not extreme_words or not asked.isdisjoint(extreme_words):
        return False
    words = [question.words[index] for index in asked]
    plain = [selected.column for selected in projection.selected if not selected.aggregate]
    extremes = [selected.column for selected in projection.selected if selected.aggregate]
    # "the name and the price of the cheapest" asks for the extreme, unless that is shown twice
    return not any(
        column is not None and column not in plain and is_named(split_name(column.name), words)
        for column in extremes
    )


def _find_missing(projection: Projection, question: Question) -> dict[str, Any] | None:
    for mention in find_mentions(question, projection.tables):
        is_followed = (mention.table.name, mention.column.name) in projection.joined
        is_covered = any(_covers(shown, mention, question) for shown in projection.selected)
        is_unused = (mention.table.name, mention.column.name) not in projection.used
        is_listed = is_unused and _is_listed(question, mention)
        is_asked = mention.is_asked or is_listed
        if is_asked and not is_followed and not is_covered:
            return {"kind": "missing_column"} | mention.show()
    return None


def _is_listed(question: Question, mention: Mention) -> bool:
    """Whether a name of several words stands last in a list: "when it was settled and the amount
    settled"."""
    before = question.words[: mention.indexes[0]]
    while before and before[-1].text in ("the", "its", "their", "a"):
        before = before[:-1]
    return len(mention.words) > 1 and bool(before) and before[-1].text == "and"


def _covers(selected: Selected, mention: Mention, question: Question) -> bool:
    """Whether a result column may be what the question names. It may if the evidence has its name,
    if its name and its table's have every word that is asked for, or if just a name is asked for
    and it is named elsewhere."""
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
    """The evidence of a column that shares a word with a selected one, where the question has the
    words by which it differs, which no column of the query has, and none of the selected one's."""
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
    """Whether a word of a name is asked for; where nothing says what is, whether it is said, but
    not the first of "the oldest first"."""
    asked = [question.words[index] for index in sorted(find_asked_words(question))]
    said = asked or [word for word in question.words if word.text not in ("first", "last")]
    return any(word.stem == other.stem or is_start_of(word, other) for other in said)


# Mentions: the columns that a question names plainly, by the words of their names.
#
# Plainly means: all words of the name but those of its table stand in one phrase, the last one
# ends the phrase, and no other noun stands before it. `rank` is named in "their rank", not in
# "rank list".

_MAX_WORDS_APART = 6  # words from `start` to `date` in "start, middle and end date"
_BEFORE = word_set(
    "the a an all and or of its their his her each every any different distinct unique with by "
    "average mean avg maximum minimum max min total sum highest lowest largest smallest "
    "greatest least most fewest longest shortest oldest youngest corresponding is are list show "
    "find give return me us what which display also respective that whose for in full both "
    "on to combined overall higher lower larger smaller greater more less fewer ascending "
    "descending same from than how old possible various exact"
)
_AFTER = word_set(
    "of for from in who whose whom that which with where by sorted ordered order sort having at "
    "on when if has have had did do does was were is are than between during and or as along "
    "together used using ranked not to per each every above below over under after before "
    "greater more larger higher less lower smaller fewer equal exceeding within there must "
    "should can"
)
_LIST_MARK = re.compile(r",|&|/|\b(?:and|or)\b")
_BREAKS = word_set("of for from in who whose that which with where by is are has have at")
_CHOICE = word_set("who which whose")
_MAX_WORDS_OF_CHOICE = 4  # "which old cows are"
_MEASURES = word_set("number numbers total average count maximum minimum")
_OF = word_set("amount amounts date dates value type rate level time times size percentage")


class Mention(NamedTuple):
    """A column, the words that name it and their indexes in the question, and whether it is asked
    for there."""

    table: Table
    column: Column
    words: list[Word]
    indexes: tuple[int, ...]
    is_asked: bool

    def show(self) -> dict[str, str]:
        """The evidence: the words of the question, and the column."""
        asked = " ".join(word.text for word in self.words)
        return {"asked": asked, "column": f"{self.table.name}.{self.column.name}"}


def find_mentions(question: Question, tables: Iterable[Table]) -> list[Mention]:
    """The columns of these tables that a question names; `name` in "first name" is not named where
    another column is a first name."""
    words, asked = question.words, find_asked_words(question)
    indexes_of: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        if question.plain_text[word.start] != " ":  # in no quotation marks
            indexes_of.setdefault(word.stem, []).append(index)
    mentions = []
    for table in tables:
        for column in table.columns:
            for indexes in _find_phrases(question, table, column, indexes_of):
                first, last = indexes[0], indexes[-1]
                after = [word.text for word in words[last + 1 : last + 2]]
                has_value = after in (["is"], ["are"], ["was"])  # whose rank is 2
                is_state = has_value or _is_state(words, first)
                named_by = [words[index] for index in indexes]
                is_asked = last in asked and not is_state
                mentions.append(Mention(table, column, named_by, indexes, is_asked))
    return [
        mention
        for mention in mentions
        if not any(set(mention.indexes) < set(other.indexes) for other in mentions)
    ]


def _is_state(words: list[Word], word_index: int) -> bool:
    """Whether a word says how those are that are asked for: "who is married"."""
    before = [word.text for word in words[max(0, word_index - _MAX_WORDS_OF_CHOICE) : word_index]]
    return before[-1:] in (["is"], ["are"], ["was"], ["were"]) and bool(_CHOICE & set(before))


def _find_phrases(
    question: Question, table: Table, column: Column, indexes_of: dict[str, list[int]]
) -> Iterator[tuple[int, ...]]:
    """The indexes of the words of each phrase that names a column."""
    words = split_name(column.name)
    own = {word.stem for word in list_own_words(table.name, column.name)}
    for last in indexes_of.get(words[-1].stem, ()) if own else ():
        text = question.words[last].text
        is_of = "of" in [word.text for word in question.words[last + 1 : last + 2]]
        if text == "named" or (len(words) == 1 and text in _MEASURES):
            continue
        if len(words) == 1 and text in _OF and is_of:
            continue  # "date of birth" names a birthday
        indexes = [last]
        for word in reversed(words[:-1]):
            farthest = _MAX_WORDS_APART if word.stem in own else 1
            said = indexes_of.get(word.stem, ())
            near = [index for index in said if indexes[0] - farthest <= index < last]
            is_beside = near and near[-1] >= indexes[0] - 1
            if near and (is_beside or _is_one_list(question, near[-1], last)):
                indexes = sorted({*indexes, near[-1]})
            elif word.stem in own:
                break  # a word that tells the column from others is not said
        else:
            if _stands_alone(question, indexes[0], last):
                yield tuple(indexes)


def _is_one_list(question: Question, first: int, last: int) -> bool:
    """Whether words stand in one list: `start and end date`, `first, middle and last name`; not
    where a verb may stand between them, as in "airlines offer flights"."""
    between = question.text[question.words[first].end : question.words[last].start]
    if _LIST_MARK.search(between.lower()) is None:
        return False
    return not set(between) & set('.?!;:()"') and not any(
        word.text in _BREAKS or word.text.endswith("'s")
        for word in question.words[first + 1 : last]
    )


def _stands_alone(question: Question, first: int, last: int) -> bool:
    words, text = question.words, question.text
    if last + 1 < len(words):
        is_close = not text[words[last].end : words[last + 1].start].strip()
        if is_close and words[last + 1].text not in _AFTER:
            return False
    if first == 0 or text[words[first - 1].end : words[first].start].strip():
        return True
    before = words[first - 1].text
    return before in _BEFORE or before.endswith("'s")


DOUBTS = (Doubt("projection_mismatch", find_in_question=find_projection_mismatch),)
