"""huggingface: `datasets` reads back what was written, with nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.core.question import FIELDS
from answerkey.exports.huggingface import COLUMNS, make_row, write_parquet
from tests.shared.project_world import World

FOLDER = "data/exports/huggingface"
TYPES = {int: "integer", float: "float", str: "string"}
TYPED = tuple(TYPES.values())
AUDIT = {
    "hardness": "hard",
    "order_matters": True,
    "flags": [{"code": "guessable"}],
    "evidence": "heavy means weight > 70",
}


def load(folder: Path, cache_dir: Path):
    import datasets

    datasets.disable_progress_bars()
    return datasets.load_dataset(str(folder), cache_dir=str(cache_dir))


def make_question(number: int, answer: object) -> dict[str, object]:
    return {
        "question_id": f"a_train_{number:03d}",
        "question_text": "Où est «Åsa»?\n",
        "database_name": "a",
        "gold_sql": "SELECT 'x\ty'",
        "gold_answer": answer,
        "answer_type": TYPES.get(type(answer), "list"),
        "difficulty": "easy",
        "tables_involved": ["Ship", "two words"],
        "split": "train",
    }


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def test_loaded_dataset_is_the_product(world, tmp_path):
    world.run_to("export_dataset")
    loaded = load(world.folder / FOLDER, tmp_path / "cache")
    assert set(loaded) == {"train", "eval"}
    audits = {record["question_id"]: record for record in world.lines("data/questions/audit.jsonl")}
    for split, rows in loaded.items():
        questions = world.json(f"data/questions/questions_{split}.json")
        assert len(rows) == len(questions) > 0
        for row, question in zip(rows, questions, strict=True):
            audit = audits[question["question_id"]]
            assert json.loads(row["gold_answer"]) == question["gold_answer"]
            assert {field: row[field] for field in FIELDS} == question | {
                "gold_answer": row["gold_answer"]
            }
            assert row["hardness"] == audit["hardness"]
            assert row["order_matters"] == audit["order_matters"]
            assert row["evidence"] == audit["evidence"]
            assert row["flags"] == [flag["code"] for flag in audit["flags"]]
            answer, kind = question["gold_answer"], question["answer_type"]
            for typed in ("integer", "float", "string"):
                assert row[f"gold_{typed}"] == (answer if typed == kind else None)


def test_loader_knows_the_columns_and_sizes_from_the_card(world, tmp_path):
    import datasets

    world.run_to("export_dataset")
    builder = datasets.load_dataset_builder(
        str(world.folder / FOLDER), cache_dir=str(tmp_path / "cache")
    )
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {
        "train": 25,
        "eval": 10,
    }
    assert list(builder.info.features) == list(COLUMNS)
    assert builder.info.features["tables_involved"] == datasets.List(datasets.Value("string"))
    assert builder.info.features["gold_float"] == datasets.Value("float64")
    loaded = load(world.folder / FOLDER, tmp_path / "cache")
    assert loaded["train"].features == builder.info.features


def test_split_without_questions_does_not_keep_the_other_from_loading(world, tmp_path):
    world.drop_targets()
    world.write_questions("dev.json", "library", [("Pay?", "SELECT wage FROM book")])
    world.run_to("export_dataset")
    loaded = load(world.folder / FOLDER, tmp_path / "cache")
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 25}


def test_split_that_is_empty_now_leaves_no_file_of_before(world):
    world.drop_targets()
    world.run_to("export_dataset")
    world.write_questions("dev.json", "library", [("Pay?", "SELECT wage FROM book")])
    world.run_to("export_dataset")
    assert sorted(path.name for path in (world.folder / FOLDER).iterdir()) == [
        "README.md",
        "croissant.json",
        "train.parquet",
    ]


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"))
)


@settings(max_examples=60)
@given(
    answers=st.lists(
        VALUES.filter(lambda value: value not in (float("inf"), float("-inf")))
        | st.lists(VALUES.filter(lambda value: value not in (float("inf"), float("-inf")))),
        max_size=5,
    )
)
def test_every_answer_comes_back_as_the_same_value_and_type(tmp_path_factory, answers):
    from pyarrow import parquet

    path = tmp_path_factory.mktemp("rows") / "train.parquet"
    questions = [make_question(number, answer) for number, answer in enumerate(answers)]
    written = write_parquet(path, (make_row(question, AUDIT) for question in questions))
    assert written.rows == len(answers)
    assert written.file_bytes == path.stat().st_size
    rows = parquet.read_table(path).to_pylist()
    assert [repr(json.loads(row["gold_answer"])) for row in rows] == list(map(repr, answers))
    for row, question, answer in zip(rows, questions, answers, strict=True):
        assert row["answer_rows"] == (len(answer) if isinstance(answer, list) else 1)
        typed = {name: row.pop(f"gold_{name}") for name in TYPED}
        kind = question["answer_type"]
        assert repr(typed) == repr({name: answer if name == kind else None for name in TYPED})
        assert {**row, "gold_answer": None, "answer_rows": None} == {
            **question,
            "gold_answer": None,
            "answer_rows": None,
            "hardness": "hard",
            "order_matters": True,
            "evidence": AUDIT["evidence"],
            "flags": ["guessable"],
        }


def test_answer_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="JSON"):
        make_row(make_question(0, [float("nan")]), AUDIT)


def test_many_rows_come_back_in_their_order(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "train.parquet"
    count = 12_345
    write_parquet(path, (make_row(make_question(n, n), AUDIT) for n in range(count)))
    table = parquet.read_table(path)
    assert table["gold_answer"].to_pylist() == [str(n) for n in range(count)]
    assert parquet.ParquetFile(path).num_row_groups > 1


def test_same_rows_give_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        write_parquet(tmp_path / name, [make_row(make_question(n, [n]), AUDIT) for n in range(50)])
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
