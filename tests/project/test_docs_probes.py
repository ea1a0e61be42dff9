"""docs/probes.md: what it names is there, its verdict is one, its tables are printed."""

from __future__ import annotations

import json
import re
from pathlib import Path

from answerkey.flags import list_tables
from answerkey.risk.verdicts import read_verdict_file
from tests.shared.paths import ROOT

TEXT = (ROOT / "docs/probes.md").read_text(encoding="utf-8")


def test_paths_that_are_named_exist() -> None:
    paths = set(re.findall(r"\b(?:answerkey|benchmarks|examples|data/verdicts)/[\w./-]*\w", TEXT))
    made = {path for path in paths if path.startswith("data/verdicts/")}
    assert len(paths - made) >= 4
    assert [path for path in sorted(paths - made) if not (ROOT / path).exists()] == []


def test_verdict_is_one(tmp_path: Path) -> None:
    (verdict,) = re.findall(r"^```json\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    path = tmp_path / "shown.jsonl"
    path.write_text(json.dumps(json.loads(verdict)) + "\n", encoding="utf-8")
    assert [found.source for found in read_verdict_file(path)] == ["person:kim"]


def test_page_has_the_tables_that_the_catalogue_prints() -> None:
    precision = json.loads((ROOT / "data/flag_precision.json").read_text(encoding="utf-8"))
    assert "\n".join(list_tables(precision)) in TEXT, "put in what python -m answerkey.flags prints"
