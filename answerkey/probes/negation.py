"""Probes of denials: the query denies what the question does not, or on other rows."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.english.columns import stem_name
from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.probes.query import Query, read_query, with_repair, write_rows
from answerkey.sql.conditions import list_terms
from answerkey.sql.query_tree import copy_with, show_sql, to_sql, write_with
from answerkey.sql.scopes import DirectColumn, Place, Source

_NEGATIONS = {"not", "never", "without", "no", "none", "neither", "nor", "except", "cannot"}
_EMPTY = frozenset({"", "null", "none", "nan", "n/a", "-"})
_PATTERNS = (exp.Like, exp.Glob, exp.RegexpLike)
_DENIALS = (exp.Not, exp.NEQ, exp.Except, exp.NullSafeNEQ)
_DENYING_WORD = re.compile(
    r"n't\b|nt'(?= )|!=|<>|\b(?:not|no|nor|none|neither|never|cannot|nothing|nobody|non\w*|un\w+"
    r"|without|except|exclu\w*|but|other|others?|another|else|than|rather|instead|besides|aside"
    r"|apart|outside|differ\w*|only|lack\w*|miss\w*|fail\w*|empty|null|blank|still|free|yet"
    r"|foreign\w*|elsewhere|abroad|overseas|reject\w*|refus\w*|den(?:y|ie)\w*|chang\w*|switch\w*"
    r"|vary\w*|varie\w*|remain\w*|leav\w*|omit\w*|skip\w*|avoid\w*|spar\w*|escap\w*|drop\w*|ignor\w*|bar"
    r"|barring|abnormal\w*|abs(?:ent|ence)\w*|in(?:active|valid|complete)\w*|irregular\w*"
    r"|dis(?:abled|continued|qualified))\b"
)


def find_negation_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the query denies something, and neither the question nor its evidence
    has a word that may deny, even a weak one or a quoted one: "foreign", "still" and "only" are
    often written as `<>`. A CASE denies nothing: it computes.
    """
    nodes = inspection.scopes.nodes
    denials: list[exp.Expr] = [*nodes.find_all(*_DENIALS)]
    denials += [node for node in nodes.find_all(*_PATTERNS) if node.args.get("negate")]
    text = f"{question.text} {question.evidence}".lower().replace("’", "'")
    real = [
        node
        for node in denials
        if node.find_ancestor(exp.Case, exp.If) is None and not _is_guard(node)
    ]
    if not real or _DENYING_WORD.search(text):
        return []
    repair = _write_undenied(inspection, real[0]) if len(real) == 1 else None
    evidence = with_repair({"sql": show_sql(real[0])}, repair)
    return [Finding("negation_mismatch", evidence)]


def _write_undenied(inspection: Inspection, denial: exp.Expr) -> str:
    """The query with what is denied; of a value that another condition has, without the denial,
    which leaves that thing out: the friends of Al's friends, but not Al."""
    tree, (twin,) = copy_with(inspection.tree, [denial])
    both, values = twin.parent, [equality.expression for equality in tree.find_all(exp.EQ)]
    if isinstance(both, exp.And) and isinstance(twin, exp.NEQ) and twin.expression in values:
        rest = both.expression if twin.arg_key == "this" else both.this
        both.replace(rest.copy())
        return to_sql(tree)
    if isinstance(twin, exp.Except):
        both = exp.Intersect(**{name: part for name, part in twin.args.items() if part is not None})
        return to_sql(twin.replace(both) if tree is twin else tree)
    twin.replace(_affirm(twin))
    return to_sql(tree)


def _affirm(denial: exp.Expr) -> exp.Expr:
    """The condition that a denial denies."""
    if isinstance(denial, exp.Not):
        inner: exp.Expr = denial.this.copy()
        return inner
    copy = denial.copy()
    copy.set("negate", None)
    if isinstance(copy, exp.NEQ):
        return exp.EQ(this=copy.this, expression=copy.expression)
    if isinstance(copy, exp.NullSafeNEQ):
        return exp.NullSafeEQ(this=copy.this, expression=copy.expression)
    return copy


def _is_guard(node: exp.Expr) -> bool:
    """Return whether a denial only leaves out what is empty, or the row itself: who asks for the
    names of owners, or for pairs of ships, does not say so."""
    if isinstance(node, exp.Not):
        return isinstance(node.this.unnest(), exp.Is)
    if isinstance(node, exp.NEQ):
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(right, exp.Literal | exp.Column) and isinstance(left, exp.Column):
            if right.name.lower() in _EMPTY:
                return True
            return isinstance(right, exp.Column) and bool(right.args.get("table"))
    return False


