"""loaded_questions: every source question once, from a directory or the hub, as it stands there."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from answerkey.corpus import loading
from answerkey.corpus.corpora import parse_corpus
from answerkey.corpus.hub import Limits
from answerkey.corpus.loading import load_spider_questions
from answerkey.corpus.source_questions import list_db_ids
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.project_world import write_params

COMMIT, OTHER = "1" * 40, "2" * 40
LIMITS = Limits(attempts=2, backoff_s=0.05, deadline_s=30)


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


# --- a directory


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


def test_order_of_the_list_makes_no_difference(corpus):
    assert load(corpus, ["shop", "dock", "barn"]) == load(corpus, ["barn", "shop", "dock"])


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
        ("[{]", "dev.json: not JSON: Expecting property name .* line 1 column 3"),
        (json.dumps(VALIDATION)[:-1], "dev.json: not JSON: Expecting ',' delimiter: line 1 col"),
        ("[] {}", "dev.json: not JSON: .*; JSON Lines are read from a file .* ends in .jsonl"),
        ("é", "dev.json: not JSON: Expecting value"),
        ('{"db_id": "a"}', "dev.json: expected a JSON array, found dict"),
        (json.dumps([VALIDATION[0], {"db_id": "a", "query": "q"}]), "dev.json: row 1: expected"),
        (json.dumps([row("dock", None)]), "dev.json: row 0: expected text"),
        (json.dumps([row("dock", "d", 7)]), "dev.json: row 0: expected text"),
        (json.dumps([["dock", "d", "q"]]), "dev.json: row 0: expected text"),
        (json.dumps([row("../dock", "d")]), "dev.json: row 0: Not a database id"),
        (b"\xff\xfe".decode("latin-1"), "dev.json: not JSON"),
        ("[" * 100_000, "dev.json: not JSON of questions: brackets in brackets"),
        ('[{"x": ' + "[" * 100_000, "dev.json: not JSON of questions: brackets in brackets"),
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-le"])
def test_array_is_read_in_every_encoding_of_json(corpus, encoding):
    text = json.dumps([row("dock", "Zoë")], ensure_ascii=False)
    (corpus.questions.root / "dev.json").write_bytes(f" {text}\n".encode(encoding))
    assert [record["question_text"] for record in load(corpus, ["dock"])] == ["Zoë"]


def test_array_in_no_encoding_of_json_is_named(corpus):
    (corpus.questions.root / "dev.json").write_bytes(b'["\xff"]')
    with pytest.raises(ValueError, match=r"dev\.json: not JSON in UTF-8: .* byte 0xff"):
        load(corpus, ["dock"])


def test_half_of_a_surrogate_pair_reads_as_itself(corpus):
    (corpus.questions.root / "dev.json").write_text(json.dumps([row("dock", "\ud800")]))
    assert load(corpus, ["dock"])[0]["question_text"] == "\ud800"


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


def test_root_that_is_a_file_is_called_that(tmp_path):
    (tmp_path / "release.zip").touch()
    corpus = parse_corpus("tried", directory_entry(tmp_path / "release.zip"))
    with pytest.raises(FileNotFoundError, match=r"^The root of corpus tried is a file: .*\.zip"):
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


# --- real Spider

SPIDER_ROOT = os.environ.get("SPIDER_ROOT")
RELEASE = {"train": ["train_spider.json"], "validation": ["dev.json"]}
PACKED = {
    "train": ["spider/train-00000-of-00001.parquet"],
    "validation": ["spider/validation-00000-of-00001.parquet"],
}


def load_release():
    entry = directory_entry(SPIDER_ROOT) | {"questions": RELEASE}
    return load(parse_corpus("release", entry), "all")


@pytest.mark.skipif(
    not SPIDER_ROOT or not Path(SPIDER_ROOT).with_name("spider-hf").is_dir(),
    reason="SPIDER_ROOT has no spider-hf beside it",
)
def test_real_spider_is_the_same_through_the_hub(start):
    top = Path(SPIDER_ROOT).with_name("spider-hf")
    files = {name: (top / name).read_bytes() for names in PACKED.values() for name in names}
    start({"org/questions": {COMMIT: files}}, MAIN)
    records = load(hub_corpus(files=PACKED), "all")
    release = load_release()
    assert len(records) == len(release) == 4384
    for record, expected in zip(records, release, strict=True):
        assert record["source"]["index"] == expected["source"]["index"]
        assert record | {"source": 0} == expected | {"source": 0}
