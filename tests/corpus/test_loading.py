"""Loading: every source question once, as it stands there, with an id that nothing else changes."""

from __future__ import annotations

import copy
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.corpora import Corpus, list_db_ids, parse_corpora
from answerkey.corpus.loading import load_corpora, load_spider_questions
from answerkey.corpus.split_rules import choose_splits
from answerkey.corpus.splits import assign_splits
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.corpora import Download
from tests.shared.bird_world import TRAIN as BIRD
from tests.shared.bird_world import write_bird, write_json
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.project_world import make_entry, write_params
from tests.shared.synsql_world import ROWS, synsql_entry, write_rows, write_synsql

COMMIT = "1" * 40
LIMITS = Download(deadline_s=30)


def row(db_id, question, query="SELECT 1", **others):
    return {"db_id": db_id, "query": query, "question": question} | others


TRAIN = [
    row("shop", "  Zoë's \n", "select  1 ;", sql={"from": []}),
    row("farm", "f1"),
    row("shop", "s1"),
]
MORE = [row("shop", "s2"), row("barn", "b0")]
VALIDATION = [row("dock", "d0"), row("dock", "d1")]


def parse(entry: dict[str, Any], name: str = "tried", **others: Any) -> Corpus:
    (corpus,) = parse_corpora(name, {name: entry, **others})
    return corpus


@pytest.fixture
def corpus(tmp_path):
    """Two train files and a validation file; four databases with questions."""
    root = tmp_path / "corpus"
    root.mkdir()
    for name, rows in {"train.json": TRAIN, "more.json": MORE, "dev.json": VALIDATION}.items():
        (root / name).write_text(json.dumps(rows))
    questions = {"train": ["train.json", "more.json"], "validation": ["dev.json"]}
    return parse(make_entry(root, questions=questions))


def load(corpus, db_ids="all"):
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
    assert [*records[2]][:4] == ["question_text", "database_name", "gold_sql", "spider_split"]
    assert records[4]["source"] == {"corpus": "tried", "file": "more.json", "index": 0}


def test_all_means_every_database_with_questions(corpus):
    records = load(corpus, "all")
    assert len(records) == len(TRAIN) + len(MORE) + len(VALIDATION)
    assert list_db_ids(corpus, limits=LIMITS) == ["barn", "dock", "farm", "shop"]


def test_list_of_databases_needs_no_questions(tmp_path):
    entry = make_entry(tmp_path / "none", db_list=["shop", "dock"])
    assert list_db_ids(parse(entry), limits=LIMITS) == ["dock", "shop"]


@pytest.mark.parametrize(
    ("db_ids", "words"),
    [
        (["shopp", "farm"], r"tried has no question of shopp: .*corpora\.tried\.questions and"),
        (["farm", "farm"], "farm is listed twice"),
        (["../farm"], "Not a database id"),
    ],
)
def test_list_that_cannot_be_meant_is_refused(corpus, db_ids, words):
    with pytest.raises(ValueError, match=words):
        load(corpus, db_ids)


def test_no_database_has_no_question_and_nothing_is_read(monkeypatch):
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", Path("none is read"))
    assert load_spider_questions([]) == []


def test_database_in_both_splits_is_refused_where_it_is_chosen(corpus):
    (corpus.questions.root / "dev.json").write_text(json.dumps([*VALIDATION, row("shop", "s3")]))
    with pytest.raises(ValueError, match=r"shop has questions in both .*row 2 of dev.json"):
        load(corpus, ["dock", "shop"])
    assert len(load(corpus, ["dock"])) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[{]", "dev.json: not a JSON array: after line 1: Expecting property name"),
        (json.dumps([VALIDATION[0], {"db_id": "a", "query": "q"}]), "dev.json: row 1: expected"),
        (json.dumps([row("dock", None)]), "dev.json: row 0: expected text"),
        (json.dumps([["dock", "d", "q"]]), "dev.json: row 0: expected text"),
        (json.dumps([row("../dock", "d")]), "dev.json: row 0: Not a database id"),
    ],
)
def test_file_that_is_no_list_of_questions_is_named(corpus, content, words):
    (corpus.questions.root / "dev.json").write_text(content)
    with pytest.raises(ValueError, match=words):
        load(corpus, ["farm"])


