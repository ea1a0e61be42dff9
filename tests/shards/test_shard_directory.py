"""Shards: what is fresh, what is made again, and what torn keys cost."""

import json
import os
import stat

import pytest

from answerkey.shards.runs import ShardDirectory, read_shards

RECORDS = [{"question_id": "ship_train_000", "gold_answer": "é\0"}, {"question_id": "1"}]


@pytest.fixture
def reopen(tmp_path):
    """The shards as the next run finds them."""
    return lambda: ShardDirectory(tmp_path / "out")


def write_three(shards):
    for name in ("a", "b", "c"):
        shards.write_shard(name, f"key of {name}", [{"question_id": name}])
    return shards


def list_fresh(shards):
    return [name for name in ("a", "b", "c") if shards.is_fresh(name, f"key of {name}")]


def test_written_shard_is_fresh_now_and_in_the_next_run(reopen):
    shards = reopen()
    assert not shards.is_fresh("ship", "key")
    shards.write_shard("ship", "key", RECORDS)
    assert shards.is_fresh("ship", "key")
    assert reopen().is_fresh("ship", "key")
    assert list(read_shards(shards.directory, ["ship"])) == RECORDS


def test_other_key_is_stale(reopen):
    reopen().write_shard("ship", "key", RECORDS)
    assert not reopen().is_fresh("ship", "another key")
    assert not reopen().is_fresh("boat", "key")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda content: content + b" ", id="longer"),
        pytest.param(lambda content: content[:-1], id="torn"),
        pytest.param(lambda content: content.replace(b"ship", b"boat"), id="edited"),
    ],
)
def test_shard_that_is_not_as_it_was_made_is_stale(reopen, spoil):
    shards = reopen()
    shards.write_shard("ship", "key", RECORDS)
    path = shards.shard_path("ship")
    content = path.read_bytes()
    path.write_bytes(spoil(content))
    assert not reopen().is_fresh("ship", "key")
    path.write_bytes(content)
    assert reopen().is_fresh("ship", "key")


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_torn_line_of_keys_costs_its_shard_only(reopen, cut):
    keys = write_three(reopen()).keys_path
    keys.write_bytes(keys.read_bytes()[:-cut])
    shards = reopen()
    # Without its newline alone the last line is whole.
    assert list_fresh(shards) == (["a", "b", "c"] if cut == 1 else ["a", "b"])
    shards.write_shard("c", "key of c", [{"question_id": "c"}])
    assert list_fresh(reopen()) == ["a", "b", "c"]


def test_strangers_are_removed_and_forgotten(reopen):
    shards = write_three(reopen())
    (shards.directory / "a.txt").touch()
    (shards.directory / ".b.jsonl.partial").touch()
    shards.keep_only(["c", "a"])
    assert sorted(path.name for path in shards.directory.iterdir()) == ["a.jsonl", "c.jsonl"]
    assert list_fresh(reopen()) == ["a", "c"]
    names = [json.loads(line)["name"] for line in shards.keys_path.read_text().splitlines()]
    assert names == ["a", "c"]


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_shard_that_is_a_link_into_a_cache_is_replaced_and_not_written_through(
    reopen, tmp_path, link
):
    shards = reopen()
    shards.write_shard("ship", "old", RECORDS)
    path = shards.shard_path("ship")
    cached = tmp_path / "cached"
    content = path.read_bytes()
    path.rename(cached)
    cached.chmod(0o444)
    link(cached, path)
    shards = reopen()
    assert shards.is_fresh("ship", "old")
    shards.write_shard("ship", "new", [{"question_id": "new"}])
    assert cached.read_bytes() == content
    assert stat.S_IMODE(cached.stat().st_mode) == 0o444
    assert not path.is_symlink()
    assert list(read_shards(shards.directory, ["ship"])) == [{"question_id": "new"}]
    assert reopen().is_fresh("ship", "new")


def test_shard_whose_records_fail_stays_as_it_was(reopen):
    shards = reopen()
    shards.write_shard("ship", "old", RECORDS)

    def records():
        yield {"question_id": "new"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shards.write_shard("ship", "new", records())
    assert reopen().is_fresh("ship", "old")
    assert [path.name for path in shards.directory.iterdir()] == ["ship.jsonl"]
