"""flags: every flag is declared once, with a policy, and the first of them come first."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.reasons import Policy, Reason
from answerkey.flags import FAMILIES, FLAGS, Flag, list_flags
from answerkey.risk.risks import SIGNS
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.transcripts import put_table


def list_raised() -> Iterator[set[str]]:
    """Yield the names that each call of Finding may raise."""
    for path in (ROOT / "answerkey").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                code = node.args[0]
                branches = (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,)
                yield {ast.literal_eval(branch) for branch in branches}


def test_every_flag_that_is_raised_is_declared_and_every_other_one_is_gone() -> None:
    raised = set().union(*list_raised())
    assert raised - set(FLAGS) == set(), "expected a Flag of this name in answerkey/flags.py"
    assert set(FLAGS) - raised == set(), "no Finding has this name"


def test_page_has_the_table_that_is_printed(expect_page: Callable[[str, str], None]) -> None:
    precision = json.loads((ROOT / "data/flag_precision.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/doubts.md").read_text(encoding="utf-8")
    expect_page("docs/doubts.md", put_table(page, "flag", list_flags(precision)))


def test_every_flag_has_one_place_and_a_default_policy() -> None:
    flags = [flag for family in FAMILIES.values() for flag in family]
    assert [flag.name for flag in flags] == list(FLAGS)
    assert {flag.policy for flag in flags} == {Policy.EXCLUDE, Policy.FLAG}


@pytest.mark.parametrize("mistyped", ["exclud", "Exclude", "", None])
def test_policy_that_is_none_is_an_error_when_its_flag_is_made(mistyped: Any) -> None:
    with pytest.raises(ValueError, match="is not a valid Policy"):
        Flag("heavy", mistyped, "It is heavy.", "a ship")


def test_mistyped_policy_of_the_catalogue_ends_the_import(tmp_path: Path) -> None:
    text = (ROOT / "answerkey/flags.py").read_text(encoding="utf-8")
    for number, mistyped in enumerate(["Policy.EXCLUD", '"exclud"']):
        module = tmp_path / f"flags_{number}.py"
        module.write_text(text.replace("Policy.EXCLUDE", mistyped, 1), encoding="utf-8")
        done = run(ROOT, "python", str(module), check=False)
        assert done.returncode
        assert "EXCLUD" in done.stderr.upper(), done.stderr


def test_flags_that_are_no_sign_of_wrong_gold_are_flags() -> None:
    assert set(FLAGS) > SIGNS


def test_code_is_a_reason_or_a_flag_and_never_both() -> None:
    assert not set(Reason) & set(FLAGS)
