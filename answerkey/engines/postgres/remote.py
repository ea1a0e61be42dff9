"""A server of PostgreSQL of one's own, by its URL: databases are made there as in the embedded one.

It is a superuser's URL, in the environment variable ANSWERKEY_POSTGRES. The names of all databases
and roles that are made there begin with "answerkey_", and no others are touched. No process is
started or ended. Time is measured as seconds there, and not as CPU seconds, and memory is the
server's own.

What the server's configuration says of plans and texts is set back for our sessions. One file has
to be there already, which makes the words of the clock errors: see `embedded.CLOCK_WORDS`.

The roles log in with a password. Each process makes up its own, which it writes nowhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from answerkey.base.errors import InputError
from answerkey.base.secrets import hide_secrets, remember_secrets
from answerkey.engines.cache import find_cache
from answerkey.engines.postgres.embedded import (
    ABBREVIATIONS,
    MAINTENANCE,
    SETTINGS,
    SUPERUSER,
    URL_VARIABLE,
    list_abbreviations,
    read_wheel_version,
)
from answerkey.engines.postgres.privileges import LOADER
from answerkey.engines.postgres.variables import join_options, without_variables

_LOG = logging.getLogger("answerkey.engines")
_APPLICATION = "answerkey"  # names the connection that each process keeps
_TOLD = (
    f"Queries run in the server of {URL_VARIABLE}: their limit is seconds, not CPU seconds, and"
    " their memory is bounded by the server's configuration alone."
)
# What a session may set and decides plans, limits or texts: as a new server has it.
_CONFIGURED = """
SELECT lower(name), boot_val FROM pg_settings
WHERE context IN ('user', 'superuser') AND boot_val <> reset_val
  AND name !~ '^(transaction_|client_encoding|search_path)' AND category ~ %s"""
_CATEGORIES = (
    "^(Query Tuning|Resource Usage|Version and Platform"
    "|Client Connection Defaults / (Statement|Locale))"
)
_OF_SESSION = "SELECT lower(name) FROM pg_settings WHERE context IN ('user', 'superuser')"
_INITIAL = {  # what the embedded server has from initdb, and from the system
    "lc_messages": "C",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "default_text_search_config": "pg_catalog.english",
    "max_stack_depth": "2MB",
}


class RemoteServer:
    """A server that others run. This object keeps one connection, whose number is that of this
    process: while it is open, nobody drops what has this number in its name."""

    is_ours = False

    def __init__(self, url: str) -> None:
        remember_secrets(url)
        self._url = url
        self._password = secrets.token_urlsafe(32)
        self._settings: dict[str, str] = {}
        try:
            self._database = conninfo_to_dict(url).get("dbname") or MAINTENANCE
            self._keep()
        except psycopg.Error as error:
            raise InputError(f"{URL_VARIABLE}: {hide_secrets(str(error).strip())}") from None
        row = self._keeper.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
        self.folder = find_cache() / f"postgres-at-{row[0] if row else 0}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Connect again if the connection of this process was lost."""
        try:
            self._keeper.execute("SELECT")
        except psycopg.Error:
            with contextlib.suppress(psycopg.Error):
                self._keep()

    def connect(
        self, database: str = MAINTENANCE, role: str = SUPERUSER, **arguments: Any
    ) -> psycopg.Connection[tuple[Any, ...]]:
        """Return a connection in which each statement is its own transaction."""
        arguments["dbname"] = self._database if database == MAINTENANCE else database
        if role == SUPERUSER:
            return self._open(**{"options": join_options(self._settings), **arguments})
        arguments |= {"user": role, "password": self._password}
        if role != LOADER:
            return self._open(**arguments)
        # Other processes share this role, each with its own password.
        with self.hold(LOADER), self.connect() as connection:
            self._prepare_role(connection, role)
            return self._open(**arguments)

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold a lock of the server: one process at a time is in the block."""
        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
        with self.connect() as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", [key])
            yield

    def is_alive(self, number: int) -> bool:
        """Return whether the process with a number is there."""
        self.start()
        query = "SELECT FROM pg_stat_activity WHERE pid = %s AND application_name = %s"
        return self._keeper.execute(query, [number, _APPLICATION]).fetchone() is not None

    def make_role(self, connection: psycopg.Connection[Any], role: str, rights: str) -> None:
        """Make a role of this process, if it is not there."""
        with contextlib.suppress(psycopg.errors.DuplicateObject):
            connection.execute(sql.SQL(f"CREATE ROLE {role} {rights}"))
        self._prepare_role(connection, role)

    def _prepare_role(self, connection: psycopg.Connection[Any], role: str) -> None:
        """Set the password and the settings of a role. The server's log has only a hash of it."""
        hashed = connection.pgconn.encrypt_password(
            self._password.encode(), role.encode(), b"scram-sha-256"
        )
        name = sql.Identifier(role)
        parts = [sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, hashed.decode())]
        for setting, value in self._settings.items():
            change = sql.SQL("ALTER ROLE {} SET {} = {}")
            parts.append(change.format(name, sql.Identifier(setting), value))
        connection.execute(sql.SQL("; ").join(parts))

    def _open(self, **arguments: Any) -> psycopg.Connection[tuple[Any, ...]]:
        with without_variables():
            try:
                return psycopg.connect(
                    self._url,
                    autocommit=True,
                    **{"connect_timeout": 30, "client_encoding": "utf8", **arguments},
                )
            except psycopg.Error as error:  # its words, or those of its cause, may show the URL
                raise psycopg.OperationalError(hide_secrets(str(error))) from None

    def _keep(self) -> None:
        """Make the connection that tells others that this process is there."""
        keeper = self._open(dbname=self._database, keepalives_idle=60)
        major, minor = divmod(keeper.info.server_version, 10_000)
        self.version = f"{major}.{minor}"
        if missing := [*_list_missing(keeper, str(major))]:
            keeper.close()
            raise InputError(f"{URL_VARIABLE}: this server cannot be used: {'; '.join(missing)}")
        known = {name for (name,) in keeper.execute(_OF_SESSION).fetchall()}
        settings = {name: value for name, value in SETTINGS.items() if name in known}
        changed = dict(keeper.execute(_CONFIGURED, [_CATEGORIES]).fetchall())
        self._settings = {**changed, **_INITIAL, **settings}
        keeper.execute("SET idle_session_timeout = 0")
        with self.hold(_APPLICATION):
            query = "SELECT FROM pg_stat_activity WHERE application_name = %s"
            if keeper.execute(query, [_APPLICATION]).fetchone() is None:
                _LOG.warning("%s", _TOLD)  # by the first of the processes that use the server
            keeper.execute(f"SET application_name = '{_APPLICATION}'")
        self._keeper, self.number = keeper, keeper.info.backend_pid


def _list_missing(keeper: psycopg.Connection[Any], major: str) -> Iterator[str]:
    ours = read_wheel_version().partition(".")[0]
    if major != ours:
        yield f"it has version {major}, and answers are those of version {ours}"
    if keeper.info.parameter_status("is_superuser") != "on":
        yield "its user is no superuser"
        return
    try:
        keeper.execute(f"SET timezone_abbreviations = '{ABBREVIATIONS}'")
        keeper.execute("SELECT ('n' || 'ow')::date")
    except psycopg.errors.InvalidDatetimeFormat:
        return
    except psycopg.errors.InvalidParameterValue:
        pass
    query = "SELECT setting FROM pg_config WHERE name = 'SHAREDIR'"
    (share,) = keeper.execute(query).fetchone() or ("",)
    lines = ", ".join(map(repr, list_abbreviations()))
    path = f"{share}/timezonesets/{ABBREVIATIONS}"
    yield f"the words of the clock need a file {path} there, with the lines {lines}"
