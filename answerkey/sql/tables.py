"""Tables: the names of the tables and views that a query reads."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from answerkey.sql.parser import parse_sql
from answerkey.sql.query_parts import find_cte
from answerkey.sqlite.schema import Schema, fold_name

TABLE_NODES = (exp.Table, exp.In)


def list_tables(nodes: Iterable[exp.Expression], schema: Schema | None) -> list[str]:
    """The sorted, unique names of the tables and views, from the nodes of a tree that may name one
    (`TABLE_NODES`).

    >>> from sqlglot import parse_one
    >>> tree = parse_one("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    >>> list_tables(tree.find_all(*TABLE_NODES), None)
    ['Ship', 'port']

    Names of CTEs are not tables. With a schema, names come as it spells them; without, as the query
    does. A view counts as itself.
    """
    names: dict[str, str] = {}
    for node in nodes:
        name = _name_table(node)
        if name:
            known = schema.find_table(name) if schema else None
            names.setdefault(fold_name(name), known.name if known else name)
    return sorted(names.values())


def extract_tables_involved(gold_sql: str, *, schema: Schema | None = None) -> list[str]:
    """The sorted, unique names of the tables and views that SQL reads.

    >>> extract_tables_involved("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    ['Ship', 'port']

    Names of CTEs are not tables. With a schema, names come as it spells them; without, as the query
    does. A view counts as itself.

    Raises:
        sqlglot.errors.SqlglotError: where the SQL does not parse.
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
