"""A server of Postgres for as long as a dump is read: in a folder of its own, without a port.

What a dump says is foreign: its statements are executed by a role that is no superuser, in a server
that is another user's than root, within a time. The server ends with the process that started it,
however that ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from urllib.parse import quote

from answerkey.base.errors import InputError
from answerkey.engines.postgres.variables import without_variables
from answerkey.intake.dump_loading import FIRST_DATABASE, OTHER_DATABASE, DumpLoader
from answerkey.intake.engines import first_line

if TYPE_CHECKING:
    import psycopg

_PROGRAMS = ("initdb", "postgres", "pg_restore")
# Where packages put them, if not on the path: Debian, Red Hat, Homebrew.
_FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql*/bin")
_START_SECONDS = 120
_LOAD_SECONDS = 300  # and one more for each megabyte of the dump
_LEAST_FREE_BYTES = 500_000_000  # of the disk that the server may not fill
_MAX_PLACE_LENGTH = 60  # of the 100 letters that the path of a socket may have
_USER = "postgres"  # a user of the machine; a server never runs as root
_SUPERUSER, _LOADER = "postgres", "loader"  # roles of the server
# Whoever reads the pipe on its standard input ends with whoever writes to it, killed or not. Then
# the server ends, and its folder goes. It is told more than once: while a server starts, it passes
# the signal over, as all do that a shell starts behind `&`.
_SUPERVISE = """
folder=$1 initdb=$2 postgres=$3
trap 'rm -rf "$folder"' EXIT
exec 3<&0
"$initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync 3<&- || exit 1
"$postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c timezone=UTC \
    -c log_timezone=UTC -c datestyle=iso,mdy -c logging_collector=off 3<&- &
server=$!
(read -r _ <&3; while kill -QUIT $server 2>&-; do sleep 1; done) &
wait $server
"""
# It makes databases and all that is in them. It owns no right to files, programs or other roles.
_MAKE_LOADER = (
    f"CREATE ROLE {_LOADER} LOGIN CREATEDB BYPASSRLS",
    f"CREATE DATABASE {FIRST_DATABASE} OWNER {_LOADER}",
    f"ALTER DATABASE {OTHER_DATABASE} OWNER TO {_LOADER}",
)
_MAX_RATIO = 100  # of what is unpacked to what was packed
_LEAST_MAX_BYTES = 1_000_000_000


class LoadedDump(NamedTuple):
    """Where a dump is loaded, and what went wrong on the way."""

    url: str
    notes: list[str]


def find_programs() -> dict[str, str] | None:
    """The programs of a server by name: those on the path, or the newest. None: there is none."""
    on_path = shutil.which(_PROGRAMS[0])
    folders = [Path(on_path).resolve().parent] if on_path else []
    found = [folder for pattern in _FOLDERS for folder in Path("/").glob(pattern)]
    found.sort(key=lambda each: [int(part) for part in re.findall(r"\d+", str(each))])
    for folder in (*folders, *reversed(found)):
        if all((folder / name).is_file() for name in _PROGRAMS):
            return {name: str(folder / name) for name in _PROGRAMS}
    return None


@contextlib.contextmanager
def load_dump(content: Path, *, is_text: bool, dump: Path | None = None) -> Iterator[LoadedDump]:
    """A server that holds what pg_dump has written, as text or to be restored.

    Text is sorted by bytes there, as SQLite sorts it.

    dump: what errors call it, if it was unpacked from another file.

    Raises:
        InputError: there is no server here, it does not start, the dump takes too long, does what
            no dump does, or has no table.
    """
    dump = dump or content
    programs = find_programs()
    if programs is None:
        raise InputError(
            f"{dump}: a dump of Postgres, which only Postgres can read, and none is installed here:"
            " install it (apt-get install postgresql; its server need not run), or give the URL of"
            " a server that has the data, postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    with (
        tempfile.TemporaryDirectory(
            prefix="answerkey-", dir=_find_place(), ignore_cleanup_errors=True
        ) as text,
        tempfile.TemporaryFile("w+", errors="replace") as said,
    ):
        folder = Path(text)
        owner = _find_owner()
        if "user" in owner:
            shutil.chown(folder, owner["user"], owner["group"])
        with _Server(dump, folder, programs, owner, said) as server:
            size_bytes = sum(each.stat().st_size for each in list_dump_files(content))
            limit_s = _LOAD_SECONDS + size_bytes // 1_000_000
            with server.end_after(limit_s), contextlib.ExitStack() as stack:
                loader = DumpLoader(dump, server.connect)
                if is_text:
                    file: BinaryIO = stack.enter_context(content.open("rb"))
                else:
                    file = stack.enter_context(
                        _restore(content, folder, programs, owner, size_bytes)
                    )
                name = loader.load(file)
            url = f"postgresql://{_LOADER}@/{quote(name, safe='')}?host={quote(str(folder))}"
            # The dump may have set a timeout for all sessions.
            url += "&port=5432&options=-c%20statement_timeout%3D0"
            yield LoadedDump(url, loader.notes)


def limit_unpacked(packed_bytes: int) -> int:
    """How many bytes may come of so many that are packed: more are a trap, or a mistake."""
    return max(_LEAST_MAX_BYTES, _MAX_RATIO * packed_bytes)


def copy_bounded(
    read: Callable[[int], bytes], target: IO[bytes], limit_bytes: int, path: Path
) -> None:
    """Copy what a file unpacks to.

    Raises:
        InputError: there is more of it than the limit.
    """
    left = limit_bytes
    while chunk := read(1 << 20):
        left -= len(chunk)
        if left < 0:
            raise InputError(
                f"{path}: it unpacks to more than {limit_bytes} bytes: if they are yours, unpack"
                " it, and give the file"
            )
        target.write(chunk)


def _find_place() -> str:
    """The folder for temporary files, or /tmp, if that one is too deep for the name of a socket, or
    the server's user may not go there."""
    place = Path(tempfile.gettempdir())
    is_open = all(each.stat().st_mode & 0o001 for each in (place, *place.parents))
    is_short = len(str(place)) <= _MAX_PLACE_LENGTH
    return str(place) if is_short and (is_open or os.geteuid() != 0) else "/tmp"


