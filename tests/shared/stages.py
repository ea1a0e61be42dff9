"""A stage, called as the pipeline calls it, in this process."""

from __future__ import annotations

import inspect
from importlib import import_module

from answerkey.sections.whole_file import read_params


def call_stage(name: str) -> None:
    """Run the `main` of a stage in the folder that one stands in, with the params there."""
    main = import_module(f"stages.{name}").main
    has_params = "params" in inspect.signature(main).parameters or "_" in main.__annotations__
    main(*([read_params()] if has_params else []))
