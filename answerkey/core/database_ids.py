"""Database ids: an id is one plain folder name, and a list has none twice."""

from __future__ import annotations

import re
from collections.abc import Iterable

from answerkey.core.errors import InputError

_NOT_IN_NAMES = re.compile(r"[/\\:\x00-\x1f]")


def check_db_id(db_id: str) -> str:
    """The id, where it is one plain folder name; an id builds paths, so nothing else may pass.

    Raises:
        InputError: on "", "..", ".x", "a/b", "a\\b", a control character, or no text at all.
    """
    is_plain = (
        isinstance(db_id, str)
        and db_id != ""
        and not db_id.startswith(".")
        and not _NOT_IN_NAMES.search(db_id)
    )
    if not is_plain:
        raise InputError(
            f"Not a database id: {db_id!r}: expected a plain folder name, such as 'pets_1'"
        )
    return db_id


def check_db_ids(db_ids: Iterable[str]) -> list[str]:
    """The ids as a list, each a plain name, none of them twice (whatever its case).

    Raises:
        InputError: as `check_db_id`; on a repeated id; where there is none.
    """
    if isinstance(db_ids, str):
        raise InputError(f"Expected a list of database ids, found {db_ids!r}")
    checked = [check_db_id(db_id) for db_id in db_ids]
    if not checked:
        raise InputError("No database is listed: expected at least one id in db_list, or `all`")
    seen: dict[str, str] = {}
    for db_id in checked:
        if db_id.casefold() in seen:
            raise InputError(f"Database {db_id} is listed twice (as {seen[db_id.casefold()]})")
        seen[db_id.casefold()] = db_id
    return checked
