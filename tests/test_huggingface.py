"""huggingface: `datasets` reads back what was written, with nothing changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.exports.huggingface import make_row, write_card, write_parquet
from stages.question import FIELDS
from tests.worlds import World

FOLDER = "data/exports/huggingface"
AUDIT = {"hardness": "hard", "order_matters": True, "flags": [{"code": "guessable"}]}


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
        "answer_type": "list",
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
            assert row["flags"] == [flag["code"] for flag in audit["flags"]]


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
        "train.parquet",
    ]


VALUES = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"))
)


@settings(deadline=None, max_examples=60)
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
    assert write_parquet(path, (make_row(question, AUDIT) for question in questions)) == len(
        answers
    )
    rows = parquet.read_table(path).to_pylist()
    assert [repr(json.loads(row["gold_answer"])) for row in rows] == list(map(repr, answers))
    for row, question in zip(rows, questions, strict=True):
        assert {**row, "gold_answer": None} == {
            **question,
            "gold_answer": None,
            "hardness": "hard",
            "order_matters": True,
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


def read_card(path: Path) -> tuple[dict, str]:
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(front), text


def test_card_says_where_the_splits_are_and_what_was_left_out(tmp_path):
    path = tmp_path / "README.md"
    write_card(
        path,
        counts={"train": 1200, "eval": 34},
        corpus="spider",
        excluded={"null_answer": 7, "not_selected": 120},
    )
    front, text = read_card(path)
    assert front["configs"] == [
        {
            "config_name": "default",
            "data_files": [
                {"split": "train", "path": "train.parquet"},
                {"split": "eval", "path": "eval.parquet"},
            ],
        }
    ]
    assert "1234 questions of the corpus `spider`: 1200 train, 34 eval." in text
    assert "| null_answer | 7 |\n| not_selected | 120 |" in text


@pytest.mark.parametrize(
    ("total", "size"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1_000, "1K<n<10K"),
        (99_999, "10K<n<100K"),
        (100_000, "100K<n<1M"),
        (2_500_000, "n>1M"),
    ],
)
def test_card_names_the_size(tmp_path, total, size):
    path = tmp_path / "README.md"
    write_card(path, counts={"train": total, "eval": 0}, corpus="sample", excluded={})
    front, _ = read_card(path)
    assert front["size_categories"] == [size]
    assert ("configs" in front) == (total > 0)
