"""What counts as the code of a shard: what decides its bytes, and nothing that stands near it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from answerkey.base.code import hash_code, hash_function
from answerkey.doubts.audit import audit_task
from answerkey.gold.execution import execute_task
from answerkey.gold.parsing import parse_task
from answerkey.suites.database_suites import make_task_suites
from tests.shared.paths import ROOT

MAKERS = {
    "answers": execute_task,
    "parses": parse_task,
    "audit": audit_task,
    "suites": make_task_suites,
}
# Shards that open databases have the code of the engine in their keys, beside their own.
ENGINE = ("answerkey.engines.sqlite.engine", "ENGINE")
# What is changed in a file, and the shards that are made again for it.
CHANGES = {
    "a line of the log": ("answerkey/base/log.py", "999.95", "999.96", set()),
    "a message": ("answerkey/base/errors.py", "Out of memory", "No memory", set()),
    "a message of records": ("answerkey/base/records.py", "not JSON", "no JSON", set()),
    "a name in base": ("answerkey/base/stage.py", "parser", "reader", set()),
    "a check of params": ("answerkey/sections/generate_test_suites.py", "= 20", "= 21", set()),
    "how work is shared": ("answerkey/shards/runs.py", "64", "32", set()),
    "what a stage logs": ("stages/compute_gold_answers.py", " executed: ", " ran: ", set()),
    "a reason": ("answerkey/base/reasons.py", '"blob"', '"binary"', {*MAKERS, "engine"}),
    "the guard": (
        "answerkey/engines/sqlite/guard.py",
        "NOT_A_SELECT",
        "SQL_ERROR",
        {"audit", "suites", "engine"},
    ),
    "a probe": ("answerkey/doubts/answers.py", "many_rows", "rows", {"audit"}),
    "a word of English": ("answerkey/english/comparatives.py", "|never", "", {"audit"}),
    "a neighbor": ("answerkey/alternatives/neighbors.py", "join_type", "outer", {"suites"}),
    "the canonical form": ("answerkey/sql/canonical.py", "exp.GT", "exp.LT", {"parses"}),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    for name in ("answerkey", "stages"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    return folder


def test_hash_is_that_of_the_code_below_the_root(checkout: Path) -> None:
    for maker in MAKERS.values():
        known = hash_function(maker.__module__, maker.__name__, root=checkout)
        assert known == hash_code(maker)


@pytest.mark.parametrize("what", CHANGES)
def test_shard_is_made_again_for_what_decides_its_bytes(checkout: Path, what: str) -> None:
    name, before, after, expected = CHANGES[what]
    own = (checkout / name).read_text(encoding="utf-8")
    assert before in own
    (checkout / name).write_text(own.replace(before, after), encoding="utf-8")
    try:
        stale = {
            shards
            for shards, maker in MAKERS.items()
            if hash_function(maker.__module__, maker.__name__, root=checkout / ".")
            != hash_code(maker)
        }
        if hash_function(*ENGINE, root=checkout / ".") != hash_function(*ENGINE):
            stale.add("engine")
    finally:
        (checkout / name).write_text(own, encoding="utf-8")
    assert stale == expected


def hash_ship(folder: Path, code: str) -> str:
    (folder / "fleet").mkdir(parents=True)
    (folder / "fleet/ships.py").write_text(code, encoding="utf-8")
    (folder / "fleet/work.py").write_text(
        "from fleet.ships import Ship\n\n\ndef work():\n    return Ship()\n", encoding="utf-8"
    )
    return hash_function("fleet.work", "work", root=folder)


def test_module_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"fleet/work\.py"):
        hash_function("fleet.work", "work", root=tmp_path)


CODE = '''"""A module."""

import os  # for two


class Ship:
    """A ship."""

    def sail(self) -> str:
        """Sail.

        Far.
        """
        # Away.
        return """# no comment

        """
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""A module."""', '"""Another\nmodule."""'),
        ('"""A module."""', ""),
        ("\n\n\n", "\n"),
        ("Far.", "Near."),
        ("# Away.", "# Here.\n        # There."),
        ('        """Sail.\n\n        Far.\n        """\n', ""),
    ],
)
def test_docstrings_comments_and_blank_lines_do_not_count(
    tmp_path: Path, before: str, after: str
) -> None:
    assert before in CODE
    assert hash_ship(tmp_path / "new", CODE.replace(before, after, 1)) == hash_ship(tmp_path, CODE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os", "import sys"),
        ("# no comment", "# nothing"),
        ("# no comment\n\n", "# no comment\n"),
        ("        return", "        yield"),
        ("class Ship", "class Boat"),
        ("import os", 'import os\n\nSHIP = f("Tern", "")'),
    ],
)
def test_code_and_texts_count(tmp_path: Path, before: str, after: str) -> None:
    assert before in CODE
    assert hash_ship(tmp_path / "new", CODE.replace(before, after, 1)) != hash_ship(tmp_path, CODE)


NEWER = """from dataclasses import dataclass

WIDE = f"{Ship.name!r:>{width}.{digits}} is {1 + 1=} {{}}" "and" f'{"more"}'
FIRST, *REST = (x := 3), None, ..., 1e300, b"\\x00", "\\U0001fae9 \\n"


@dataclass
class Ship:
    name: str | None = None

    async def sail(self, to, /, *, by=f"{3:{4}}", **others) -> "list[str]":
        match to:
            case {"port": str(port), **rest} if rest:
                return [port for port in rest if port is not None]
        try:
            return await sail(*to, **{**others, "by": lambda: f"{by:,.{2}f}"})
        except* OSError:
            return
"""


def test_hash_is_the_same_under_each_version_of_python(tmp_path: Path) -> None:
    """The files of keys are shared by machines: 3.11, 3.12 and 3.13 gave this hash."""
    known = "70bf1946e904fda1a6c32ac5dc7804b8530dbbffe4f029876fe5ec1593a84148"
    assert hash_ship(tmp_path, NEWER) == known


def test_package_that_is_installed_beside_it_does_not_count(tmp_path: Path) -> None:
    """In a clone there is none, and keys are the same. They have its version where it decides."""
    code = "from docks import Dock\n\n\nclass Ship:\n    dock = Dock\n"
    alone = hash_ship(tmp_path / "clone", code)
    (tmp_path / "installed/docks").mkdir(parents=True)
    (tmp_path / "installed/docks/__init__.py").write_text("Dock = 1\n", encoding="utf-8")
    assert hash_ship(tmp_path / "installed", code) == alone
