"""A database is built once a machine, also if processes want it at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from answerkey.engines.cache import CACHE_VARIABLE, build_once, find_cache

ROOT = Path(__file__).parents[2]
SLOW_BUILD = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from answerkey.engines.cache import build_once

def build(path):
    path.mkdir()
    (path / "one").write_text("1")
    time.sleep(0.5)
    (path / "two").write_text(str(os.getpid()))

path = build_once("kind/abc", build)
print((path / "one").read_text(), (path / "two").read_text())
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_it_is_built_once(cache: Path) -> None:
    calls = []

    def build(path: Path) -> None:
        calls.append(path)
        path.write_text("built")

    paths = {build_once("files/abc.duckdb", build) for _ in range(3)}
    assert paths == {cache / "files" / "abc.duckdb"}
    assert len(calls) == 1
    assert [path.name for path in (cache / "files").iterdir()] == ["abc.duckdb"]


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no database")

    with pytest.raises(ValueError, match="no database"):
        build_once("abc", fail)
    assert list(cache.iterdir()) == []
    assert build_once("abc", lambda path: path.mkdir()).is_dir()


def test_processes_at_once_get_the_same_whole_folder(cache: Path) -> None:
    command = [sys.executable, "-c", SLOW_BUILD, str(ROOT)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = {process.communicate(timeout=60)[0] for process in processes}
    assert len(outputs) == 1
    assert outputs.pop().startswith("1 ")
    assert [path.name for path in (cache / "kind").iterdir()] == ["abc"]


def test_without_the_variable_it_is_the_cache_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert find_cache() == tmp_path / "answerkey"
