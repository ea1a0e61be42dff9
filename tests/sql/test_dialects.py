"""Queries of DuckDB and Postgres: what is read, what is written, and what names mean there."""

import pytest
from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.alternatives.neighbors import list_neighbors
from answerkey.base.records import Shard
from answerkey.comparison.compare import normalize_sql
from answerkey.engines.names import DUCKDB, POSTGRES, SQLITE
from answerkey.engines.schema import Column, Schema, Table
from answerkey.gold.parsing import parse_task
from answerkey.rewrites.trees import reverse
from answerkey.rewrites.weak import list_weak
from answerkey.shards.runs import QueryTask
from answerkey.sql.conditions import list_comparisons
from answerkey.sql.groupings import read_grouping
from answerkey.sql.parsed_query import (
    classify_hardness,
    extract_tables_involved,
    list_features,
    parse_query,
)
from answerkey.sql.query_tree import (
    parse_sql,
    puts_null_first,
    speaking,
    to_sql,
    trim_sql,
    write_table,
)
from answerkey.sql.scopes import Scopes, write_column

SHIP = Table(
    "Ship",
    False,
    (
        Column("id", "INTEGER", True, 1),
        Column("name", "TEXT", False, 0),
        Column("weight", "DOUBLE PRECISION", False, 0),
        Column("active", "BOOLEAN", False, 0),
    ),
    (("id",),),
)


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("{} ORDER BY id", "SELECT * FROM ({}) ORDER BY id"),
        ("WITH s AS (SELECT 1 ORDER BY 1) {} LIMIT 3", "WITH s AS (SELECT 1 ORDER BY 1) SELECT *"),
        ("SELECT id FROM ({} ORDER BY id) LIMIT 1", "SELECT id FROM (SELECT * FROM ({}) ORDER BY"),
        ("FROM s PIVOT (MAX(a) FOR b IN (1)) ORDER BY id", "SELECT * FROM s PIVOT(MAX(a) FOR b"),
        ("UNPIVOT s ON a, b INTO NAME n VALUE v ORDER BY n", "SELECT * FROM (UNPIVOT s ON a, b"),
    ],
)
def test_pivot_has_an_order_in_duckdb(sql: str, written: str) -> None:
    pivot = "PIVOT s ON a IN (1, 2) USING LIST(b ORDER BY b)"
    with speaking(DUCKDB):
        tree = parse_sql(sql.format(pivot))
        assert isinstance(tree, exp.Select)
        text = written.format(pivot.replace("LIST", "ARRAY_AGG"))
        assert to_sql(tree).startswith(text)


def test_count_of_nothing_counts_rows() -> None:
    with speaking(DUCKDB):
        assert to_sql(parse_sql("SELECT count() FROM ship")) == "SELECT COUNT(*) FROM ship"


@pytest.mark.parametrize(
    ("engine", "call"),
    [
        (DUCKDB, "QUANTILE_CONT(weight, {})"),
        (DUCKDB, "QUANTILE_DISC(weight, [{}, 1])"),
        (POSTGRES, "PERCENTILE_CONT({}) WITHIN GROUP (ORDER BY weight)"),
    ],
)
def test_neighbors_of_a_quantile_are_quantiles(engine: str, call: str) -> None:
    with speaking(engine):
        tree = parse_sql(f"SELECT {call.format(0.5)} FROM ship")
        neighbors = list_neighbors(tree, Schema((SHIP,), engine), max_neighbors=100)
    numbers = {query.sql for query in neighbors if query.name == "number"}
    assert numbers >= {f"SELECT {call.format(share)} FROM ship" for share in (0.25, 0.75)}
    assert not any("-0.5" in sql or "1.5" in sql for sql in numbers)


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_weak_queries_keep_what_an_ordered_aggregate_takes(engine: str) -> None:
    name = "ARRAY_AGG"
    with speaking(engine):
        tree = parse_sql(f"SELECT {name}(name ORDER BY id) FILTER (WHERE id > 3) FROM ship")
        scopes = Scopes(tree, Schema((SHIP,), engine))
        weak = [query.sql for query in list_weak(scopes, [("[]",)])]
        neighbors = list_neighbors(tree, Schema((SHIP,), engine), max_neighbors=100)
    assert any(f"{name}(name ORDER BY id DESC" in sql for sql in weak)
    assert not any("FILTER()" in query.sql for query in neighbors)


