"""What of an engine decides the answers on its databases: its version, and our own code for it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from answerkey.base.code import hash_function
from answerkey.engines.names import name_engine
from answerkey.engines.opening import load_engine


def describe_engine(path: str | Path) -> list[str]:
    """Return the version of the engine of a database, and the hash of the code that opens it: parts
    of the keys of shards, whose own code knows engines by their names alone."""
    return list(_describe(name_engine(path)))


@lru_cache
def _describe(name: str) -> tuple[str, str]:
    code = hash_function(f"answerkey.engines.{name}.engine", "ENGINE")
    return load_engine(name).version(), code
