"""The probe of counts of zero: things that have no row to be counted, and that a join drops."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import stem_name
from answerkey.english.measures import MOST, SIZE, find_superlatives
from answerkey.english.question import Question, Word
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.probes.query import Query, read_query, with_repair, write_rows
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import read_integer, to_sql, write_with
from answerkey.sql.scopes import DirectColumn, Place, Scope, Source, inline_aliases
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Table, quote_name

_MAX_SHOWN_KEYS = 3  # keys as evidence
# "singers who have a song", also behind a word such as "names": "singer names with their songs"
_RESTRICTIONS = {"who", "that", "which", "with", "having", "used"}
_NAME_WORDS = {"id", "ids", "name", "names", "code", "codes"}


class _Things(NamedTuple):
    """The things that a query counts by: their table and key, the column that has it in the query,
    and their table in FROM, or None if it is not there."""

    table: Table
    key: str
    column: DirectColumn
    source: Source | None


def find_zero_count_dropped(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if rows are counted for each of the things of a table that the question
    names, and an inner join, or a table that refers to them, has no row for some: "How many songs
    has each singer?" and `singer JOIN song ... GROUP BY singer.id`.

    Kinds: `at_most`, only things of a count below a bound are asked for, and some have none;
    `fewest`, that of the least count; `each`, the counts of all, and some are left out; `possible`,
    the same where none are yet; `all`, the same for "all THINGS" where only another table is read.
    "Singers who have a song" and "the most songs" ask for no others: no finding.
    """
    query = read_query(inspection)
    select = query.select
    if select is None or not select.args.get("group"):
        return []
    if any(join.side for join in select.args.get("joins") or ()):
        return []  # an outer join has a row for each of them
    kind = _read_form(select, query)
    things = _find_things(select, query) if kind is not None else None
    if things is None:
        return []
    asked = _find_noun(question, things.table)
    if asked is None or (kind == "each" and _is_restricted(question, asked.stem)):
        return []
    if kind == "each" and _are_within_others(question, asked.stem, select, things, query):
        return []
    if kind == "each" and _asks_for_most(question):
        return []
    form, dropped = kind, _find_dropped(select, things, query)
    if kind == "each" and things.source is None:
        if all(word.text != "all" for word in question.words):
            return []  # the query reads what refers to them alone, and may mean those
        kind = "all"
    elif kind == "each" and _has_other_condition(select, things, query):
        return []  # the condition may say which things are meant
    elif kind != "fewest" and not dropped:
        kind = "possible"
    shown = {"things": f"{things.table.name}.{things.key}", "dropped": dropped}
    evidence = {"kind": kind, "asked": asked.text} | shown
    repair = _write_zeros(select, things, query, is_cut=form == "fewest")
    return [Finding("zero_count_dropped", with_repair(evidence, repair))]


def _write_zeros(select: exp.Select, things: _Things, query: Query, *, is_cut: bool) -> str | None:
    """The counts of a query, and 0 of each thing that it has no row for; None if it shows more than
    things and counts."""
    zeros = []
    for output in select.expressions:
        column = query.scopes.find_direct(output)
        if _counts(output, query):
            zeros.append("0")
        elif column is not None and column.is_same(things.column):
            zeros.append(quote_name(things.key))
        elif column is not None and column.source is things.source:
            zeros.append(quote_name(column.column.name))
        else:
            return None
    dropped = _write_dropped(select, things, query)
    order = select.args.get("order")
    terms = order.expressions if order is not None else []
    if is_cut:
        names = [f"c{column_index}" for column_index in range(len(zeros))]
        columns = [
            exp.alias_(output.unalias().copy(), name)
            for output, name in zip(select.expressions, names, strict=True)
        ]
        count = exp.alias_(inline_aliases(terms[0].this, query.scopes), "n")
        counted = write_with(select, expressions=[*columns, count], order=None, limit=None)
        shown, limit = ", ".join(names), to_sql(select.args["limit"]).strip()
        zero = f"SELECT {', '.join(zeros)}, 0 {dropped}"
        return f"SELECT {shown} FROM ({counted} UNION ALL {zero}) ORDER BY n {limit}"
    texts = [to_sql(output.unalias()) for output in select.expressions]
    sorted_by = []
    for term in terms:
        text = to_sql(inline_aliases(term.this, query.scopes).unnest())
        column_number = texts.index(text) + 1 if text in texts else read_integer(term.this)
        if column_number is None:
            return None
        sorted_by.append(f"{column_number}{' DESC' if term.args.get('desc') else ''}")
    by = f" ORDER BY {', '.join(sorted_by)}" if sorted_by else ""
    counted = write_with(select, order=None)
    return f"{counted} UNION ALL SELECT {', '.join(zeros)} {dropped}{by}"


def _read_form(select: exp.Select, query: Query) -> str | None:
    """Return the use of the counts: at_most, fewest or each; None if none can be missed."""
    having, order = select.args.get("having"), select.args.get("order")
    if having is not None:
        condition = having.this.unnest()
        is_bound = isinstance(condition, exp.LT | exp.LTE) and _counts(condition.this, query)
        return "at_most" if is_bound else None
    if select.args.get("limit") is not None:
        first = order.expressions[0] if order is not None else None
        is_least = first is not None and not first.args.get("desc") and _counts(first.this, query)
        return "fewest" if is_least else None
    return "each" if any(_counts(column, query) for column in select.expressions) else None