def test_missing_file_is_named(corpus):
    (corpus.questions.root / "more.json").unlink()
    words = r"^No .*/corpus/more\.json: expected questions of corpus tried .*corpora\.tried\.root"
    with pytest.raises(FileNotFoundError, match=words):
        load(corpus, ["farm"])


def test_corpus_without_questions_is_called_that(corpus):
    for name in ("train.json", "more.json", "dev.json"):
        (corpus.questions.root / name).write_text("[]")
    with pytest.raises(ValueError, match=r"^Corpus tried has no question: expected some"):
        load(corpus)


# --- the hub


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


def hub_entry(layout="spider", **questions):
    place = {
        "repo_id": "org/questions",
        "revision": "main",
        "files": {"train": ["s/train.parquet"], "validation": ["s/validation.parquet"]},
    }
    files = {"repo_id": "org/files", "revision": COMMIT, "path": "{db_id}.sqlite"}
    return {
        "origin": "hub",
        "layout": layout,
        "db_list": "all",
        "questions": place | questions,
        "databases": {"kind": "files", "files": files},
    }


def hub_corpus(layout="spider", **questions):
    return parse(hub_entry(layout, **questions), "hubbed")


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
    (record,) = load(hub_corpus("bird", revision=COMMIT, files=ONE_FILE))
    assert record["evidence"] == "e"
    assert "difficulty" not in record["source"]


def test_hub_that_gives_no_questions_is_a_connection_error(start):
    start(make_world(), MAIN)
    words = "^Failed to download Spider dataset: .*org/none at main: RepositoryNotFound"
    with pytest.raises(ConnectionError, match=words):
        load(hub_corpus(repo_id="org/none"), "all")


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (pack_parquet(TRAIN, ("db_id", "question")), r"no column 'query' among \['db_id', 'ques"),
        (pack_parquet([row("shop", None)]), "row 0: expected text"),
        (b"PAR1 no parquet", f"s/train.parquet of org/.* at {COMMIT}: not a whole parquet file"),
        (pack_parquet(TRAIN)[:400] + bytes(100), "not a whole parquet file"),
    ],
)
def test_parquet_without_questions_is_named(start, train, words):
    start(make_world(train))
    with pytest.raises(ValueError, match=words):
        load(hub_corpus(revision=COMMIT, files=ONE_FILE), "all")


@pytest.mark.slow
def test_call_without_corpus_or_limits_takes_those_of_params(start, tmp_path, monkeypatch):
    start(make_world(), MAIN)
    path = tmp_path / "params.yaml"
    write_params(path, corpora={"spider": hub_entry()}, download={"deadline_s": 30})
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", path)
    hubbed = hub_corpus(revision=COMMIT)
    for named, name in (({}, "spider"), ({"corpus": hubbed}, "hubbed")):
        records = load_spider_questions(["farm"], **named)
        assert [record["source"]["corpus"] for record in records] == [name]


# --- layouts


@pytest.mark.parametrize("evidence", [{}, {"evidence": None}, {"evidence": " \n"}])
def test_evidence_and_rule_are_what_stands_there_or_nothing(tmp_path, evidence):
    write_bird(tmp_path)
    row = {"db_id": "school_meals", "question": "?", "SQL": "SELECT 1"}
    full = row | {"evidence": " a = `b c` ", "grading_method": "subset,=,3"}
    write_json(tmp_path / "train.json", [row | evidence, full])
    first, second, *_, last = load(parse(make_entry(tmp_path, layout="bird")))
    assert [last["source"][key] for key in ("question_id", "difficulty")] == [1, "moderate"]
    assert "evidence" not in first
    assert second["evidence"] == " a = `b c` "
    rules = [record["source"].get("grading_method") for record in (first, second)]
    assert rules == [None, "subset,=,3"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"evidence": 7}, "train.json: row 0: expected text for db_id, SQL, question, evidence, f"),
        ({"SQL": None}, r"train.json: row 0: expected text for .*, found .*tried.layout in params"),
        ({"grading_method": "sets"}, r"train.json: row 0: grading_method: .*'sets'"),
        ({"grading_method": 3}, r"train.json: row 0: grading_method: "),
    ],
)
def test_row_that_is_not_in_the_layout_is_named(tmp_path, change, words):
    write_bird(tmp_path)
    write_json(tmp_path / "train.json", [BIRD[0] | change])
    with pytest.raises(ValueError, match=words):
        load(parse(make_entry(tmp_path, layout="bird")))


