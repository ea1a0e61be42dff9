"""Read the arguments of a reward as Python's own values: a worker has no other package.

    >>> read_terms(database_name="fleet", order_matters=1, max_steps=float("nan"))["max_steps"]

Tables hold values of numpy, pandas, polars, Arrow and `datasets`. A null in them is None, NaN or
pandas.NA. These values are recognized by their methods: none of the packages is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, cleandoc, signature
from itertools import repeat
from types import NoneType
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from answerkey.engines.names import ENGINES
from answerkey.engines.sqlite.clock import read_instant
from answerkey.scoring.rules import Rule, read_rule

P = ParamSpec("P")
R = TypeVar("R")

# The methods that return a table as a list, or a scalar as a Python value.
_READERS = ("tolist", "as_py", "to_pylist", "to_list")
_OWN = frozenset((str, int, bool, NoneType, bytes, list, tuple, dict))
_PLAIN = frozenset((str, int, float, bool, NoneType, bytes))
_JSON_TEXT = "JSON text, as exports have it"


def read_value(value: Any) -> Any:
    """Return a value as Python's own: a list for an array or a column, None for a null of any kind.

    >>> read_value(float("nan")), read_value(3), read_value(range(2))
    (None, 3, [0, 1])

    NaN is a null for SQLite, too. Elements of an array may still be foreign values. A value of an
    unknown kind is returned as it is.
    """
    kind = type(value)
    if kind in _OWN:
        return value
    if kind is float:
        return None if value != value else value
    for name in _READERS:
        if (read := getattr(value, name, None)) is not None:
            own = read()
            return own if type(own) is kind else read_value(own)
    if kind.__name__ in ("NAType", "NaTType"):
        return None
    for plain in (str, int, float):
        if isinstance(value, plain):  # also a subclass, such as an enum
            return plain(value)
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else value


def read_nested(value: Any) -> Any:
    """Return a value with all values inside it as Python's own."""
    value = read_value(value)
    if isinstance(value, dict):
        return {str(key): read_nested(held) for key, held in value.items()}
    if not isinstance(value, list | tuple):
        return value
    return value if _are_plain(value) else [*map(read_nested, value)]


def _are_plain(values: Sequence[Any]) -> bool:
    kinds = {*map(type, values)}
    return kinds <= _PLAIN and not (float in kinds and any(value != value for value in values))


def read_json(name: str, value: Any) -> Any:
    """Return a JSON value, whatever its arrays are. Raises TypeError on any other value."""
    own = read_nested(value)
    if type(own) not in (*_PLAIN, list, tuple, dict):
        raise _refuse(name, "a JSON value", own)
    return [*own] if type(own) is tuple else own


def write_json(name: str, value: Any) -> str:
    """Return a JSON value as text. Raises TypeError on any other value."""
    try:
        try:
            return _ENCODER.encode(value)
        except ValueError:  # NaN or infinity: not JSON, but Python writes and reads them
            return json.dumps(read_nested(value))
    except TypeError as error:
        raise TypeError(f"{name}: expected a JSON value, found {value!r:.80}: {error}") from error


def _read_foreign(value: Any) -> Any:
    own = read_value(value)
    if type(own) not in _OWN and type(own) is not float:
        raise TypeError(f"{type(value).__name__} is none")
    return own


_ENCODER = json.JSONEncoder(allow_nan=False, default=_read_foreign)


