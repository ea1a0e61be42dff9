"""Names that build paths: a database id is one plain folder name, a list has none twice, and what a
file says of a path leads nowhere but into its folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

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
        InputError: as `check_db_id`; on a repeated id.
    """
    if isinstance(db_ids, str):
        raise InputError(f"Expected a list of database ids, found {db_ids!r}")
    checked = [check_db_id(db_id) for db_id in db_ids]
    seen: dict[str, str] = {}
    for db_id in checked:
        if db_id.casefold() in seen:
            raise InputError(f"Database {db_id} is listed twice (as {seen[db_id.casefold()]})")
        seen[db_id.casefold()] = db_id
    return checked


def find_inside(folder: str | os.PathLike[str], path: str) -> Path:
    """The file or folder that a path out of some file means below a folder.

    >>> find_inside("data", "fleet/fleet.sqlite").as_posix()
    'data/fleet/fleet.sqlite'

    Where it ends is looked at, links and all, not how it is spelt. Only its last part may be a link
    to elsewhere, as DVC makes them of files.

    Raises:
        InputError: where it leads out of the folder, or nowhere.
    """
    target = os.path.normpath(os.path.join(folder, path))
    if "\0" not in path:
        parent, top = os.path.realpath(os.path.dirname(target)), os.path.realpath(folder)
        if os.path.commonpath((parent, top)) == top:
            return Path(target)
    raise InputError(f"Not a path in {os.fspath(folder)}: {path!r}: expected one that stays there")