@pytest.mark.parametrize(
    ("queries", "gold", "others"),
    [
        (["SELECT 1"], "SELECT 1", None),
        (["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 2"], "SELECT 1", ["SELECT 2"]),
        ([], None, None),
        (["SELECT 1", 2], None, None),
    ],
)
def test_list_of_queries_is_read_in_any_layout_and_from_json_lines(tmp_path, queries, gold, others):
    (tmp_path / "asked.jsonl").write_text(json.dumps(row("shop", "?", queries)) + "\n")
    corpus = parse(make_entry(tmp_path, questions={"train": ["asked.jsonl"]}))
    if gold is None:
        with pytest.raises(ValueError, match=r"asked\.jsonl: row 0: expected text for "):
            load(corpus)
    else:
        (record,) = load(corpus)
        assert (record["gold_sql"], record.get("other_sql")) == (gold, others)
        assert record["source"] == {"corpus": "tried", "file": "asked.jsonl", "index": 0}


def test_spider_syn_asks_its_own_questions_of_another_corpus(tmp_path):
    row = {
        "db_id": "shop",
        "SpiderQuestion": "How many shops?",
        "SpiderSynQuestion": "How many stores?",
        "query": "SELECT count(*) FROM shop",
    }
    write_json(tmp_path / "dev.json", [row])
    entry = make_entry(
        tmp_path,
        layout="spider_syn",
        databases_of="spider",
        prefix="syn_",
        questions={"train": [], "validation": ["dev.json"]},
    )
    (record,) = load(parse(entry, spider=make_entry(tmp_path / "spider")))
    assert record["question_text"] == "How many stores?"
    assert record["source"]["SpiderQuestion"] == "How many shops?"


def test_synsql_keeps_its_word_for_difficulty_and_no_chain_of_thought(tmp_path):
    write_synsql(tmp_path)
    records = load(parse(synsql_entry(tmp_path)))
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
    write_rows(tmp_path, [row | {"cot": row["cot"] * 1000} for row in ROWS * 100])
    corpus = parse(synsql_entry(tmp_path))
    tracemalloc.start()
    records = load(corpus)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(records) == 400
    assert peak_bytes < (tmp_path / "data.json").stat().st_size / 2


# --- several corpora


def variant_entry(root: str, owner: str, **others: Any) -> dict[str, Any]:
    questions = {"train": [], "validation": ["dev.json"]}
    return make_entry(root, databases_of=owner, prefix="v_", questions=questions) | others


def write_spider(root: Path, **splits: list[str]) -> None:
    """Questions in Spider's layout, two of each database."""
    for split in ("train", "dev"):
        rows = [
            row(db_id, f"{db_id} {number}?", f"SELECT {number}")
            for number in range(2)
            for db_id in splits.get(split, [])
        ]
        write_json(root / f"{split}.json", rows)


def load_all(chosen: Any, entries: dict[str, Any]) -> list[dict[str, Any]]:
    records = load_corpora(parse_corpora(chosen, entries), limits=LIMITS).records
    return assign_splits(records, splits=choose_splits(records, {}, pytest.fail))


def list_ids(records: list[dict[str, Any]], corpus: str) -> list[str]:
    return [r["question_id"] for r in records if r["source"]["corpus"] == corpus]


def test_ids_depend_on_no_other_corpus(here):
    write_spider(here / "a", train=["farm", "shop"], dev=["dock"])
    write_spider(here / "b", train=["barn"], dev=["formula"])
    write_json(here / "v/dev.json", [row("dock", "v?")])
    entries = {
        "a": make_entry("a"),
        "b": make_entry("b", prefix="b_"),
        "v": variant_entry("v", "a"),
    }
    alone = {name: list_ids(load_all(name, entries), name) for name in entries}
    stems = ("b_barn_train", "b_formula_eval")
    assert alone["b"] == [f"{stem}_{number:03}" for stem in stems for number in range(2)]
    assert alone["v"] == ["v_dock_eval_000"]
    source = {"corpus": "b", "file": "train.json", "index": 0, "db_id": "barn"}
    assert load_all("b", entries)[0]["source"] == source
    for chosen in (["a", "b", "v"], ["v", "b", "a"], ["b", "a"], ["v", "a"]):
        records = load_all(chosen, entries)
        assert {name: list_ids(records, name) for name in chosen} == {n: alone[n] for n in chosen}
        assert len({record["question_id"] for record in records}) == len(records)
        names = [record["database_name"] for record in records]
        assert names == sorted(names)
        asked = [r["source"]["corpus"] for r in records if r["database_name"] == "dock"]
        assert list(dict.fromkeys(asked)) == [name for name in chosen if name != "b"]


