"""Hash the code that decides the bytes of a shard: it is a part of the shard's key.

This code is the function that makes the records, the names of its own module that it uses, and the
modules that these import, directly or not. Of a module of `base`, which has many topics, only the
imported names count. Docstrings and comments do not count. Nor do `sections` (their values are in
the key), `shards` (it only distributes the work) and this module, which `shards` imports.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

from answerkey.base.records import hash_value

ROOT = Path(__file__).resolve().parents[2]  # the folder of the package that runs

_OF_MANY_TOPICS = "answerkey.base."
_DECIDE_NOTHING = ("answerkey.base.code", "answerkey.sections.", "answerkey.shards.")

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # the statements of a statement

Code = dict[str, tuple[ast.stmt, ...]]  # the statements that count, by module


def hash_code(function: Callable[..., object]) -> str:
    """Return the sha256 of the code that a function of the library runs."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"expected a function of a module, found {function!r}")
    return hash_function(function.__module__, function.__name__)


def hash_function(module: str, name: str, *, root: Path = ROOT) -> str:
    """Return the sha256 of the code that a function runs, given its module and package folder.

    Raises:
        FileNotFoundError: if the module is not there.
    """
    code = list_code(module, name, root=root)
    return hash_value([(of, list(map(_write, code[of]))) for of in sorted(code)])


def hash_module(path: Path) -> str:
    """Return the sha256 of the statements of a Python file. Docstrings, comments and the version of
    Python do not change it."""
    return hash_value(list(map(_write, _parse(path.read_text(encoding="utf-8")))))


def list_code(module: str, name: str, *, root: Path = ROOT) -> Code:
    """The statements of each module of its own package that a function runs: where that package is
    installed, others lie beside it."""
    package = f"{module.partition('.')[0]}."
    read = cache(partial(_read, root=root))
    named = {module: {name}}
    whole: set[str] = set()
    size = -1
    while size != len(whole) + sum(map(len, named.values())):  # until no name is added
        size = len(whole) + sum(map(len, named.values()))
        code: Code = {of: _select(names, read(of)) for of, names in named.items()}
        code |= {of: read(of) for of in whole}
        for imported, names in _list_imports(code, root):
            if not f"{imported}.".startswith(package) or imported.startswith(_DECIDE_NOTHING):
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
    """Return the statements of a module without docstrings and without code for type checkers."""
    return _parse(_find_file(module, root).read_text(encoding="utf-8"))


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[ast.stmt, ...]:
    module = ast.parse(text)
    _strip(module)
    return tuple(module.body)


def _strip(node: ast.AST) -> None:
    """Remove texts that are statements, and what only a type checker reads, from below a node."""
    for block in _list_blocks(node):
        block[:] = [part for part in block if not _is_idle(part)]
        for part in block:
            _strip(part)


def _list_blocks(node: ast.AST) -> list[list[Any]]:
    """The lists of statements, handlers and cases of a node, themselves and not copies."""
    blocks = (getattr(node, name, None) for name in _BLOCKS)
    return [block for block in blocks if isinstance(block, list)]


def _list_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The node and the statements below it."""
    yield node
    for block in _list_blocks(node):
        for part in block:
            yield from _list_statements(part)


def _is_idle(statement: ast.AST) -> bool:
    """Whether a statement is a text alone, such as a docstring, or of types alone."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        return isinstance(value, ast.Constant) and isinstance(value.value, str)
    test = statement.test if isinstance(statement, ast.If) else None
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


@lru_cache(maxsize=65_536)
def _write(statement: ast.stmt) -> str:
    """Return a statement as a text that is the same under each version of Python.

    `ast.unparse` and `ast.dump` are no help: versions of Python write f-strings and empty fields
    differently.
    """
    parts: list[str] = []
    _write_node(statement, parts)
    return " ".join(parts)


def _write_node(node: Any, parts: list[str]) -> None:
    """Append the texts of a node: its class and the fields that are not empty, in brackets."""
    if isinstance(node, ast.AST):
        parts.append(f"({type(node).__name__}")
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(node, ast.JoinedStr):  # Python 3.12 ends it with an empty text
                value = [part for part in value or () if not _is_blank(part)]
            if value is not None and value != []:
                parts.append(name)
                _write_node(value, parts)
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for part in node:
            _write_node(part, parts)
        parts.append("]")
    else:
        parts.append(ascii(node))


def _is_blank(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value == ""


def _select(names: set[str], statements: tuple[ast.stmt, ...]) -> tuple[ast.stmt, ...]:
    """Return the statements that define these names, and the statements that those need."""
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
    """Return an import reduced to the wanted names; any other statement unchanged."""
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
    else:  # a constant, perhaps inside an `if`
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.ImportFrom | ast.Import):
                yield from _list_defined(node)


def _list_imports(code: Code, root: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the modules of this project that statements import, with the imported names."""
    for statement in [statement for of in list(code) for statement in code[of]]:
        for imported, names in _read_imports(statement):
            for module in (*(f"{imported}.{name}" for name in names), imported):
                if _is_ours(module, root):
                    yield module, names


@lru_cache(maxsize=65_536)
def _read_imports(statement: ast.stmt) -> list[tuple[str, frozenset[str]]]:
    return [
        (node.module, frozenset(alias.name for alias in node.names))
        for node in _list_statements(statement)
        if isinstance(node, ast.ImportFrom) and node.module is not None
    ]


@lru_cache(maxsize=65_536)
def _is_ours(module: str, root: Path) -> bool:
    return _find_file(module, root).is_file()