def _counts(node: exp.Expr, query: Query) -> bool:
    node = node.unalias().unnest()
    resolution = query.resolve(node)
    return isinstance(resolution.expression if resolution is not None else node, exp.Count)


def _find_things(select: exp.Select, query: Query) -> _Things | None:
    columns = query.scopes.find_all_direct(select.args["group"].expressions)
    pairs = query.list_equalities(select)
    ends = {end: other for pair in pairs for end, other in (pair, pair[::-1])}
    for column in columns:
        own, other = query.key_of(column.source), ends.get(column.place)
        if own in ends and (column.place == own or query.scopes.is_label(column)):
            return _name_things(own, own, column.scope)
        if other is not None and other == query.key_of(other[0]):
            return _name_things(other, column.place, column.scope)
        for reference in query.scopes.references.of_table(column.table):
            if column.place != own and reference.column is column.column:
                return _Things(reference.parent, reference.referred.name, column, None)
    return None


def _name_things(key: Place, shown: Place, scope: Scope) -> _Things | None:
    (source, name), (other, other_name) = key, shown
    column = source.table.find_column(name) if source.table is not None else None
    grouped = other.table.find_column(other_name) if other.table is not None else None
    if source.table is None or column is None or other.table is None or grouped is None:
        return None
    by = DirectColumn(other, other.table, grouped, scope)
    return _Things(source.table, column.name, by, source)


def _find_dropped(select: exp.Select, things: _Things, query: Query) -> list[Value]:
    """Keys of things that meet the conditions on themselves, and of which the query has no row."""
    dropped = _write_dropped(select, things, query)
    rows = query.ask(
        f"SELECT {quote_name(things.key)} {dropped} ORDER BY 1 LIMIT {_MAX_SHOWN_KEYS}"
    )
    return [key for (key,) in show_rows(rows or [])]


def _write_dropped(select: exp.Select, things: _Things, query: Query) -> str:
    """FROM and WHERE of those things."""
    key, table = quote_name(things.key), quote_name(things.table.name)
    name = quote_name(things.source.name) if things.source is not None else table
    counted = write_rows(select, exp.alias_(things.column.write(), "k"))
    conditions = [f"{key} IS NOT NULL"]
    for term in list_terms(select.args.get("where")) if things.source is not None else ():
        if query.list_sources(term) <= {things.source}:
            conditions.append(f"({to_sql(term)})")
    conditions.append(f"{key} NOT IN (SELECT k FROM ({counted}) WHERE k IS NOT NULL)")
    return f"FROM {table} AS {name} WHERE {' AND '.join(conditions)}"


def _has_other_condition(select: exp.Select, things: _Things, query: Query) -> bool:
    """Whether a term of WHERE, which is no join, tests a column of another table."""
    for term in list_terms(select.args.get("where")):
        sources = query.list_sources(term)
        is_join = isinstance(term, exp.EQ) and len(sources) == 2
        if not is_join and sources != {things.source}:
            return True
    return False


def _find_noun(question: Question, table: Table) -> Word | None:
    noun = stem_name(table.name)[-1:]
    return next((word for word in question.words if (word.stem,) == noun), None)


def _asks_for_most(question: Question) -> bool:
    """Whether those of the most are asked for, of which none has a count of zero: "which port has
    the most ships?" by a list, the greatest count first; not "from most to least"."""
    superlatives = find_superlatives(question)
    poles = {superlative.pole for superlative in superlatives if superlative.measure == SIZE}
    return poles == {MOST}


def _are_within_others(
    question: Question, noun: str, select: exp.Select, things: _Things, query: Query
) -> bool:
    """Whether the things are those in rows of another table: "each product in all the orders"."""
    sources = query.scopes.scope_of(select).sources.values()
    tables = [source.table for source in sources if source.table is not None]
    others = {stem_name(table.name)[-1:] for table in tables if table != things.table}
    texts = [word.text for word in question.words]
    for word_index, word in enumerate(question.words[:-1]):
        if word.stem == noun and texts[word_index + 1] in ("in", "on", "from"):
            rest = question.words[word_index + 2 :]
            noun_after = next((other for other in rest if other.text not in ("all", "the")), None)
            if noun_after is not None and (noun_after.stem,) in others:
                return True
    return False


def _is_restricted(question: Question, noun: str) -> bool:
    """Whether a relative clause, or what stands for one, says which things are meant."""
    words = question.words
    for word_index, word in enumerate(words):
        after = [other.text for other in words[word_index + 1 : word_index + 3]]
        after = after[1:] if after and after[0] in _NAME_WORDS else after
        is_followed = bool(_RESTRICTIONS & set(after[:1])) or after[1:] == ["who"]
        if word.stem == noun and is_followed:
            return True
    return False


QUESTION_PROBES = (find_zero_count_dropped,)
