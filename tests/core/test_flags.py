"""flags: the catalogue has every flag that is raised, and none that is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from answerkey.base.errors import Reason
from answerkey.flags import EXCLUDE, FAMILIES, FLAG, FLAGS
from answerkey.risk.gold_risk import NO_SIGNS
from tests.shared.paths import ROOT


def list_raised() -> Iterator[set[str]]:
    """Yield the names that each call of Finding may raise."""
    for path in (ROOT / "answerkey").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                code = node.args[0]
                branches = (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,)
                yield {ast.literal_eval(branch) for branch in branches}


def test_every_flag_that_is_raised_is_declared_and_every_other_one_is_gone() -> None:
    assert set().union(*list_raised()) == set(FLAGS)


def test_every_flag_has_one_place_and_a_default_policy() -> None:
    flags = [flag for family in FAMILIES.values() for flag in family]
    assert [flag.name for flag in flags] == list(FLAGS)
    assert {flag.policy for flag in flags} == {EXCLUDE, FLAG}


def test_flags_that_are_no_sign_of_wrong_gold_are_flags() -> None:
    assert set(FLAGS) > NO_SIGNS


def test_code_is_a_reason_or_a_flag_and_never_both() -> None:
    assert not set(Reason) & set(FLAGS)


def test_every_reason_of_a_query_is_a_reason_by_the_same_name() -> None:
    ours = {reason.name: reason.value for reason in Reason}
    assert {reason.name: reason.value for reason in Reason}.items() <= ours.items()
