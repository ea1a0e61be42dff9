"""What contributors type: the targets of the Makefile are those of CONTRIBUTING.md and the gate."""

from __future__ import annotations

import re

import yaml

from tests.shared.checkout import run
from tests.shared.paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
GATE = (ROOT / ".ci/run").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))


def list_commands(target: str) -> list[str]:
    """The commands that `make TARGET` would run."""
    return run(ROOT, "make", "--no-print-directory", "-n", target).stdout.splitlines()


def test_page_names_every_target_and_no_other() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (declared,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert set(re.findall(r"\bmake (\w+)", PAGE)) == set(declared.split())


def test_check_is_what_the_gate_and_the_workflow_run() -> None:
    *quick, tests = list_commands("check")
    assert tests == "pytest"
    assert {"ruff check .", "ruff format --check ."} <= set(quick)
    for command in quick:
        assert command in GATE
        assert command in WORKFLOW


def test_setup_installs_what_the_workflow_installs() -> None:
    _, *installs = list_commands("setup")
    assert " && ".join(installs) in WORKFLOW


def test_hooks_run_the_programs_of_check_that_are_quick() -> None:
    (local,) = HOOKS["repos"]
    assert local["repo"] == "local"
    entries = [hook["entry"].removesuffix(" --force-exclude") for hook in local["hooks"]]
    assert [f"{entry} ." for entry in entries if entry.startswith("ruff")] == [
        command for command in list_commands("check") if command.startswith("ruff")
    ]
    assert {entry.split()[0] for entry in entries} == {
        command.split()[0] for command in list_commands("check")[:-1]
    }
