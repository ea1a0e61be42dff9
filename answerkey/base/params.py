"""Params as stages read them: a mistake anywhere in params.yaml ends a run before it starts.

What each section may hold stands in `answerkey.sections`.
"""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value

if TYPE_CHECKING:
    from answerkey.sections.whole_file import Params

PARAMS_PATH = Path("params.yaml")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # in C, if PyYAML was built with it
    """Of a key that stands twice, PyYAML would take the last value and lose the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for place, key in enumerate(keys):
            if key in keys[:place]:
                line = node.value[place][0].start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: expected the key {key!r} once")
        return super().construct_mapping(node, deep)


def load_yaml(path: Path) -> Any:
    """What a file of YAML holds.

    Raises:
        InputError: with the file and the line, if it is no YAML.
    """
    with path.open("rb") as file:
        try:
            return yaml.load(file, _Loader)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: expected YAML: {error}") from error


def load_params(path: Path = PARAMS_PATH) -> Params:
    """Return the whole of params.yaml, checked.

    Raises:
        FileNotFoundError: if there is none.
        InputError: as `load_yaml` and `check_value`.
    """
    # Not among the deps of stages: see there.
    from answerkey.sections.whole_file import Params

    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: run stages from the project's root")
    return check_value(Params, load_yaml(path), where=str(path))


def read_params(*names: str, path: Path = PARAMS_PATH) -> list[Any]:
    """Return some sections of params.yaml, or parts of them, in the order asked for.

    >>> thresholds, targets = read_params("audit_gold_answers", "select_questions.targets")
    >>> thresholds.max_rows, targets.eval_share
    (1000, 0.3)

    A stage names them as literals, and dvc.yaml lists the same ones: a test compares the two, since
    a result whose params are not declared stays silently stale.

    Raises:
        FileNotFoundError, InputError: as `load_params`.
    """
    params = load_params(path)
    return [attrgetter(name)(params) for name in names]
