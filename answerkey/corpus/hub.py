"""Files of a Hugging Face dataset repository, read at exactly the commit that was asked for.

An answer or an error comes before the deadline, whatever the server does. HF_ENDPOINT, HF_TOKEN,
HF_HOME and HF_HUB_OFFLINE mean the same as to the hub's own library.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from answerkey.corpus import transfer
from answerkey.records import hash_file
from answerkey.sections.corpora import Download
from answerkey.sqlite.files import find_inside

COMMIT = re.compile(r"[0-9a-f]{40}")
_WITHOUT_NETWORK = (
    "; without a network `corpus: sample` works, and `corpus: local` with a release at"
    " corpora.local.root (params.yaml)"
)


class HubError(ConnectionError):
    """The hub did not give what was asked for. It is permanent if another attempt would fail too,
    unreachable if there was no hub to ask."""

    def __init__(
        self, message: str, *, is_permanent: bool = True, is_unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent
        self.is_unreachable = is_unreachable


def resolve_revision(repo_id: str, revision: str, *, limits: Download) -> str:
    """The commit of a branch or tag, asked online; a full commit is its own answer, unasked.

    Raises:
        HubError: if the hub does not say.
    """
    if COMMIT.fullmatch(revision):
        return revision
    request = {"act": "resolve", "repo_id": repo_id, "revision": revision}
    ends_at = time.monotonic() + limits.deadline_s
    return _retry(request, limits, where=f"{repo_id} at {revision}", ends_at=ends_at)


def fetch_file(
    repo_id: str,
    revision: str,
    path: str,
    *,
    limits: Download,
    sha256: str | None = None,
    check: Callable[[Path], None] | None = None,
    directory: Path | None = None,
    is_forced: bool = False,
) -> Path:
    """The local path of a file of that commit: in the hub's cache, else fetched into `directory`,
    else into the cache. A file with another checksum, or that `check` refuses by a ValueError, is
    damaged: it is fetched again, once. With `is_forced` the cache is never asked.

    Raises:
        ValueError: if `revision` is no full commit, which could mean another one tomorrow; if
            `path` leads out of the directory.
        HubError: if the file does not come, or comes damaged both times.
    """
    if not COMMIT.fullmatch(revision):
        raise ValueError(f"{repo_id}: expected a commit of 40 hex digits, found {revision!r}")
    if directory is not None:
        find_inside(directory, path)
    request = {
        "act": "fetch",
        "repo_id": repo_id,
        "revision": revision,
        "path": path,
        "directory": None if directory is None else str(directory),
    }
    where = f"{path} of {repo_id} at {revision}"
    ends_at = time.monotonic() + limits.deadline_s
    damage = ""
    for forced in (is_forced, True):
        try:
            answer = _retry(request | {"is_forced": forced}, limits, where=where, ends_at=ends_at)
        except HubError as error:
            note = damage and f"the copy in the cache is damaged ({damage}); "
            raise HubError(f"{note}{error}") from error
        try:
            _check_content(Path(answer), sha256, check)
        except ValueError as error:
            damage = str(error)
        else:
            return Path(answer)
    raise HubError(f"{where}: {damage}, fetched twice")


def _check_content(path: Path, sha256: str | None, check: Callable[[Path], None] | None) -> None:
    if sha256 is not None and (found := hash_file(path)) != sha256:
        raise ValueError(f"wrong checksum: sha256 is {found}, expected {sha256}")
    if check is not None:
        check(path)


def _retry(request: dict[str, Any], limits: Download, *, where: str, ends_at: float) -> str:
    """The answer to a request, within the attempts and until a time of the monotonic clock."""
    for attempt in range(1, limits.attempts + 1):
        try:
            return _ask(request, seconds=ends_at - time.monotonic())
        except subprocess.TimeoutExpired:
            raise HubError(
                f"{where}: no end after {limits.deadline_s:g} s (download.deadline_s)"
            ) from None
        except HubError as error:
            pause_s = limits.backoff_s * attempt
            is_last = attempt == limits.attempts or time.monotonic() + pause_s >= ends_at
            if error.is_permanent or is_last:
                tries = "" if attempt == 1 else f", {attempt} attempts"
                advice = _WITHOUT_NETWORK if error.is_unreachable else ""
                raise HubError(f"{where}: {error}{tries}{advice}") from error
            time.sleep(pause_s)
    raise ValueError(f"download.attempts is {limits.attempts}: expected at least 1")


def _ask(request: dict[str, Any], *, seconds: float) -> str:
    """Run `answerkey.corpus.transfer` once, which dies with this call."""
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    quiet = {} if is_watched else {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", transfer.__file__, json.dumps(request)],
        env={"HF_HUB_VERBOSITY": "error"} | os.environ | quiet,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if is_watched else subprocess.PIPE,
        timeout=seconds,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    if done.returncode != 0:
        last_words = (done.stderr or "").strip().split("\n")[-1]
        raise HubError(f"the transfer ended with code {done.returncode}: {last_words}")
    result = json.loads(done.stdout.strip().split("\n")[-1])
    if "error" in result:
        raise HubError(result.pop("error"), **result)
    return result["answer"]
