"""Loading: every source question once, from a directory or the hub, as it stands there."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.corpus import loading
from answerkey.corpus.corpora import parse_corpora, parse_corpus
from answerkey.corpus.loading import load_corpora, load_spider_questions
from answerkey.corpus.source_questions import list_db_ids
from answerkey.corpus.splits import assign_splits
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.corpora import Download
from tests.shared.bird_world import TRAIN as BIRD
from tests.shared.bird_world import write_bird, write_json
from tests.shared.databases import make_database
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.project_world import write_params
from tests.shared.synsql_world import ROWS, synsql_entry, write_rows, write_synsql

COMMIT = "1" * 40
LIMITS = Download(attempts=2, backoff_s=0.05, deadline_s=30)


def row(db_id, question, query="SELECT 1", **others):
    return {"db_id": db_id, "query": query, "question": question} | others


TRAIN = [
    row("shop", "  Zoë's \n", "select  1 ;", sql={"from": []}),
    row("farm", "f1"),
    row("shop", "s1"),
]


MORE = [row("shop", "s2"), row("barn", "b0")]


VALIDATION = [row("dock", "d0"), row("dock", "d1")]


@pytest.fixture
def corpus(tmp_path):
    """Two train files and a validation file; four databases, one of them without questions."""
    root = tmp_path / "corpus"
    for db_id in ("shop", "farm", "barn", "dock", "idle"):
        (root / "database" / db_id).mkdir(parents=True)
    for name, rows in {"train.json": TRAIN, "more.json": MORE, "dev.json": VALIDATION}.items():
        (root / name).write_text(json.dumps(rows))
    return parse_corpus("tried", directory_entry(root))


def directory_entry(root, db_list="all"):
    return {
        "origin": "directory",
        "root": str(root),
        "db_list": db_list,
        "questions": {"train": ["train.json", "more.json"], "validation": ["dev.json"]},
    }


def load(corpus, db_ids):
    return load_spider_questions(db_ids, corpus=corpus, limits=LIMITS)


def test_records_are_sorted_and_say_where_they_come_from(corpus):
    records = load(corpus, ["shop", "dock"])
    assert [(r["database_name"], r["spider_split"], r["question_text"]) for r in records] == [
        ("dock", "validation", "d0"),
        ("dock", "validation", "d1"),
        ("shop", "train", "  Zoë's \n"),
        ("shop", "train", "s1"),
        ("shop", "train", "s2"),
    ]
    assert records[2] == {
        "question_text": "  Zoë's \n",
        "database_name": "shop",
        "gold_sql": "select  1 ;",
        "spider_split": "train",
        "source": {"corpus": "tried", "file": "train.json", "index": 0},
    }
    assert list(records[2]) == [
        "question_text",
        "database_name",
        "gold_sql",
        "spider_split",
        "source",
    ]
    assert records[4]["source"] == {"corpus": "tried", "file": "more.json", "index": 0}


def test_questions_scattered_over_a_file_come_by_database_in_its_order(corpus):
    names = ["farm", "farm_1", "barn", "shop"]
    (corpus.questions.root / "database" / "farm_1").mkdir()
    rows = [row(names[place % 4], f"{place}") for place in range(40)]
    (corpus.questions.root / "train.json").write_text(json.dumps(rows))
    (corpus.questions.root / "more.json").write_text("[]")
    records = [record for record in load(corpus, "all") if record["spider_split"] == "train"]
    assert [(r["database_name"], r["question_text"]) for r in records] == [
        (name, f"{place}")
        for name in sorted(names)
        for place in range(40)
        if names[place % 4] == name
    ]


def test_all_means_every_database_with_questions(corpus):
    records = load(corpus, "all")
    assert len(records) == len(TRAIN) + len(MORE) + len(VALIDATION)
    assert {record["database_name"] for record in records} == {"shop", "farm", "barn", "dock"}
    assert list_db_ids(corpus, limits=LIMITS) == ["barn", "dock", "farm", "shop"]


def test_list_of_databases_needs_no_questions(corpus):
    entry = directory_entry(corpus.questions.root / "none", ["shop", "dock"])
    assert list_db_ids(parse_corpus("tried", entry), limits=LIMITS) == ["dock", "shop"]


def test_questions_of_a_missing_database_stop_all_but_not_a_list(corpus):
    (corpus.questions.root / "database" / "barn").rmdir()
    with pytest.raises(ValueError, match=r"Questions of barn .*have no database"):
        load(corpus, "all")
    assert len(load(corpus, ["farm"])) == 1


@pytest.mark.parametrize(
    ("db_ids", "words"),
    [
        (["shopp"], "shopp has no question in corpus tried: close to it: shop"),
        (["idle"], "idle has no question"),
        (["farm", "farm"], "farm is listed twice"),
        (["../farm"], "Not a database id"),
    ],
)
def test_list_that_cannot_be_meant_is_refused(corpus, db_ids, words):
    with pytest.raises(ValueError, match=words):
        load(corpus, db_ids)


def test_no_database_has_no_question_and_nothing_is_read(monkeypatch):
    monkeypatch.setattr(loading, "read_spider", lambda: pytest.fail("nothing to read"))
    assert load_spider_questions([]) == []


def test_database_in_both_splits_is_refused_where_it_is_chosen(corpus):
    (corpus.questions.root / "dev.json").write_text(json.dumps([*VALIDATION, row("shop", "s3")]))
    with pytest.raises(ValueError, match=r"shop has questions in both .*row 2 of dev.json"):
        load(corpus, ["dock", "shop"])
    assert len(load(corpus, ["dock"])) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[{]", "dev.json: not a JSON array: line 1: Expecting property name"),
        (json.dumps([VALIDATION[0], {"db_id": "a", "query": "q"}]), "dev.json: row 1: expected"),
        (json.dumps([row("dock", None)]), "dev.json: row 0: expected text"),
        (json.dumps([row("dock", "d", 7)]), "dev.json: row 0: expected text"),
        (json.dumps([["dock", "d", "q"]]), "dev.json: row 0: expected text"),
        (json.dumps([row("../dock", "d")]), "dev.json: row 0: Not a database id"),
    ],
)
def test_file_that_is_no_list_of_questions_is_named(corpus, content, words):
    (corpus.questions.root / "dev.json").write_text(content)
    with pytest.raises(ValueError, match=words):
        load(corpus, ["farm"])


@pytest.mark.parametrize("name", ["dev.json", "dev.jsonl"])
def test_empty_file_is_named(corpus, name):
    (corpus.questions.root / name).write_text("")
    entry = directory_entry(corpus.questions.root)
    entry["questions"]["validation"] = [name]
    with pytest.raises(ValueError, match=rf"{name}: the file is empty, expected questions"):
        load(parse_corpus("tried", entry), ["farm"])


def test_line_with_brackets_in_brackets_is_named(corpus):
    entry = directory_entry(corpus.questions.root)
    entry["questions"] = {"train": [], "validation": ["dev.jsonl"]}
    (corpus.questions.root / "dev.jsonl").write_text(json.dumps(VALIDATION[0]) + "\n" + "[" * 10**5)
    with pytest.raises(ValueError, match=r"dev\.jsonl:2: not JSON: brackets in brackets"):
        load(parse_corpus("tried", entry), ["farm"])


def test_missing_file_is_named(corpus):
    (corpus.questions.root / "more.json").unlink()
    words = r"more\.json: the root of corpus tried has database, dev.json.*corpora\.tried\.root"
    with pytest.raises(FileNotFoundError, match=words):
        load(corpus, ["farm"])


def test_split_whose_files_are_there_is_named_where_others_are_missing(corpus):
    (corpus.questions.root / "dev.json").unlink()
    words = r"; for train alone set corpora\.tried\.questions: .train: \[train.json, more.json\].$"
    with pytest.raises(FileNotFoundError, match=words):
        load(corpus, ["shop"])


def test_root_that_does_not_exist_is_called_that(tmp_path):
    corpus = parse_corpus("tried", directory_entry(tmp_path / "none"))
    words = r"^The root of corpus tried does not exist: .*none .*corpora\.tried\.root .*train\.json"
    with pytest.raises(FileNotFoundError, match=words):
        list_db_ids(corpus, limits=LIMITS)


def test_root_one_folder_too_high_is_told_the_right_one(corpus):
    wrong = parse_corpus("tried", directory_entry(corpus.questions.root.parent))
    with pytest.raises(FileNotFoundError, match=r"/corpus has it: set that; expected a directory"):
        list_db_ids(wrong, limits=LIMITS)


def test_corpus_without_questions_is_called_that(corpus):
    for name in ("train.json", "more.json", "dev.json"):
        (corpus.questions.root / name).write_text("[]")
    words = r"^Corpus tried has no question: expected some in train\.json, more\.json, dev\.json"
    for db_ids in ("all", ["farm"]):
        with pytest.raises(ValueError, match=words):
            load(corpus, db_ids)
    with pytest.raises(ValueError, match=words):
        list_db_ids(corpus, limits=LIMITS)


@pytest.fixture
def start(tmp_path, monkeypatch):
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield start


def make_world(train=None, validation=None):
    files = {
        "s/train.parquet": pack_parquet(TRAIN) if train is None else train,
        "s/validation.parquet": pack_parquet(VALIDATION) if validation is None else validation,
    }
    return {"org/questions": {COMMIT: files}}


def hub_entry(db_list="all", **questions):
    place = {
        "repo_id": "org/questions",
        "revision": "main",
        "files": {"train": ["s/train.parquet"], "validation": ["s/validation.parquet"]},
    }
    files = {"repo_id": "org/files", "revision": COMMIT, "path": "{db_id}.sqlite"}
    return {
        "origin": "hub",
        "db_list": db_list,
        "questions": place | questions,
        "databases": {"kind": "files", "files": files},
    }


def hub_corpus(db_list="all", **questions):
    return parse_corpus("hubbed", hub_entry(db_list, **questions))


MAIN = {"org/questions": {"main": COMMIT}}


ONE_FILE = {"train": ["s/train.parquet"], "validation": []}


def test_hub_gives_the_same_records_and_the_commit_they_are_from(start):
    server = start(make_world(), MAIN)
    records = load(hub_corpus(), ["shop", "dock"])
    assert [record["question_text"] for record in records] == ["d0", "d1", "  Zoë's \n", "s1"]
    assert records[3] == {
        "question_text": "s1",
        "database_name": "shop",
        "gold_sql": "SELECT 1",
        "spider_split": "train",
        "source": {
            "corpus": "hubbed",
            "repo_id": "org/questions",
            "revision": COMMIT,
            "file": "s/train.parquet",
            "index": 2,
        },
    }
    fetched = server.count_fetched(".parquet")
    assert list_db_ids(hub_corpus(), limits=LIMITS) == ["dock", "farm", "shop"]
    assert server.count_fetched(".parquet") == fetched == 2


def test_hub_gives_the_optional_columns_that_there_are(start):
    rows = [{"db_id": "dock", "SQL": "SELECT 1", "question": "?", "evidence": "e"}]
    packed = pack_parquet(rows, ("db_id", "SQL", "question", "evidence"))
    start(make_world(packed))
    entry = hub_entry(revision=COMMIT, files=ONE_FILE) | {"layout": "bird"}
    (record,) = load(parse_corpus("tried", entry), "all")
    assert record["evidence"] == "e"
    assert "difficulty" not in record["source"]


def test_full_commit_in_the_cache_needs_no_network(start, monkeypatch):
    start(make_world())
    expected = load(hub_corpus(revision=COMMIT), "all")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load(hub_corpus(revision=COMMIT), "all") == expected
    with pytest.raises(ConnectionError, match=r"^Failed to download Spider dataset: .*OFFLINE"):
        load(hub_corpus(revision="main"), "all")


def test_hub_that_gives_no_questions_is_a_connection_error(start):
    start(make_world(), MAIN)
    words = "^Failed to download Spider dataset: .*no such dataset"
    with pytest.raises(ConnectionError, match=words):
        load(hub_corpus(repo_id="org/none"), "all")


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (
            pack_parquet(TRAIN, ("db_id", "question")),
            r"no column 'query' among \['db_id', 'question'\]",
        ),
        (pack_parquet([row("shop", None)]), "row 0: expected text"),
    ],
)
def test_parquet_without_questions_is_named(start, train, words):
    start(make_world(train))
    with pytest.raises(ValueError, match=words):
        load(hub_corpus(revision=COMMIT, files=ONE_FILE), "all")


@pytest.mark.parametrize(
    ("damage", "is_listed"),
    [
        (lambda content: content[: len(content) // 2], False),
        pytest.param(
            lambda content: content.replace(b"SELECT 1", b"SELECT 2"), True, marks=pytest.mark.slow
        ),
    ],
    ids=["torn", "altered"],
)
def test_damaged_parquet_file_in_the_cache_is_fetched_again(start, tmp_path, damage, is_listed):
    files = {
        "s/train.parquet": pack_parquet(TRAIN, checksums=True),
        "s/validation.parquet": pack_parquet(VALIDATION),
    }
    server = start({"org/questions": {COMMIT: files}})
    sha256 = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    hubbed = hub_corpus(revision=COMMIT, sha256=sha256 if is_listed else {})
    expected = load(hubbed, "all")
    (cached,) = (tmp_path / "hf").rglob("snapshots/*/s/train.parquet")
    cached.write_bytes(damage(cached.read_bytes()))
    assert cached.read_bytes() != files["s/train.parquet"]
    assert load(hubbed, "all") == expected
    assert server.count_fetched("s/train.parquet") == 2


def test_file_on_the_hub_that_is_no_parquet_file_is_named(start):
    server = start(make_world(b"PAR1 no parquet"))
    words = "^Failed to download Spider dataset: s/train.parquet of .*: not a whole parquet file"
    with pytest.raises(ConnectionError, match=words):
        load(hub_corpus(revision=COMMIT), "all")
    assert server.count_fetched("s/train.parquet") == 2


def test_call_without_corpus_or_limits_takes_those_of_params(start, tmp_path, monkeypatch):
    start(make_world(), MAIN)
    params = {
        "corpora": {
            "spider": {
                "origin": "hub",
                "db_list": ["shop"],
                "questions": {
                    "repo_id": "org/questions",
                    "revision": "main",
                    "files": {"train": ["s/train.parquet"], "validation": ["s/validation.parquet"]},
                },
                "databases": {
                    "kind": "files",
                    "files": {"repo_id": "o/f", "revision": COMMIT, "path": "{db_id}"},
                },
            }
        },
        "download": {"attempts": 1, "backoff_s": 0, "deadline_s": 30},
    }
    path = tmp_path / "params.yaml"
    write_params(path, **params)
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", path)
    hubbed = hub_corpus(revision=COMMIT)
    for given, name in (({}, "spider"), ({"corpus": hubbed}, "hubbed")):
        records = load_spider_questions(["farm"], **given)
        assert [record["source"]["corpus"] for record in records] == [name]


# --- layouts


def bird_entry(root: Path, **others: Any) -> dict[str, Any]:
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    entry = {"origin": "directory", "layout": "bird", "root": str(root), "db_list": "all"}
    return entry | {"questions": questions} | others


def load_entry(entry: dict[str, Any], **others: Any) -> list[dict[str, Any]]:
    corpus = parse_corpus("tried", entry, others)
    return load_spider_questions(corpus.db_list, corpus=corpus, limits=LIMITS)


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
    record = load_entry(bird_entry(tmp_path))[0]
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
        ({"grading_method": 3}, "train.json: row 0: grading_method: expected text, found 3"),
    ],
)
def test_row_that_is_not_in_the_layout_is_named(tmp_path, change, words):
    write_bird(tmp_path)
    write_json(tmp_path / "train.json", [BIRD[0] | change])
    with pytest.raises(ValueError, match=words):
        load_entry(bird_entry(tmp_path))


@pytest.mark.parametrize("rule", ["multiset", "set", "list", "subset,=,3", "subset,>=,2", None])
def test_rule_of_comparison_is_kept_where_a_row_names_one(tmp_path, rule):
    write_bird(tmp_path)
    rows = [BIRD[0] | {"grading_method": rule}, *BIRD[1:]]
    write_json(tmp_path / "train.json", rows)
    first, second, *_ = (record["source"] for record in load_entry(bird_entry(tmp_path)))
    assert first.get("grading_method") == rule
    assert "grading_method" not in second


def test_json_lines_are_read_too(tmp_path):
    write_bird(tmp_path)
    lines = "".join(json.dumps(row) + "\n" for row in BIRD)
    (tmp_path / "train.jsonl").write_text(lines, encoding="utf-8")
    questions = {"train": ["train.jsonl"], "validation": []}
    records = load_entry(bird_entry(tmp_path, questions=questions))
    assert [record["question_text"] for record in records] == [row["question"] for row in BIRD]
    assert records[1]["source"] == {"corpus": "tried", "file": "train.jsonl", "index": 1}


def test_spider_syn_asks_its_own_questions_of_another_corpus(tmp_path):
    (tmp_path / "spider/database/shop").mkdir(parents=True)
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
    record = load_entry(entry, spider=spider)[0]
    assert record["question_text"] == "How many stores?"
    assert record["source"]["SpiderQuestion"] == "How many shops?"


def test_synsql_keeps_its_word_for_difficulty_and_no_chain_of_thought(tmp_path):
    write_synsql(tmp_path)
    records = load_entry(synsql_entry(tmp_path))
    assert [record["gold_sql"] for record in records] == [row["sql"] for row in ROWS]
    assert [record.get("evidence") for record in records] == [
        row["external_knowledge"] or None for row in ROWS
    ]
    assert records[3]["source"] == {
        **{"corpus": "tried", "file": "data.json", "index": 3},
        **{"question_style": "Imperative", "difficulty": "Highly Complex"},
    }
    levels = DifficultyRule().source_levels
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


# --- several corpora


def spider_entry(root: str, **others: Any) -> dict[str, Any]:
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    files = {"origin": "directory", "root": root, "db_list": "all", "questions": questions}
    return files | {"license": None, "corrections": None} | others


def write_spider(root: Path, **splits: list[str]) -> None:
    """A release in Spider's layout with two questions of each database."""
    for split in ("train", "dev"):
        rows = [
            {"db_id": db_id, "question": f"{db_id} {number}?", "query": f"SELECT {number}"}
            for number in range(2)
            for db_id in splits.get(split, [])
        ]
        write_json(root / f"{split}.json", rows)
        for db_id in splits.get(split, []):
            make_database(root / f"database/{db_id}/{db_id}.sqlite", f"CREATE TABLE {db_id} (a);")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load_all(chosen: Any, entries: dict[str, Any]) -> list[dict[str, Any]]:
    corpora = parse_corpora(chosen, entries)
    return assign_splits(load_corpora(corpora, limits=LIMITS, counts=Counter()).records)


