"""Hashes of large files are remembered, and never believed of a file that changed."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from answerkey.corpus.file_hashes import LEAST_BYTES, FileHashes
from tests.shared.bird_world import write_bird
from tests.shared.databases import make_database
from tests.shared.project_world import World

LONG_AGO_NS = 10**18


def write(path: Path, content: bytes, *, age_s: int = 0) -> Path:
    path.write_bytes(content)
    os.utime(path, ns=(LONG_AGO_NS + age_s * 10**9,) * 2)
    return path


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were just written count as settled, as they will in a moment."""
    monkeypatch.setattr("answerkey.corpus.file_hashes._SETTLED_S", -1)


def remembered(path: Path) -> dict[str, list[str]]:
    return json.loads(path.read_text())


def test_hash_is_remembered_and_used(tmp_path, settled):
    file, memory = write(tmp_path / "a", b"one"), tmp_path / "memory.json"
    with FileHashes(memory, least_bytes=1) as hashes:
        assert hashes(file) == hash_bytes(b"one")
    (mark, _), forged = remembered(memory)[str(file)], "f" * 64
    memory.write_text(json.dumps({str(file): [mark, forged]}))
    with FileHashes(memory, least_bytes=1) as hashes:
        assert hashes(file) == forged


@pytest.mark.parametrize("way", ["in place", "replaced", "same time", "longer"])
def test_changed_file_is_read_again(tmp_path, settled, way):
    file, memory = write(tmp_path / "a", b"one"), tmp_path / "memory.json"
    with FileHashes(memory, least_bytes=1) as hashes:
        hashes(file)
    content = b"other" if way == "longer" else b"two"
    if way == "replaced":
        write(tmp_path / "b", content).replace(file)
    else:
        write(file, content, age_s=0 if way == "same time" else 5)
    with FileHashes(memory, least_bytes=1) as hashes:
        assert hashes(file) == hash_bytes(content)


@pytest.mark.parametrize(("ago_s", "is_remembered"), [(0, False), (1, False), (10, True)])
def test_file_that_changed_a_moment_ago_is_not_remembered(
    tmp_path, monkeypatch, ago_s, is_remembered
):
    file, memory = write(tmp_path / "a", b"one"), tmp_path / "memory.json"
    now_ns = file.stat().st_ctime_ns + ago_s * 10**9
    monkeypatch.setattr("answerkey.corpus.file_hashes.time.time_ns", lambda: now_ns)
    with FileHashes(memory, least_bytes=1) as hashes:
        assert hashes(file) == hash_bytes(b"one")
    assert memory.exists() == is_remembered


def test_small_file_is_not_remembered(tmp_path, settled):
    file, memory = write(tmp_path / "a", b"one"), tmp_path / "memory.json"
    with FileHashes(memory) as hashes:
        assert hashes(file) == hash_bytes(b"one")
    assert not memory.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"FILE": 1}',
        b'{"FILE": ["x"]}',
        b'{"FILE": ["x", "y", "z"]}',
        b'{"b": ["x", "y"], "FILE": null}',
    ],
)
def test_memory_that_is_not_ours_is_passed_over(tmp_path, settled, content):
    file, memory = write(tmp_path / "a", b"one"), tmp_path / "memory.json"
    memory.write_bytes(content.replace(b"FILE", str(file).encode()))
    with FileHashes(memory, least_bytes=1) as hashes:
        assert hashes(file) == hash_bytes(b"one")
    assert list(remembered(memory)) == [str(file)]


def test_stage_reads_a_large_file_again_only_where_nothing_is_remembered(
    tmp_path, monkeypatch, settled, capsys
):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    write_bird(tmp_path / "data/bird")
    big = tmp_path / "data/bird/dev_databases/ski_resorts/ski_resorts.sqlite"
    make_database(big, f"CREATE TABLE big (a); INSERT INTO big VALUES (zeroblob({LEAST_BYTES}));")
    world.change("corpus", "bird")
    world.run("download_databases", "download_databases")
    assert "(0 made, 2 kept, 0 removed)" in capsys.readouterr().err
    memory = tmp_path / ".answerkey/file_hashes.json"
    known = remembered(memory)
    copy = tmp_path / "data/databases/ski_resorts/ski_resorts.sqlite"
    assert set(known) == {str(big), str(copy)}
    known[str(copy)][1] = "f" * 64
    memory.write_text(json.dumps(known))
    world.run("download_databases")
    assert "(1 made, 1 kept, 0 removed)" in capsys.readouterr().err


def test_files_that_nobody_asks_for_are_forgotten(tmp_path, settled):
    memory = tmp_path / "memory.json"
    first, second = write(tmp_path / "a", b"one"), write(tmp_path / "b", b"two")
    with FileHashes(memory, least_bytes=1) as hashes:
        hashes(first)
        hashes(second)
    with FileHashes(memory, least_bytes=1) as hashes:
        hashes(second)
    assert list(remembered(memory)) == [str(second)]
