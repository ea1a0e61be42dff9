"""Several corpora in one dataset: one name a database, ids that depend on no other corpus."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.corpus.corpora import name_databases, parse_corpora
from answerkey.corpus.hub import Limits
from answerkey.corpus.loading import assign_splits, load_corpora
from answerkey.errors import InputError
from tests.shared.bird_world import RESORTS, write_bird, write_json
from tests.shared.checkout import commit, make_checkout, output, run, stages_to_run
from tests.shared.databases import make_database
from tests.shared.hub_server import run_hubs
from tests.shared.paths import ROOT
from tests.shared.project_world import World

LIMITS = Limits(attempts=1, backoff_s=0, deadline_s=30)
COMMIT = "1" * 40
VARIANT = [
    {"db_id": "library", "question": text, "query": sql}
    for text, sql in (
        ("What starts with a capital D?", "SELECT title FROM book WHERE title LIKE 'D%'"),
        ("How thick is the thickest?", "SELECT max(pages) FROM book"),
    )
]


def entry(root: str, **others: Any) -> dict[str, Any]:
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


def load(chosen: Any, entries: dict[str, Any]) -> list[dict[str, Any]]:
    corpora = parse_corpora(chosen, entries)
    return assign_splits(load_corpora(corpora, limits=LIMITS, counts=Counter()).records)


def list_ids(records: list[dict[str, Any]], corpus: str) -> list[str]:
    return [r["question_id"] for r in records if r["source"]["corpus"] == corpus]


# --- names and ids


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["a", "b", "a"], "expected each name once"),
        ("c", "corpus is 'c', which is none of corpora: known: a, b"),
    ],
)
def test_choice_that_cannot_be_meant_is_refused(chosen, words):
    with pytest.raises(ValueError, match=words):
        parse_corpora(chosen, {"a": entry("a"), "b": entry("b")})


def test_ids_depend_on_no_other_corpus(here):
    write_spider(here / "a", train=["farm", "shop"], dev=["dock"])
    write_spider(here / "b", train=["barn"], dev=["formula"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    entries = {
        "a": entry("a"),
        "b": entry("b", prefix="b_"),
        "v": entry(
            "v", databases_of="a", prefix="v_", questions={"train": [], "validation": ["dev.json"]}
        ),
    }
    alone = {name: list_ids(load(name, entries), name) for name in entries}
    assert alone["b"] == [
        "b_barn_train_000",
        "b_barn_train_001",
        "b_formula_eval_000",
        "b_formula_eval_001",
    ]
    assert alone["v"] == ["v_dock_eval_000"]
    for chosen in (["a", "b", "v"], ["v", "b", "a"], ["b", "a"], ["v", "a"]):
        records = load(chosen, entries)
        assert {name: list_ids(records, name) for name in chosen} == {n: alone[n] for n in chosen}
        assert len({record["question_id"] for record in records}) == len(records)
        names = [record["database_name"] for record in records]
        assert names == sorted(names)


def test_question_of_a_renamed_database_keeps_its_db_id(here):
    write_spider(here / "b", dev=["formula"])
    record = load("b", {"b": entry("b", prefix="b_")})[0]
    assert record["database_name"] == "b_formula"
    assert record["source"] == {"corpus": "b", "file": "dev.json", "index": 0, "db_id": "formula"}


def test_shared_database_has_the_questions_of_each_corpus_in_the_order_of_the_list(here):
    write_spider(here / "a", dev=["dock"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    none = {"train": [], "validation": ["dev.json"]}
    entries = {
        "a": entry("a", prefix="a_"),
        "v": entry("v", databases_of="a", prefix="v_", questions=none),
    }
    for chosen in (["a", "v"], ["v", "a"]):
        records = load(chosen, entries)
        assert {record["database_name"] for record in records} == {"a_dock"}
        assert list(dict.fromkeys(record["source"]["corpus"] for record in records)) == chosen
    assert list_ids(records, "v") == ["v_a_dock_eval_000"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "a and b both have a database dock: .*corpora.b.prefix: b_; .*b.databases_of: a"),
        ({"prefix": "b_"}, None),
        ({"databases_of": "a"}, "a and b would give questions of database dock the same ids: .*b_"),
        ({"databases_of": "a", "prefix": "b_"}, None),
        ({"databases_of": "c", "prefix": "b_"}, "databases_of is c, expected a, or another prefix"),
    ],
)
def test_clash_of_names_names_both_corpora_and_the_key(here, changes, words):
    entries = {"a": entry("a"), "b": entry("b", **changes), "c": entry("c")}
    chosen = [(corpus, ["dock"]) for corpus in parse_corpora(["a", "b"], entries)]
    if words is None:
        assert name_databases(chosen)["dock"].corpus.name == "a"
    else:
        with pytest.raises(ValueError, match=words):
            name_databases(chosen)


def test_corpora_whose_names_clash_are_not_loaded(here):
    write_spider(here / "a", dev=["dock"])
    write_spider(here / "b", dev=["dock"])
    with pytest.raises(ValueError, match="both have a database dock"):
        load(["a", "b"], {"a": entry("a"), "b": entry("b")})


@pytest.mark.parametrize("changes", [{}, {"databases_of": "a", "prefix": "b_"}])
def test_names_that_differ_in_case_alone_clash(here, changes):
    entries = {"a": entry("a"), "b": entry("b", **changes)}
    first, second = parse_corpora(["a", "b"], entries)
    with pytest.raises(ValueError, match="both have a database Dock"):
        name_databases([(first, ["dock"]), (second, ["Dock"])])


@pytest.mark.parametrize("prefix", ["b_", "B_"])
def test_ids_that_differ_in_case_alone_clash(here, prefix):
    entries = {"a": entry("a"), "b": entry("b", databases_of="a", prefix=prefix)}
    first, second = parse_corpora(["a", "b"], entries)
    with pytest.raises(ValueError, match="a and b would give questions of database dock the same"):
        name_databases([(first, ["b_dock", "dock"]), (second, ["dock"])])


def test_database_never_crosses_splits_over_corpora(here):
    write_spider(here / "a", train=["dock"])
    write_json(here / "v/dev.json", [{"db_id": "dock", "question": "v?", "query": "SELECT 1"}])
    none = {"train": [], "validation": ["dev.json"]}
    entries = {"a": entry("a"), "v": entry("v", databases_of="a", prefix="v_", questions=none)}
    with pytest.raises(ValueError, match=r"dock has questions in both .*of corpus v"):
        load(["a", "v"], entries)


def test_corrections_are_those_of_their_corpus(here):
    write_spider(here / "a", dev=["dock"])
    write_spider(here / "b", dev=["dock"])
    (here / "data/corrections").mkdir(parents=True)
    decision = {"database": "dock", "question": "dock 0?", "action": "exclude", "reason": "Vague."}
    (here / "data/corrections/b.yaml").write_text(yaml.safe_dump([decision]))
    entries = {"a": entry("a"), "b": entry("b", prefix="b_", corrections="b")}
    records = load(["a", "b"], entries)
    corrected = [r["question_id"] for r in records if "correction" in r["source"]]
    assert corrected == ["b_dock_eval_000"]


def test_misspelt_names_of_an_entry_that_is_not_chosen_are_all_told(here):
    (here / "data/corrections").mkdir(parents=True)
    (here / "data/corrections/spider.yaml").write_text("[]")
    entries = {"a": entry("a", corrections="spider"), "b": entry("b"), "c": entry("c")}
    parse_corpora("a", entries)
    entries["b"] |= {"corrections": "spidre"}
    entries["c"] |= {"layout": "brid"}
    with pytest.raises(InputError) as caught:
        parse_corpora("a", entries)
    assert str(caught.value).splitlines() == [
        "params.yaml: corpora.b.corrections: expected a file in data/corrections, without its"
        " ending, or null, found 'spidre': close to it: spider (1 known)",
        "params.yaml: corpora.c.layout: expected one of spider, spider_syn, bird, synsql, found"
        " 'brid'",
    ]


# --- the stages


class SeveralWorld(World):
    """Spider's layout (`local`), BIRD, and a variant that asks the databases of `local`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        write_bird(folder / "data/bird")
        write_json(folder / "variant/dev.json", VARIANT)
        self.params["corpora"]["variant"] = entry(
            "variant",
            databases_of="local",
            prefix="variant_",
            license="mit",
            questions={"train": [], "validation": ["dev.json"]},
        )
        self.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        self.change("corpus", ["local", "bird", "variant"])
        self.drop_targets()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = SeveralWorld(folder)
        world.run_to("export_dataset")
        world.run("export_huggingface", "export_trainers", "report_dataset")
    return world


