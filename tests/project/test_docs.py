"""All pages together: they are listed, what they name is there, and their transcripts are those of
a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from answerkey.flags import list_flags
from answerkey.risk.verdicts import read_verdict_file
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.transcripts import replay

PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")))


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of all headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in list_anchors(target), link


def test_index_lists_every_page() -> None:
    listed = set(re.findall(r"^\| \[([\w-]+\.md)\]", read(ROOT / "docs/README.md"), re.MULTILINE))
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("name", sorted({*PAGES} - {"docs/extending.md"}))  # which makes files
def test_paths_that_are_named_exist(name: str) -> None:
    rooms = "benchmarks|docs|examples|templates|tests"
    paths = set(re.findall(rf"(?<![\w./-])(?:{rooms})/[\w./-]*\w", read(ROOT / name)))
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_page_of_probes_has_the_tables_that_are_printed_and_a_verdict(tmp_path: Path) -> None:
    text = read(ROOT / "docs/probes.md")
    precision = json.loads(read(ROOT / "data/flag_precision.json"))
    assert "\n".join(list_flags(precision)) in text, "put in what python -m answerkey.flags prints"
    (verdict,) = re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "shown.jsonl"
    path.write_text(json.dumps(json.loads(verdict)) + "\n", encoding="utf-8")
    assert [found.source for found in read_verdict_file(path)] == ["person:kim"]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/rollouts.md", "docs/evaluating.md"])
def test_snippet_and_transcripts_are_those_of_a_run(
    page: str, finished: Path, tmp_path: Path, expect_page: Callable[[str, str], None]
) -> None:
    text = read(ROOT / page)
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    folder = shutil.copytree(finished, tmp_path / "copy", symlinks=True)
    run(folder, sys.executable, "-c", snippet)
    expect_page(page, replay(text, folder))
