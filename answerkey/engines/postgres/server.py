"""The server in which databases of PostgreSQL are made: the embedded one, or one of the user's own
whose URL is in the environment variable ANSWERKEY_POSTGRES."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Protocol

import psycopg

from answerkey.engines.postgres.embedded import (
    URL_VARIABLE,
    EmbeddedServer,
    find_folder,
    read_wheel_version,
)


class Server(Protocol):
    """How to reach a server. What is made there is the same in each.

    folder: where this machine notes what it knows of the server. number: that of this process, in
    names. is_ours: whether its processes run on this machine, and may be bounded and ended.
    """

    folder: Path
    version: str
    is_ours: bool

    @property
    def number(self) -> int: ...

    def start(self) -> None: ...

    def connect(
        self, database: str = ..., role: str = ..., **arguments: Any
    ) -> psycopg.Connection[tuple[Any, ...]]: ...

    def hold(self, name: str) -> contextlib.AbstractContextManager[None]: ...

    def is_alive(self, number: int) -> bool: ...

    def make_role(self, connection: psycopg.Connection[Any], role: str, rights: str) -> None: ...


_SERVERS: dict[object, Server] = {}


def find_server() -> Server:
    """Return the server that ANSWERKEY_POSTGRES names, or else that of this machine's user, which
    runs, and ends with this process if no other one uses it."""
    if url := os.environ.get(URL_VARIABLE):
        from answerkey.engines.postgres.remote import RemoteServer

        if (os.getpid(), url) not in _SERVERS:  # a fork has a connection of its own
            _SERVERS[os.getpid(), url] = RemoteServer(url)
        return _SERVERS[os.getpid(), url]
    folder, _ = find_folder()
    if folder not in _SERVERS:
        _SERVERS[folder] = EmbeddedServer()
    return _SERVERS[folder]


def read_version() -> str:
    """Return the version of Postgres that executes, such as 18.6."""
    return find_server().version if os.environ.get(URL_VARIABLE) else read_wheel_version()
