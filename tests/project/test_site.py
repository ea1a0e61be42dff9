"""The site: a strict build, in which each page of the docs stands and each public name is told."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from answerkey import reward
from tests.shared.paths import ROOT

for package in ("material", "mkdocstrings_handlers.python"):
    pytest.importorskip(package, reason=f"needs {package} of the extra `site`")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder


def read(site: Path, page: str) -> str:
    return (site / page / "index.html").read_text(encoding="utf-8")


def test_each_page_of_docs_is_a_page_of_the_site(site: Path) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"README"}
    assert names == {
        path.parent.name for path in site.glob("docs/*/index.html") if path.parent != site / "docs"
    }
    assert '<img alt="The report of the sample run" src="docs/report.png"' in read(site, "")


def test_link_to_a_file_that_is_no_page_is_its_text(site: Path) -> None:
    words = "holds the scripts that dvc.yaml runs"
    assert words in read(site, "docs/house")
    assert "[dvc.yaml](../dvc.yaml)" in (ROOT / "docs/house.md").read_text(encoding="utf-8")
    assert 'href="../../benchmarks/#the-reward"' in read(site, "docs/evaluating")


def test_reference_has_every_public_name(site: Path) -> None:
    page = read(site, "docs/reference/reward")
    headings = set(re.findall(r'<h2 id="answerkey\.reward\.(\w+)"', page))
    assert headings == set(reward.__all__)
    for name, room in (("load", "loading"), ("evaluate", "evaluate")):
        assert f'id="answerkey.{room}.{name}"' in read(site, f"docs/reference/{name}")
    environments = read(site, "docs/reference/environments")
    modules = {path.stem for path in (ROOT / "answerkey/environments").glob("[a-z]*.py")}
    assert modules <= set(re.findall(r'id="answerkey\.environments\.(\w+)\.', environments))


def test_docstring_has_its_examples_and_terms(site: Path) -> None:
    page = read(site, "docs/reference/reward")
    text = unescape(re.sub(r"<[^>]+>", "", page))
    example = '>>> score([("b",), ("a",)], ["a", "b"], order_matters=False)\n1.0\n'
    assert example in text
    assert "doctest" not in text
    assert "<blockquote>" not in page
    assert "<li><code>rule</code>: " in page.replace("\n", "")
