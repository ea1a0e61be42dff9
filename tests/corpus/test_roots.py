"""roots: a corpus that DVC does not watch is refused with the line to add."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from answerkey.corpus.corpora import check_roots, parse_corpora
from stages import download_databases, load_questions
from tests.shared.paths import ROOT
from tests.shared.project_world import write_params

STAGE = "load_questions"
DOWNLOAD = {"attempts": 1, "backoff_s": 0, "deadline_s": 1}


def entry(root: str, **more: Any) -> dict[str, Any]:
    questions = {"train": ["asked.json"], "validation": []}
    return {"origin": "directory", "root": root, "db_list": "all", "questions": questions, **more}


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
    check_roots(parse_corpora(chosen, ENTRIES), ENTRIES, stage=STAGE)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("dep", ["data/known", "${corpora.known.root}", "./data/known/", "data"])
def test_root_that_is_a_dep_or_below_one_is_tracked(dep: str) -> None:
    check(["known", "below"], dep)


def test_absolute_root_may_be_named_by_its_entry(tmp_path: Path) -> None:
    entries = {"far": entry(str(tmp_path / "far"))}
    Path("dvc.yaml").write_text(
        yaml.safe_dump({"stages": {STAGE: {"deps": ["${corpora.far.root}"]}}}), encoding="utf-8"
    )
    check_roots(parse_corpora("far", entries), entries, stage=STAGE)


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
def test_root_that_is_no_dep_is_refused_with_the_line_to_add(chosen: str, words: str) -> None:
    with pytest.raises(ValueError, match=rf"dvc\.yaml: DVC would not notice .*{words}"):
        check(chosen, "${corpora.known.root}")


def test_run_without_dvc_is_not_asked() -> None:
    check_roots(parse_corpora("beside", ENTRIES), ENTRIES, stage=STAGE)


@pytest.mark.parametrize("stage", ["download_databases", "load_questions"])
def test_every_corpus_of_the_project_is_tracked(
    stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    entries = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))["corpora"]
    check_roots(parse_corpora(list(entries), entries), entries, stage=stage)


@pytest.mark.parametrize("stage", [download_databases, load_questions])
def test_stage_that_reads_a_root_which_is_no_dep_does_not_run(stage: ModuleType) -> None:
    name = stage.__name__.rpartition(".")[2]
    path = Path("params.yaml")
    write_params(path, corpus="beside", corpora=ENTRIES, download=DOWNLOAD)
    pipeline = {"stages": {name: {"deps": ["data/known"]}}}
    Path("dvc.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    with pytest.raises(ValueError, match=f"would not notice changes in .* among deps of {name}"):
        stage.main()
