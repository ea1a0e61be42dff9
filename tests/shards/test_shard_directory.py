"""Shards: what is fresh, what is made again, and what torn keys cost."""

import json
import os
import stat

import pytest

from answerkey.errors import explain_error
from answerkey.shards.shard_directory import ShardDirectory, read_shards

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


@pytest.mark.parametrize("name", ["cre_Doc-2", "été", "a b", "a.b", "x.jsonl"])
def test_name_of_a_database_is_the_name_of_its_shard(reopen, name):
    shards = reopen()
    shards.write_shard(name, "key", RECORDS)
    shards.keep_only([name])
    assert [path.name for path in shards.directory.iterdir()] == [f"{name}.jsonl"]
    assert reopen().is_fresh(name, "key")


def test_other_key_is_stale(reopen):
    reopen().write_shard("ship", "key", RECORDS)
    assert not reopen().is_fresh("ship", "another key")
    assert not reopen().is_fresh("boat", "key")


def test_last_writing_of_a_shard_counts(reopen):
    shards = reopen()
    shards.write_shard("ship", "old", RECORDS)
    shards.write_shard("ship", "new", [])
    assert not reopen().is_fresh("ship", "old")
    assert reopen().is_fresh("ship", "new")
    assert shards.shard_path("ship").read_bytes() == b""


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda content: content + b" ", id="longer"),
        pytest.param(lambda content: content[:-1], id="torn"),
        pytest.param(lambda content: b"", id="empty"),
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


def test_removed_shard_is_stale_and_missed(reopen):
    shards = reopen()
    shards.write_shard("ship", "key", RECORDS)
    shards.shard_path("ship").unlink()
    assert not reopen().is_fresh("ship", "key")
    with pytest.raises(FileNotFoundError, match=r"ship\.jsonl"):
        list(read_shards(shards.directory, ["ship"]))


def test_removed_keys_cost_all_shards_and_nothing_else(reopen):
    shards = write_three(reopen())
    shards.keys_path.unlink()
    shards = reopen()
    assert list_fresh(shards) == []
    assert list_fresh(write_three(shards)) == ["a", "b", "c"]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_torn_line_of_keys_costs_its_shard_only(reopen, cut):
    keys = write_three(reopen()).keys_path
    keys.write_bytes(keys.read_bytes()[:-cut])
    shards = reopen()
    # Without its newline alone the last line is whole.
    assert list_fresh(shards) == (["a", "b", "c"] if cut == 1 else ["a", "b"])
    shards.write_shard("c", "key of c", [{"question_id": "c"}])
    assert list_fresh(reopen()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "line", [b"[]", b"1", b'"a"', b"null", b"{}", b'{"name": "a"}', b"\xff\xfe", b"\0\0", b"{", b""]
)
def test_line_of_keys_that_is_no_entry_is_passed_over(reopen, line):
    keys = write_three(reopen()).keys_path
    keys.write_bytes(line + b"\n" + keys.read_bytes() + line)
    shards = reopen()
    assert list_fresh(shards) == ["a", "b", "c"]
    assert len(keys.read_bytes().splitlines()) == 3


def test_strangers_are_removed_and_forgotten(reopen, tmp_path):
    shards = write_three(reopen())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (shards.directory / "notes.txt").touch()
    (shards.directory / "a.txt").touch()
    (shards.directory / ".b.jsonl.123.partial").touch()
    (shards.directory / "folder").mkdir()
    (shards.directory / "folder" / "a.jsonl").touch()
    (shards.directory / "link").symlink_to(elsewhere)
    assert shards.keep_only(["c", "a"]) == 6
    assert sorted(path.name for path in shards.directory.iterdir()) == ["a.jsonl", "c.jsonl"]
    assert (elsewhere / "precious").exists()
    assert list_fresh(reopen()) == ["a", "c"]
    names = [json.loads(line)["name"] for line in shards.keys_path.read_text().splitlines()]
    assert names == ["a", "c"]


def test_keys_do_not_grow_with_the_runs(reopen):
    for run in range(5):
        shards = write_three(reopen())
        shards.write_shard("a", f"key of run {run}", [])
        shards.keep_only(["a", "b", "c"])
        assert len(shards.keys_path.read_bytes().splitlines()) == 3


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


def test_records_come_in_the_order_of_the_names(reopen):
    directory = write_three(reopen()).directory
    records = list(read_shards(directory, ["c", "a", "b"]))
    assert [record["question_id"] for record in records] == ["c", "a", "b"]


def test_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(FileExistsError) as caught:
        ShardDirectory(tmp_path / "out")
    assert explain_error(caught.value) == (
        f"{tmp_path / 'out'}: File exists: expected a directory, or nothing: move away the file"
        " that is in its place"
    )
