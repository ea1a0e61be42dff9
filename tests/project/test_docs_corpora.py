"""docs/corpora.md: every entry can be read and loaded."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.corpus import filling
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.downloads import locate_all
from answerkey.corpus.loading import load_corpora
from answerkey.sections.corpora import Download
from tests.shared.bird_world import DEV, TRAIN, write_bird
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.synsql_world import ROWS, write_synsql

DOCUMENT = (ROOT / "docs/corpora.md").read_text(encoding="utf-8")
LIMITS = Download(deadline_s=1)
NEWER = "b" * 40
SHOP = "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO shop VALUES (1, 'Sun');"


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)


def find_block(language: str, words: str) -> str:
    (found,) = [block for block in read_blocks(language) if words in block]
    return found


# The blocks that are indented as under `corpora`.
ENTRIES: dict[str, Any] = {
    name: entry
    for block in read_blocks("yaml")
    if block.startswith("  ") and "origin:" in block
    for name, entry in yaml.safe_load(block).items()
}


def read_entries() -> dict[str, Any]:
    """Return the entries of params.yaml and of the document."""
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    return params["corpora"] | ENTRIES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_key_of_an_entry_stands_in_the_table() -> None:
    table = DOCUMENT.split("## An entry")[1].split("## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    rows = {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}
    used = {key for entry in read_entries().values() for key in entry}
    assert used <= rows
    entry = ENTRIES["bird_dev"]
    for key in rows:  # each is one that the pipeline knows
        parsed = {"databases": ["x"], "databases_of": "bird", "prefix": "x_"}.get(key)
        tried = {**entry, **({key: parsed} if parsed else {})}
        parse_corpora("tried", {**read_entries(), "tried": tried})


def test_archives_of_bird_unpack_to_its_entry(here: Path) -> None:
    release = here / "release"
    write_bird(release)
    (here / "data/bird").mkdir(parents=True)
    for split, folder in (("train", "train"), ("dev", "dev_20240627")):
        inner = here / f"{split}_databases.zip"
        with zipfile.ZipFile(inner, "w") as archive:
            for path in sorted((release / f"{split}_databases").rglob("*")):
                archive.write(path, path.relative_to(release))
        with zipfile.ZipFile(here / f"data/bird/{split}.zip", "w") as archive:
            archive.write(inner, f"{folder}/{inner.name}")
            archive.write(release / f"{split}.json", f"{folder}/{split}.json")
    commands = find_block("sh", "data/bird")
    run(here, "bash", "-ec", commands)
    check_bird("bird", read_entries(), TRAIN + DEV)
    check_bird("bird_dev", read_entries(), DEV)


def test_release_of_synsql_is_loaded_by_its_entry(here: Path) -> None:
    entries = read_entries()
    write_synsql(here / entries["synsql"]["root"])
    corpora = parse_corpora("synsql", entries)
    records = load_corpora(corpora, limits=LIMITS).records
    assert [record["gold_sql"] for record in records] == [row["sql"] for row in ROWS]
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    (here / "params.yaml").write_text(yaml.safe_dump({**params, "corpora": entries}))
    filling.main(*find_block("sh", "corpus.filling").split()[3:])
    entries["synsql"] |= {"databases": ["filled"]}
    (source,) = locate_all(parse_corpora("synsql", entries), limits=LIMITS).values()
    assert source.origin["path"] == "filled/clinic_staffing/clinic_staffing.sqlite"


def check_bird(name: str, entries: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    corpora = parse_corpora(name, entries)
    records = load_corpora(corpora, limits=LIMITS).records
    assert [record["question_text"] for record in records] == [row["question"] for row in rows]
    assert len(locate_all(corpora, limits=LIMITS)) == len({row["db_id"] for row in rows})


def test_corrections_are_applied_to_the_sample(here: Path) -> None:
    write = here / "data/corrections/mine.yaml"
    write.parent.mkdir(parents=True)
    write.write_text(find_block("yaml", "action: replace"), encoding="utf-8")
    shutil.copytree(ROOT / "data/sample", here / "data/sample")
    entries = {"sample": read_entries()["sample"] | {"corrections": "mine"}}
    records = load_corpora(parse_corpora("sample", entries), limits=LIMITS).records
    decided = [record["source"].get("correction") for record in records]
    assert sorted(found["action"] for found in decided if found) == ["exclude", "replace"]
