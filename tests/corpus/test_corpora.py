"""Corpora: entries that can be meant, one name a database, and roots that DVC watches."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.corpus.corpora import (
    list_unshared,
    name_databases,
    parse_corpora,
    watch_roots,
)
from answerkey.sections.corpora import check_corpora
from answerkey.sections.whole_file import read_params
from stages import download_databases, load_questions
from tests.shared.project_world import make_entry, write_params


@pytest.mark.parametrize("chosen", [["a", "b", "a"], "c"])
def test_choice_that_cannot_be_meant_is_refused(chosen):
    with pytest.raises(ValueError, match=r"corpus is .*, expected some of a, b, each once"):
        parse_corpora(chosen, {"a": make_entry("a"), "b": make_entry("b")})


def test_unknown_layouts_of_entries_that_are_not_chosen_are_all_told() -> None:
    entries = {
        "a": make_entry("a"),
        "b": make_entry("b", layout="brid"),
        "c": make_entry("c", layout="Bird"),
    }
    with pytest.raises(InputError) as caught:
        parse_corpora("a", entries)
    assert str(caught.value).splitlines() == [
        f"params.yaml: corpora.{name}.layout: expected one of own, spider, spider_syn, bird,"
        f" synsql, defog, text2sql-data, spider2-lite, found {found!r}"
        for name, found in (("b", "brid"), ("c", "Bird"))
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "a and b both have a database Dock: .*corpora.b.prefix: b_; .*b.databases_of: a"),
        ({"prefix": "b_"}, None),
        ({"databases_of": "a"}, "would give the same ids to questions of database dock: .*b_"),
        ({"databases_of": "a", "prefix": "b_"}, None),
        ({"databases_of": "c", "prefix": "b_"}, "both have a database Dock: expected another pref"),
    ],
)
def test_clash_of_names_names_both_corpora_and_the_key(changes, words):
    entries = {
        "a": make_entry("a"),
        "b": make_entry("b", **changes),
        "c": make_entry("c"),
    }
    first, second = parse_corpora(["a", "b"], entries)
    db_id = "dock" if changes.get("databases_of") == "a" else "Dock"  # case makes no other name
    chosen = [(first, ["dock"]), (second, [db_id])]
    if words is None:
        assert name_databases(chosen)["dock"][0].name == "a"
    else:
        with pytest.raises(ValueError, match=words):
            name_databases(chosen)


def test_ids_that_differ_in_case_alone_clash():
    entries = {"a": make_entry("a"), "b": make_entry("b", databases_of="a", prefix="B_")}
    first, second = parse_corpora(["a", "b"], entries)
    with pytest.raises(ValueError, match="the same ids to questions of database dock"):
        name_databases([(first, ["b_dock", "dock"]), (second, ["dock"])])


# --- roots

STAGE = "load_questions"
ENTRIES = {
    "known": make_entry("data/known"),
    "below": make_entry("data/known/below"),
    "beside": make_entry("data/known-too"),
    "guest": make_entry("data/known/guest", databases_of="beside"),
    "far": make_entry("/far"),
}


def watch(chosen: Any, *deps: str) -> tuple[list[str], list[str]]:
    """What a stage says, and its deps after it."""
    pipeline = {"stages": {STAGE: {"cmd": "true", "deps": ["stages/load_questions.py", *deps]}}}
    Path("dvc.yaml").write_text(yaml.safe_dump(pipeline, indent=2), encoding="utf-8")
    text = Path("dvc.yaml").read_text(encoding="utf-8").replace("\n    - ", "\n      - ")
    Path("dvc.yaml").write_text(text, encoding="utf-8")
    told = watch_roots(parse_corpora(chosen, ENTRIES), check_corpora(ENTRIES), stage=STAGE)
    written = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))
    return told, written["stages"][STAGE]["deps"]


@pytest.mark.parametrize("dep", ["data/known", "${corpora.known.root}", "./data/known/", "data"])
def test_root_that_is_a_dep_or_below_one_is_tracked(here: Path, dep: str) -> None:
    deps = [dep, "${corpora.far.root}"]
    assert watch(["known", "below", "far"], *deps) == ([], ["stages/load_questions.py", *deps])


@pytest.mark.parametrize(
    ("chosen", "roots"),
    [
        ("beside", ["${corpora.beside.root}"]),
        # Its questions are tracked, and the databases that are another's are not.
        ("guest", ["${corpora.guest.root}", "${corpora.beside.root}"]),
    ],
)
def test_root_that_is_no_dep_is_written_in_the_place_of_others(
    here: Path, chosen: str, roots: list[str]
) -> None:
    (told,), deps = watch(chosen, "${corpora.known.root}")
    assert deps == [*roots, "stages/load_questions.py"]
    assert told.startswith(f"warning: dvc.yaml: {STAGE} depends on data/known-too now, the root of")


def test_run_without_dvc_is_not_asked(here: Path) -> None:
    chosen = parse_corpora("beside", ENTRIES)
    assert watch_roots(chosen, check_corpora(ENTRIES), stage=STAGE) == []
    assert not Path("dvc.yaml").exists()


@pytest.mark.parametrize("stage", [download_databases, load_questions])
def test_stage_that_cannot_write_a_root_among_its_deps_does_not_run(
    here: Path, stage: ModuleType
) -> None:
    name = stage.__name__.rpartition(".")[2]
    write_params(Path("params.yaml"), corpus="beside", corpora=ENTRIES)
    Path("dvc.yaml").write_text(f"stages: {{{name}: {{deps: [data/known]}}}}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"expected a list of deps of {name}, one a line"):
        stage.main(read_params())


@pytest.mark.parametrize(
    ("ignored", "in_dvc", "loose"),
    [
        ("/mine/?*", [], ["mine/dev.json", "mine/database"]),
        ("/mine/?*", ["mine/database.dvc"], ["mine/dev.json"]),
        ("/mine/?*", ["mine/database.dvc", "mine/dev.json.dvc"], []),
        ("/mine", ["mine.dvc"], []),
        ("", [], []),
    ],
)
def test_corpus_that_neither_git_nor_dvc_knows_is_told(here, ignored, in_dvc, loose):
    subprocess.run(["git", "init", "-q"], check=True, timeout=60)
    Path(".gitignore").write_text(ignored)
    Path("mine/database").mkdir(parents=True)
    for name in ("mine/dev.json", *in_dvc):
        Path(name).touch()
    entry = make_entry("mine", questions={"validation": ["dev.json"]})
    warnings = list_unshared(parse_corpora("mine", {"mine": entry}))
    told = [warning.split(" of corpus ")[0] for warning in warnings]
    assert told == ([f"warning: git ignores {', '.join(loose)}"] if loose else [])
    elsewhere = make_entry(here.parent / "elsewhere")
    assert list_unshared(parse_corpora("far", {"far": elsewhere})) == []


@pytest.mark.parametrize(
    ("written", "now"),
    [
        ('"2025-01-30"', "2025-01-30"),
        ("2025-01-30", "2025-01-30"),  # which YAML takes for a date
        ("2025-01-30 09:30:00", "2025-01-30 09:30:00"),  # and this for a time
        ("2025-01-30T10:30:00+01:00", "2025-01-30 09:30:00"),
        ("'2025-01-30T10:30+01:00'", "2025-01-30 09:30:00"),
        ("null", None),
    ],
)
def test_clock_of_a_corpus_is_that_of_all_that_ask_its_databases(tmp_path, written, now):
    path = tmp_path / "params.yaml"
    write_params(
        path,
        corpora={
            "sample": make_entry("data/sample", now="NOW"),
            "others": make_entry("data/others", databases_of="sample", prefix="o_"),
            "plain": make_entry("data/plain", prefix="p_"),
        },
    )
    path.write_text(path.read_text(encoding="utf-8").replace("NOW", written), encoding="utf-8")
    entries = read_params(path).corpora
    clocks = [corpus.now for corpus in parse_corpora(["sample", "others", "plain"], entries)]
    assert clocks == [now, now, None]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"now": "today"},
            "corpora.b.now: expected a date, or a time in UTC, such as '2025-01-30'",
        ),
        ({"now": 20250130}, "'2025-01-30T10:30:00.01:00', found 20250130"),
        ({"now": "2025-02-30"}, "found '2025-02-30'"),
        (
            {"now": "2025-01-30", "databases_of": "a"},
            "corpora.b: has now and databases_of: expected now in the entry a,",
        ),
    ],
)
def test_clock_that_cannot_be_meant_is_refused_with_what_was_expected(changes, words):
    with pytest.raises(InputError, match=words):
        check_corpora({"a": make_entry("a"), "b": make_entry("b", **changes)})
