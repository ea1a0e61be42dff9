"""What a file of Python imports."""

from __future__ import annotations

import ast
from pathlib import Path


def list_imports(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it; `from a import b` may be of `a` or `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