def _find_owner() -> dict[str, Any]:
    """Who runs the server, as `subprocess` takes it: who runs this, but root, whom Postgres
    refuses."""
    import pwd

    if os.geteuid() != 0:
        return {}
    users = {user.pw_name: user for user in pwd.getpwall()}
    user = users.get(_USER) or users["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def list_dump_files(dump: Path) -> list[Path]:
    """The files of a dump. Those of a folder are files, and no links to others.

    Raises:
        InputError: one is something else.
    """
    if not dump.is_dir():
        return [dump]
    files = sorted(dump.iterdir())
    for file in files:
        if file.is_symlink() or not file.is_file():
            raise InputError(f"{file}: expected the files of a dump alone, and no link or folder")
    return files


class _Server:
    """A running server; it ends with the block, or with this process."""

    def __init__(
        self,
        dump: Path,
        folder: Path,
        programs: dict[str, str],
        owner: dict[str, Any],
        said: IO[str],
    ) -> None:
        """said: a file for what it says."""
        self._dump = dump
        self._folder = folder
        self._fault = ""
        self._said = said
        # In a session of its own, so that no signal of a terminal ends it before its work is done.
        # Its environment is bare: that of this process may have secrets.
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _SUPERVISE, "sh", folder, programs["initdb"], programs["postgres"]],
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            start_new_session=True,
            cwd="/",
            env=bare_environment(),
            **owner,
        )

    def __enter__(self) -> _Server:
        try:
            self._wait()
            with self.connect(OTHER_DATABASE, _SUPERUSER) as connection:
                for sql in _MAKE_LOADER:
                    connection.execute(sql.encode())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _wait(self) -> None:
        import psycopg

        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.connect(OTHER_DATABASE, _SUPERUSER).close()
                return
            except psycopg.Error as error:
                if self._process.poll() is None and time.monotonic() < end:
                    time.sleep(0.05)
                    continue
                self._said.seek(0)
                words = self._said.read().strip()[-1000:] or first_line(error)
                raise InputError(f"{self._dump}: Postgres does not start: {words}") from error

    def connect(self, name: str, role: str = _LOADER) -> psycopg.Connection[tuple[object, ...]]:
        """A connection in which each statement is its own transaction."""
        import psycopg

        try:
            with without_variables():
                return psycopg.connect(
                    host=str(self._folder),
                    dbname=name,
                    user=role,
                    autocommit=True,
                    connect_timeout=10,
                    options="-c statement_timeout=0",
                )
        except psycopg.OperationalError as error:
            if role == _SUPERUSER:  # the server has not started yet
                raise
            raise InputError(f"{self._dump}: {first_line(error)}") from error

    @contextlib.contextmanager
    def end_after(self, limit_s: int) -> Iterator[None]:
        """End the server if the block takes more seconds, or if the disk is nearly full.

        Raises:
            InputError: it was ended, or what was asked of it fails.
        """
        import psycopg

        is_done = threading.Event()

        def watch() -> None:
            end = time.monotonic() + limit_s
            while not is_done.wait(1):
                if time.monotonic() > end:
                    self._fault = f"it takes more than {limit_s} seconds to load"
                elif shutil.disk_usage(self._folder).free < _LEAST_FREE_BYTES:
                    self._fault = f"it fills the disk of {self._folder.parent}"
                if self._fault:
                    self._end()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        except (InputError, psycopg.Error) as error:
            if self._fault or isinstance(error, psycopg.Error):
                raise InputError(f"{self._dump}: {self._fault or first_line(error)}") from error
            raise
        finally:
            is_done.set()
            watcher.join()

    def _end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def bare_environment() -> dict[str, str]:
    """The environment of programs that read what is foreign: no secret, and English words."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


@contextlib.contextmanager
def _restore(
    dump: Path, folder: Path, programs: dict[str, str], owner: dict[str, Any], size_bytes: int
) -> Iterator[BinaryIO]:
    """The text of a dump that is packed, in a file.

    Raises:
        InputError: pg_restore cannot read it, or there is too much of it.
    """
    place = []
    if dump.is_dir():
        if b"../" in (dump / "toc.dat").read_bytes():  # files elsewhere, by their names
            raise InputError(f"{dump}: toc.dat has '../': expected a dump in the custom format")
        copy = folder / "dump"
        copy.mkdir()
        for file in list_dump_files(dump):
            shutil.copyfile(file, copy / file.name)
            (copy / file.name).chmod(0o644)
        copy.chmod(0o755)
        place = [str(copy)]
    command = [programs["pg_restore"], "--create", "--no-owner", "--no-privileges", "-f", "-"]
    with (
        dump.open("rb") if not place else contextlib.nullcontext(subprocess.DEVNULL) as given,
        tempfile.TemporaryFile() as text,
        tempfile.TemporaryFile("w+", errors="replace") as said,
        subprocess.Popen(
            [*command, *place],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd="/",
            env=bare_environment(),
            **owner,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            copy_bounded(process.stdout.read, text, limit_unpacked(size_bytes), dump)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            said.seek(0)
            words = said.read().strip().partition("\n")[0]
            raise InputError(f"{dump}: expected a dump of Postgres: {words}")
        text.seek(0)
        yield cast(BinaryIO, text)
