"""Fingerprints of databases: what the manifest says, or which database it does not have."""

import json

import pytest

from answerkey.core.errors import InputError
from answerkey.core.fingerprints import read_database_hashes


def test_database_hashes_come_from_the_manifest(tmp_path):
    databases = {"car_1": {"sha256": "ab", "size_bytes": 3}, "pets_1": {"sha256": "cd"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"databases": databases}))
    assert read_database_hashes(tmp_path) == {"car_1": "ab", "pets_1": "cd"}


def test_database_that_is_not_in_the_manifest_is_named_with_its_place(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"databases": {"car_1": {"sha256": "ab"}}}))
    hashes = read_database_hashes(tmp_path)
    assert hashes.get("pets_1") is None
    with pytest.raises(InputError, match=r"manifest\.json: expected an entry for .* pets_1, wh"):
        hashes["pets_1"]


def test_missing_manifest_names_the_stage_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"manifest\.json: run `dvc repro download_data"):
        read_database_hashes(tmp_path)
