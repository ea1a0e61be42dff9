"""Layouts: which fields and folders of a release mean what."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.corpus.corpora import LAYOUTS, Layout, parse_corpus
from answerkey.corpus.downloads import locate_databases
from answerkey.corpus.hub import Limits
from answerkey.corpus.loading import load_spider_questions
from answerkey.corpus.source_questions import list_db_ids
from tests.shared.bird_world import MEALS, RESORTS, TRAIN, write_bird, write_json
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.shared.synsql_world import ROWS, synsql_entry, write_rows, write_synsql

LIMITS = Limits(attempts=1, backoff_s=0, deadline_s=1)


def bird_entry(root: Path, **others: Any) -> dict[str, Any]:
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    entry = {"origin": "directory", "layout": "bird", "root": str(root), "db_list": "all"}
    return entry | {"questions": questions} | others


def load(entry: dict[str, Any], **others: Any) -> list[dict[str, Any]]:
    corpus = parse_corpus("tried", entry, others)
    return load_spider_questions(corpus.db_list, corpus=corpus, limits=LIMITS)


def locate(entry: dict[str, Any], **others: Any) -> dict[str, str]:
    corpus = parse_corpus("tried", entry, others)
    sources = locate_databases(corpus, list_db_ids(corpus, limits=LIMITS), limits=LIMITS)
    return {db_id: source.origin["path"] for db_id, source in sources.items()}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({}, None),
        ({"evidence": None}, None),
        ({"evidence": ""}, None),
        ({"evidence": " \n"}, None),
        ({"evidence": " a = `b c` "}, " a = `b c` "),
    ],
)
def test_evidence_is_what_stands_there_or_nothing(tmp_path, evidence, expected):
    write_bird(tmp_path)
    row = {"db_id": "school_meals", "question": "?", "SQL": "SELECT 1"}
    write_json(tmp_path / "train.json", [row | evidence])
    record = load(bird_entry(tmp_path))[0]
    assert record.get("evidence") == expected
    assert ("evidence" in record) == (expected is not None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"evidence": 7}, r"train.json: row 0: expected text for 'evidence', found 7"),
        ({"SQL": None}, r"train.json: row 0: expected text for \('db_id', 'SQL', 'question'\)"),
        ({"db_id": "../x"}, r"train.json: row 0: Not a database id"),
        ({"grading_method": "sets"}, r"train.json: row 0: grading_method: .*'sets'"),
        ({"grading_method": ""}, r"train.json: row 0: grading_method: "),
        ({"grading_method": 3}, r"row 0: expected text for 'grading_method', found 3"),
    ],
)
def test_row_that_is_not_in_the_layout_is_named(tmp_path, change, words):
    write_bird(tmp_path)
    write_json(tmp_path / "train.json", [TRAIN[0] | change])
    with pytest.raises(ValueError, match=words):
        load(bird_entry(tmp_path))


@pytest.mark.parametrize("rule", ["multiset", "set", "list", "subset,=,3", "subset,>=,2", None])
def test_rule_of_comparison_is_kept_where_a_row_names_one(tmp_path, rule):
    write_bird(tmp_path)
    rows = [TRAIN[0] | {"grading_method": rule}, *TRAIN[1:]]
    write_json(tmp_path / "train.json", rows)
    first, second, *_ = (record["source"] for record in load(bird_entry(tmp_path)))
    assert first.get("grading_method") == rule
    assert "grading_method" not in second


def test_json_lines_are_read_too(tmp_path):
    write_bird(tmp_path)
    lines = "".join(json.dumps(row) + "\n" for row in TRAIN)
    (tmp_path / "train.jsonl").write_text(lines, encoding="utf-8")
    questions = {"train": ["train.jsonl"], "validation": []}
    records = load(bird_entry(tmp_path, questions=questions))
    assert [record["question_text"] for record in records] == [row["question"] for row in TRAIN]
    assert records[1]["source"] == {"corpus": "tried", "file": "train.jsonl", "index": 1}


def test_database_is_found_in_either_folder(tmp_path):
    write_bird(tmp_path)
    assert locate(bird_entry(tmp_path)) == {
        "school_meals": "train_databases/school_meals/school_meals.sqlite",
        "ski_resorts": "dev_databases/ski_resorts/ski_resorts.sqlite",
    }


def test_database_in_both_folders_is_refused(tmp_path):
    write_bird(tmp_path)
    make_database(tmp_path / "dev_databases/school_meals/school_meals.sqlite", RESORTS)
    with pytest.raises(
        ValueError, match=r"school_meals is in .*train_.* and in .*: expected it on"
    ):
        locate(bird_entry(tmp_path))


def test_entry_may_say_where_in_the_root_the_databases_are(tmp_path):
    """As the archives of the release unpack: one folder for train and one for dev."""
    write_json(tmp_path / "train/train.json", TRAIN)
    make_database(tmp_path / "train/train_databases/school_meals/school_meals.sqlite", MEALS)
    entry = bird_entry(
        tmp_path,
        databases=["train/train_databases"],
        questions={"train": ["train/train.json"], "validation": []},
    )
    assert locate(entry) == {
        "school_meals": "train/train_databases/school_meals/school_meals.sqlite"
    }


def test_questions_without_a_database_name_both_folders(tmp_path):
    write_bird(tmp_path)
    write_json(tmp_path / "dev.json", [TRAIN[0] | {"db_id": "school_meal"}])
    with pytest.raises(
        ValueError, match=r"school_meal .*train_databases or .*dev_databases; close to it: school_m"
    ):
        locate(bird_entry(tmp_path))


def test_spider_syn_asks_its_own_questions_of_another_corpus(tmp_path):
    make_database(tmp_path / "spider/database/shop/shop.sqlite", "CREATE TABLE shop (id INTEGER);")
    row = {
        "db_id": "shop",
        "SpiderQuestion": "How many shops?",
        "SpiderSynQuestion": "How many stores?",
        "query": "SELECT count(*) FROM shop",
    }
    write_json(tmp_path / "syn/dev.json", [row])
    entry = bird_entry(
        tmp_path / "syn",
        layout="spider_syn",
        databases_of="spider",
        prefix="syn_",
        questions={"train": [], "validation": ["dev.json"]},
    )
    spider = bird_entry(tmp_path / "spider", layout="spider")
    record = load(entry, spider=spider)[0]
    assert record["question_text"] == "How many stores?"
    assert record["source"]["SpiderQuestion"] == "How many shops?"
    assert locate(entry, spider=spider) == {"shop": "database/shop/shop.sqlite"}


def test_synsql_keeps_its_word_for_difficulty_and_no_chain_of_thought(tmp_path):
    write_synsql(tmp_path)
    records = load(synsql_entry(tmp_path))
    assert [record["gold_sql"] for record in records] == [row["sql"] for row in ROWS]
    assert [record.get("evidence") for record in records] == [
        row["external_knowledge"] or None for row in ROWS
    ]
    assert records[3]["source"] == {
        **{"corpus": "tried", "file": "data.json", "index": 3},
        **{"question_style": "Imperative", "difficulty": "Highly Complex"},
    }
    assert locate(synsql_entry(tmp_path)) == {
        "clinic_staffing": "databases/clinic_staffing/clinic_staffing.sqlite"
    }
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    levels = params["classify_difficulty"]["source_levels"]
    found = [levels[record["source"]["difficulty"]] for record in records]
    assert found == ["easy", "medium", "hard", "hard"]


def test_large_array_is_not_in_memory(tmp_path):
    """What is held of a row is less than its chain of thought alone."""
    write_synsql(tmp_path)
    write_rows(tmp_path, [row | {"cot": row["cot"] * 1000} for row in ROWS * 100])
    corpus = parse_corpus("tried", synsql_entry(tmp_path))
    tracemalloc.start()
    records = load_spider_questions(corpus.db_list, corpus=corpus, limits=LIMITS)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(records) == 400
    assert peak_bytes < (tmp_path / "data.json").stat().st_size / 2


def test_unknown_layout_is_named(tmp_path):
    words = (
        r"corpora\.tried\.layout: expected one of spider, spider_syn, bird, synsql, found 'brid'"
    )
    with pytest.raises(ValueError, match=words):
        parse_corpus("tried", bird_entry(tmp_path, layout="brid"))


def test_layout_keeps_no_field_that_the_pipeline_writes():
    with pytest.raises(ValueError, match="kept has 'file'"):
        Layout(question="q", gold_sql="s", databases=("d",), kept=("level", "file"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_missing_file_names_the_keys_to_set(tmp_path, name):
    with pytest.raises(
        FileNotFoundError, match=r"train.json: .*corpora\.tried\.root and \.questions"
    ):
        load(bird_entry(tmp_path, layout=name))