def test_all_questions_reach_the_product_or_are_excluded(built):
    metrics = built.json("metrics/counts.json")
    assert metrics["corpus"]["bird"] == {"loaded": 6, "usable": 6, "selected": 6}
    assert metrics["corpus"]["variant"]["loaded"] == 2
    assert sum(counts["loaded"] for counts in metrics["corpus"].values()) == metrics["loaded"]
    assert sum(counts["selected"] for counts in metrics["corpus"].values()) == metrics["selected"]
    assert metrics["selected"] + sum(metrics["excluded"].values()) == metrics["loaded"]
    assert sorted(metrics["database"]) == ["harbour", "library", "school_meals", "ski_resorts"]


def test_dataset_of_several_corpora_validates(built, monkeypatch):
    monkeypatch.chdir(built.folder)
    done = run(
        built.folder,
        "python",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "from stages.validate_dataset import main; main('--validate')",
        check=False,
    )
    assert "no errors" in output(done), output(done)


def test_shared_database_is_kept_once(built):
    databases = built.json("data/databases/manifest.json")["databases"]
    assert {name: item["origin"]["corpus"] for name, item in databases.items()} == {
        "harbour": "local",
        "library": "local",
        "school_meals": "bird",
        "ski_resorts": "bird",
    }


def test_data_source_of_a_row_is_its_own_corpus(built):
    from pyarrow import parquet

    rows = parquet.read_table(built.folder / "data/exports/skyrl/eval.parquet").to_pylist()
    found = {(row["extra_info"]["database_name"], row["data_source"]) for row in rows}
    assert found >= {
        ("library", "answerkey/local"),
        ("library", "answerkey/variant"),
        ("ski_resorts", "answerkey/bird"),
    }


