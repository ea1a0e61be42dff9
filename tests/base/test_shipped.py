"""Files that the package has for projects: theirs go first, and DVC notices them."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.shipped import find_dep, find_file
from answerkey.risk.verdicts import list_unused, read_verdicts
from tests.shared.paths import ROOT

PRECISION = Path("data/flag_precision.json")
PIPELINE = """
stages:
  compare_questions:
    deps: [data/verdicts, {dep}]
"""


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("here")
def test_file_of_the_project_goes_before_the_package() -> None:
    assert find_file(PRECISION) == ROOT / PRECISION
    assert find_file(Path("data/nothing.json")) == Path("data/nothing.json")
    write(PRECISION)
    assert find_file(PRECISION) == PRECISION


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "dep", ["data", "data/flag_precision.json", '"${compare_questions.flag_precision}"']
)
def test_file_that_a_stage_depends_on_is_used(dep: str) -> None:
    write(Path("dvc.yaml"), PIPELINE.format(dep=dep))
    write(PRECISION)
    assert find_dep(PRECISION, stage="compare_questions") == PRECISION


@pytest.mark.usefixtures("here")
def test_file_that_dvc_would_not_notice_is_refused() -> None:
    write(Path("dvc.yaml"), PIPELINE.format(dep="data/corrections"))
    assert find_dep(PRECISION, stage="compare_questions") == ROOT / PRECISION
    write(PRECISION)
    words = r"expected - data/flag_precision\.json among deps of compare_questions$"
    with pytest.raises(InputError, match=words):
        find_dep(PRECISION, stage="compare_questions")


@pytest.mark.usefixtures("here")
def test_verdicts_of_the_package_count_for_its_list_of_corrections_alone() -> None:
    write(Path("data/verdicts/ours.jsonl"), '{"not read": 1}\n')
    unused = {"ours"}
    assert read_verdicts(unused=unused) == []
    assert read_verdicts(used={None, "ours_too"}, unused=unused) == []
    spider = read_verdicts(used={"spider"}, unused=unused)
    lines = (ROOT / "data/verdicts/spider.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(spider) == len(lines) > 4000
    write(Path("data/verdicts/spider.jsonl"), "".join(f"{line}\n" for line in lines[:2]))
    assert read_verdicts(used={"spider"}, unused=unused)[0].where == "data/verdicts/spider.jsonl:1"
    assert len(read_verdicts(used={"spider"}, unused=unused)) == 2
    # The list is the package's, and no corpus uses it.
    assert list_unused({None}) == ["spider"]
    assert list_unused({"spider"}) == []
