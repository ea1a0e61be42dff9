"""A parsed query: its tables, columns, features, hardness and canonical forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from answerkey.base.errors import Reason
from answerkey.sql.canonical import NO_FORM, canonical_tree, write_sql, write_template
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.query_tree import TooComplexError, find_cte, is_aggregate, is_windowed, parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, fold_name

_BY_NODE: dict[type[exp.Expression], str] = {
    exp.Between: "between",
    exp.Case: "case",
    exp.CTE: "cte",
    exp.Distinct: "distinct",
    exp.Except: "except",
    exp.Exists: "exists",
    exp.Group: "group_by",
    exp.Having: "having",
    exp.In: "in",
    exp.Intersect: "intersect",
    exp.Like: "like",
    exp.Limit: "limit",
    exp.Offset: "offset",
    exp.Or: "or",
    exp.Order: "order_by",
    exp.Union: "union",
    exp.Where: "where",
    exp.Window: "window",
}
TABLE_NODES = (exp.Table, exp.In)


def list_tables(nodes: Iterable[exp.Expression], schema: Schema | None) -> list[str]:
    """`extract_tables_involved` of a tree, from its nodes that may name a table (`TABLE_NODES`)."""
    names: dict[str, str] = {}
    for node in nodes:
        name = _name_table(node)
        if name:
            known = schema.find_table(name) if schema else None
            names.setdefault(fold_name(name), known.name if known else name)
    return sorted(names.values())


def extract_tables_involved(gold_sql: str, *, schema: Schema | None = None) -> list[str]:
    """Return the sorted, unique names of the tables and views that SQL reads.

    >>> extract_tables_involved("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    ['Ship', 'port']

    Names of CTEs are not tables. With a schema, names come as it spells them; without, as the query
    does. A view counts as itself.

    Raises:
        sqlglot.errors.SqlglotError: the SQL does not parse.
    """
    return list_tables(parse_sql(gold_sql).find_all(*TABLE_NODES), schema)


def _name_table(node: exp.Expression) -> str:
    """The name in a FROM, or in `x IN name`, which is short for `x IN (SELECT * FROM name)`.

    It is '' for a CTE, a table-valued function, an index (INDEXED BY), and IN with a list or a
    query.
    """
    if isinstance(node, exp.In):
        table = node.args.get("field")
        if not isinstance(table, exp.Column | exp.Literal):
            return ""
        name, database = table.name, table.text("table")
    else:
        if not isinstance(node.this, exp.Identifier) or node.arg_key == "indexed":
            return ""
        name, database = node.name, node.db
    is_cte = not database and find_cte(node, name) is not None
    return "" if is_cte else name


def list_columns(scopes: Scopes) -> list[str]:
    """The sorted, unique `table.column` that a query reads, spelt as the schema spells them.

    `SELECT T1.name FROM ship AS T1 WHERE T1.tons > 9` -> ['ship.name', 'ship.tons']

    A `*` stands for all columns that it expands to, count(*) for none. A name that cannot be
    resolved, such as a string in double quotes, is left out.
    """
    found = [scopes.resolve(column) for column in scopes.nodes.find_all(exp.Column)]
    for scope in scopes.select_scopes():
        found += [output.resolution for output in scopes.outputs(scope.select)]
    return sorted(
        {
            f"{what.table.name}.{what.column.name}"
            for what in found
            if what is not None and what.table is not None and what.column is not None
        }
    )


def list_features(tree: exp.Expression) -> list[str]:
    """The sorted names of what a query uses, anywhere in it.

    >>> from sqlglot import parse_one
    >>> list_features(parse_one("SELECT count(*) FROM a LEFT JOIN b USING (c) WHERE d IS NULL"))
    ['aggregate', 'join', 'left_join', 'null_test', 'where']
    """
    found = set()
    for node in tree.walk():
        kind = type(node)
        if kind in _BY_NODE:
            found.add(_BY_NODE[kind])
        elif kind is exp.Select:
            if _is_nested(node):
                found.add("nested_query")
        elif kind is exp.Join:
            found.add("join")
            if node.side == "LEFT":
                found.add("left_join")
        elif kind is exp.Is and isinstance(node.expression, exp.Null):
            found.add("null_test")
        elif is_aggregate(node) and not is_windowed(node):
            found.add("aggregate")
    return sorted(found)


def _is_nested(select: exp.Expression) -> bool:
    """Whether a SELECT stands in an expression or in FROM, not as an arm or a CTE."""
    node = select.parent
    while isinstance(node, exp.SetOperation):
        node = node.parent
    return isinstance(node, exp.Subquery | exp.In | exp.Exists)


def name_answer_columns(tree: exp.Expression) -> list[str]:
    """The columns that a query gives; none if they are not known, as those of a `*`.

    >>> from sqlglot import parse_one
    >>> name_answer_columns(parse_one("SELECT count(*), ship.name, built AS year FROM ship"))
    ['COUNT(*)', 'name', 'year']
    """
    if any(column.is_star for column in tree.selects):
        return []
    return [column.output_name or column.sql("sqlite") for column in tree.selects]


def parse_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    """Return what is known of a query from its text and the schema, or a reason and a detail.

    A query that SQLite runs and the parser does not know is set aside, since nobody could tell its
    difficulty. So is one that is larger or deeper than what later stages can read.
    """
    try:
        return _describe_query(parse_sql(gold_sql), schema)
    except TooComplexError as error:
        return {"reason": Reason.TOO_COMPLEX, "detail": str(error)}
    except RecursionError:
        return {"reason": Reason.TOO_COMPLEX, "detail": "nested too deeply for the parser"}
    except NO_FORM as error:
        return {"reason": Reason.UNPARSABLE_SQL, "detail": str(error).partition("\n")[0]}


def _describe_query(tree: exp.Expression, schema: Schema) -> dict[str, Any]:
    answer_columns = name_answer_columns(tree)
    hardness = classify_hardness(tree)
    scopes = Scopes(tree, schema)
    columns = list_columns(scopes)  # first, since it asks for the columns of every SELECT
    canonical = canonical_tree(scopes)
    return {
        "tables_involved": list_tables(scopes.nodes.find_all(*TABLE_NODES), schema),
        "columns_involved": columns,
        "answer_columns": answer_columns,
        "features": list_features(tree),
        "hardness": hardness,
        "canonical_sql": write_sql(canonical),
        "template": write_template(canonical),
    }
