"""Where this repository lies, and what its files import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FLAG_PRECISION = ROOT / "data/flag_precision.json"
CHECKER = "TYPE_CHECKING"  # the name of the condition


def list_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a module or a statement that run: not those for type checkers."""
    for part in ("body", "handlers", "orelse", "finalbody", "cases"):
        is_skipped = part == "body" and getattr(getattr(node, "test", None), "id", "") == CHECKER
        children = [] if is_skipped else getattr(node, part, [])
        for child in children if isinstance(children, list) else []:
            yield child
            yield from list_statements(child)


@cache
def list_imports(path: Path) -> frozenset[str]:
    """The modules that a file imports when it runs, anywhere in it; `from a import b` may be of `a`
    or `a.b`."""
    found: set[str] = set()
    for node in list_statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)
