"""A parsed query: its tables, features, hardness and canonical forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, TypedDict, final

from sqlglot import exp

from answerkey.base.reasons import Failure, Reason
from answerkey.base.records import HARDNESS_LEVELS
from answerkey.engines.schema import Schema, fold_name
from answerkey.sql.canonical import NO_FORM, canonical_tree, write_sql, write_template
from answerkey.sql.query_tree import (
    TooComplexError,
    find_cte,
    is_aggregate,
    is_windowed,
    members_of_from,
    parse_sql,
    speaking,
    spoken_engine,
    to_sql,
)
from answerkey.sql.scopes import Scopes, find_table

# Features whose names are sqlglot's names of nodes.
_CLAUSES = ("cte", "distinct", "having", "limit", "offset", "where", "window")
_OPERATORS = ("between", "case", "except", "exists", "in", "intersect", "like", "or", "union")
_BY_KEY = {name: name for name in (*_CLAUSES, *_OPERATORS)}
_BY_KEY |= {"group": "group_by", "order": "order_by", "ilike": "like", "fetch": "limit"}
_BY_KEY |= {"qualify": "qualify"}
TABLE_NODES = (exp.Table, exp.In)


def list_tables(nodes: Iterable[exp.Expr], schema: Schema | None) -> list[str]:
    """Return `extract_tables_involved` for the nodes of a tree that may name a table."""
    names: dict[str, str] = {}
    for node in nodes:
        name = _name_table(node)
        if name:
            is_table = isinstance(node, exp.Table)
            known = None
            if schema is not None:
                known = find_table(node, schema) if is_table else schema.find_table(name)
            spelled = known.name if known else name
            names.setdefault(fold_name(spelled), spelled)
    return sorted(names.values())


def extract_tables_involved(gold_sql: str, *, schema: Schema | None = None) -> list[str]:
    """Return the sorted, unique names of the tables and views that SQL reads.

    >>> extract_tables_involved("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    ['Ship', 'port']

    Names of CTEs are not tables. Names are spelled as in the schema, or as in the query without
    one. A view counts as itself. The dialect is that of the schema's engine.

    Raises:
        sqlglot.errors.SqlglotError: the SQL does not parse.
    """
    with speaking(spoken_engine() if schema is None else schema.engine):
        return list_tables(parse_sql(gold_sql).find_all(*TABLE_NODES), schema)


def _name_table(node: exp.Expr) -> str:
    """Return the name in a FROM, or in `x IN name`, short for `x IN (SELECT * FROM name)`. Return
    '' for a CTE, a table-valued function, an index (INDEXED BY), and IN with a list or a query."""
    if isinstance(node, exp.In):
        table = node.args.get("field")
        if not isinstance(table, exp.Column | exp.Literal):
            return ""
        name, database = table.name, table.text("table")
    else:
        if not isinstance(node.this, exp.Identifier) or node.arg_key == "indexed":
            return ""
        name, database = node.name, node.text("db")
    is_cte = not database and find_cte(node, name) is not None
    return "" if is_cte else name


def list_features(tree: exp.Expr) -> list[str]:
    """Return the sorted names of the features that a query uses anywhere.

    >>> list_features(parse_sql("SELECT count(*) FROM a LEFT JOIN b USING (c) WHERE d IS NULL"))
    ['aggregate', 'join', 'left_join', 'null_test', 'where']
    """
    features = set()
    for node in tree.walk():
        if node.key in _BY_KEY:
            features.add(_BY_KEY[node.key])
        elif isinstance(node, exp.Select):
            if _is_nested(node):
                features.add("nested_query")
        elif isinstance(node, exp.Join):
            features.add("join")
            if node.side == "LEFT":
                features.add("left_join")
        elif type(node) is exp.Is and isinstance(node.expression, exp.Null):
            features.add("null_test")
        elif is_aggregate(node) and not is_windowed(node):
            features.add("aggregate")
    return sorted(features)


def _is_nested(select: exp.Expr) -> bool:
    """Return whether a SELECT is in an expression or in FROM, not an arm or a CTE."""
    node = select.parent
    while isinstance(node, exp.SetOperation):
        node = node.parent
    return isinstance(node, exp.Subquery | exp.In | exp.Exists)


def name_answer_columns(tree: exp.Expr) -> list[str]:
    """Return the names of a query's result columns; [] if unknown, as for `*`.

    >>> name_answer_columns(parse_sql("SELECT count(*), ship.name, built AS year FROM ship"))
    ['COUNT(*)', 'name', 'year']
    """
    shown = tree.selects if isinstance(tree, exp.Query) else []
    if any(column.is_star for column in shown):
        return []
    return [column.output_name or to_sql(column) for column in shown]


@final
class ParsedQuery(TypedDict):
    """A query, described by its text and the schema.

    answer_columns: [] if they are unknown.
    hardness: Spider's own.
    canonical_sql, template: the same for equivalent queries (answerkey.sql.canonical).
    """

    tables_involved: list[str]
    answer_columns: list[str]
    features: list[str]
    hardness: str
    canonical_sql: str
    template: str


def parse_query(gold_sql: str, schema: Schema) -> ParsedQuery | Failure:
    """Return the description of a query, or the reason why there is none.

    A query that SQLite runs but the parser does not read is set aside, since its difficulty is
    unknown. So is a query that is too large or too deep for later stages.
    """
    try:
        return _describe_query(parse_sql(gold_sql), schema)
    except TooComplexError as error:
        return {"reason": Reason.TOO_COMPLEX, "detail": str(error)}
    except RecursionError:
        return {"reason": Reason.TOO_COMPLEX, "detail": "nested too deeply for the parser"}
    except NO_FORM as error:
        return {"reason": Reason.UNPARSABLE_SQL, "detail": str(error).partition("\n")[0]}


def _describe_query(tree: exp.Expr, schema: Schema) -> ParsedQuery:
    answer_columns = name_answer_columns(tree)
    hardness = classify_hardness(tree)
    scopes = Scopes(tree, schema)
    scopes.refuse_wide_selects()  # the canonical forms would not show this
    canonical = canonical_tree(scopes)
    return {
        "tables_involved": list_tables(scopes.nodes.find_all(*TABLE_NODES), schema),
        "answer_columns": answer_columns,
        "features": list_features(tree),
        "hardness": hardness,
        "canonical_sql": write_sql(canonical),
        "template": write_template(canonical),
    }


EASY, MEDIUM, HARD, EXTRA = HARDNESS_LEVELS

_LIKE_TYPES = (
    *(exp.Like, exp.Glob, exp.RegexpLike, exp.Match),
    *(exp.ILike, exp.SimilarTo, exp.RegexpILike),
)
# Nothing below these nodes counts, and they are most of a tree.
_CLOSED_TYPES = (exp.Column, exp.Literal, exp.Query)


class Components(NamedTuple):
    """The counts of the official rule of Spider's evaluation script, from sqlglot's tree.

    component1: one for WHERE, for GROUP BY, for ORDER BY, for LIMIT; one for each join (tables in
        FROM, less one); one for each OR and LIKE in the conditions of ON, WHERE, HAVING.
    component2: one for each query nested in those conditions; one for INTERSECT, EXCEPT or UNION.
    others: one for more than one aggregate, for more than one selected column, for more than one
        WHERE condition, for more than one GROUP BY column.

    Only the outermost query counts; in a set operation that is its left arm. ORDER BY and LIMIT at
    the very end belong to the right arm, as in Spider's own parse. A subquery in FROM is a table.

    Two errors of the official script are kept, so that labels are the official ones. It looks for
    an aggregate in the first field of each condition in WHERE and HAVING, where its parse has the
    negation flag. So NOT IN counts as an aggregate, and count(*) in HAVING does not. In HAVING it
    also counts each AND and OR as an aggregate.

    Syntax that Spider's grammar cannot parse is counted in the same spirit:

    - CASE, iif() and OVER (...) are one each of component1, outside of FROM. An OR or LIKE inside
      CASE is no condition of the query, and counts nothing.
    - EXISTS (...), each CTE, and a query nested outside of FROM are one each of component2. A chain
      of set operations is one, since Spider nests it to the right.
    - VALUES is a query that selects as many columns as its first row has; inside IN it is a list.
    - GLOB, REGEXP, MATCH, ILIKE and SIMILAR TO are kinds of LIKE, and QUALIFY is a HAVING. NOT
      BETWEEN, NOT EXISTS and NOT before a condition or parentheses negate like NOT IN. IS NOT is an
      operator like !=, and no negation.
    - Each aggregate call in a selected column, GROUP BY or ORDER BY counts, so sum(a) / count(*)
      has two; row_number() is an aggregate, and max(a, b) of several arguments is not.
    - Parentheses group: conditions are counted inside them, and so are tables in FROM (a JOIN b).
    - Other functions, arithmetic, DISTINCT, FILTER, OFFSET and HAVING itself count nothing.
    """

    component1: int
    component2: int
    others: int


def classify_hardness(tree: exp.Expr) -> str:
    """Return one of HARDNESS_LEVELS, by the official rule: see `Components`.

    >>> classify_hardness(parse_sql("SELECT name FROM cat WHERE age > 3"))
    'easy'
    >>> classify_hardness(parse_sql("SELECT a FROM cat EXCEPT SELECT a FROM dog"))
    'hard'
    """
    component1, component2, others = count_components(tree)
    if component2 == 0:
        if component1 <= 1 and others == 0:
            return EASY
        if (component1 <= 1 and others <= 2) or (component1 <= 2 and others < 2):
            return MEDIUM
        if (component1 <= 2 and others > 2) or (component1 == 3 and others <= 2):
            return HARD
    elif component2 == 1 and component1 <= 1 and others == 0:
        return HARD
    return EXTRA


def count_components(tree: exp.Expr) -> Components:
    """Return the three counts of the official rule.

    >>> sql = "SELECT a, b FROM t JOIN u ON t.id = u.id WHERE a IN (SELECT c FROM v)"
    >>> count_components(parse_sql(sql))
    Components(component1=2, component2=1, others=1)

    Raises:
        ValueError: the tree is no query (SELECT, VALUES, a set operation, or one in parentheses).
    """
    query, outer_queries = _find_left_arm(tree)
    clauses = query.args
    columns = query.expressions
    if isinstance(query, exp.Values):
        columns = [column for row in columns[:1] for column in row.expressions]
    where, having = clauses.get("where"), clauses.get("having")
    qualify = clauses.get("qualify")
    group, order, limit = clauses.get("group"), clauses.get("order"), clauses.get("limit")
    on_conditions = _list_on_conditions(query)

    on = _count_conditions(on_conditions)
    filtered = _count_conditions([where.this] if where else [])
    kept = _count_conditions(clause.this for clause in (having, qualify) if clause)
    shown = _count_constructs([*query.expressions, group, order])
    # Real aggregates do not count here: the script looks at the negation flag instead.
    tested = _count_constructs([where, having, qualify, limit, *on_conditions])

    aggregates = (
        shown["aggregates"] + filtered["negations"] + kept["negations"] + kept["connectors"]
    )
    return Components(
        component1=sum(clause is not None for clause in (where, group, order, limit))
        + max(len(members_of_from(query)) - 1, 0)
        + sum(clause["ors"] + clause["likes"] for clause in (on, filtered, kept))
        + shown["branches"]
        + tested["branches"],
        component2=outer_queries + shown["nested_queries"] + tested["nested_queries"],
        others=sum(
            count > 1
            for count in (
                aggregates,
                len(columns),
                filtered["conditions"],
                len(group.expressions) if group else 0,
            )
        ),
    )


def _find_left_arm(query: exp.Expr) -> tuple[exp.Expr, int]:
    """Return the leftmost SELECT or VALUES, and the number of other queries: CTEs, and one for a
    chain of set operations."""
    ctes = 0
    has_set_operation = False
    while isinstance(query, exp.Query):
        if with_ := query.args.get("with_"):
            ctes += len(with_.expressions)
        if isinstance(query, exp.Select):
            break
        has_set_operation |= isinstance(query, exp.SetOperation)
        query = query.this
    if not isinstance(query, (exp.Select, exp.Values)):
        raise ValueError(f"Not a query: expected SELECT or VALUES, found {type(query).__name__}")
    return query, ctes + has_set_operation


def _list_on_conditions(query: exp.Expr) -> list[exp.Expr]:
    roots = [query.args.get("from_"), *(query.args.get("joins") or ())]
    nodes = (
        node
        for root in filter(None, roots)
        for node in root.dfs(prune=lambda node: isinstance(node, exp.Select | exp.SetOperation))
    )
    return [node.args["on"] for node in nodes if isinstance(node, exp.Join) and node.args.get("on")]


def _count_conditions(roots: Iterable[exp.Expr]) -> Counter[str]:
    """Count the operands of AND, OR, NOT and parentheses, without looking inside a condition."""
    counts: Counter[str] = Counter()
    pending = list(roots)
    while pending:
        node = pending.pop()
        is_negated = False
        while isinstance(node, (exp.Not, exp.Paren)):
            inner = node.this
            # sqlglot's tree of `x IS NOT NULL` is that of `NOT x IS NULL`.
            is_negated |= isinstance(node, exp.Not) and not isinstance(inner, exp.Is)
            node = inner
        if isinstance(node, exp.Connector):
            counts["connectors"] += 1
            counts["ors"] += isinstance(node, exp.Or)
            pending += (node.this, node.expression)
        else:
            counts["conditions"] += 1
            if isinstance(node, exp.Escape):
                node = node.this
            counts["likes"] += isinstance(node, _LIKE_TYPES)
            is_negated |= bool(node.args.get("negate"))
        counts["negations"] += is_negated
    return counts


def _count_constructs(roots: Iterable[exp.Expr | None]) -> Counter[str]:
    """Count the parts of expressions below some nodes, without looking inside a nested query;
    branches are CASE, iif() and OVER."""
    counts: Counter[str] = Counter()
    for root in roots:
        if root is None:
            continue
        for node in root.dfs(prune=lambda node: isinstance(node, _CLOSED_TYPES)):
            if isinstance(node, exp.Query):
                counts["nested_queries"] += 1
            elif isinstance(node, (exp.Case, exp.Window)):
                counts["branches"] += 1
            elif isinstance(node, exp.If):
                # Each WHEN of a CASE is an If too.
                counts["branches"] += node.arg_key != "ifs"
            else:
                counts["aggregates"] += is_aggregate(node) or isinstance(node, exp.RowNumber)
    return counts