def parse(engine: str, sql: str) -> dict:
    with speaking(engine):
        parsed = parse_query(sql, Schema((SHIP,), engine))
    assert "reason" not in parsed, parsed
    return parsed


def canonical(engine: str, sql: str) -> str:
    return parse(engine, sql)["canonical_sql"]


@pytest.mark.parametrize(
    ("engine", "sql"),
    [
        (POSTGRES, "SELECT name FROM ship WHERE name ILIKE 's%'"),
        (POSTGRES, "SELECT DISTINCT ON (name) name, id FROM ship ORDER BY name, id DESC"),
        (POSTGRES, "SELECT COUNT(*) FILTER(WHERE active) FROM ship"),
        (POSTGRES, "SELECT id / 2, weight FROM ship ORDER BY weight DESC NULLS LAST"),
        (POSTGRES, "SELECT DATE_PART('year', CURRENT_DATE)"),
        (POSTGRES, "SELECT name FROM ship ORDER BY id FETCH FIRST 3 ROWS WITH TIES"),
        (POSTGRES, "SELECT name FROM ship WHERE name ~* '^s' AND NOT active"),
        (DUCKDB, "SELECT id / 2, id // 2 FROM ship"),
        (DUCKDB, "SELECT name, ROW_NUMBER() OVER (ORDER BY id) AS r FROM ship QUALIFY r = 1"),
        (DUCKDB, "SELECT name FROM ship ORDER BY weight NULLS FIRST"),
        (DUCKDB, "SELECT name -> 'a.b' FROM ship"),
        (DUCKDB, "SELECT * EXCLUDE (name) FROM ship"),
    ],
)
def test_text_of_a_dialect_is_written_as_it_was(engine, sql):
    with speaking(engine):
        written = to_sql(parse_sql(sql))
        assert to_sql(parse_sql(written)) == written
    assert written.replace(" (WHERE", "(WHERE").replace("DATE_PART (", "DATE_PART(") == sql


def test_dialect_ends_with_its_block():
    sql = "SELECT name FROM ship ORDER BY weight"
    with speaking(POSTGRES), speaking(DUCKDB):
        assert to_sql(parse_sql(f"{sql} NULLS LAST")) == sql
    assert to_sql(parse_sql(f"{sql} NULLS LAST")) == f"{sql} NULLS LAST"
    with pytest.raises(ValueError, match="mysql"), speaking("mysql"):
        pass


@pytest.mark.parametrize(
    ("engine", "sql", "trimmed"),
    [
        (POSTGRES, "/* a /* b */ c */ SELECT 1 -- d\n;", "SELECT 1"),
        (POSTGRES, "; SELECT $$;$$, $a$ -- $a$; --", "SELECT $$;$$, $a$ -- $a$"),
        (POSTGRES, r"SELECT E'it\'s;' ;;", r"SELECT E'it\'s;'"),
        (DUCKDB, "-- a\nSELECT $$;$$ /* b */;", "SELECT $$;$$"),
        (POSTGRES, "SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"),
        (POSTGRES, "-- nothing", ""),
        (SQLITE, "SELECT $$;", "SELECT $$"),
    ],
)
def test_statement_is_trimmed_by_the_rules_of_the_dialect(engine, sql, trimmed):
    with speaking(engine):
        assert trim_sql(sql) == trimmed


def test_stages_parse_in_the_dialect_of_the_database():
    sql = "SELECT DISTINCT ON (name) name FROM ship ORDER BY name, id DESC NULLS LAST"
    outcomes = {
        engine: parse_task(QueryTask(Shard("ship"), None, (sql,), Schema((SHIP,), engine)))
        for engine in (SQLITE, POSTGRES)
    }
    (parsed,) = outcomes[POSTGRES]
    assert parsed["canonical_sql"].startswith('SELECT DISTINCT ON ("Ship"."name") "Ship"."name"')
    assert parsed["canonical_sql"].endswith('"Ship"."id" DESC NULLS LAST')
    assert outcomes[SQLITE] != outcomes[POSTGRES]


