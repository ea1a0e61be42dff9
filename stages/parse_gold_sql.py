"""Every gold query is parsed once: its tables, its features, its hardness, its canonical form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

from stages.log import list_counts, start_log
from stages.params import read_params
from stages.reasons import Reason
from stages.records import read_jsonl, write_jsonl
from stages.schema import Schema
from stages.schema_file import SchemaFile
from stages.sql.canonical import canonical_sql, sql_template
from stages.sql.columns import list_columns
from stages.sql.features import list_features
from stages.sql.hardness import classify_hardness
from stages.sql.query_parts import find_cte
from stages.sql.scopes import Scopes
from stages.workers import count_workers, map_unordered

SPLITS_PATH = Path("data/interim/splits.jsonl")
SCHEMAS_PATH = Path("data/interim/schemas.jsonl")
OUT = Path("data/interim/parsed.jsonl")

DIED = {"reason": Reason.WORKER_DIED, "detail": "the process that parsed its database died twice"}


class ParseTask(NamedTuple):
    """The distinct queries of one database; `place` is the place of the database among all."""

    place: int
    schema: Schema
    queries: tuple[str, ...]


def extract_tables_involved(gold_sql: str, *, schema: Schema | None = None) -> list[str]:
    """The sorted, unique names of the tables and views that SQL reads.

    >>> extract_tables_involved("WITH c AS (SELECT * FROM Ship) SELECT * FROM c JOIN port")
    ['Ship', 'port']

    Names of CTEs are not tables. With a schema, names come as it spells them; without, as the query
    does. A view counts as itself.

    Raises:
        sqlglot.errors.SqlglotError: where the SQL does not parse.
    """
    return list_tables(sqlglot.parse_one(gold_sql, read="sqlite"), schema)


def list_tables(tree: exp.Expression, schema: Schema | None) -> list[str]:
    """As `extract_tables_involved`, from a tree."""
    names: dict[str, str] = {}
    for node in tree.find_all(exp.Table, exp.In):
        name = _name_table(node)
        if name:
            known = schema.find_table(name) if schema else None
            names.setdefault(name.lower(), known.name if known else name)
    return sorted(names.values())


def _name_table(node: exp.Expression) -> str:
    """The name in a FROM, or in `x IN name`, which is short for `x IN (SELECT * FROM name)`; '' for
    a CTE, a table-valued function, an index (INDEXED BY), and IN with a list or a query."""
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


def parse_query(gold_sql: str, schema: Schema) -> dict[str, Any]:
    """What is known of a query from its text and the schema; a reason where it does not parse.

    A query that SQLite runs and the parser does not know is set aside: nothing could be said of its
    difficulty.
    """
    try:
        tree = sqlglot.parse_one(gold_sql, read="sqlite")
        hardness = classify_hardness(tree)
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        return {"reason": Reason.UNPARSABLE_SQL, "detail": str(error).partition("\n")[0]}
    except RecursionError:
        return {"reason": Reason.UNPARSABLE_SQL, "detail": "nested too deeply for the parser"}
    scopes = Scopes(tree, schema)
    return {
        "tables_involved": list_tables(tree, schema),
        "columns_involved": list_columns(scopes),
        "features": list_features(tree),
        "hardness": hardness,
        "canonical_sql": canonical_sql(scopes),
        "template": sql_template(scopes),
    }


def parse_task(task: ParseTask) -> list[dict[str, Any]]:
    """What is known of each query, in their order; runs in a worker."""
    return [parse_query(query, task.schema) for query in task.queries]


def parse_questions(schemas: Mapping[str, Schema], *, workers: int) -> Iterator[dict[str, Any]]:
    """One record a question, in their order; identical SQL on a database is parsed once."""
    questions: dict[int, list[tuple[str, str]]] = {}
    parsed: dict[int, dict[str, dict[str, Any]]] = {}
    place = 0

    def plan() -> Iterator[ParseTask]:
        by_database = groupby(read_jsonl(SPLITS_PATH), key=itemgetter("database_name"))
        for number, (name, records) in enumerate(by_database):
            questions[number] = [(record["question_id"], record["gold_sql"]) for record in records]
            queries = tuple(dict.fromkeys(gold_sql for _, gold_sql in questions[number]))
            yield ParseTask(number, schemas[name], queries)

    with closing(map_unordered(parse_task, plan(), workers=workers)) as results:
        for task, found in results:
            outcomes = [DIED] * len(task.queries) if found is None else found
            parsed[task.place] = dict(zip(task.queries, outcomes, strict=True))
            while place in parsed:
                outcome_of = parsed.pop(place)
                for question_id, gold_sql in questions.pop(place):
                    yield {"question_id": question_id, **outcome_of[gold_sql]}
                place += 1


def main() -> None:
    """Parse the gold SQL of all questions."""
    log = start_log("parse_gold_sql")
    (workers,) = read_params("execution.workers")
    schemas = SchemaFile(SCHEMAS_PATH)
    reasons: Counter[str] = Counter()

    def records() -> Iterator[dict[str, Any]]:
        for parsed in parse_questions(schemas, workers=count_workers(workers)):
            if "reason" in parsed:
                reasons[parsed["reason"]] += 1
            yield parsed

    count = write_jsonl(OUT, records())
    log.info("%d queries, %d parsed%s", count, count - reasons.total(), list_counts(reasons))


if __name__ == "__main__":
    main()
