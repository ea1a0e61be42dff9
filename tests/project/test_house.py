"""docs/house.md tells the truth: its drawing, its rooms, their imports, and who lists them."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

import networkx
import pytest
import yaml

from tests.shared.paths import ROOT, list_imports
from tests.shared.transcripts import read_section

PAGE = ROOT / "docs/house.md"
LIBRARY = ROOT / "answerkey"
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
NAME = re.compile(r"`([\w.]+)`")


def read_rooms() -> dict[str, tuple[str, str]]:
    """The last two cells of each room's row: what it imports, and who lists it."""
    rows = re.findall(r"^\| (`.+) \|$", read_section(PAGE, "Rooms"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert all(len(row) == 4 for row in cells)
    return {row[0].strip("`"): (row[2], row[3]) for row in cells}


ROOMS = read_rooms()


def list_rooms() -> set[str]:
    """The folders of the library, and the files that stand beside them."""
    files = {path.relative_to(LIBRARY).parts[0] for path in LIBRARY.rglob("*.py")}
    return files - {"__init__.py"}


def name_room(module: str) -> str | None:
    """The room of a module of the library: `answerkey.sql.scopes` -> `sql`."""
    first, *rest = module.split(".")
    if first != "answerkey" or not rest:
        return None
    return rest[0] if (LIBRARY / rest[0]).is_dir() else f"{rest[0]}.py"


@cache
def read_imports() -> dict[str, set[str]]:
    imports: dict[str, set[str]] = defaultdict(set)
    for path in LIBRARY.rglob("*.py"):
        room = path.relative_to(LIBRARY).parts[0]
        imports[room] |= {name_room(module) or room for module in list_imports(path)} - {room}
    return imports


def test_page_has_every_room() -> None:
    assert set(ROOMS) == list_rooms()


@pytest.mark.parametrize("room", ROOMS)
def test_page_says_what_a_room_imports(room: str) -> None:
    assert set(NAME.findall(ROOMS[room][0])) == read_imports()[room]


@pytest.mark.parametrize("room", ROOMS)
def test_page_says_which_stages_list_a_room(room: str) -> None:
    listed = {
        name
        for name, stage in STAGES.items()
        if any(
            dep == f"answerkey/{room}" or dep.startswith(f"answerkey/{room}/")
            for dep in stage["deps"]
        )
    }
    told = ROOMS[room][1]
    names = set(NAME.findall(told))
    if told.startswith("every stage"):
        names = set(STAGES) - names
    assert names == listed


LAYER = re.compile(r'subgraph \w+\["[^"]+"\]\n(.+?)\n    end', re.DOTALL)


def read_drawing() -> tuple[list[list[str]], set[tuple[str, str]]]:
    """The rooms of each layer, the highest layer first, and the arrows."""
    drawing = PAGE.read_text(encoding="utf-8").partition("```mermaid\n")[2].partition("```")[0]
    names, layers = {}, []
    for layer in LAYER.findall(drawing):
        rooms = [line.strip().partition("[") for line in layer.splitlines()]
        names |= {key: shown.strip('"]') or key for key, _, shown in rooms}
        layers.append([names[key] for key, _, _ in rooms])
    arrows = re.findall(r"^    (\w+) --> (.+)$", drawing, re.MULTILINE)
    return layers, {
        (names[source], names[target])
        for source, targets in arrows
        for target in targets.split(" & ")
    }


def test_drawing_has_every_room_and_every_arrow_that_does_not_follow_from_others() -> None:
    layers, arrows = read_drawing()
    assert sorted(room for layer in layers for room in layer) == sorted(list_rooms())
    imports = networkx.DiGraph(
        (room, other) for room in list_rooms() for other in read_imports()[room]
    )
    assert arrows == set(networkx.transitive_reduction(imports).edges)


def test_no_arrow_goes_up() -> None:
    layers, arrows = read_drawing()
    heights = {room: -depth for depth, layer in enumerate(layers) for room in layer}
    assert [arrow for arrow in arrows if heights[arrow[0]] < heights[arrow[1]]] == []
