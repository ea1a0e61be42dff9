"""docs/probes.md: what it names is there, its verdict is one, and it lists all flags."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from answerkey.flags import EXPLANATIONS, Flag
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


def test_all_flags_and_reasons_are_listed_with_their_rule_and_policy() -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    policies = params["select_questions"]["policies"]
    listed = TEXT.split("## All flags")[1].split("## How often")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| ", listed, re.MULTILINE)
    assert rows == [(str(flag), policies[flag], flag.explanation) for flag in Flag]
    reasons = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", listed, re.MULTILINE)
    assert reasons == [code for code in EXPLANATIONS if code not in set(Flag)]
