"""Params as the stages read them: every key by its full name, so that dvc.yaml can declare it.

Whoever reads a key has the whole file checked first (`answerkey.core.sections` says what it may
hold): a mistake ends a run before it starts, whichever stage would have met it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from answerkey.core.errors import InputError
from answerkey.core.param_corpora import ENTRIES, Entry, Origin, list_wrong_owners
from answerkey.core.sections import Params

PARAMS_PATH = Path("params.yaml")
# The same in C, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# Values of a file may be more than its bytes only where aliases repeat them: *a, *b, each of which
# holds others. Half a kilobyte is enough for billions.
_MOST_REPEATED = 10_000


def load_yaml(path: Path, loader: type[Any] = _LOADER) -> Any:
    """What a file of YAML holds, by the parser in C where PyYAML has it.

    Raises:
        InputError: with the file and the line, where it is no YAML, or grows by its aliases.
    """
    text = path.read_bytes()
    try:
        reader = loader(text)
        node = reader.get_single_node()
        if node is None:
            return None
        if _count_values(node, {}) > len(text) + _MOST_REPEATED:
            raise InputError(f"{path}: expected fewer aliases: they repeat too many values")
        return reader.construct_document(node)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)  # none where it is no UTF-8
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        words = " ".join(str(getattr(error, "problem", error)).split())
        raise InputError(f"{where}: expected YAML: {words}") from error
    except RecursionError as error:
        raise InputError(f"{path}: expected YAML: brackets deeper than Python reads") from error


def _count_values(node: yaml.Node, counts: dict[yaml.Node, float]) -> float:
    """How many values a node stands for, with those that its aliases repeat."""
    if node not in counts:
        counts[node] = math.inf  # while it is counted: an alias of what it stands in has no end
        parts = [] if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in parts for part in pair]
        counts[node] = 1 + sum(_count_values(part, counts) for part in parts)
    return counts[node]


def look_up(params: dict[str, Any], key: str, *, where: Path = PARAMS_PATH) -> Any:
    """The value of a dotted key.

    >>> look_up({"corpora": {"sample": {"db_list": "all"}}}, "corpora.sample.db_list")
    'all'

    Raises:
        InputError: with the file, the key and the names that do exist there.
    """
    value: Any = params
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(map(str, value)) if isinstance(value, dict) else "no keys"
            raise InputError(f"{where}: no key {key}: expected {part!r} among: {known}")
        value = value[part]
    return value


def check_value(kind: Any, value: Any, *, key: str = "", where: Path = PARAMS_PATH) -> Any:
    """A value of params as a type of `answerkey.core.sections`.

    key: where the value stands; "": it is the whole file.

    Raises:
        InputError: a line for each mistake, with the file, the key, what was expected and what was
            found.
    """
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        mistakes = error.errors()
    lines = (_describe_mistake(kind, mistake, key) for mistake in mistakes)
    raise InputError("\n".join(f"{where}: {line}" for line in lines))


def _describe_mistake(kind: Any, mistake: Any, key: str) -> str:
    """What one thing is that pydantic found wrong."""
    *sections, last = mistake["loc"] or [""]
    name = ".".join(map(str, [key, *mistake["loc"]])).removeprefix(".")
    found = mistake["input"]
    match mistake["type"]:
        case "value_error":  # raised by answerkey.core.sections
            words = str(mistake["ctx"]["error"])
            return f"{name}: {words}".removeprefix(": ")
        case "missing":
            return f"no key {name}: expected {last!r} among: {', '.join(map(str, found))}"
        case "unexpected_keyword_argument" | "invalid_key":
            known = _list_names(kind, sections)
            close = difflib.get_close_matches(str(last), known, n=1)
            return f"unknown key {name}: expected {close[0] if close else _some_of(known)}"
        case "dataclass_type":
            known = ", ".join(_list_names(kind, [*sections, last] if last else []))
            return f"{name}: expected {known}, found {found!r}".removeprefix(": ")
    return f"{name}: {mistake['msg']}, found {found!r}"


def _some_of(names: list[str]) -> str:
    return f"some of {', '.join(names)}"


def _list_names(kind: Any, sections: list[Any]) -> list[str]:
    """The keys of a section within a section, which may be null."""
    for section in sections:
        kind = get_type_hints(kind)[section]
        kind = next(filter(is_dataclass, get_args(kind)), kind)
    return list(get_type_hints(kind))


def _list_keys(section: Any, prefix: str = "") -> Iterator[str]:
    """The full names of all keys of a section, and of the sections in it."""
    for name, kind in get_type_hints(section).items():
        yield prefix + name
        if is_dataclass(kind):
            yield from _list_keys(kind, f"{prefix}{name}.")


def check_corpora(entries: Mapping[str, Any], *, where: Path = PARAMS_PATH) -> dict[str, Entry]:
    """The entries of `corpora`, by name.

    Raises:
        InputError: as `check_value`, with the mistakes of all entries.
    """
    checked: dict[str, Entry] = {}
    mistakes = []
    for name, entry in entries.items():
        key = f"corpora.{name}"
        try:
            origin = check_value(Origin, entry, key=key, where=where).origin
            checked[name] = check_value(ENTRIES[origin], entry, key=key, where=where)
        except InputError as error:
            mistakes.append(str(error))
    mistakes += [
        f"{where}: corpora.{name}.databases_of: expected an entry with databases of its own, found"
        f" {checked[name].databases_of!r}"
        for name in list_wrong_owners(checked, entries)
    ]
    if mistakes:
        raise InputError("\n".join(mistakes))
    return checked


def load_params(path: Path = PARAMS_PATH) -> dict[str, Any]:
    """The whole of params.yaml, checked.

    Raises:
        FileNotFoundError: where there is none.
        InputError: as `load_yaml`, `check_value` and `check_corpora`; where a key is missing, as
            `look_up`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: run stages from the project's root")
    params = load_yaml(path)
    check_value(Params, params, where=path)
    check_corpora(params["corpora"], where=path)
    for key in _list_keys(Params):  # those too that have a default where they are not params
        look_up(params, key, where=path)
    return params


def read_params(*keys: str, path: Path = PARAMS_PATH) -> list[Any]:
    """The values of some keys of params.yaml, in the order asked for.

    A stage names its keys as literals, and dvc.yaml lists the same ones: a test compares the two,
    since a key that is read and not declared leaves results silently stale.

    Raises:
        FileNotFoundError, InputError: as `load_params`; as `look_up`.
    """
    params = load_params(path)
    return [look_up(params, key, where=path) for key in keys]
