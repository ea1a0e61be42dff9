"""What callers hand over is read once: values of any table, by names that an error explains."""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import pickle
import sqlite3
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import datasets
import numpy
import pandas
import pyarrow
import pyarrow.parquet
import pytest

import answerkey.reward
from answerkey.reward import (
    Options,
    RewardPool,
    Terms,
    compute_score,
    compute_score_async,
    execute,
    explain_completion,
    explain_score,
    score,
    score_completions,
    score_completions_async,
    score_parts,
    score_sql,
)
from answerkey.scoring.arguments import read_column, read_count, read_flag, read_value
from tests.shared.databases import make_database

GOLD = ["Sun", "Tern"]
SQL = "SELECT name FROM ship"
KNOWN: dict[str, Any] = {"database_name": "ships", "order_matters": False}
NULLS = [None, float("nan"), numpy.nan, numpy.float32("nan"), pandas.NA, pandas.NaT]
NULLS += [pyarrow.scalar(None), pyarrow.scalar(None, pyarrow.string())]


def fence(sql: str) -> str:
    return f"```sql\n{sql}\n```"


OPTIONAL = ("max_steps", "rule", "accepted_rows", "other_answers", "test_suite", "database_sha256")


class Spelling(enum.StrEnum):
    SHIPS = "ships"


@pytest.mark.parametrize("null", NULLS, ids=lambda null: f"{type(null).__module__}:{null}")
@pytest.mark.parametrize("name", OPTIONAL)
def test_null_of_any_table_is_a_term_that_is_not_told(ships, name, null):
    assert read_value(null) is None
    assert score_sql(SQL, GOLD, **KNOWN, **{name: null}) == 1.0
    assert compute_score("x", fence(SQL), json.dumps(GOLD), {**KNOWN, name: null}) == 1.0
    columns = {key: [value] * 2 for key, value in KNOWN.items()}
    columns |= {"gold_answer": [json.dumps(GOLD)] * 2, name: [None, null]}
    assert score_completions([fence(SQL)] * 2, **columns) == [1.0, 1.0]


ROWS = [
    # gold_answer, order_matters, max_steps, rule, accepted_rows, database_sha256
    ('["Sun", "Tern"]', False, 1_000_000, "strict", None, None),
    ('["Tern", "Sun"]', True, None, None, "[2]", None),
    ('["Sun", "Tern"]', True, 2_000_000, "strict", None, None),
]
NAMES = ("gold_answer", "order_matters", "max_steps", "rule", "accepted_rows", "database_sha256")
CHATS = [[{"role": "assistant", "content": fence(f"{SQL} ORDER BY weight DESC")}]] * 3


def make_columns() -> dict[str, list[Any]]:
    return {
        "completion": CHATS,
        "database_name": ["ships"] * 3,
        **{name: list(column) for name, column in zip(NAMES, zip(*ROWS, strict=True), strict=True)},
    }


def read_by_pandas(folder: Path) -> Any:
    frame = pandas.read_parquet(folder / "rows.parquet")
    return {name: frame[name] for name in frame}


def read_as_pandas_lists(folder: Path) -> Any:
    return pandas.read_parquet(folder / "rows.parquet").to_dict("list")


def read_as_numpy(folder: Path) -> Any:
    frame = pandas.read_parquet(folder / "rows.parquet")
    return {name: frame[name].to_numpy() for name in frame}


def read_by_nullable_pandas(folder: Path) -> Any:
    frame = pandas.read_parquet(folder / "rows.parquet", dtype_backend="numpy_nullable")
    return frame.to_dict("list")


def read_by_arrow_pandas(folder: Path) -> Any:
    frame = pandas.read_parquet(folder / "rows.parquet", dtype_backend="pyarrow")
    return {name: frame[name] for name in frame}


def read_by_arrow(folder: Path) -> Any:
    table = pyarrow.parquet.read_table(folder / "rows.parquet")
    return {name: table[name] for name in table.column_names}


def read_as_arrow_scalars(folder: Path) -> Any:
    return {name: list(column) for name, column in read_by_arrow(folder).items()}


def read_by_datasets(folder: Path) -> Any:
    found = datasets.Dataset.from_parquet(
        str(folder / "rows.parquet"), cache_dir=str(folder / "cache")
    )
    return {name: found[name] for name in found.column_names}


