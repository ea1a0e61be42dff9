"""Params as the stages read them: every key by its full name, so that dvc.yaml can declare it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PARAMS_PATH = Path("params.yaml")
# The same in C, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def look_up(params: dict[str, Any], key: str, *, where: Path = PARAMS_PATH) -> Any:
    """The value of a dotted key.

    >>> look_up({"corpora": {"sample": {"db_list": "all"}}}, "corpora.sample.db_list")
    'all'

    Raises:
        KeyError: with the file, the key and the names that do exist there.
    """
    value: Any = params
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(map(str, value)) if isinstance(value, dict) else "no keys"
            raise KeyError(f"{where}: no key {key}: expected {part!r} among: {known}")
        value = value[part]
    return value


def read_params(*keys: str, path: Path = PARAMS_PATH) -> list[Any]:
    """The values of some keys of params.yaml, in the order asked for.

    A stage names its keys as literals, and dvc.yaml lists the same ones: a test compares the two,
    since a key that is read and not declared leaves results silently stale.

    Raises:
        FileNotFoundError: where there is no params.yaml.
        KeyError: as `look_up`.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: run stages from the project's root")
    with path.open(encoding="utf-8") as file:
        params = yaml.load(file, _LOADER)
    return [look_up(params, key, where=path) for key in keys]
