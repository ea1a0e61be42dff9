"""No test stands still for ever: each has a limit, and so has whatever it waits for."""

from __future__ import annotations

import ast

import pytest

from tests.shared.paths import ROOT

STARTS = {"run", "call", "check_call", "check_output"}  # of subprocess
WAITS = {"communicate", "join", "wait"}  # for a process, a thread, an event


def find_waits_without_limit(code: str) -> list[str]:
    """
    >>> find_waits_without_limit("thread.join(); thread.join(5); process.wait(timeout=5)")
    ['thread.join()']
    """
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, owner = node.func.attr, ast.unparse(node.func.value)
            has_limit = any(keyword.arg in ("timeout", None) for keyword in node.keywords)
            is_start = owner == "subprocess" and name in STARTS
            is_wait = name in WAITS and not node.args
            if (is_start or is_wait) and not has_limit:
                found.append(ast.unparse(node))
    return found


def test_what_a_test_starts_or_waits_for_has_a_limit() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): find_waits_without_limit(path.read_text("utf-8"))
        for path in ROOT.glob("tests/**/*.py")
    }
    assert {name: waits for name, waits in found.items() if waits} == {}


def test_each_test_has_a_limit_and_its_clean_up_too(pytestconfig: pytest.Config) -> None:
    limits = [float(pytestconfig.getini(name)) for name in ("timeout", "faulthandler_timeout")]
    assert 0 < limits[0] < limits[1]
    assert pytestconfig.getini("faulthandler_exit_on_timeout")
