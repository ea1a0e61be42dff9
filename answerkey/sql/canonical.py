"""Canonical SQL and templates: two queries that differ in their spelling only come out the same.

>>> tree = parse_one("SELECT Name n FROM ship T1 WHERE (T1.id != 3)")  # doctest: +SKIP
>>> scopes = Scopes(tree, schema)  # doctest: +SKIP
>>> canonical_sql(scopes)  # doctest: +SKIP
'SELECT ship.name FROM ship WHERE ship.id <> 3'
>>> sql_template(scopes)  # doctest: +SKIP
'SELECT t1.c1 FROM t1 WHERE t1.c2 <> ?'

What may change the answer (a literal, the order of columns, DISTINCT, ORDER BY, LIMIT) stays. A
query of a form that is not known here comes out as sqlglot spells it, so that it equals fewer
others than it might.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.sql.parser import sqlite_dialect
from answerkey.sql.query_writer import QueryWriter
from answerkey.sql.scopes import Scopes
from answerkey.sql.template_writer import TemplateWriter, number_names
from answerkey.sqlite.schema import fold_name

# UnwritableError is a ValueError; the others are where a tree of an unforeseen shape may end.
_NO_FORM = (ValueError, LookupError, AttributeError, TypeError, RecursionError, SqlglotError)


def canonical_sql(scopes: Scopes) -> str:
    """SQL that gives the answer of the query, in the one spelling that stands for all.

    Names are qualified and as the schema spells them, aliases gone, conditions sorted, inner joins
    in one order. Two texts that are equal give the same rows, but for what their order in storage
    decides; two that differ may still mean the same.
    """
    try:
        return QueryWriter(scopes, scopes.schema).write_query(scopes.tree)
    except _NO_FORM:
        return spell_plainly(scopes.tree)


def sql_template(scopes: Scopes) -> str:
    """Canonical SQL without literals (each is `?`, and a list of them one) and without names.

    Tables and columns are numbered in the order in which they appear, so that it stays visible
    where one is used twice; a table that is joined with itself is `t1` and `t1_2`.
    """
    try:
        return number_names(TemplateWriter(scopes, scopes.schema).write_query(scopes.tree))
    except _NO_FORM:
        return number_names(spell_plainly(scopes.tree))


def spell_plainly(tree: exp.Expression) -> str:
    """A query with its keywords, spaces and the case of its names made alike, and nothing else."""
    tree = tree.copy()
    for name in tree.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", fold_name(name.name))
    try:
        return tree.sql(sqlite_dialect(), comments=False)
    except _NO_FORM:
        return " ".join(_name_node(node) for node in tree.dfs())


def _name_node(node: exp.Expression) -> str:
    leaves = [str(value) for value in node.args.values() if isinstance(value, str | bool)]
    return " ".join([node.key, *leaves])
