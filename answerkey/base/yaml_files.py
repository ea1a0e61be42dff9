"""Read YAML files, with the line of each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from answerkey.base.errors import InputError

if TYPE_CHECKING:
    _Fastest = yaml.SafeLoader
else:
    _Fastest = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C, if PyYAML was built with it


class _Loader(_Fastest):
    """Refuses a repeated key: PyYAML itself would keep only the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                line = node.value[index][0].start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: expected the key {key!r} once")
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


# Raised by PyYAML for a value that its tag does not allow, such as `2020-99-99` or `!!bool x`.
_OF_A_TAG = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def load_yaml(path: Path) -> Any:
    """Return the value of a YAML file. InputError names the file and line of a syntax error."""
    with path.open("rb") as file:
        try:
            return yaml.load(file, _Loader)
        except (yaml.YAMLError, *_OF_A_TAG) as error:
            raise InputError(f"{path}: expected YAML: {error}") from error
