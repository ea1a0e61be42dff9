"""Code: what decides the bytes of a shard, as part of its key.

That is the function which makes its records, what that function names in its own module, and the
modules that these import, directly or not; of a module of `base`, which has many topics, only what
is named. Docstrings and comments count for nothing. Nor do `sections`, whose values are in the key
themselves, `shards`, which only distributes the work, and this module, which names it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

from answerkey.base.records import hash_value

ROOT = Path(__file__).resolve().parents[2]  # of the code that runs, wherever it runs

_OF_MANY_TOPICS = "answerkey.base."
_DECIDE_NOTHING = ("answerkey.base.code", "answerkey.sections.", "answerkey.shards.")

Code = dict[str, tuple[ast.stmt, ...]]  # the statements that count, by module


def hash_code(function: Callable[..., object]) -> str:
    """sha256 of the code that a function of the library runs."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"expected a function of a module, found {function!r}")
    return hash_function(function.__module__, function.__name__)


def hash_function(module: str, name: str, *, root: Path = ROOT) -> str:
    """sha256 of the code that a function runs, given its module and the folder of its package.

    Raises:
        FileNotFoundError: if the module is not there.
    """
    code = list_code(module, name, root=root)
    return hash_value([(of, list(map(_write, code[of]))) for of in sorted(code)])


def hash_module(path: Path) -> str:
    """sha256 of the statements of a file of Python: the same for other docstrings and comments, and
    under each version of Python."""
    return hash_value(list(map(_write, _parse(path.read_text(encoding="utf-8")))))


def list_code(module: str, name: str, *, root: Path = ROOT) -> Code:
    """The statements of each module that a function runs."""
    read = cache(partial(_read, root=root))
    named = {module: {name}}
    whole: set[str] = set()
    size = -1
    while size != len(whole) + sum(map(len, named.values())):  # names are only added
        size = len(whole) + sum(map(len, named.values()))
        code: Code = {of: _select(names, read(of)) for of, names in named.items()}
        code |= {of: read(of) for of in whole}
        for imported, names in _list_imports(code, root):
            if imported.startswith(_DECIDE_NOTHING):
                continue
            if imported.startswith(_OF_MANY_TOPICS):
                named.setdefault(imported, set()).update(names)
            else:
                whole.add(imported)
    return code


def _find_file(module: str, root: Path) -> Path:
    path = root.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _read(module: str, *, root: Path) -> tuple[ast.stmt, ...]:
    """The statements of a module, without docstrings and what only a type checker reads."""
    return _parse(_find_file(module, root).read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[ast.stmt, ...]:
    return tuple(_Stripper().visit(ast.parse(text)).body)


class _Stripper(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


@lru_cache(maxsize=65_536)
def _write(statement: ast.stmt) -> Any:
    """A statement as lists and texts, the same under each version of Python.

    `ast.unparse` and `ast.dump` are not: they write f-strings, and fields that are empty, in other
    ways from version to version.
    """
    return _write_node(statement)


def _write_node(node: Any) -> Any:
    if isinstance(node, ast.JoinedStr):  # Python 3.12 puts an empty text behind its last field
        return ["JoinedStr", [_write_node(part) for part in node.values if not _is_blank(part)]]
    if isinstance(node, ast.AST):
        fields = ((name, _write_node(value)) for name, value in ast.iter_fields(node))
        return [type(node).__name__, *([name, text] for name, text in fields if text)]
    if isinstance(node, list):
        return [_write_node(part) for part in node]
    return "" if node is None else ascii(node)


def _is_blank(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value == ""


def _select(names: set[str], statements: tuple[ast.stmt, ...]) -> tuple[ast.stmt, ...]:
    """The statements of a module that define some names, and those that define what these name."""
    wanted, size = set(names), -1
    chosen: set[int] = set()
    while size != len(chosen):
        size = len(chosen)
        for number, statement in enumerate(statements):
            if number not in chosen and not wanted.isdisjoint(_list_defined(statement)):
                chosen.add(number)
                wanted |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return tuple(_narrow(statements[number], wanted) for number in sorted(chosen))


def _narrow(statement: ast.stmt, names: set[str]) -> ast.stmt:
    """An import of the wanted names alone; any other statement as it is."""
    if not isinstance(statement, ast.ImportFrom):
        return statement
    wanted = [alias for alias in statement.names if (alias.asname or alias.name) in names]
    return ast.ImportFrom(statement.module, wanted, statement.level)


def _list_defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:  # a constant, also one that depends on a condition
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.ImportFrom | ast.Import):
                yield from _list_defined(node)


def _list_imports(code: Code, root: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """The modules of this project that statements import, with the names."""
    for statement in [statement for of in list(code) for statement in code[of]]:
        for imported, names in _read_imports(statement):
            for module in (*(f"{imported}.{name}" for name in names), imported):
                if _is_ours(module, root):
                    yield module, names


@lru_cache(maxsize=65_536)
def _read_imports(statement: ast.stmt) -> list[tuple[str, frozenset[str]]]:
    return [
        (node.module, frozenset(alias.name for alias in node.names))
        for node in ast.walk(statement)
        if isinstance(node, ast.ImportFrom) and node.module is not None
    ]


@lru_cache(maxsize=65_536)
def _is_ours(module: str, root: Path) -> bool:
    return _find_file(module, root).is_file()
