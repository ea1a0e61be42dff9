"""A parsed query: all that is known of it from its text and the schema."""

from __future__ import annotations

from typing import Any

from sqlglot.errors import SqlglotError

from answerkey.core.reasons import Reason
from answerkey.sql.canonical import canonical_tree, write_sql
from answerkey.sql.columns import list_columns
from answerkey.sql.features import list_features
from answerkey.sql.hardness import classify_hardness
from answerkey.sql.parser import TooComplexError, parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sql.tables import TABLE_NODES, list_tables
from answerkey.sql.template import write_template
from answerkey.sqlite.schema import Schema


def parse_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    """What is known of a query from its text and the schema, or a reason and a detail.

    A query that SQLite runs and the parser does not know is set aside, since its difficulty would
    not be known. So is one that is larger or deeper than what later stages can read: all of them
    see only queries that passed here, or ask for the same bounds.
    """
    try:
        return _describe_query(gold_sql, schema)
    except TooComplexError as error:
        return {"reason": Reason.TOO_COMPLEX, "detail": str(error)}
    except RecursionError:
        return {"reason": Reason.TOO_COMPLEX, "detail": "nested too deeply for the parser"}


def _describe_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    try:
        tree = parse_sql(gold_sql)
        hardness = classify_hardness(tree)
    except TooComplexError:
        raise
    except (SqlglotError, ValueError) as error:
        detail = str(error).partition("\n")[0]
        return {"reason": Reason.UNPARSABLE_SQL, "detail": detail}
    scopes = Scopes(tree, schema)
    columns = list_columns(scopes)  # first, since it asks for the columns of every SELECT
    canonical = canonical_tree(scopes)
    return {
        "tables_involved": list_tables(scopes.nodes.find_all(*TABLE_NODES), schema),
        "columns_involved": columns,
        "features": list_features(tree),
        "hardness": hardness,
        "canonical_sql": write_sql(canonical),
        "template": write_template(canonical),
    }
