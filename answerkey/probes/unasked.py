"""The probe of columns that nobody asked for, beside what is asked for."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.asked import MAX_QUESTION_WORDS, find_asked_words
from answerkey.english.columns import (
    is_named,
    is_table_of,
    list_own_words,
    may_mean,
    name_column,
    split_name,
)
from answerkey.english.question import Question, Word, word_set
from answerkey.order.inspection import Inspection
from answerkey.probes.projection import COUNTING, Projection, Selected, find_mentions
from answerkey.probes.query import Query, read_query, with_repair
from answerkey.sql.query_tree import is_star, read_integer, write_with
from answerkey.sql.scopes import inline_aliases

_EMPTY = word_set(
    "find list show display give tell return provide get retrieve describe compute calculate fetch "
    "select what which who report present print output identify is are was were do does did the a "
    "an any some all different distinct unique me us please and or of in each every their its his "
    "her my our only also both respective corresponding top"
)
_LISTS = word_set("and or with along including together well both what how plus besides alongside")
_EACH = word_set("each every per by")
_WHOLE = word_set(
    "information info detail details everything record records data all entire full whole row rows"
)
_OF = word_set("of about for on from")
_THE = word_set("the a an all those each every any")


def find_column_not_asked(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if a query returns what its question asks for, and more. Kinds:

    column: the columns that are asked for by their names, and one that only groups or sorts;
    count: a count beside a column, of all groups, and no word of the question counts;
    whole_rows: `*`, where a column is asked for by its name;
    joined: `*` over a join, where all of one thing is asked for.
    """
    query = read_query(inspection)
    if query.select is None or len(question.words) > MAX_QUESTION_WORDS:
        return []
    projection = inspection.once(Projection)
    if projection.selected:
        evidence = _find_column(query, query.select, projection, question)
    else:
        evidence = _find_star(query, query.select, projection, question)
    return [] if evidence is None else [Finding("column_not_asked", evidence)]


def _find_column(
    query: Query, select: exp.Select, projection: Projection, question: Question
) -> dict[str, Any] | None:
    outputs = projection.selected
    if len(outputs) < 2 or len(outputs) != len(select.expressions):
        return None
    counts = [output for output in outputs if isinstance(output.node.unalias(), exp.Count)]
    kind, unasked = "count", counts[0] if len(counts) == 1 else None
    if unasked is None:
        kind, unasked = "column", _find_unnamed(query, select, outputs, question)
    elif select.args.get("limit") or any(word.text in COUNTING for word in question.said_words):
        return None  # the counts of those of the most are often shown
    if unasked is None:
        return None
    rest = [output.node.copy() for output in outputs if output is not unasked]
    clauses = {name: _write_clause(query, select, name) for name in ("group", "order")}
    repair = write_with(select, expressions=rest, **clauses)
    return with_repair({"kind": kind, "column": unasked.text}, repair)


def _write_clause(query: Query, select: exp.Select, name: str) -> exp.Expr | None:
    """GROUP BY or ORDER BY without aliases and numbers of columns, which may be gone."""
    clause: exp.Expr | None = select.args.get(name)
    if clause is None:
        return None
    copy = clause.copy()
    for term, twin in zip(clause.expressions, copy.expressions, strict=True):
        node = term.this if isinstance(term, exp.Ordered) else term
        number = read_integer(node)
        inlined = inline_aliases(node, query.scopes)
        if number is not None and 0 < number <= len(select.expressions):
            inlined = select.expressions[number - 1].unalias().copy()
        (twin.this if isinstance(twin, exp.Ordered) else twin).replace(inlined)
    return copy


def _find_unnamed(
    query: Query, select: exp.Select, outputs: list[Selected], question: Question
) -> Selected | None:
    """The one column that is not asked for, if all words that ask name another one. What follows
    `and` behind these words may ask for it, if it has its name."""
    asked_indexes = find_asked_words(question)
    words = question.words
    asked = [words[index] for index in sorted(asked_indexes)]
    content = [word for word in asked if word.text not in _EMPTY and word is not words[0]]
    named = [output for output in outputs if _is_named(output, content)]
    unnamed = [output for output in outputs if output not in named]
    if len(unnamed) != 1 or not named or unnamed[0].column is None or unnamed[0].aggregate:
        return None
    if is_named(name_column(unnamed[0].column.name, question), asked):
        return None
    if not _groups_or_sorts(query, select, unnamed[0].node):
        return None
    own = [word for output in named for word in _list_words(output)]
    if not content or not all(any(may_mean(part, word) for part in own) for word in content):
        return None  # a word that names none of them may mean this one
    rest = {word.text for index, word in enumerate(words) if index not in asked_indexes}
    has_list = bool(rest & _LISTS) or "," in question.plain_text[asked[-1].end :]
    if has_list:
        return None
    if question.explains(unnamed[0].text) or (select.args.get("group") and rest & _EACH):
        return None
    return unnamed[0]


def _groups_or_sorts(query: Query, select: exp.Select, output: exp.Expr) -> bool:
    """Whether a column that is shown is one that the query needs, to group or to sort by."""
    shown = query.scopes.find_direct(output)
    clauses = [select.args[name] for name in ("group", "order") if select.args.get(name)]
    nodes = (node for clause in clauses for node in clause.find_all(exp.Column))
    columns = query.scopes.find_all_direct(nodes)
    return shown is not None and any(column.place == shown.place for column in columns)


def _is_named(output: Selected, words: list[Word]) -> bool:
    """Whether words name a column as it stands, by what tells it from others of its table."""
    if output.table is None or output.column is None or output.aggregate:
        return False
    own = list_own_words(output.table.name, output.column.name)
    return is_named(own or split_name(output.column.name), words)


def _list_words(output: Selected) -> list[Word]:
    if output.table is None or output.column is None:
        return []
    return [*split_name(output.column.name), *split_name(output.table.name)]


def _find_star(
    query: Query, select: exp.Select, projection: Projection, question: Question
) -> dict[str, Any] | None:
    if len(select.expressions) != 1 or not is_star(select.expressions[0]):
        return None
    scope = query.scopes.scope_of(select)
    if _WHOLE.isdisjoint(word.text for word in question.words):
        tables = [source.table for source in scope.sources.values() if source.table is not None]
        mentions = [m for m in find_mentions(question, tables) if m.is_asked]
        if len(mentions) != 1 or len(scope.sources) != 1:
            return None
        column = exp.column(mentions[0].column.name, quoted=True)
        evidence = {"kind": "whole_rows"} | mentions[0].show()
        return with_repair(evidence, write_with(select, expressions=[column]))
    thing = _read_thing(question)
    things = [
        source
        for source in scope.sources.values()
        if thing and source.table is not None and is_table_of(thing, source.table.name)
    ]
    if len(scope.sources) < 2 or len(things) != 1:
        return None
    whole = exp.Column(this=exp.Star(), table=exp.to_identifier(things[0].name))
    evidence = {"kind": "joined", "asked": " ".join(thing)}
    return with_repair(evidence, write_with(select, expressions=[whole]))


def _read_thing(question: Question) -> tuple[str, ...]:
    """The stem of the noun behind "all the information of the"; () if there is none, or another
    one is asked for with `and`, `each` or a comma."""
    words = question.words
    for index, word in enumerate(words[:-1]):
        if word.text in _WHOLE and words[index + 1].text in _OF:
            rest = [other for other in words[index + 2 :] if other.text not in _THE]
            has_list = any(other.text in ("and", "well", "each") for other in rest)
            return (rest[0].stem,) if rest and not has_list else ()
    return ()


QUESTION_PROBES = (find_column_not_asked,)