def read_predicted_rows(name: str, rows: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query: sequences or mappings of values, an array, or a data frame.

    >>> read_predicted_rows("rows", [["Sun", 1.5], {"name": "Tern", "weight": float("nan")}])
    [('Sun', 1.5), ('Tern', None)]
    """
    if hasattr(rows, "itertuples"):  # a frame of pandas
        rows = rows.itertuples(index=False, name=None)
    elif hasattr(rows, "iter_rows"):  # one of polars
        rows = rows.rows()
    else:
        rows = read_value(rows)
    return [_read_row(name, row) for row in rows]


def _read_row(name: str, row: Any) -> tuple[Any, ...]:
    if type(row) is not tuple:
        row = read_value(row)
        row = row.values() if isinstance(row, dict) else row
        if isinstance(row, str | bytes) or not isinstance(row, Iterable):
            raise TypeError(f"{name}: expected rows, as [('Sun', 1.5)], found a row {row!r:.80}")
        row = tuple(row)
    return row if _are_plain(row) else tuple(map(read_value, row))


# The terms of a question by name: the types that need no conversion, and a reader for the others.


def _refuse(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name}: expected {expected}, found {type(value).__name__}: {value!r:.80}")


def read_text(name: str, value: Any, *, expected: str = "a text") -> str | None:
    own = read_value(value)
    if own is not None and type(own) is not str:
        raise _refuse(name, expected, own)
    return own


def _read_json_text(name: str, value: Any) -> str | None:
    return read_text(name, value, expected=_JSON_TEXT)


def _read_needed_text(name: str, value: Any) -> str:
    text = read_text(name, value)
    if text is None:
        raise _refuse(name, "a text", text)
    return text


def read_flag(name: str, value: Any) -> bool:
    own = read_value(value)
    if type(own) not in (bool, int, float) or own not in (0, 1):
        raise _refuse(name, "True or False", own)
    return bool(own)


def read_count(name: str, value: Any) -> int | None:
    """Return a whole number or None. A column with nulls holds it as a float."""
    own = read_value(value)
    if own is None or type(own) is int:
        return own
    if type(own) is float and own.is_integer():
        return int(own)
    raise _refuse(name, "a whole number", own)


def _read_budget(name: str, value: Any) -> int | None:
    count = read_count(name, value)
    if count is not None and count < 1:
        raise ValueError(f"{name}: expected a whole number from 1, found {count}")
    return count


def read_rate(name: str, value: Any) -> float | None:
    own = read_value(value)
    if own is not None and type(own) not in (int, float):
        raise _refuse(name, "a number", own)
    return None if own is None else float(own)


def read_rule_term(name: str, value: Any) -> Rule | None:
    rule = value if isinstance(value, Rule) else read_text(name, value, expected="a rule's name")
    return None if rule is None else read_rule(rule)


def _read_engine(name: str, value: Any) -> str | None:
    engine = read_text(name, value)
    if engine is not None and engine not in ENGINES:
        raise ValueError(f"{name}: expected one of {', '.join(ENGINES)}, found {engine!r}")
    return engine


def read_clock(name: str, value: Any) -> str | None:
    """Return the time of a clock as SQLite writes it. A reader of JSON may have turned the text of
    an export into a date or a time."""
    own = read_value(value)
    if own is None or own == "":
        return None
    try:
        return read_instant(own)
    except ValueError as error:
        raise TypeError(f"{name}: {error}") from error


_TEXTS: frozenset[type] = frozenset((str, NoneType))
_TERMS: dict[str, tuple[frozenset[type], Callable[[str, Any], Any]]] = {
    "database_name": (frozenset((str,)), _read_needed_text),
    "order_matters": (frozenset((bool,)), read_flag),
    "gold_answer": (_TEXTS, _read_json_text),
    "engine": (frozenset((NoneType,)), _read_engine),
    "max_steps": (frozenset((NoneType,)), _read_budget),
    "max_cpu_s": (frozenset((NoneType,)), _read_budget),
    "rule": (frozenset(), read_rule_term),
    "accepted_rows": (_TEXTS, _read_json_text),
    "other_answers": (_TEXTS, _read_json_text),
    "test_suite": (_TEXTS, _read_json_text),
    "database_sha256": (_TEXTS, read_text),
    "now": (frozenset((NoneType,)), read_clock),
}


def read_terms(**terms: Any) -> dict[str, Any]:
    """Return the terms of a question, each with its own type; JSON becomes text.

    Raises:
        TypeError: a term has another type.
        ValueError: a count is below 1, or there is no such engine.
    """
    return {name: _TERMS[name][1](name, value) for name, value in terms.items()}


def read_column(name: str, values: Any, count: int) -> Iterable[Any]:
    """Return a column of a term, with a value for each of `count` completions.

    Raises:
        TypeError: a value has another type than the term.
        ValueError: the column has more than `count` values, or fewer.
    """
    accepted_types, read = _TERMS[name]
    column = read_value(values)
    if column is None:
        return repeat(read(name, None), count)
    if type(column) not in (list, tuple):
        column = _list_values(name, column)
    if len(column) != count:
        raise ValueError(f"{name}: expected {count} values, one a completion, found {len(column)}")
    return (
        column
        if {*map(type, column)} <= accepted_types
        else [read(name, value) for value in column]
    )


def _list_values(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise _refuse(name, "a value for each completion", values)
    return list(values)


# Names of arguments.


def check_names(
    like: Callable[..., Any] | None = None, *, ignores_others: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that lists each key of `**named: Unpack[...]` in a function's signature,
    and explains it in the docstring. A call with wrong or missing names raises a clear TypeError.

    like: use the docstring of this function.
    ignores_others: drop unknown names instead of raising an error.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        spelt = signature(function)
        parameters: list[Parameter] = []
        words = cleandoc((like or function).__doc__ or "")
        for parameter in spelt.parameters.values():
            if parameter.kind is not Parameter.VAR_KEYWORD:
                parameters.append(parameter)
                continue
            for record in get_args(get_type_hints(function)[parameter.name]):
                words += f"\n\n{cleandoc(record.__doc__)}"
                parameters += _list_keys(record)
        known = frozenset(parameter.name for parameter in parameters)
        needed = frozenset(parameter.name for parameter in parameters if _is_needed(parameter))
        expected = ", ".join(parameter.name for parameter in parameters if parameter.name != "self")
        if ignores_others:
            parameters.append(Parameter("others", Parameter.VAR_KEYWORD, annotation=Any))

        @wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            missing, wrong = needed - named.keys(), named.keys() - known
            if ignores_others:
                for name in wrong:
                    del named[name]
                wrong = set()
            if missing or wrong:
                mistakes = [f"no argument is named {name}" for name in sorted(wrong)]
                mistakes += [f"{name} is missing" for name in sorted(missing)]
                name = function.__qualname__
                raise TypeError(f"{name}: {', '.join(mistakes)}: expected {expected}")
            return function(*arguments, **named)

        call.__doc__ = words
        vars(call)["__signature__"] = spelt.replace(parameters=parameters)
        return call

    return decorate


def _list_keys(record: Any) -> list[Parameter]:
    return [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name in record.__required_keys__ else None,
            annotation=annotation,
        )
        for name, annotation in get_type_hints(record).items()
    ]


def _is_needed(parameter: Parameter) -> bool:
    return parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty
