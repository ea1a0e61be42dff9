"""Exports of databases of all engines: prompts in their SQL, and terms by which gold is right."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import answerkey
from answerkey.base.errors import InputError
from answerkey.base.records import read_jsonl
from answerkey.dataset import list_engines, read_export, read_product
from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.names import DUCKDB, ENGINES, POSTGRES, SQLITE
from answerkey.engines.opening import open_database
from answerkey.engines.settings import write_head
from answerkey.environments.questions import describe_tool, run_sql
from answerkey.environments.tasks import make_line, write_harbor_task
from answerkey.evaluation.scoring import Folders, Prediction, score_predictions
from answerkey.exports import huggingface
from answerkey.exports.prompts import DatabaseTexts, read_template
from answerkey.exports.questions_db import write_questions_db
from answerkey.exports.trainers import write_formats
from answerkey.exports.widened import widen_databases
from answerkey.report.columns import summarize_table
from answerkey.reward import RewardPool
from tests.shared.paths import ROOT
from tests.shared.product_world import BAKERY, write_product

SHIPS = """
CREATE TYPE mood AS ENUM ('ok', 'bad');
CREATE TABLE port (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, "Net weight" DECIMAL(10, 2), name VARCHAR, state mood, built DATE,
    is_old BOOLEAN, port_id INTEGER REFERENCES port (id));
