"""Kinds of values that params.yaml may hold, and the check of a section against them.

A section is a dataclass. The type of a field is its kind, and the field's default is the only one:

    @dataclass(frozen=True, slots=True)
    class ReportDataset:
        max_rows: From0 = 5000

This module loads in a few milliseconds, since every stage checks all params before it starts.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from answerkey.base.errors import InputError

_SHOWN = 80  # characters of a value that an error shows


@dataclass(frozen=True, slots=True)
class Kind:
    """The values that a key may have.

    words: the expected value in words.
    accepts: whether a value is of this kind.
    values: the kind of each value in a list or a mapping.
    finish: returns the value for the section, or raises ValueError with a message that has a line
        for each mistake.
    choose: returns the kind that a value must have, if that depends on the value.
    """

    words: str
    accepts: Callable[[Any], bool]
    values: Any = None
    finish: Callable[[Any], Any] | None = None
    choose: Callable[[Any], Any] | None = None


def whole(least: float = -math.inf) -> Kind:
    words = "a whole number" + ("" if least == -math.inf else f" from {least}")
    return Kind(words, lambda value: type(value) is int and value >= least)


def number(words: str, *, most: float = math.inf) -> Kind:
    """Return the kind of finite numbers from 0 to `most`; True is not a number."""
    return Kind(
        words, lambda value: type(value) in (int, float) and 0 <= value <= most and value < math.inf
    )


def text(words: str = "a text", *, pattern: str = ".") -> Kind:
    compiled = re.compile(pattern, re.DOTALL)
    return Kind(words, lambda value: isinstance(value, str) and compiled.search(value) is not None)


def one_of(names: Iterable[str]) -> Kind:
    """
    >>> one_of(["tables", "spider", "source"]).words
    'tables, spider or source'
    """
    *first, last = names
    words = f"{', '.join(first)} or {last}"
    return Kind(words, lambda value: isinstance(value, str) and value in {*first, last})


def mapping(
    words: str,
    values: Any,
    *,
    keys: Iterable[str] | None = None,
    has_all: bool = False,
    finish: Callable[[Any], Any] | None = None,
) -> Kind:
    """Return the kind of mappings from texts (`keys`, or some of them) to values of a kind."""
    known = None if keys is None else set(keys)

    def accepts(value: Any) -> bool:
        if not isinstance(value, dict) or not all(isinstance(key, str) and key for key in value):
            return False
        return known is None or (value.keys() == known if has_all else value.keys() <= known)

    return Kind(words, accepts, values, finish)


def listing(words: str, values: Any, *, least: int = 0) -> Kind:
    return Kind(words, lambda value: isinstance(value, list) and len(value) >= least, values)


def _is_day(value: Any) -> bool:
    if type(value) is datetime.date:  # YAML reads a day without quotes as one
        return True
    try:
        return isinstance(value, str) and bool(datetime.date.fromisoformat(value))
    except ValueError:
        return False


Whole = Annotated[int, whole()]
From0 = Annotated[int, whole(0)]
From1 = Annotated[int, whole(1)]
NumberFrom0 = Annotated[float, number("a number from 0")]
Ratio = Annotated[float, number("a number from 0 to 1", most=1)]
Share = Annotated[float, number("a share from 0 to 1", most=1)]
Text = Annotated[str, text()]
Words = Annotated[str, text("text", pattern=r"\S")]
Sha256 = Annotated[str, text("64 hex digits, in small letters", pattern=r"^[0-9a-f]{64}\Z")]
Day = Annotated[str, Kind("a day such as 2026-03-01", _is_day, finish=str)]


def check_value(kind: Any, value: Any, *, key: str = "", where: str = "params.yaml") -> Any:
    """Return a value as its kind requires it; sections become their dataclasses.

    key: the key of the value; "" for the whole file.

    Raises:
        InputError: a line for each mistake, with the file, the key and the expected value.
    """
    mistakes: list[str] = []
    checked = _check(kind, value, key, mistakes)
    if mistakes:
        raise InputError("\n".join(f"{where}: {mistake}" for mistake in mistakes))
    return checked


class _Rule(NamedTuple):
    """What a value must be, a Kind or a section (a dataclass), and whether it may be null."""

    kind: Any
    allows_null: bool


def _read_rule(kind: Any) -> _Rule:
    allows_null = NoneType in get_args(kind)
    if allows_null:
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is Literal:
        kind = one_of(get_args(kind))
    is_known = isinstance(kind, Kind) or (isinstance(kind, type) and is_dataclass(kind))
    return _Rule(kind if is_known else kind.__metadata__[0], allows_null)


def _check(kind: Any, value: Any, key: str, mistakes: list[str]) -> Any:
    rule, allows_null = kind if isinstance(kind, _Rule) else _read_rule(kind)
    if allows_null and value is None:
        return None
    if isinstance(rule, type):
        return _check_section(rule, value, key, mistakes)
    if rule.choose is not None:
        return _check(rule.choose(value), value, key, mistakes)
    if not rule.accepts(value):
        or_null = ", or null" if allows_null else ""
        mistakes.append(f"{key}: expected {rule.words}{or_null}, found {value!r:.{_SHOWN}}")
        return None
    known = len(mistakes)
    if rule.values is not None:
        parts = dict(value) if isinstance(value, dict) else dict(enumerate(value))
        for name, part in parts.items():
            parts[name] = _check(rule.values, part, f"{key}.{name}", mistakes)
        value = parts if isinstance(value, dict) else [*parts.values()]
    finish = rule.finish
    if finish is None or len(mistakes) > known:
        return value
    return _try(lambda: finish(value), key, mistakes)


@cache
def _list_kinds(section: type) -> dict[str, _Rule]:
    """Return the kinds of the fields that a file may set; `where: str` is not such a field."""
    kinds = get_type_hints(section, include_extras=True)
    return {name: _read_rule(kind) for name, kind in kinds.items() if kind is not str}


def _check_section(kind: Any, value: Any, key: str, mistakes: list[str]) -> Any:
    if isinstance(value, kind):
        return value
    kinds = _list_kinds(kind)
    if not isinstance(value, dict):
        words = f"{key}: expected {', '.join(kinds)}, found {value!r:.{_SHOWN}}"
        mistakes.append(words.removeprefix(": "))
        return None
    known, prefix = len(mistakes), f"{key}." if key else ""
    if unknown := [f"{prefix}{name}"[:_SHOWN] for name in value if name not in kinds]:
        expected = f"expected some of {', '.join(kinds)}"
        mistakes.append(f"unknown key {', '.join(unknown)}: {expected}")
    missing = [
        f"{prefix}{field.name}"
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
        if field.name not in value
    ]
    if missing:
        shown_keys = ", ".join(str(name)[:_SHOWN] for name in value)
        mistakes.append(f"no key {', '.join(missing)}: expected it among {shown_keys}")
    checked = {
        name: _check(of_field, value[name], f"{prefix}{name}", mistakes)
        for name, of_field in kinds.items()
        if name in value
    }
    return None if len(mistakes) > known else _try(lambda: kind(**checked), key, mistakes)


def _try(make: Callable[[], Any], key: str, mistakes: list[str]) -> Any:
    try:
        return make()
    except ValueError as error:
        mistakes += [f"{key}: {line}".removeprefix(": ") for line in str(error).splitlines()]
        return None
