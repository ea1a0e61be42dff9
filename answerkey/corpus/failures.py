"""Failures: what is wrong with each of several databases, told at once and not one in each run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from answerkey.core.errors import InputError


class Failures:
    """What could not be done, of several things that do not depend on each other."""

    def __init__(self) -> None:
        self._errors: list[InputError | FileNotFoundError] = []

    @contextlib.contextmanager
    def collect(self) -> Iterator[None]:
        """Keep an error of the block for later."""
        try:
            yield
        except (InputError, FileNotFoundError) as error:
            self._errors.append(error)

    def raise_all(self) -> None:
        """Nothing, where all went well.

        Raises:
            InputError, FileNotFoundError: the error, or one with a line for each of them.
        """
        if not self._errors:
            return
        if len(self._errors) == 1:
            raise self._errors[0]
        is_missing = all(isinstance(error, FileNotFoundError) for error in self._errors)
        kind = FileNotFoundError if is_missing else InputError
        lines = [f"{len(self._errors)} databases are missing or broken:", *map(str, self._errors)]
        raise kind("\n".join(lines))
