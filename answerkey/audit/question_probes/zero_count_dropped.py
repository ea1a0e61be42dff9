"""zero_count_dropped: a count leaves out the things of which there are none.

"How many songs has each singer?" with `singer JOIN song ... GROUP BY singer.id` -> no row for a
singer without a song; and "singers with fewer than two songs" lacks those without one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues, shorten
from answerkey.audit.entities import (
    find_key,
    is_label,
    list_equalities,
    list_references,
    list_terms,
    name_column,
    place_of,
    resolve_direct,
    write_rows,
)
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.counted_things import stem_name
from answerkey.english.question import Question, Word
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import to_sql, unwrap
from answerkey.sql.resolutions import Resolution, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Table, fold_name, quote_name

_KEYS_SHOWN = 3
_RESTRICTIONS = {"who", "that", "which", "with", "having", "used"}
_NAME_WORDS = {"id", "ids", "name", "names", "code", "codes"}
_WORDS_BETWEEN = 3


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table's place in FROM, or None where it is not there."""

    table: Table
    key: str
    column: exp.Column
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where rows are counted for each of the things of a table that the question names,
    and an inner join, or a table that refers to them, has no row for some.

    Kinds: `at_most`, only things of a count below a bound are asked for, and some have none;
    `fewest`, that of the least count; `each`, the counts of all, and some are left out; `possible`,
    the same where none are yet; `all`, the same for "all THINGS" where only another table is read.
    "Singers who have a song" asks for no others: no finding.
    """
    select = unwrap(inspection.tree)
    if not isinstance(select, exp.Select) or not select.args.get("group") or find_with(select):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []
    scopes, values = inspection.scopes, ColumnValues(inspection.database)
    form = _read_form(select, scopes)
    things = _find_things(select, inspection, values) if form is not None else None
    asked = _find_noun(question, things.table) if things is not None else None
    if asked is None or (form == "each" and _is_restricted(question, asked.stem)):
        return []
    dropped = _find_dropped(select, things, scopes, values)
    kind = form
    if form == "each":
        if len(scopes.scope_of(select).sources) == 1:
            kind = "all" if _says_all(question, things.table) else None
        elif _has_other_condition(select, things, scopes):
            kind = None  # the condition may say which things are meant
        elif not dropped:
            kind = "possible"
    elif form == "at_most" and not dropped:
        kind = "possible"
    if kind is None:
        return []
    evidence: dict[str, Any] = {
        "kind": kind,
        "asked": asked.text,
        "things": f"{things.table.name}.{things.key}",
        "dropped": dropped,
    }
    return [Finding(Flag.ZERO_COUNT_DROPPED, evidence)]


def _read_form(select: exp.Select, scopes: Scopes) -> str | None:
    """What the counts are for: at_most, fewest or each; None where none can be missed."""
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        condition = having.this.unnest()
        is_bound = isinstance(condition, exp.LT | exp.LTE) and _counts(condition.this, scopes)
        return "at_most" if is_bound else None
    if select.args.get("limit") is not None:
        first = order.expressions[0] if order is not None else None
        is_least = first is not None and not first.args.get("desc") and _counts(first.this, scopes)
        return "fewest" if is_least else None
    return "each" if any(_counts(column, scopes) for column in select.expressions) else None


def _counts(node: exp.Expression, scopes: Scopes) -> bool:
    node = node.unalias().unnest()
    if isinstance(node, exp.Column):
        found = scopes.resolve(node)
        node = found.expression if found is not None and found.is_alias else node
    return isinstance(node, exp.Count)


def _find_things(
    select: exp.Select, inspection: Inspection, values: ColumnValues
) -> _Things | None:
    found = [resolve_direct(key, inspection.scopes) for key in select.args["group"].expressions]
    pairs = list(list_equalities(select, inspection.scopes))
    ends = {end: other for pair in pairs for end, other in (pair, pair[::-1])}
    for what in found if None not in found else ():
        key = find_key(what.table, values)
        own = what.source, fold_name(key) if key is not None else ""
        is_key = place_of(what) == own
        if own in ends and (is_key or is_label(what, inspection.schema)):
            return _name_things(own, own, what)
        other = ends.get(place_of(what))
        if other is not None and other[1] == fold_name(find_key(other[0].table, values) or ""):
            return _name_things(other, place_of(what), what)
        if not is_key:
            for column, parent, referred in list_references(what.table, inspection.schema):
                if fold_name(column) == place_of(what)[1]:
                    node = name_column(what.source, column, what.scope)
                    return _Things(parent, referred, node, None)
    return None


def _name_things(key: tuple[Source, str], shown: tuple[Source, str], what: Resolution) -> _Things:
    source, name = key
    column = name_column(shown[0], shown[1], what.scope)
    return _Things(source.table, source.table.find_column(name).name, column, source)


def _find_dropped(
    select: exp.Select, things: _Things, scopes: Scopes, values: ColumnValues
) -> list[object]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    where = select.args.get("where")
    conditions = [f"{quote_name(things.key)} IS NOT NULL"]
    for term in list_terms(where.this) if where is not None and things.source is not None else ():
        found = [resolve_direct(column, scopes) for column in term.find_all(exp.Column)]
        if all(what is not None and what.source is things.source for what in found):
            conditions.append(f"({to_sql(term)})")
    rows = write_rows(select, exp.alias_(things.column.copy(), "k"))
    name = quote_name(things.source.name if things.source is not None else things.table.name)
    sql = (
        f"SELECT {quote_name(things.key)} FROM {quote_name(things.table.name)} AS {name}"
        f" WHERE {' AND '.join(conditions)}"
        f" AND {quote_name(things.key)} NOT IN (SELECT k FROM ({rows}) WHERE k IS NOT NULL)"
        f" ORDER BY 1 LIMIT {_KEYS_SHOWN}"
    )
    return [shorten(row[0]) for row in values.ask(sql) or ()]


def _has_other_condition(select: exp.Select, things: _Things, scopes: Scopes) -> bool:
    """Whether a term of WHERE, which is no join, tests a column of another table."""
    where = select.args.get("where")
    for term in list_terms(where.this) if where is not None else ():
        found = [resolve_direct(column, scopes) for column in term.find_all(exp.Column)]
        sources = {id(what.source) if what is not None else None for what in found}
        is_join = isinstance(term, exp.EQ) and len(sources) == 2
        if not is_join and sources != {id(things.source)}:
            return True
    return False


def _find_noun(question: Question, table: Table) -> Word | None:
    """The first word of the question that names the things."""
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


def _is_restricted(question: Question, noun: str) -> bool:
    """Whether a relative clause, or what stands for one, says which things are meant."""
    words = question.words
    for place, word in enumerate(words):
        after = [other.text for other in words[place + 1 : place + 3]]
        after = after[1:] if after and after[0] in _NAME_WORDS else after
        is_restricted = bool(_RESTRICTIONS & set(after[:1])) or after[1:] == [
            "who"
        ]  # faculty members who
        if word.stem == noun and is_restricted:
            return True
    return False


def _says_all(question: Question, table: Table) -> bool:
    noun, words = stem_name(table.name)[-1], question.words
    return any(
        word.text == "all" and noun in [other.stem for other in words[place + 1 :][:_WORDS_BETWEEN]]
        for place, word in enumerate(words)
    )
