"""Registry: all probes, found by the names of their files.

`probes/empty_answer.py` -> Flag.EMPTY_ANSWER: find_empty_answer
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module

from answerkey.audit import probes
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag

Probe = Callable[[Inspection], list[Finding]]


def load_probes() -> dict[Flag, Probe]:
    """The probe of each flag that has one, by the names of the files in `answerkey/audit/probes`.

    Raises:
        ValueError: where a file is not named after a flag.
        AttributeError: where a file has no function `find_` and its name.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(probes.__path__))
    return {Flag(name): _load_probe(name) for name in names}


def _load_probe(name: str) -> Probe:
    return getattr(import_module(f"{probes.__name__}.{name}"), f"find_{name}")


PROBES = load_probes()


def ask_probes(inspection: Inspection) -> list[Finding]:
    """What all probes find."""
    return [finding for probe in PROBES.values() for finding in probe(inspection)]
