"""The settings of a database, in the first line of its text.

    -- answerkey: {"engine": "postgres", "settings": {"timezone": "UTC", "search_path": "public"}}

A setting that the line does not name has its default; so has a text without such a line.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from answerkey.base.errors import InputError
from answerkey.engines.names import POSTGRES
from answerkey.engines.settings import cut_head, write_head

# Collations of Postgres itself, the same on every machine.
COLLATIONS = ("C", "C.UTF-8", "PG_UNICODE_FAST")
_NAMES = re.compile(r'\s*(?:"(?:[^"]|"")+"|[\w$]+)\s*(?:,\s*(?:"(?:[^"]|"")+"|[\w$]+)\s*)*')


@dataclass(frozen=True, slots=True)
class Settings:
    """timezone: of sessions. search_path: schemas whose tables need no schema before their name.
    collation: how texts are sorted, one of `COLLATIONS`. now: the instant at which the text is
    executed; "": that with which the database is opened."""

    timezone: str = "UTC"
    search_path: str = "public"
    collation: str = "C.UTF-8"
    now: str = ""

    @classmethod
    def read(cls, line: str, path: Path) -> Self:
        """Return the settings of the first line of a text.

        Raises:
            InputError: the line has a setting or a value that is unknown.
        """
        try:
            given, _ = cut_head(line, POSTGRES)
            settings = cls(**given)
            settings.check()
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        return settings

    def check(self) -> None:
        """Check that Postgres knows the values.

        Raises:
            InputError: it does not.
        """
        if self.collation not in COLLATIONS:
            found = f"found {self.collation!r}"
            raise InputError(f"collation: expected one of {', '.join(COLLATIONS)}, {found}")
        if not _NAMES.fullmatch(self.search_path):
            raise InputError(f"search_path: expected schemas, found {self.search_path!r}")
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            found = f"found {self.timezone!r}"
            raise InputError(f"timezone: expected a name like UTC, {found}") from error

    def write(self) -> str:
        """Return the first line of a text.

        >>> Settings().write()[:38]
        '-- answerkey: {"engine": "postgres", "'
        """
        given = {name: value for name, value in asdict(self).items() if value}
        return write_head(POSTGRES, given)