def test_card_tells_of_every_corpus_and_licence(built):
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(built.folder / "data/exports/huggingface/README.md")
    assert card.data.license == ["other", "cc-by-sa-4.0", "mit"]
    for words in (
        "the corpora `local` and `bird` and `variant`",
        "Questions: train.json, dev.json of the corpus `bird`.",
        "2 copied from `bird`, 2 made from SQL text of `local`",
        "Licence of `bird`: cc-by-sa-4.0.",
        "6 of `bird`",
    ):
        assert words in card.text


def test_report_has_a_table_of_the_corpora(built):
    page = (built.folder / "reports/dataset.html").read_text(encoding="utf-8")
    assert page.count('<table id="corpora">') == 1
    assert "<title>Dataset report: local, bird, variant</title>" in page
    filters = re.search(r'<select id="filter-corpus".*?</select>', page, re.DOTALL)[0]
    assert re.findall(r'value="(\w+)"', filters) == ["bird", "local", "variant"]


def test_changed_entry_of_another_corpus_changes_no_byte(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = SeveralWorld(tmp_path)
    world.change("corpus", "bird")
    world.run("download_databases", "load_questions")
    before = {p: p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file()}
    inode = (tmp_path / "data/databases/ski_resorts/ski_resorts.sqlite").stat().st_ino
    world.change("corpora.local.license", "mit")
    shutil.rmtree(tmp_path / "corpus")
    world.run("download_databases", "load_questions")
    assert {p: p.read_bytes() for p in (tmp_path / "data").rglob("*") if p.is_file()} == before
    assert (tmp_path / "data/databases/ski_resorts/ski_resorts.sqlite").stat().st_ino == inode


def test_hub_and_directory_stand_in_one_dataset(tmp_path, monkeypatch):
    import pyarrow
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    world = SeveralWorld(tmp_path)
    sink = pyarrow.BufferOutputStream()
    row = {"db_id": ["piste"], "query": ["SELECT 1"], "question": ["?"]}
    parquet.write_table(pyarrow.table(row), sink)
    source = make_database(tmp_path / "piste.sqlite", RESORTS)
    hub = {
        "org/questions": {COMMIT: {"t.parquet": sink.getvalue().to_pybytes()}},
        "org/files": {COMMIT: {"piste.sqlite": source.read_bytes()}},
    }
    place = {"repo_id": "org/files", "revision": COMMIT, "path": "{db_id}.sqlite"}
    world.params["corpora"]["hubbed"] = {
        "origin": "hub",
        "db_list": ["piste"],
        "prefix": "hub_",
        "questions": {
            "repo_id": "org/questions",
            "revision": COMMIT,
            "files": {"train": ["t.parquet"], "validation": []},
        },
        "databases": {"kind": "files", "files": place},
    }
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        start(hub)
        world.change("corpus", ["bird", "hubbed"])
        world.run("download_databases", "load_questions", "assign_splits")
    databases = world.json("data/databases/manifest.json")["databases"]
    assert {name: entry["origin"]["kind"] for name, entry in databases.items()} == {
        "hub_piste": "files",
        "school_meals": "file",
        "ski_resorts": "file",
    }
    assert (tmp_path / "data/databases/hub_piste/hub_piste.sqlite").is_file()
    ids = [record["question_id"] for record in world.lines("data/interim/splits.jsonl")]
    assert ids[0] == "hub_piste_train_000"
    assert world.json("data/interim/corpora.json")["hubbed"]["license"] is None


# --- under DVC


@pytest.mark.slow
def test_sample_and_bird_are_built_together_by_dvc(tmp_path):
    folder = make_checkout(tmp_path / "answerkey")
    write_bird(folder / "data/bird")
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    assert "\ncorpus: sample " in text
    path.write_text(text.replace("\ncorpus: sample ", "\ncorpus: [sample, bird] "))
    run(folder, "dvc", "repro")
    metrics = json.loads((folder / "metrics/counts.json").read_text(encoding="utf-8"))
    assert metrics["corpus"]["sample"]["loaded"] == 420
    assert metrics["corpus"]["bird"]["usable"] == 6
    commit(folder, "Two corpora")
    # An entry that is not chosen reruns what reads the entries, which changes nothing.
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("root: data/local", "root: data/local  # here\n    prefix: x_", 1).replace(
            "    prefix: null  # before", "    # before", 1
        )
    )
    done = run(folder, "dvc", "repro")
    assert sorted(stages_to_run(output(done))) == ["download_databases", "load_questions"]