def read_by_datasets_as_numpy(folder: Path) -> Any:
    found = datasets.Dataset.from_parquet(
        str(folder / "rows.parquet"), cache_dir=str(folder / "cache")
    )
    return found.with_format("numpy")[:]


READERS = [
    read_by_pandas,
    read_as_pandas_lists,
    read_as_numpy,
    read_by_nullable_pandas,
    read_by_arrow_pandas,
    read_by_arrow,
    read_as_arrow_scalars,
    read_by_datasets,
    read_by_datasets_as_numpy,
]


@pytest.mark.parametrize("read", READERS)
def test_columns_of_any_table_are_scored(ships, tmp_path, read):
    columns = make_columns()
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    found = read(tmp_path)
    assert score_completions(found.pop("completion"), **found) == [1.0, 1.0, 1.0]
    wrong = read(tmp_path) | {"accepted_rows": None}
    assert score_completions(wrong.pop("completion"), **wrong) == [1.0, 0.0, 1.0]
    for place in range(3):
        row = {name: list(column)[place] for name, column in read(tmp_path).items()}
        completion, truth = row.pop("completion"), row.pop("gold_answer")
        assert score_completions([completion], gold_answer=[truth], **wrap(row)) == [1.0]
        gold_answer = json.loads(read_value(truth))
        assert explain_completion(completion, gold_answer, **row).reward == 1.0


def wrap(row: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in row.items()}


SHAPES: list[Callable[[Any], Any]] = [
    list,
    tuple,
    numpy.array,
    pandas.Series,
    pandas.array,
    pyarrow.array,
    lambda values: pyarrow.chunked_array([values]),
    lambda values: pyarrow.scalar(values),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_any_kind_are_sent_to_workers_as_pythons_own(ships, shape):
    """A worker that is sent another package's value ends before it begins."""
    terms = {
        "database_name": numpy.str_("ships"),
        "order_matters": numpy.bool_(False),
        "max_steps": numpy.int64(1_000_000),
        "rule": numpy.str_("strict"),
        "accepted_rows": shape([1, 1]),
        "other_answers": [{"sql": numpy.str_(SQL), "answer": shape(GOLD)}],
        "limits": {"max_rows": numpy.int32(100)},
        "rel_tol": numpy.float32(1e-6),
        "workers": numpy.int64(1),
    }
    sql, gold = numpy.str_(SQL), shape(GOLD)
    assert score_sql(sql, gold, **terms) == 1.0
    assert explain_score(sql, gold, **terms).reward == 1.0
    assert explain_completion(numpy.str_(fence(SQL)), gold, **terms).reward == 1.0
    assert score_parts(sql, gold, gold_sql=numpy.str_(SQL), **terms) == (1.0,) * 6
    assert execute(sql, numpy.str_("ships"), limits=terms["limits"]) == [("Sun",), ("Tern",)]
    wrong = {**terms, "other_answers": None}
    assert score_sql(sql, shape(["Kite", "Tern"]), **wrong) == 0.0


def test_suite_of_nested_arrays_is_read(ships):
    make_database(
        ships / "suites" / "ships" / "ships.01.sqlite",
        "CREATE TABLE ship (name TEXT, weight REAL); INSERT INTO ship VALUES ('Kite', 1.0)",
    )
    suite = [{"path": "ships/ships.01.sqlite", "gold_answer": ["Kite"], "order_matters": False}]
    nested = pyarrow.array([suite])[0]
    terms = {**KNOWN, "test_suites": ships / "suites"}
    for given in (suite, json.dumps(suite), nested, numpy.array(suite)):
        assert score_sql(SQL, GOLD, **terms, test_suite=given) == 1.0
        assert score_sql("VALUES ('Sun'), ('Tern')", GOLD, **terms, test_suite=given) == 0.0


def test_rows_of_any_kind_are_scored():
    gold = [["Sun", 1.5, 3], ["Tern", None, 4]]
    frame = pandas.DataFrame(gold, columns=["name", "weight", "count"])
    table = pyarrow.Table.from_pandas(frame)
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    found = connection.execute("VALUES ('Sun', 1.5, 3), ('Tern', NULL, 4)").fetchall()
    for rows in (gold, frame, frame.to_numpy(), table, table.to_pylist(), found):
        assert score(rows, gold, order_matters=numpy.bool_(True)) == 1.0
        assert score(rows, numpy.array(gold, dtype=object), order_matters=True) == 1.0
        assert score(rows, gold[::-1], order_matters=True, accepted_rows=numpy.array([2])) == 1.0
        assert score(rows, gold[::-1], order_matters=True) == 0.0


def test_rows_that_are_none_are_an_error():
    for rows in (["Sun", "Tern"], [3], "Sun"):
        with pytest.raises(TypeError, match=r"predicted_rows: expected rows, as .* found a row"):
            score(rows, ["Sun", "Tern"], order_matters=False)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("order_matters", "False", "order_matters: expected True or False, found str: 'False'"),
        ("order_matters", None, "order_matters: expected True or False, found NoneType"),
        ("order_matters", 2, "order_matters: expected True or False, found int: 2"),
        ("database_name", float("nan"), "database_name: expected a text, found NoneType"),
        ("database_name", 3, "database_name: expected a text, found int: 3"),
        ("max_steps", 1.5, "max_steps: expected a whole number, found float: 1.5"),
        ("max_steps", "many", "max_steps: expected a whole number, found str: 'many'"),
        ("rule", 3, "rule: expected a rule's name, found int: 3"),
        ("database_sha256", b"1", "database_sha256: expected a text, found bytes"),
        ("accepted_rows", {1}, "accepted_rows: expected .*, found .*1"),
        ("test_suite", object(), "test_suite: expected .*, found .*object"),
    ],
)
def test_term_of_another_kind_is_an_error_that_says_what_is_expected(ships, name, value, words):
    terms = {**KNOWN, name: value}
    columns = {key: [term] for key, term in {**terms, "gold_answer": json.dumps(GOLD)}.items()}
    for ask in (
        lambda: score_sql(SQL, GOLD, **terms),
        lambda: score_parts(SQL, GOLD, gold_sql=SQL, **terms),
        lambda: explain_completion(fence(SQL), GOLD, **terms),
        lambda: compute_score("x", fence(SQL), json.dumps(GOLD), terms),
        lambda: score_completions([fence(SQL)], **columns),
    ):
        with pytest.raises(TypeError, match=words):
            ask()


