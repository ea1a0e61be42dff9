"""docs/house.md tells the truth: its rooms, what they import, and which stages list them."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

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