CREATE TABLE visit (port_id INTEGER, day INTEGER, UNIQUE (port_id, day));
INSERT INTO port VALUES (1, 'Cape Town'), (2, 'Oslo');
INSERT INTO ship VALUES (2, 5.50, 'O''Neill', 'ok', '2020-01-02', true, 1);
INSERT INTO ship VALUES (1, NULL, 'Tern', 'bad', NULL, false, 2);
INSERT INTO visit VALUES (2, 10), (1, 9), (1, 8);
CREATE VIEW named AS SELECT name FROM ship;
"""
SQL = "SELECT name FROM ship WHERE name ILIKE 'tern%'"
ROWS = ["-- (1, NULL, 'Tern', 'bad', NULL, FALSE, 2)"]
ROWS += ["-- (2, 5.50, 'O''Neill', 'ok', '2020-01-02', TRUE, 1)"]
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module", autouse=True)
def cache() -> Iterator[None]:
    """A folder for what is built, which the server of Postgres may enter as another user."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        Path(folder).chmod(0o711)
        patch.setenv(CACHE_VARIABLE, folder)
        yield


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A product with a database of each engine."""
    pytest.importorskip("duckdb", reason="needs the extra `duckdb`")
    pytest.importorskip("psycopg", reason="needs the extra `postgres`")
    asked = {
        name: (write_head(engine, {}) + SHIPS, [("Which ship is called tern?", SQL, ["ship"])])
        for name, engine in (("duck", DUCKDB), ("elephant", POSTGRES))
    }
    asked["bakery"] = (BAKERY, [("Which breads?", "SELECT kind FROM bread", ["bread"])])
    folder = tmp_path_factory.mktemp("product")
    return write_product(folder, {"train": dict(sorted(asked.items()))}) / "data"


def find_database(product: Path, engine: str) -> Path:
    name = {DUCKDB: "duck", POSTGRES: "elephant"}[engine]
    return product / f"databases/{name}/{name}.{engine}.sql"


@pytest.fixture(scope="module")
def exports(product: Path) -> Path:
    out = product / "exports"
    with write_questions_db(out / "questions.db", []) as add_question:
        write_formats(
            product / "questions",
            product / "databases",
            out,
            read_template(ROOT / "templates/prompt.j2"),
            add_question,
            min_mutation_score=0.5,
            max_sql_risk=None,
            example_rows=2,
            max_schema_characters=8000,
            named_values=4,
        )
    return out


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_schema_is_in_the_ddl_of_its_engine_with_rows_as_it_writes_them(
    product: Path, engine: str
) -> None:
    texts = DatabaseTexts(find_database(product, engine), example_rows=2, max_characters=8000)
    lines = texts.schema.splitlines()
    assert [line for line in lines if line.startswith("-- (")] == [
        *("-- (1, 'Cape Town')", "-- (2, 'Oslo')"),
        *ROWS,
        *("-- (1, 8)", "-- (1, 9)"),
    ]
    assert texts.schema.count("CREATE TABLE") == 3
    assert texts.schema.count("CREATE VIEW") == 1
    assert texts.schema.count('"Net weight"') == 1
    assert "REFERENCES port" in texts.schema
    assert texts.write_schema(["visit"]).endswith("\n-- (1, 8)\n-- (1, 9)")
    assert "port_id integer -> port.id" in texts.compact_schema.replace("INTEGER", "integer")


def test_schema_of_postgres_is_written_from_its_columns(product: Path) -> None:
    texts = DatabaseTexts(find_database(product, POSTGRES), example_rows=0, max_characters=8000)
    assert texts.write_schema(["ship"]) == (
        "CREATE TYPE mood AS ENUM ('ok', 'bad');\n"
        "CREATE TABLE ship (\n    id integer PRIMARY KEY,\n"
        '    "Net weight" numeric(10,2),\n    name character varying,\n    state mood,\n'
        "    built date,\n    is_old boolean,\n    port_id integer,\n"
        "    FOREIGN KEY (port_id) REFERENCES port (id)\n);"
    )
    assert texts.write_schema(["visit"]).endswith("    UNIQUE (port_id, day)\n);")


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_values_that_a_question_names_are_found(product: Path, engine: str) -> None:
    texts = DatabaseTexts(find_database(product, engine), example_rows=0, max_characters=0)
    named = texts.name_values("Which ships lie in cape town, and is O'Neill ok?", most=4)
    assert [*map(str, named)] == ["port.name = 'Cape Town'", "ship.name = 'O''Neill'"]


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_columns_are_described_by_their_types(product: Path, engine: str) -> None:
    path = find_database(product, engine)
    texts = DatabaseTexts(path, example_rows=0, max_characters=0)
    (ship,) = (table for table in texts.tables if table.name == "ship")
    with open_database(path) as database:
        summary = summarize_table(database, ship)
    words = {name: text.partition(", ")[2] for name, text in summary["columns"]}
    assert summary["rows"] == "2 rows"
    assert words["name"] == "2 different, 'O''Neill', 'Tern'"
    assert words["built"] == "1 different, 1 NULL, '2020-01-02'"
    assert words["is_old"] == "2 different, FALSE, TRUE"
    assert words["port_id"] == "2 different, 1, 2"


def test_prompts_ask_for_the_sql_of_the_engine(exports: Path) -> None:
    prompts = {question.engine: question.prompt for question in read_rows(exports)}
    assert prompts.keys() == {*ENGINES}
    for engine, title in ((SQLITE, "SQLite"), (DUCKDB, "DuckDB"), (POSTGRES, "PostgreSQL")):
        assert prompts[engine].startswith(f"Write one {title} query that answers a question about")
        assert ("SQLite" in prompts[engine]) == (engine == SQLITE)


def read_rows(exports: Path) -> list[Any]:
    return list(read_export(exports / "trl/prompt_only/train.parquet"))


def test_terms_have_one_type_and_gold_is_right_by_them(product: Path, exports: Path) -> None:
    for name in ("trl/prompt_only", "trl/prompt_completion"):
        schema = pq.read_schema(exports / f"{name}/train.parquet")
        types = {known: str(schema.field(known).type) for known in ("engine", "max_cpu_s")}
        assert types == {"engine": "string", "max_cpu_s": "int64"}
    rows = pq.read_table(exports / "trl/prompt_completion/train.parquet").to_pylist()
    terms = {row["engine"]: (row["max_steps"], row["max_cpu_s"]) for row in rows}
    assert terms == {SQLITE: (1_000_000, None), DUCKDB: (None, 10), POSTGRES: (None, 10)}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    with RewardPool(workers=1, databases=product / "databases") as pool:
        assert pool.score_completions(columns.pop("completion"), **columns) == [1.0] * 3
        wrong = ["```sql\nSELECT 1\n```"] * 3
        assert pool.score_completions(wrong, **columns) == [0.0] * 3
        for row in rows:  # nothing says the engine but the file
            named = {"database_name": row["database_name"], "order_matters": False}
            assert pool.score_sql(row["gold_sql"], json.loads(row["gold_answer"]), **named) == 1.0
    (line, *_) = read_jsonl(exports / "openenv/train.jsonl")
    assert (line["engine"], line["max_steps"], line["max_cpu_s"]) == (SQLITE, 1_000_000, None)


def test_engine_that_is_none_is_an_error_and_another_one_lacks_its_file(product: Path) -> None:
    with RewardPool(workers=1, databases=product / "databases") as pool:
        with pytest.raises(ValueError, match=r"engine: expected one of sqlite, .* found 'mysql'"):
            pool.score_sql(SQL, "Tern", database_name="duck", order_matters=False, engine="mysql")
        with pytest.raises(FileNotFoundError, match=r"No database at .*duck\.sqlite"):
            pool.score_sql(SQL, "Tern", database_name="duck", order_matters=False, engine=SQLITE)


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_prediction_ends_at_the_cpu_time_of_its_question(product: Path, engine: str) -> None:
    name = find_database(product, engine).parent.name
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with RewardPool(workers=1, databases=product / "databases") as pool:
        explained = pool.explain_score(
            endless, 1, database_name=name, order_matters=False, max_cpu_s=1
        )
        assert explained.reason in ("time_exceeded", "heap_exceeded")
        assert pool.score_sql(SQL, "Tern", database_name=name, order_matters=False) == 1.0


def test_hub_has_the_texts_of_databases_and_load_gives_them_back(
    product: Path, exports: Path, tmp_path: Path
) -> None:
    folders = {name: product / name for name in ("databases", "test_suites")}
    questions, out = product / "questions", tmp_path / "hub"
    huggingface.write_questions(questions, exports / "prompts", out)
    huggingface.write_packed_files(questions, folders, out, max_bytes=10**6)
    loaded = answerkey.load(out, cache=tmp_path / "cache")
    assert {row["engine"] for row in loaded} == {*ENGINES} == {*list_engines(questions)}
    batch = {name: [row[name] for row in loaded] for name in loaded[0]}
    with RewardPool(workers=1, **loaded.folders) as pool:
        assert pool.score_completions(batch.pop("completion"), **batch) == [1.0] * 3
    packed = pq.read_table(out / "databases.parquet").to_pylist()
    assert {row["path"] for row in packed} == {
        *("bakery/bakery.sqlite", "duck/duck.duckdb.sql", "elephant/elephant.postgres.sql")
    }
    assert all("CREATE TABLE" in row["schema"] for row in packed)


def test_evaluation_scores_all_engines_in_one_pool(product: Path, tmp_path: Path) -> None:
    questions = {
        question.question_id: question for question in read_product(product / "questions", "train")
    }
    predictions = [
        Prediction(question_id, 0, question.gold_sql) for question_id, question in questions.items()
    ]
    predictions += [Prediction(question_id, 1, "SELECT 'no'") for question_id in questions]
    scores = score_predictions(
        predictions,
        questions,
        Folders(product / "databases", product / "test_suites"),
        journal=tmp_path / "journal.jsonl",
        workers=1,
    )
    assert [score.on_suite for score in scores] == [True] * 3 + [False] * 3


def test_tool_names_the_engine_and_its_errors(product: Path, exports: Path) -> None:
    assert "the error of DuckDB." in describe_tool(DUCKDB)["description"]
    for question in read_rows(exports):
        (tool,) = make_line(question)["responses_create_params"]["tools"]
        assert tool["description"] == describe_tool(question.engine)["description"]
    with RewardPool(workers=1, databases=product / "databases") as pool:
        assert run_sql(pool, SQL, "duck") == run_sql(pool, SQL, "elephant") == '[["Tern"]]'
        assert run_sql(pool, "SELECT wage FROM ship", "elephant").startswith("sql_error: column")
        assert run_sql(pool, "DELETE FROM ship", "duck").startswith("not_a_select")


def test_what_is_for_sqlite_alone_says_so(product: Path, exports: Path, tmp_path: Path) -> None:
    words = "schema: widened is for databases of SQLite alone, and duck is one of DuckDB"
    with pytest.raises(InputError, match=words):
        widen_databases(product / "questions", product / "databases", tmp_path, tables=5, seed=1)
    duck = next(question for question in read_rows(exports) if question.engine == DUCKDB)
    with (
        RewardPool(workers=1, databases=product / "databases") as pool,
        pytest.raises(InputError, match="asks a database of DuckDB: expected one of SQLite"),
    ):
        write_harbor_task(duck, pool, tmp_path / "task")