def test_held_out_queries_are_compared_in_their_dialect():
    with speaking(POSTGRES):
        assert normalize_sql("SELECT $$a;b$$ /* x /* y */ */ ;") == "select 'a;b'"


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_several_statements_are_no_query(engine):
    with speaking(engine):
        assert isinstance(parse_sql("SELECT 1; SELECT 2"), exp.Block)
        with pytest.raises(SqlglotError):
            parse_sql("-- nothing")


@pytest.mark.parametrize(
    ("engine", "sql", "spelled_out"),
    [
        (DUCKDB, "SELECT name, count(*) FROM ship GROUP BY ALL", "GROUP BY 1"),
        (DUCKDB, "SELECT count(*) FROM ship GROUP BY ALL", "FROM ship"),
        (DUCKDB, "SELECT id, name FROM ship ORDER BY ALL DESC", "ORDER BY 1 DESC, 2 DESC"),
        (DUCKDB, "SELECT * FROM ship ORDER BY ALL", "ORDER BY ALL"),
        (POSTGRES, "SELECT id FROM ship LIMIT ALL", "FROM ship"),
        (POSTGRES, "SELECT id FROM ship LIMIT NULL OFFSET 2", "FROM ship OFFSET 2"),
        (POSTGRES, "SELECT id FROM ship FETCH FIRST ROW ONLY", "LIMIT 1"),
        (POSTGRES, "SELECT id FROM ship FETCH NEXT 4 ROWS ONLY", "LIMIT 4"),
    ],
)
def test_short_forms_are_spelled_out(engine, sql, spelled_out):
    with speaking(engine):
        assert to_sql(parse_sql(sql)).endswith(spelled_out)


@pytest.mark.parametrize(
    ("engine", "first"),
    [(SQLITE, (True, False)), (DUCKDB, (False, False)), (POSTGRES, (False, True))],
)
def test_null_has_a_place_in_each_dialect(engine, first):
    with speaking(engine):
        assert (puts_null_first(descending=False), puts_null_first(descending=True)) == first
        (term,) = parse_sql("SELECT id FROM ship ORDER BY weight").args["order"].expressions
        assert to_sql(reverse(term)) == "weight DESC"
        assert to_sql(reverse(reverse(term))) in ("weight", "weight ASC")


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_names_have_any_case_and_quotes_hold_no_text(engine):
    same = canonical(engine, 'SELECT NAME FROM ship AS s WHERE s."weight" > 3')
    assert same == canonical(engine, "SELECT ship.name FROM SHIP WHERE 3 < Weight")
    with speaking(engine):
        tree = parse_sql('SELECT "sun", rowid FROM ship')
        scopes = Scopes(tree, Schema((SHIP,), engine))
        text, rowid = tree.find_all(exp.Column)
        assert not scopes.is_string(text)
        assert scopes.resolve(rowid) is None


def test_alias_is_known_in_other_result_columns_of_duckdb_alone():
    sql = "SELECT weight + 1 AS w, w * 2 FROM ship WHERE w > 3"
    for engine, is_known in ((DUCKDB, True), (POSTGRES, False)):
        with speaking(engine):
            tree = parse_sql(sql)
            scopes = Scopes(tree, Schema((SHIP,), engine))
            column = tree.expressions[1].find(exp.Column)
            assert (scopes.resolve(column) is not None) is is_known


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT x.count FROM (SELECT count(*) FROM ship) AS x", "count"),
        ("SELECT x.name FROM (SELECT name::varchar FROM ship) AS x", "name"),
        ("SELECT x.b FROM (SELECT id, name FROM ship) AS x(a, b)", "b"),
        ("SELECT l.w FROM ship, LATERAL (SELECT ship.weight AS w) AS l", "w"),
    ],
)
def test_columns_of_subqueries_in_postgres(sql, name):
    with speaking(POSTGRES):
        tree = parse_sql(sql)
        column = tree.expressions[0]
        assert column.name == name
        scopes = Scopes(tree, Schema((SHIP,), POSTGRES))
        assert all(scopes.resolve(node) is not None for node in tree.find_all(exp.Column))


