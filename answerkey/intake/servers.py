"""A server of Postgres for as long as a dump is read: in a folder of its own, without a port."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from answerkey.base.errors import InputError

_PROGRAMS = ("initdb", "pg_ctl", "psql", "pg_restore")
# Where packages put them, if not on the path: Debian, Red Hat, Homebrew.
_FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql*/bin")
_SECONDS = 120  # to start, and to stop
_USER = "postgres"  # of the server, and of its database; a server never runs as root
# What a dump asks for that is no part of its data: who owns it, who may read it, and what only a
# newer version knows.
_PASSED_OVER = re.compile(
    r'role "[^"]*" does not exist|must be (owner|able to SET ROLE)|invalid command \\(un)?restrict'
    r"|unrecognized configuration parameter"
)
# Lines by which `pg_dump --create` makes a database of its own, with a locale that may not be here.
_OF_DATABASE = re.compile(rb"(CREATE|DROP|ALTER|COMMENT ON) DATABASE |\\connect ")
_DATA = re.compile(rb"COPY |INSERT ")
_MAX_NOTES = 10


class Loaded(NamedTuple):
    """Where a dump is loaded, and what went wrong on the way."""

    url: str
    notes: list[str]


def find_programs() -> dict[str, str] | None:
    """The programs of a server by name; of several versions the newest. None: there is none."""
    on_path = {name: shutil.which(name) for name in _PROGRAMS}
    if all(on_path.values()):
        return {name: path for name, path in on_path.items() if path}
    folders = [folder for pattern in _FOLDERS for folder in Path("/").glob(pattern)]
    whole = [each for each in folders if all((each / name).is_file() for name in _PROGRAMS)]
    if not whole:
        return None
    newest = max(whole, key=lambda each: [int(part) for part in re.findall(r"\d+", str(each))])
    return {name: str(newest / name) for name in _PROGRAMS}


@contextlib.contextmanager
def load_dump(dump: Path, *, is_text: bool) -> Iterator[Loaded]:
    """A server that holds what pg_dump has written, as text or to be restored.

    Text is sorted by bytes there, as SQLite sorts it.

    Raises:
        InputError: there is no server here, it does not start, or the dump has no table.
    """
    programs = find_programs()
    if programs is None:
        raise InputError(
            f"{dump}: a dump of Postgres, which only Postgres can read, and none is installed here:"
            " install it (apt-get install postgresql; its server need not run), or give the URL of"
            " a server that has the data, postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    with tempfile.TemporaryDirectory(prefix="answerkey-") as text:
        folder = Path(text)
        owner = _choose_owner()
        if owner is not None:
            shutil.chown(folder, owner)
        _run(programs["initdb"], "-D", f"{folder}/data", "-U", _USER, "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync", owner=owner)  # fmt: skip
        control = (programs["pg_ctl"], "-D", f"{folder}/data", "-w", "-t", str(_SECONDS))
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        log = f"{folder}/log"
        try:
            _run(*control, "-l", log, "-o", options, "start", owner=owner)
            yield _load(programs, dump, folder, is_text=is_text)
        finally:
            if (folder / "data/postmaster.pid").is_file():
                _run(*control, "-m", "immediate", "stop", owner=owner)


def _choose_owner() -> str | None:
    """Who runs the server: whoever runs this, but root, whom Postgres refuses."""
    import pwd

    if os.geteuid() != 0:
        return None
    users = {user.pw_name for user in pwd.getpwall()}
    return _USER if _USER in users else "nobody"


def _load(programs: dict[str, str], dump: Path, folder: Path, *, is_text: bool) -> Loaded:
    place = ("-h", str(folder), "-U", _USER)
    _run(programs["psql"], "-X", "-q", *place, "-c", "CREATE DATABASE loaded", "postgres")
    if is_text:
        command = [programs["psql"], "-X", "-q", *place, "-o", os.devnull]
    else:
        command = [programs["pg_restore"], *place, "--no-owner", "--no-privileges", str(dump)]
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile("w+", errors="replace") as said:
        if is_text:
            _copy_text(dump, text)
        subprocess.run([*command, "-d", "loaded"], stdin=text, stdout=said, stderr=said)
        said.seek(0)
        faults = re.findall(r"(?:ERROR|FATAL|error): +(.+)", said.read())
    faults = [words for words in dict.fromkeys(faults) if not _PASSED_OVER.search(words)]
    notes = [f"while the dump was loaded: {words}" for words in faults[:_MAX_NOTES]]
    if len(faults) > _MAX_NOTES:
        notes.append(f"while the dump was loaded: and {len(faults) - _MAX_NOTES} more faults")
    names = _list_databases(programs, place)
    if len(names) != 1:
        words = f"has tables of {', '.join(names)}" if names else "makes no table"
        step = "; ".join(notes) or "pg_dump --dbname NAME writes one"
        raise InputError(f"{dump}: {words}: expected a dump of one database: {step}")
    return Loaded(f"postgresql://{_USER}@/{names[0]}?host={folder}", notes)


def _copy_text(dump: Path, text: BinaryIO) -> None:
    """A dump without what makes a database, which stands before all rows."""
    with dump.open("rb") as file:
        for line in file:
            if not _OF_DATABASE.match(line):
                text.write(line)
            if _DATA.match(line):
                break
        shutil.copyfileobj(file, text)
    text.seek(0)


def _list_databases(programs: dict[str, str], place: tuple[str, ...]) -> list[str]:
    """The databases that have a table: `pg_dump --create` makes one of its own."""
    ask = (programs["psql"], "-X", "-q", "-A", "-t", *place, "-c")
    listed = _run(*ask, "SELECT datname FROM pg_database WHERE NOT datistemplate", "postgres")
    count = (
        "SELECT count(*) FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace"
        " WHERE relkind IN ('r', 'p', 'f')"
        " AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"
    )
    return [name for name in listed.splitlines() if _run(*ask, count, name).strip() != "0"]


def _run(*command: str, owner: str | None = None) -> str:
    """What a program prints; InputError has what it says when it fails."""
    # What a server inherits as standard output it keeps open: a pipe would not end.
    with tempfile.TemporaryFile("w+") as said:
        done = subprocess.run(
            command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, user=owner, cwd="/"
        )
        said.seek(0)
        words = said.read()
    if done.returncode:
        raise InputError(f"{command[0]} failed: {words.strip()[-1000:]}")
    return words
