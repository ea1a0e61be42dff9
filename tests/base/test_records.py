"""Records on disk: JSON that reads back, hashes, files that are replaced whole, manifests."""

from __future__ import annotations

import json
import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.base.records import (
    decode_json,
    digest_text,
    encode_compactly,
    encode_json,
    hash_file,
    hash_value,
    read_database_hashes,
    read_jsonl,
    read_manifest,
    replace_file,
    write_json,
    write_jsonl,
    write_manifest,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=10,
)


@given(json_values)
def test_value_reads_back_as_itself(value):
    encoded = encode_json(value)
    assert b"\n" not in encoded
    assert repr(json.loads(encoded)) == repr(value)


def test_compact_text_and_digest_of_a_lone_surrogate_are_its_own():
    texts = ["\ud800", "\udfff", "\ufffd", "?", ""]
    assert [decode_json(encode_compactly(text)) for text in texts] == texts
    assert len({digest_text(text) for text in texts}) == len(texts)


def test_text_is_utf8_and_a_lone_surrogate_is_escaped():
    assert encode_json(["Zoë"]) == '["Zoë"]'.encode()
    assert encode_json(["Zoë"], indent=1) == '[\n "Zoë"\n]'.encode()
    assert encode_json(["Zoë", "\ud800"]) == b'["Zo\\u00eb", "\\ud800"]'


@pytest.mark.parametrize(("value", "indent"), [(math.nan, None), (-math.inf, 2)])
def test_value_that_json_does_not_have_is_refused(value, indent):
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_json({"a": [value]}, indent=indent)


@settings(max_examples=10)  # files are written
@given(st.lists(st.dictionaries(st.text(st.characters()), json_values), max_size=5))
def test_records_read_back_in_order(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("records") / "new" / "newer" / "a.jsonl"
    assert write_jsonl(path, iter(records)) == len(records)
    assert repr(list(read_jsonl(path))) == repr(records)


def test_json_is_indented_and_ends_with_a_newline(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": [2]})
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "b": 1,\n  "a": [\n    2\n  ]\n}\n'


@pytest.mark.parametrize("line", ["{", "[1]", '""', "3"])
def test_line_that_is_no_object_is_named(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(ValueError, match=r"a\.jsonl:2: "):
        list(read_jsonl(path))


def test_missing_file_says_what_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a.jsonl: run `dvc repro`"):
        next(read_jsonl(tmp_path / "a.jsonl"))


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("old")

    def make_records():
        yield {"a": 1}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_jsonl(path, make_records())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_file_behind_a_link_is_not_written(tmp_path, link):
    cached, path = tmp_path / "cached", tmp_path / "a.json"
    cached.write_text("cached")
    cached.chmod(0o444)
    link(cached, path)
    with replace_file(path) as file:
        file.write(b"new")
    assert (path.read_text(), cached.read_text()) == ("new", "cached")
    assert not path.is_symlink()


def test_hash_is_of_bytes_and_of_values_whatever_their_order(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    # The test vector of FIPS 180.
    assert hash_file(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_value({"a": 1, "b": [1, 2]}) == hash_value({"b": [1, 2], "a": 1})
    assert hash_value({"a": 1}) != hash_value({"a": 1.0})
    assert hash_value([1, 2]) != hash_value([2, 1])


def test_brackets_in_brackets_are_an_error_of_the_text():
    with pytest.raises(ValueError, match="brackets in brackets"):
        decode_json("[" * 100_000)


ENTRIES = {
    "car_1": {"sha256": "ab", "size_bytes": 3, "origin": {"kind": "sql", "path": "a, {b}"}},
    'ä "b"': {"sha256": "cd"},
}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_entries_come_back_as_they_were_written(tmp_path, count):
    path = tmp_path / "manifest.json"
    entries = dict(list(ENTRIES.items())[:count])
    write_manifest(path, entries)
    assert list(read_manifest(path).items()) == list(entries.items())
    assert json.loads(path.read_bytes()) == {"databases": entries}
    assert read_database_hashes(tmp_path) == {name: e["sha256"] for name, e in entries.items()}
