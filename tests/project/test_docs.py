"""All pages together: they are listed, their links lead somewhere, and they are short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shared.paths import ROOT

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
