"""Corpora: entries that can be meant, one name a database, and roots that DVC watches."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from answerkey.corpus.corpora import (
    Layout,
    check_roots,
    name_databases,
    parse_corpora,
    parse_corpus,
    suggest_names,
)
from answerkey.errors import InputError
from answerkey.sections.corpora import check_corpora
from stages import download_databases, load_questions
from tests.shared.paths import ROOT
from tests.shared.project_world import write_params


def entry(root: str, **others: Any) -> dict[str, Any]:
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    files = {"origin": "directory", "root": root, "db_list": "all", "questions": questions}
    return files | {"license": None, "corrections": None} | others


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


def test_misspelt_names_of_an_entry_that_is_not_chosen_are_all_told(here: Path) -> None:
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
        "params.yaml: corpora.c.layout: expected one of spider, spider_syn, bird, synsql,"
        " text2sql-data, spider2-lite, found 'brid'",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fill_empty": 0}, "fill_empty: expected a whole number from 1 to 250, or null, found 0"),
        ({"databases_of": "x", "fill_empty": 9}, "fill_empty and databases_of: set it for x"),
        ({"layout": "bird", "fill_empty": 9}, "fill_empty: expected null, .*none of: synsql"),
        ({"layout": "brid"}, r"corpora\.tried\.layout: expected one of spider, .*, found 'brid'"),
    ],
)
def test_entry_that_cannot_be_meant_is_named(change: dict[str, Any], words: str) -> None:
    tried = entry("x", layout="synsql") | change
    with pytest.raises(InputError, match=words):
        parse_corpus("tried", tried, {"x": entry("x", layout="synsql")})


def test_layout_keeps_no_field_that_the_pipeline_writes():
    with pytest.raises(ValueError, match="kept has 'file'"):
        Layout(question="q", gold_sql="s", databases=("d",), kept=("level", "file"))


def test_every_entry_of_the_project_can_be_read() -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    assert set(params["corpora"]) == {"sample", "local", "spider", "bird"}
    for name, found in params["corpora"].items():
        assert parse_corpus(name, found, params["corpora"]).name == name


def test_suggestions_are_few():
    assert suggest_names("x", []) == "none is known"
    assert suggest_names("x", [f"db_{n}" for n in range(9)]).endswith(", ...")


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
def test_clash_of_names_names_both_corpora_and_the_key(changes, words):
    entries = {"a": entry("a"), "b": entry("b", **changes), "c": entry("c")}
    chosen = [(corpus, ["dock"]) for corpus in parse_corpora(["a", "b"], entries)]
    if words is None:
        assert name_databases(chosen)["dock"].corpus.name == "a"
    else:
        with pytest.raises(ValueError, match=words):
            name_databases(chosen)


@pytest.mark.parametrize("changes", [{}, {"databases_of": "a", "prefix": "b_"}])
def test_names_that_differ_in_case_alone_clash(changes):
    entries = {"a": entry("a"), "b": entry("b", **changes)}
    first, second = parse_corpora(["a", "b"], entries)
    with pytest.raises(ValueError, match="both have a database Dock"):
        name_databases([(first, ["dock"]), (second, ["Dock"])])


@pytest.mark.parametrize("prefix", ["b_", "B_"])
def test_ids_that_differ_in_case_alone_clash(prefix):
    entries = {"a": entry("a"), "b": entry("b", databases_of="a", prefix=prefix)}
    first, second = parse_corpora(["a", "b"], entries)
    with pytest.raises(ValueError, match="a and b would give questions of database dock the same"):
        name_databases([(first, ["b_dock", "dock"]), (second, ["dock"])])


# --- roots

STAGE = "load_questions"
DOWNLOAD = {"attempts": 1, "backoff_s": 0, "deadline_s": 1}
ENTRIES = {
    "known": entry("data/known"),
    "below": entry("data/known/below"),
    "beside": entry("data/known-too"),
    "guest": entry("data/known/guest", databases_of="beside"),
    "hosted": entry("data/elsewhere", databases_of="known"),
}


def check(chosen: Any, *deps: str) -> None:
    pipeline = {"stages": {STAGE: {"deps": ["stages/load_questions.py", *deps]}}}
    Path("dvc.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    check_roots(parse_corpora(chosen, ENTRIES), check_corpora(ENTRIES), stage=STAGE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("dep", ["data/known", "${corpora.known.root}", "./data/known/", "data"])
def test_root_that_is_a_dep_or_below_one_is_tracked(here: Path, dep: str) -> None:
    check(["known", "below"], dep)


def test_absolute_root_may_be_named_by_its_entry(here: Path, tmp_path: Path) -> None:
    entries = {"far": entry(str(tmp_path / "far"))}
    Path("dvc.yaml").write_text(
        yaml.safe_dump({"stages": {STAGE: {"deps": ["${corpora.far.root}"]}}}), encoding="utf-8"
    )
    check_roots(parse_corpora("far", entries), check_corpora(entries), stage=STAGE)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (
            "beside",
            r'data/known-too, .* - "\$\{corpora\.beside\.root\}" among deps of load_questio',
        ),
        ("hosted", r'data/elsewhere, .* - "\$\{corpora\.hosted\.root\}" among deps of load_questi'),
        # Its questions are tracked, and the databases that are another's are not.
        ("guest", r'data/known-too, the root of corpus beside: .*\{corpora\.beside\.root\}"'),
    ],
)
def test_root_that_is_no_dep_is_refused_with_the_line_to_add(
    here: Path, chosen: str, words: str
) -> None:
    with pytest.raises(ValueError, match=rf"dvc\.yaml: DVC would not notice .*{words}"):
        check(chosen, "${corpora.known.root}")


def test_run_without_dvc_is_not_asked(here: Path) -> None:
    check_roots(parse_corpora("beside", ENTRIES), check_corpora(ENTRIES), stage=STAGE)


@pytest.mark.parametrize("stage", [download_databases, load_questions])
def test_stage_that_reads_a_root_which_is_no_dep_does_not_run(
    here: Path, stage: ModuleType
) -> None:
    name = stage.__name__.rpartition(".")[2]
    path = Path("params.yaml")
    write_params(path, corpus="beside", corpora=ENTRIES, download=DOWNLOAD)
    pipeline = {"stages": {name: {"deps": ["data/known"]}}}
    Path("dvc.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    with pytest.raises(ValueError, match=f"would not notice changes in .* among deps of {name}"):
        stage.main()