def test_column_of_another_length_is_an_error_that_names_it(ships):
    known = {**wrap(KNOWN), "gold_answer": ["1"]}
    with pytest.raises(ValueError, match="max_steps: expected 1 values, one a completion, found 2"):
        score_completions([fence("SELECT 1")], **known, max_steps=[1, 2])
    with pytest.raises(TypeError, match="gold_answer: expected a value for each completion"):
        score_completions([fence("SELECT 1")], **known | {"gold_answer": "1"})
    assert score_completions([], gold_answer=[], database_name=[], order_matters=[]) == []


def test_values_of_classes_of_their_own_are_those_of_python():
    assert type(read_value(Spelling.SHIPS)) is str
    assert read_flag("a", 1.0) is True
    assert read_count("a", numpy.float64(3)) == 3
    assert read_value(numpy.array(["a", None])) == ["a", None]
    assert [*read_column("rule", None, 2)] == [None, None]


# Names of arguments.

METHODS = ("score_sql", "explain_score", "explain_completion", "score_parts")
FUNCTIONS = [*METHODS, "execute", "compute_score", "score", "score_completions"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_and_help_tell_what_a_function_takes(name):
    function = getattr(answerkey.reward, name)
    taken = inspect.signature(function).parameters
    assert "self" not in taken
    kinds = {one.kind for one in taken.values()} - {inspect.Parameter.VAR_KEYWORD}
    assert kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    assert (inspect.Parameter.VAR_KEYWORD in {one.kind for one in taken.values()}) == (
        name == "score_completions"  # trainers hand over all columns of a dataset
    )
    assert all(one.annotation is not one.empty for one in taken.values())
    assert len(inspect.getdoc(function)) > 100
    if name in METHODS:
        of_pool = inspect.signature(getattr(RewardPool, name)).parameters
        assert [*taken][: len(of_pool) - 1] == [*of_pool][1:]
        for term in Terms.__annotations__:
            assert f"- {term}" in inspect.getdoc(function) or f", {term}" in inspect.getdoc(
                function
            )
            needed = term in Terms.__required_keys__
            assert (taken[term].default is inspect.Parameter.empty) == needed


@pytest.mark.parametrize("name", ["score_completions", "score_completions_async"])
def test_columns_have_one_signature_for_the_function_and_its_pool(name):
    *taken, others = inspect.signature(getattr(answerkey.reward, name)).parameters.values()
    of_pool = [*inspect.signature(getattr(RewardPool, name)).parameters.values()]
    assert [*taken[: len(of_pool) - 2], others] == of_pool[1:]
    columns = {one.name: one.default for one in taken[1:]}
    assert columns.keys() == {"gold_answer", *Terms.__annotations__, *Options.__annotations__}
    needed = {each for each, default in columns.items() if default is inspect.Parameter.empty}
    assert needed == {"gold_answer"} | Terms.__required_keys__
    assert all(columns[each] is None for each in columns.keys() - needed)


@pytest.mark.parametrize("name", [*METHODS, "execute", "compute_score", "score"])
def test_misspelt_name_is_an_error_that_says_it_and_what_is_expected(ships, name):
    function = getattr(answerkey.reward, name)
    positional = ["SELECT 1"] * 3 if name == "compute_score" else ["SELECT 1", "ships"]
    needed = {
        "order_matters": False,
        **({"database_name": "ships"} if name in METHODS else {}),
        **({"gold_sql": "SELECT 1"} if name == "score_parts" else {}),
    }
    if name in ("execute", "compute_score"):
        needed = {}
    asked = [partial(function, *positional, **needed)]
    if name != "score":
        with RewardPool(workers=1) as pool:
            asked.append(partial(getattr(pool, name), *positional, **needed))
    for ask in asked:
        with pytest.raises(TypeError) as found:
            ask(order_maters=True)
        words = str(found.value)
        assert f"{name}: no argument is named order_maters" in words
        assert all(known in words.partition("expected ")[2] for known in needed)
    for missing in needed:
        with pytest.raises(TypeError, match=f"{missing} is missing: expected .*{missing}"):
            function(*positional, **{key: needed[key] for key in needed if key != missing})


def test_misspelt_option_or_limit_is_an_error(ships):
    with pytest.raises(TypeError, match=r"no argument is named database: expected .*databases"):
        RewardPool(database=ships)
    with pytest.raises(TypeError, match=r"no limit is named max_second: expected .*max_seconds"):
        RewardPool(limits={"max_second": 1})
    with pytest.raises(TypeError, match="limits: max_rows: expected a whole number, found str"):
        RewardPool(limits={"max_rows": "many"})


def test_columns_that_nobody_knows_are_ignored(ships):
    known = {**wrap(KNOWN), "gold_answer": ["1"], "question_text": ["?"], "trainer_state": object()}
    assert score_completions([fence("SELECT 1")], **known, difficulty=["easy"]) == [1.0]
    with pytest.raises(TypeError, match="score_completions: gold_answer is missing: expected "):
        score_completions([fence("SELECT 1")], gold_anser=["1"], **wrap(KNOWN))


# Pickles.


@pytest.mark.parametrize("name", answerkey.reward.__all__)
def test_public_name_pickles_by_its_name(name):
    public = getattr(answerkey.reward, name)
    assert pickle.loads(pickle.dumps(public)) is public


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_processes_of_a_trainer_take_the_functions(ships, start):
    with ProcessPoolExecutor(1, mp_context=get_context(start)) as executor:
        known = {**KNOWN, "workers": 1, "databases": ships}
        found = executor.submit(score_sql, SQL, GOLD, **known).result(timeout=120)
    assert found == 1.0


def test_async_functions_do_as_the_others(ships):
    assert all(map(inspect.iscoroutinefunction, (compute_score_async, score_completions_async)))
    assert inspect.signature(compute_score_async) == inspect.signature(compute_score)
    truth, columns = json.dumps(GOLD), {**wrap(KNOWN), "gold_answer": [json.dumps(GOLD)]}
    assert asyncio.run(compute_score_async("x", fence(SQL), truth, KNOWN)) == 1.0
    assert asyncio.run(score_completions_async([fence(SQL)], **columns)) == [1.0]
    with RewardPool(workers=1) as pool:
        assert asyncio.run(pool.score_completions_async([fence(SQL)], **columns)) == [1.0]
