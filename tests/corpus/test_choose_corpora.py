"""`answerkey choose`: which corpora there are in a dataset, and what DVC watches of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.command import main
from answerkey.corpus.choose_corpora import choose_corpora
from answerkey.corpus.corpora import list_idle_roots, parse_corpora
from answerkey.sections.whole_file import read_params
from tests.shared.paths import ROOT

FILES = (Path("params.yaml"), Path("dvc.yaml"))


@pytest.fixture
def project(here: Path) -> Path:
    for name in FILES:
        shutil.copy(ROOT / name, here)
    return here


def read_files() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in FILES]


def list_deps(stage: str) -> list[str]:
    """The deps of a stage that are roots of corpora."""
    deps = yaml.safe_load(Path("dvc.yaml").read_text(encoding="utf-8"))["stages"][stage]["deps"]
    return [dep.removeprefix("${corpora.") for dep in deps if dep.startswith("${corpora.")]


@pytest.mark.parametrize(
    ("names", "roots"),
    [
        (["bird"], ["bird.root}"]),
        (["local", "sample"], ["local.root}", "sample.root}"]),
        (["spider"], []),  # of the hub
        (["spider", "bird"], ["bird.root}"]),
    ],
)
def test_stages_depend_on_the_folders_of_chosen_corpora_alone(
    project: Path, names: list[str], roots: list[str]
) -> None:
    before = read_files()
    assert main(["choose", *names]) == 0
    corpus = read_params().corpus
    assert ([corpus] if isinstance(corpus, str) else corpus) == names
    assert list_deps("download_databases") == list_deps("load_questions") == roots
    lines = [set(text.splitlines()) for text in read_files()]
    others = [set(text.splitlines()) - new for text, new in zip(before, lines, strict=True)]
    assert [len(lost) for lost in others] == [1, 0 if "sample" in names else 1]
    choose_corpora(["sample"])
    assert [text.replace(" ", "") for text in read_files()] == [t.replace(" ", "") for t in before]


def test_held_out_corpus_and_the_owner_of_databases_are_watched_where_they_are_read(
    project: Path,
) -> None:
    params = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))
    guest = {"root": "data/guest", "databases_of": "local", "prefix": "guest_"}
    params["corpora"]["guest"] = params["corpora"]["sample"] | guest
    params["load_questions"]["held_out"] = ["bird"]
    params["corpus"] = "guest"
    Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    before = read_files()[0]
    told = choose_corpora([]).splitlines()
    assert told[0] == "params.yaml: corpus is guest"
    assert told[2].endswith("load_questions depends on data/guest and data/local and data/bird")
    assert list_deps("download_databases") == ["guest.root}", "local.root}"]
    assert list_deps("load_questions") == ["guest.root}", "local.root}", "bird.root}"]
    assert read_files()[0] == before
    assert choose_corpora([]) == told[0]


def test_what_is_no_entry_is_refused_and_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = read_files()
    with pytest.raises(SystemExit):
        main(["choose", "sample", "shop"])
    assert "expected some of sample, local, bird, spider" in capsys.readouterr().err
    assert read_files() == before


@pytest.mark.parametrize("deps", ["    deps: [data/verdicts]\n", ""])
def test_pipeline_without_a_list_of_deps_is_left_with_what_to_write(
    project: Path, deps: str
) -> None:
    stage = f"stages:\n  download_databases:\n    cmd: 'true'\n{deps}"
    Path("dvc.yaml").write_text(stage, encoding="utf-8")
    before = read_files()
    with pytest.raises(InputError, match=r"deps of download_databases.*\{corpora\.bird\.root\}"):
        choose_corpora(["bird"])
    assert read_files() == before


def test_root_of_a_corpus_that_is_not_chosen_is_warned_of(project: Path) -> None:
    entries = read_params().corpora
    chosen = {name: parse_corpora(name, entries) for name in ("sample", "bird")}
    assert list_idle_roots(chosen["sample"], stage="download_databases") == []
    (warning,) = list_idle_roots(chosen["bird"], stage="download_databases")
    assert warning.startswith("warning: dvc.yaml has the root of sample among deps of download_d")
    assert warning.endswith("until you run `answerkey choose`")
