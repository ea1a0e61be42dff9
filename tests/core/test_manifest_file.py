"""The manifest as a file: JSON for everyone, read one entry at a time."""

import json

import pytest

from answerkey.core.manifest_file import read_entries, write_manifest

ENTRIES = [
    ("car_1", {"sha256": "ab", "size_bytes": 3, "origin": {"kind": "sql", "path": "a, {b}"}}),
    ('ä "b"', {"sha256": "cd"}),
]


@pytest.mark.parametrize("entries", [ENTRIES, ENTRIES[:1], []])
def test_entries_come_back_as_they_were_written(tmp_path, entries):
    path = tmp_path / "manifest.json"
    write_manifest(path, iter(entries))
    assert list(read_entries(path)) == entries
    assert json.loads(path.read_bytes()) == {"databases": dict(entries)}


@pytest.mark.parametrize("indent", [None, 2])
def test_manifest_with_its_lines_elsewhere_is_read_too(tmp_path, indent):
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"databases": dict(ENTRIES)}, indent=indent))
    assert list(read_entries(path)) == ENTRIES


def test_torn_manifest_is_told(tmp_path):
    path = tmp_path / "manifest.json"
    write_manifest(path, ENTRIES)
    content = path.read_bytes()
    for length in range(len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"manifest\.json: no manifest: "):
            list(read_entries(path))


def test_entry_is_given_before_the_next_one_is_read(tmp_path):
    path = tmp_path / "manifest.json"
    write_manifest(path, ENTRIES)
    path.write_bytes(path.read_bytes().replace(b"cd", b"\\x"))
    entries = read_entries(path)
    assert next(entries) == ENTRIES[0]
    with pytest.raises(ValueError, match=r"manifest\.json: no manifest: "):
        next(entries)


@pytest.mark.parametrize("content", ["[]", "{}", '{"databases": []}', '{"data": {}}'])
def test_json_that_is_no_manifest_is_told(tmp_path, content):
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"manifest\.json: no manifest: expected {\"databases\""):
        list(read_entries(path))


def test_missing_manifest_names_the_stage_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"manifest\.json: run `dvc repro download_data"):
        list(read_entries(tmp_path / "manifest.json"))
