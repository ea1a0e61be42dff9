"""A stage as a command, and the params that it reads: a mistake anywhere in params.yaml ends a run
before it starts. What each section may hold stands in `answerkey.sections`.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from answerkey.base.errors import InputError, tell_errors
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


# What PyYAML raises on a value that is none of its tag, such as `2020-99-99` or `!!bool x`.
_OF_A_TAG = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def load_yaml(path: Path) -> Any:
    """What a file of YAML holds; InputError names the file and the line that is none."""
    with path.open("rb") as file:
        try:
            return yaml.load(file, _Loader)
        except (yaml.YAMLError, *_OF_A_TAG) as error:
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
        raise FileNotFoundError(f"No {path.absolute()}: expected the root of the project")
    return check_value(Params, load_yaml(path), where=str(path))


def read_params(*names: str, path: Path = PARAMS_PATH) -> list[Any]:
    """Return some sections of params.yaml, or parts of them, in the order asked for.

    >>> thresholds, targets = read_params("audit_gold_answers", "select_questions.targets")
    >>> thresholds.max_rows, targets.eval_share
    (1000, 0.3)

    A stage names them as literals, and dvc.yaml lists the same ones: a test compares the two, since
    a result whose params are not declared stays silently stale.
    """
    params = load_params(path)
    return [attrgetter(name)(params) for name in names]


def make_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """A parser of options, whose `--help` starts with the first paragraph of the docstring of that
    module.

    >>> make_parser("stages.load_questions", "Every question, once.\\n\\nMore.").description
    'Every question, once.'
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}", description=doc.split("\n\n")[0], allow_abbrev=False
    )


def run_stage(main: Callable[..., None], *, has_options: bool = False) -> None:
    """Call the `main` of the module that Python runs. Exit status 0: done; 1: an error, which is on
    stderr; 2: options that it does not have.

    has_options: main parses the arguments of the command line itself, with `make_parser`. Without
        it the stage has no option but `--help`, and all params are checked before it starts.
    """
    module = sys.modules[main.__module__]
    name = Path(module.__file__).stem
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # see stages/__init__.py
    with tell_errors(name, label="error: "):
        if has_options:
            main(*sys.argv[1:])
        else:
            make_parser(f"stages.{name}", module.__doc__).parse_args()
            load_params()
            main()
