"""manifest_file: JSON for everyone, with each entry on a line of its own."""

import json

import pytest

from answerkey.errors import InputError
from answerkey.records import read_database_hashes, read_manifest, write_manifest

ENTRIES = {
    "car_1": {"sha256": "ab", "size_bytes": 3, "origin": {"kind": "sql", "path": "a, {b}"}},
    'ä "b"': {"sha256": "cd"},
}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_entries_come_back_as_they_were_written(tmp_path, count):
    path = tmp_path / "manifest.json"
    entries = dict(list(ENTRIES.items())[:count])
    write_manifest(path, iter(entries.items()))
    assert list(read_manifest(path).items()) == list(entries.items())
    assert json.loads(path.read_bytes()) == {"databases": entries}
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == (count + 2 if count else 2)


def test_torn_manifest_is_told(tmp_path):
    path = tmp_path / "manifest.json"
    write_manifest(path, ENTRIES.items())
    content = path.read_bytes()
    for length in range(len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"manifest\.json: no manifest: .*run `dvc repro down"):
            read_manifest(path)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"databases": []}', '{"data": {}}', '{"databases": {"a": 1}}']
)
def test_json_that_is_no_manifest_is_told(tmp_path, content):
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"manifest\.json: no manifest: expected {\"databases\""):
        read_manifest(path)


def test_missing_manifest_names_the_stage_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"manifest\.json: run `dvc repro download_data"):
        read_manifest(tmp_path / "manifest.json")


def test_database_without_an_entry_is_named(tmp_path):
    write_manifest(tmp_path / "manifest.json", ENTRIES.items())
    hashes = read_database_hashes(tmp_path)
    assert hashes["car_1"] == "ab"
    with pytest.raises(InputError, match=r"manifest\.json: expected an entry for database pets_1"):
        hashes["pets_1"]