def test_database_never_crosses_splits_over_corpora(here):
    write_spider(here / "a", train=["dock"])
    write_json(here / "v/dev.json", [row("dock", "v?")])
    entries = {"a": make_entry("a"), "v": variant_entry("v", "a")}
    with pytest.raises(ValueError, match=r"dock has questions in both .*of corpus v"):
        load_all(["a", "v"], entries)


def test_corrections_are_those_of_their_corpus(here):
    write_spider(here / "a", dev=["dock"])
    write_spider(here / "b", dev=["dock"])
    (here / "data/corrections").mkdir(parents=True)
    decision = {"database": "dock", "question": "dock 0?", "action": "exclude", "reason": "Vague."}
    (here / "data/corrections/b.yaml").write_text(yaml.safe_dump([decision]))
    entries = {"a": make_entry("a"), "b": make_entry("b", prefix="b_", corrections="b")}
    records = load_all(["a", "b"], entries)
    corrected = [r["question_id"] for r in records if "correction" in r["source"]]
    assert corrected == ["b_dock_eval_000"]


# --- splits


def ask(database, split, **others):
    return {"database_name": database, "spider_split": split} | others


def test_source_split_decides_and_position_numbers():
    splits = {"train": "train", "validation": "eval"}
    asked = [("a", "train"), ("b", "validation"), ("a", "train"), ("a", "validation")]
    assigned = assign_splits([ask(*pair) for pair in asked])
    assert [question["split"] for question in assigned] == [splits[split] for _, split in asked]
    ids = [question["question_id"] for question in assigned]
    assert ids == ["a_train_000", "b_eval_000", "a_train_001", "a_eval_000"]


def test_record_is_new_with_id_first_and_split_last():
    question = ask("a", "train", gold_sql="SELECT 1", source={"index": 4})
    before = copy.deepcopy(question)
    assigned = assign_splits([question])[0]
    assert question == before
    assert list(assigned) == ["question_id", *question, "split"]
    assert assigned | before == assigned
    assert assign_splits([assigned | {"question_id": "x", "split": "eval"}]) == [assigned]


def test_number_grows_past_three_digits():
    ids = [question["question_id"] for question in assign_splits([ask("a", "train")] * 1001)]
    assert (ids[7], ids[999], ids[1000]) == ("a_train_007", "a_train_999", "a_train_1000")


@pytest.mark.parametrize("split", ["test", "dev", "eval", "Train", "", None])
def test_unknown_split_is_named(split):
    with pytest.raises(ValueError, match=f"spider_split is {split!r} for a question of a"):
        assign_splits([ask("a", "train"), ask("a", split)])


names = st.sampled_from(["a", "a_train", "a_train_000", "a_eval", "train", "a_train_train", "0"])


@given(st.lists(st.tuples(names, st.sampled_from(["train", "validation"])), max_size=60))
def test_no_two_questions_ever_share_an_id(pairs):
    assigned = assign_splits([ask(*pair) for pair in pairs])
    assert len({question["question_id"] for question in assigned}) == len(pairs)


def test_questions_with_a_prefix_are_counted_for_themselves():
    questions = [ask("dock", "validation"), ask("dock", "validation", id_prefix="syn_")] * 2
    assigned = assign_splits(questions)
    ids = [question["question_id"] for question in assigned]
    assert ids == ["dock_eval_000", "syn_dock_eval_000", "dock_eval_001", "syn_dock_eval_001"]
    assert all("id_prefix" not in question for question in assigned)
    assert questions[1]["id_prefix"] == "syn_"