def find_not_in_on_rows(inspection: Inspection, question: Question) -> list[Finding]:
    """Return a finding if the question denies something, and the query denies a value on rows of
    which a thing that it returns may have several: singers with `song.language <> 'French'` also
    have a French song.

    Things are the rows of one table, or what a column refers to. Where another condition holds for
    the row, the denial may be of that row: no finding.
    """
    words = (word.text for word in question.words)
    asked = next((word for word in words if word in _NEGATIONS or word.endswith("n't")), None)
    query = read_query(inspection)
    select = query.select
    if asked is None or select is None or select.args.get("group"):
        return []
    shown = query.scopes.find_all_direct(map(_look_into_count, select.expressions))
    if len({column.source for column in shown}) != 1:
        return []
    terms = list_terms(select.args.get("where"))
    for term in terms:
        denied = _find_denied(term, query)
        if denied is None or _has_other_denial(query, denied.source, terms):
            continue
        if _has_other_condition(query, denied.source, terms):
            continue  # "reached the final and did not win" it means one row
        if _may_have_several(query, select, shown, denied):
            repair = _write_not_in(question, query, select, shown[0], denied)
            evidence = with_repair({"asked": asked, "denied": show_sql(term)}, repair)
            return [Finding("not_in_on_rows", evidence)]
    return []


def _find_thing(query: Query, shown: DirectColumn, denied: DirectColumn) -> DirectColumn | None:
    """The column that tells the things apart which a query returns: what refers to them, or the key
    of their table."""
    if denied.source is shown.source:
        return shown
    column = shown.table.find_column(query.find_key(shown.table) or "")
    return shown.beside(column) if column is not None else None


def _write_not_in(
    question: Question, query: Query, select: exp.Select, shown: DirectColumn, denied: DirectColumn
) -> str | None:
    """The things that are not among those with the value: `FROM singer WHERE singer.id NOT IN
    (SELECT singer.id FROM singer JOIN song ... WHERE song.language = 'French')`. None if there is a
    condition on another table, which may be meant of either."""
    thing = _find_thing(query, shown, denied)
    if thing is None or any(select.args.get(name) for name in ("limit", "having")):
        return None
    affirmed: dict[Place, list[exp.Expr]] = {}
    inner: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    for term in list_terms(select.args.get("where")):
        columns = query.scopes.find_all_direct(term.find_all(exp.Column))
        sources = {column.source for column in columns}
        column = _find_denied(term, query)
        if column is not None and column.source is denied.source:
            affirmed.setdefault(column.place, []).append(_affirm(term))
        elif sources == {shown.source}:
            outer.append(term.copy())
        elif isinstance(term, exp.EQ) and len(sources) > 1:
            inner.append(term.copy())
        else:
            return None
    joins = [term.copy() for term in inner]
    # Not taught by Lee Ray: both names are denied together; neither French nor English: each.
    inner += [exp.paren(exp.or_(*terms)) for terms in affirmed.values()]
    within = write_rows(select, thing.write(), where=exp.Where(this=exp.and_(*inner)))
    among = exp.In(this=thing.write(), query=exp.maybe_parse(f"({within})", dialect="sqlite"))
    outer.append(exp.Not(this=among))
    noun = stem_name(shown.table.name)[-1:]
    if denied.source is not shown.source and any((word.stem,) == noun for word in question.words):
        start = exp.From(this=shown.source.node.copy())
        where = exp.Where(this=exp.and_(*outer))
        return write_with(select, where=where, joins=None, from_=start)
    where = exp.Where(this=exp.and_(*joins, *outer))
    is_once = select.args.get("distinct") is not None or query.is_one_row(select)
    group = None if is_once else exp.Group(expressions=[thing.write()])
    return write_with(select, where=where, group=group)


def _look_into_count(column: exp.Expr) -> exp.Expr:
    """Return what count(DISTINCT ...) counts; any other column as it is."""
    call = column.unalias()
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
        counted: exp.Expr = call.this.expressions[0]
        return counted
    return column


def _find_denied(term: exp.Expr, query: Query) -> DirectColumn | None:
    """The column of which a term denies a value."""
    inner = term.this.unnest() if isinstance(term, exp.Not) else term
    is_denial = isinstance(term, exp.NEQ) or (
        inner is not term and isinstance(inner, exp.In | exp.Like | exp.EQ)
    )
    return query.scopes.find_direct(inner.this) if is_denial else None


def _has_other_denial(query: Query, source: Source, terms: list[exp.Expr]) -> bool:
    """Whether the query denies something else than values of one table, which the question may
    mean."""
    own = {
        id(node)
        for term in terms
        if (column := _find_denied(term, query)) is not None and column.source is source
        for node in term.walk()
    }
    denials = query.scopes.nodes.find_all(exp.NEQ, exp.Not, exp.Except, exp.Is)
    return any(id(node) not in own for node in denials)


def _has_other_condition(query: Query, source: Source, terms: list[exp.Expr]) -> bool:
    """Whether a term asks for something else of the row on which a value is denied."""
    for term in terms:
        columns = query.scopes.find_all_direct(term.find_all(exp.Column))
        is_own = bool(columns) and all(column.source is source for column in columns)
        if is_own and _find_denied(term, query) is None:
            return True
    return False


def _may_have_several(
    query: Query, select: exp.Select, shown: list[DirectColumn], denied: DirectColumn
) -> bool:
    """Whether a thing that is returned may have several rows with the column that is denied."""
    if denied.source is shown[0].source:
        is_thing = len(shown) == 1 and query.scopes.refers(shown[0])
        return is_thing and denied.column is not shown[0].column
    ends = [end for pair in query.list_equalities(select) for end in pair]
    return bool(ends) and query.key_of(denied.source) not in ends


QUESTION_PROBES = (find_negation_mismatch, find_not_in_on_rows)
