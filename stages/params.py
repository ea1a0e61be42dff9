"""Params as the stages read them: every key by its full name, so that dvc.yaml can declare it.

A number that is none, or out of its bounds, and a key that no stage reads stop the run before it
starts: both would otherwise be known by what they did to the dataset, or not at all.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stages.errors import InputError

PARAMS_PATH = Path("params.yaml")
# The same in C, where PyYAML was built with it.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a number may be; whole where it is counted."""

    low: float
    high: float = math.inf
    is_whole: bool = True

    def __contains__(self, value: object) -> bool:
        is_number = type(value) is int or (type(value) is float and not self.is_whole)
        return is_number and self.low <= value <= self.high and math.isfinite(value)

    def __str__(self) -> str:
        kind = "a whole number" if self.is_whole else "a number"
        start = "" if self.low == -math.inf else f" from {self.low:g}"
        return f"{kind}{start}" + ("" if self.high == math.inf else f" to {self.high:g}")


@dataclass(frozen=True, slots=True)
class Text:
    """What a text may be: not empty; null only where it is optional."""

    is_optional: bool = False

    def __contains__(self, value: object) -> bool:
        return (value is None and self.is_optional) or (isinstance(value, str) and value != "")

    def __str__(self) -> str:
        return "a text, or null" if self.is_optional else "a text"


_FROM_0, _FROM_1, _SHARE = Bounds(0), Bounds(1), Bounds(0, 1, is_whole=False)
_TOLERANCE = Bounds(0, is_whole=False)
# The keys of each section, and what they may be; None: whoever reads the value says so. A section
# that is not here, such as corpora, has keys of its own making.
SECTIONS: dict[str, dict[str, Bounds | Text | None]] = {
    "download": {"attempts": _FROM_1, "backoff_s": _TOLERANCE, "deadline_s": _TOLERANCE},
    "execution": {"engine": None, "workers": _FROM_0, "databases_url": Text(is_optional=True)},
    "compute_gold_answers": {
        "max_steps": _FROM_1,
        "max_rows": _FROM_1,
        "max_value_bytes": _FROM_1,
        "max_answer_bytes": _FROM_1,
        "max_heap_bytes": _FROM_1,
        "max_seconds": _FROM_1,
    },
    "audit_gold_answers": {
        "max_rows": _FROM_0,
        "max_bytes": _FROM_0,
        "min_guess_score": _SHARE,
        "rel_tol": _TOLERANCE,
        "shuffles": _FROM_0,
        "max_shuffled_bytes": _FROM_0,
    },
    "compare_questions": {"min_similarity": _SHARE},
    "classify_difficulty": {
        "method": None,
        "easy_max_tables": _FROM_0,
        "medium_max_tables": _FROM_0,
        "hardness_levels": None,
        "source_levels": None,
    },
    "select_questions": {
        "seed": Bounds(-math.inf),
        "policies": None,
        "targets": None,
        "max_per_canonical_sql": None,
    },
    "select_questions.targets": {
        "difficulty_shares": None,
        "corpus_shares": None,
        "eval_share": None,
        "tolerance": None,
        "min_questions": None,
        "max_questions": None,
        "max_per_database": None,
        "max_answer_type_share": None,
    },
    "validate_dataset": {"rel_tol": _TOLERANCE},
    "export_trainers": {
        "prompt_template": Text(),
        "example_rows": _FROM_0,
        "max_schema_characters": _FROM_0,
    },
    "report_dataset": {"max_rows": _FROM_0, "max_answer_characters": _FROM_1},
}


def load_yaml(path: Path) -> Any:
    """What a file of YAML holds, by the parser in C where PyYAML has it."""
    with path.open(encoding="utf-8") as file:
        return yaml.load(file, _LOADER)


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


def check_section(params: dict[str, Any], name: str, *, where: Path = PARAMS_PATH) -> None:
    """Make sure that a section of `SECTIONS` has its keys and no other, and values that they may
    have.

    Raises:
        InputError: as `look_up`, where it lacks a key.
        InputError: with the file, the key, what was expected and what was found.
    """
    known, values = SECTIONS[name], look_up(params, name, where=where)
    if not isinstance(values, dict):
        raise InputError(f"{where}: {name}: expected {', '.join(known)}, found {values!r}")
    for key in values:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            meant = close[0] if close else f"some of {', '.join(known)}"
            raise InputError(f"{where}: unknown key {name}.{key}: expected {meant}")
    for key, kind in known.items():
        value = look_up(params, f"{name}.{key}", where=where)
        if kind is not None and value not in kind:
            raise InputError(
                f"{where}: {name}.{key}: expected {kind}, found {value!r}{_explain_text(value)}"
            )


def _explain_text(value: Any) -> str:
    """What to write where YAML takes a number for text, as it does 1e-6."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    written = int(number) if number.is_integer() else number
    return f", a text for YAML: write {yaml.safe_dump(written).split()[0]}"


def read_params(*keys: str, path: Path = PARAMS_PATH) -> list[Any]:
    """The values of some keys of params.yaml, in the order asked for.

    A stage names its keys as literals, and dvc.yaml lists the same ones: a test compares the two,
    since a key that is read and not declared leaves results silently stale.

    Raises:
        FileNotFoundError: where there is no params.yaml.
        InputError: as `look_up`.
        InputError: as `check_section`, about any section that a key is of.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path.absolute()}: run stages from the project's root")
    params = load_yaml(path)
    values = [look_up(params, key, where=path) for key in keys]
    for name in SECTIONS:
        if any(f"{key}.".startswith(f"{name}.") for key in keys):
            check_section(params, name, where=path)
    return values
