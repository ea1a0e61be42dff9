"""The rooms of the library: which of them may import which others."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from tests.shared.project_world import ROOT


def list_imports(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module)
    return found


def test_sqlite_imports_the_standard_library_and_itself() -> None:
    files = sorted((ROOT / "answerkey/sqlite").rglob("*.py"))
    assert files
    for path in files:
        others = {name for name in list_imports(path) if not name.startswith("answerkey.sqlite.")}
        roots = {name.partition(".")[0] for name in others}
        assert roots <= sys.stdlib_module_names, path


def test_no_module_of_the_library_imports_a_stage() -> None:
    for path in (ROOT / "answerkey").rglob("*.py"):
        roots = {name.partition(".")[0] for name in list_imports(path)}
        assert "stages" not in roots, path