def test_names_of_columns_of_a_subquery_are_kept():
    forms = {
        canonical(POSTGRES, f"SELECT x.a FROM (SELECT id, weight FROM ship) AS x({names})")
        for names in ("a, b", "b, a")
    }
    assert len(forms) == 2


def test_exclude_leaves_columns_out():
    with speaking(DUCKDB):
        tree = parse_sql("SELECT * EXCLUDE (Name, active) FROM ship")
        outputs = Scopes(tree, Schema((SHIP,), DUCKDB)).outputs(tree)
    assert [output.name for output in outputs] == ["id", "weight"]


@pytest.mark.parametrize(
    ("engine", "sql", "features", "hardness"),
    [
        (POSTGRES, "SELECT name FROM ship WHERE name ILIKE 's%'", ["like", "where"], "medium"),
        (POSTGRES, "SELECT name FROM ship WHERE active", ["where"], "easy"),
        (
            POSTGRES,
            "SELECT name FROM ship ORDER BY id FETCH FIRST 2 ROWS WITH TIES",
            ["limit", "order_by"],
            "medium",
        ),
        (
            DUCKDB,
            "SELECT name FROM ship QUALIFY row_number() OVER (ORDER BY id) = 1",
            ["order_by", "qualify", "window"],
            "easy",
        ),
        (DUCKDB, "SELECT list(name) FROM ship", ["aggregate"], "easy"),
        (POSTGRES, "SELECT jsonb_agg(name) FROM ship", ["aggregate"], "easy"),
    ],
)
def test_features_and_hardness(engine, sql, features, hardness):
    with speaking(engine):
        tree = parse_sql(sql)
        assert list_features(tree) == features
        # A window, or a LIKE, is one of component 1, as in SQLite.
        assert classify_hardness(tree) == hardness


def test_comparisons_with_patterns_of_any_case():
    with speaking(POSTGRES):
        tree = parse_sql("SELECT id FROM ship WHERE name ILIKE 'sun'")
        (comparison,) = list_comparisons(Scopes(tree, Schema((SHIP,), POSTGRES)))
    assert (comparison.operator, comparison.right.name) == ("ILIKE", "sun")


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_no_column_is_bare_where_the_engine_refuses_it(engine):
    with speaking(engine):
        tree = parse_sql("SELECT id, name FROM ship GROUP BY id")
        grouping = read_grouping(tree, Scopes(tree, Schema((SHIP,), engine)))
        assert grouping is not None
        assert grouping.bare == []
        tree = parse_sql("SELECT name, count(*) FROM ship GROUP BY ROLLUP (name)")
        assert read_grouping(tree, Scopes(tree, Schema((SHIP,), engine))) is None


@pytest.mark.parametrize("engine", [SQLITE, DUCKDB, POSTGRES])
def test_template_has_one_sign_for_constants(engine):
    parsed = parse(engine, "SELECT name FROM ship WHERE id IN (3, 4) AND name = 'Sun'")
    assert parsed["template"] == "SELECT t1.c1 FROM t1 WHERE t1.c1 = ? AND t1.c2 IN (?)"


def test_table_of_a_schema_is_known_by_both_names():
    order = Table("sales.order", False, (Column("id", "INTEGER", True, 1),), (("id",),))
    schema = Schema((SHIP, order), POSTGRES)
    with speaking(POSTGRES):
        parsed = parse_query('SELECT o.id FROM Sales."order" AS o JOIN ship USING (id)', schema)
        assert parsed["tables_involved"] == ["Ship", "sales.order"]
        assert write_table("sales.order") == '"sales"."order"'
    assert write_table("sales.order") == '"sales.order"'
    sql = "SELECT id FROM sales.order WHERE note = $$FROM ship$$"
    assert extract_tables_involved(sql, schema=schema) == ["sales.order"]


def test_names_of_tables_are_spelled_as_in_from():
    with speaking(POSTGRES):
        tree = parse_sql('SELECT T1.id FROM ship AS T1 JOIN ship AS "T2" ON T1.id = "T2".id')
        scope = Scopes(tree, Schema((SHIP,), POSTGRES)).scope_of(tree)
        written = [to_sql(write_column(source, "id", scope)) for source in scope.sources.values()]
    assert written == ['T1."id"', '"T2"."id"']
