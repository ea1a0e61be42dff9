"""The rooms of the library: which of them may import which others."""

from __future__ import annotations

import sys
from pathlib import Path

import networkx
import pytest

from tests.shared.paths import ROOT, list_imports

# What they may import besides, which needs the standard library alone, too.
PLAIN = (
    *("answerkey.sqlite.files", "answerkey.base.errors", "answerkey.base.kinds"),
    *("answerkey.base.records", "answerkey.dataset"),
)
# All sections, to check params.yaml as a whole: what a stage reads of them is among its deps.
CHECK = ("answerkey.base.params", "answerkey.sections.whole_file")
# What these use if it is there (orjson), or to read a Parquet file alone.
OPTIONAL = ("orjson", "pyarrow")


@pytest.mark.parametrize(
    ("room", "rooms"),
    [
        ("sqlite", {"sqlite"}),
        ("scoring", {"scoring", "sqlite"}),
        ("evaluation", {"evaluation", "scoring", "sqlite"}),
    ],
)
def test_scoring_and_evaluation_need_the_standard_library_alone(room: str, rooms: set[str]) -> None:
    files = sorted((ROOT / "answerkey" / room).rglob("*.py"))
    assert files
    files += [ROOT / f"{name.replace('.', '/')}.py" for name in PLAIN]
    for path in files:
        for name in list_imports(path):
            first, _, rest = name.partition(".")
            is_own = first == "answerkey" and rest.partition(".")[0] in rooms
            is_own |= name == "answerkey.base" or name.startswith(PLAIN)
            assert is_own or first in (*OPTIONAL, *sys.stdlib_module_names), (path, name)


def test_no_module_of_the_library_imports_a_stage() -> None:
    for path in (ROOT / "answerkey").rglob("*.py"):
        roots = {name.partition(".")[0] for name in list_imports(path)}
        assert "stages" not in roots, path


def name_module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_no_module_imports_itself_through_others() -> None:
    modules = {name_module(path): path for path in (ROOT / "answerkey").rglob("*.py")}
    graph = networkx.DiGraph()
    for module, path in modules.items():
        if module == "answerkey":  # which names the others for whoever asks, and loads none
            continue
        graph.add_edges_from((module, name) for name in list_imports(path) if name in modules)
    assert list(networkx.simple_cycles(graph)) == []
    rooms = networkx.DiGraph()
    for edge in graph.edges - {CHECK}:
        source, target = ((*name.split("."), "")[:2] for name in edge)
        if source != target and target[0] == "answerkey" and target[1]:
            rooms.add_edge(source[1], target[1])
    assert list(networkx.simple_cycles(rooms)) == []


def test_no_script_has_more_than_100_lines() -> None:
    for path in (ROOT / "stages").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 100, path