def list_ids(records: list[dict[str, Any]], corpus: str) -> list[str]:
    return [r["question_id"] for r in records if r["source"]["corpus"] == corpus]


def test_ids_depend_on_no_other_corpus(here):
    write_spider(here / "a", train=["farm", "shop"], dev=["dock"])
    write_spider(here / "b", train=["barn"], dev=["formula"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    entries = {
        "a": spider_entry("a"),
        "b": spider_entry("b", prefix="b_"),
        "v": spider_entry(
            "v", databases_of="a", prefix="v_", questions={"train": [], "validation": ["dev.json"]}
        ),
    }
    alone = {name: list_ids(load_all(name, entries), name) for name in entries}
    assert alone["b"] == [
        "b_barn_train_000",
        "b_barn_train_001",
        "b_formula_eval_000",
        "b_formula_eval_001",
    ]
    assert alone["v"] == ["v_dock_eval_000"]
    for chosen in (["a", "b", "v"], ["v", "b", "a"], ["b", "a"], ["v", "a"]):
        records = load_all(chosen, entries)
        assert {name: list_ids(records, name) for name in chosen} == {n: alone[n] for n in chosen}
        assert len({record["question_id"] for record in records}) == len(records)
        names = [record["database_name"] for record in records]
        assert names == sorted(names)


def test_question_of_a_renamed_database_keeps_its_db_id(here):
    write_spider(here / "b", dev=["formula"])
    record = load_all("b", {"b": spider_entry("b", prefix="b_")})[0]
    assert record["database_name"] == "b_formula"
    assert record["source"] == {"corpus": "b", "file": "dev.json", "index": 0, "db_id": "formula"}


def test_shared_database_has_the_questions_of_each_corpus_in_the_order_of_the_list(here):
    write_spider(here / "a", dev=["dock"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    none = {"train": [], "validation": ["dev.json"]}
    entries = {
        "a": spider_entry("a", prefix="a_"),
        "v": spider_entry("v", databases_of="a", prefix="v_", questions=none),
    }
    for chosen in (["a", "v"], ["v", "a"]):
        records = load_all(chosen, entries)
        assert {record["database_name"] for record in records} == {"a_dock"}
        assert list(dict.fromkeys(record["source"]["corpus"] for record in records)) == chosen
    assert list_ids(records, "v") == ["v_a_dock_eval_000"]


def test_corpora_whose_names_clash_are_not_loaded(here):
    write_spider(here / "a", dev=["dock"])
    write_spider(here / "b", dev=["dock"])
    with pytest.raises(ValueError, match="both have a database dock"):
        load_all(["a", "b"], {"a": spider_entry("a"), "b": spider_entry("b")})


def test_database_never_crosses_splits_over_corpora(here):
    write_spider(here / "a", train=["dock"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    none = {"train": [], "validation": ["dev.json"]}
    entries = {
        "a": spider_entry("a"),
        "v": spider_entry("v", databases_of="a", prefix="v_", questions=none),
    }
    with pytest.raises(ValueError, match=r"dock has questions in both .*of corpus v"):
        load_all(["a", "v"], entries)


def test_corrections_are_those_of_their_corpus(here):
    write_spider(here / "a", dev=["dock"])
    write_spider(here / "b", dev=["dock"])
    (here / "data/corrections").mkdir(parents=True)
    decision = {"database": "dock", "question": "dock 0?", "action": "exclude", "reason": "Vague."}
    (here / "data/corrections/b.yaml").write_text(yaml.safe_dump([decision]))
    entries = {"a": spider_entry("a"), "b": spider_entry("b", prefix="b_", corrections="b")}
    records = load_all(["a", "b"], entries)
    corrected = [r["question_id"] for r in records if "correction" in r["source"]]
    assert corrected == ["b_dock_eval_000"]
