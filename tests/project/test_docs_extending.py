"""docs/extending.md: the probe and the export that it adds go through every stage."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.shared.checkout import run
from tests.shared.paths import ROOT

DOCUMENT = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
PLACE = re.compile(r"^\| `([^`]+)` \| (.+) \| `([^`]+)` \|$", re.MULTILINE)


def write_modules(folder: Path) -> None:
    """The files that the document shows whole."""
    for path, text in re.findall(
        r"`((?:answerkey|stages)/[\w/]+\.py)`:\n\n```python\n(.*?)^```$",
        DOCUMENT,
        re.DOTALL | re.MULTILINE,
    ):
        assert not (folder / path).exists(), path
        (folder / path).write_text(text, encoding="utf-8")


def insert_line(folder: Path, path: str, where: str, line: str) -> None:
    """Put a line where the document says: at the top of a mapping, a tuple, a class or a list."""
    text = (folder / path).read_text(encoding="utf-8")
    name, *of_stage = re.findall(r"`(?:class )?(\w+)`", where)
    if of_stage:
        head, indent = rf"^  {of_stage[0]}:\n(?:    .*\n)*?    {name}:\n", " " * 6
    elif name == "import":
        head, indent = r"(?=^from answerkey\.)", ""
    else:
        head, indent = rf"^(?:class |  )?{name}\b.*[{{(:]\n", " " * 4
    found = re.search(head, text, re.MULTILINE)
    assert found, f"{path}: no {where}"
    changed = f"{text[: found.end()]}{indent}{line}\n{text[found.end() :]}"
    (folder / path).write_text(changed, encoding="utf-8")


def test_every_file_that_is_named_exists_but_the_new_ones() -> None:
    new = {"answerkey/probes/tables.py", "answerkey/exports/alpaca.py"}
    named = set(re.findall(r"`((?:answerkey|stages|tests)/[a-z_/]+\.py)`", DOCUMENT))
    assert new < named
    assert sorted(path for path in named if not (ROOT / path).is_file()) == sorted(new)


@pytest.mark.slow
def test_added_probe_and_export_go_through_every_stage(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    write_modules(folder)
    places = PLACE.findall(DOCUMENT)
    assert len(places) >= 5
    for place in places:
        insert_line(folder, *place)
    questions = folder / "data/sample/dev.json"
    rows = json.loads(questions.read_text(encoding="utf-8"))
    asked = {"db_id": rows[0]["db_id"], "question": "Seven times six?", "query": "SELECT 7 * 6"}
    questions.write_text(json.dumps([*rows, asked]), encoding="utf-8")

    run(folder, "python", "-m", "pytest", "-q", "tests/project/test_pipeline_definition.py")
    run(folder, "dvc", "repro")

    excluded = (folder / "data/questions/excluded.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record for record in map(json.loads, excluded) if record["reason"] == "no_table"]
    assert [(record["gold_sql"], record["detail"]) for record in found] == [
        ("SELECT 7 * 6", '{"rows": 1}')
    ]
    product = json.loads((folder / "data/questions/questions_eval.json").read_text("utf-8"))
    table = parquet.read_table(folder / "data/exports/alpaca/eval.parquet")
    assert table.column_names == ["instruction", "input", "output"]
    assert table["output"].to_pylist() == [question["gold_sql"] for question in product]
