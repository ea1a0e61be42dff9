"""Params as stages read them: a mistake anywhere in params.yaml ends a run before it starts.

What each section may hold stands in `answerkey.sections`.
"""

from __future__ import annotations

import math
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from answerkey.errors import InputError
from answerkey.kinds import check_value

if TYPE_CHECKING:
    from answerkey.sections.whole_file import Params

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
