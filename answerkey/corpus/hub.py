"""Read files of a Hugging Face dataset repository, at exactly the wanted commit.

A failed request is tried a second time, after a pause. The hub's library would repeat each request
with longer and longer pauses, and waits for a silent server for minutes whatever its timeouts say.
So it runs in a separate process (this file), which ends with the first request that fails, or at
the deadline. It keeps files in the library's cache, and checks their sizes; HF_ENDPOINT, HF_TOKEN,
HF_HOME and HF_HUB_OFFLINE have their usual meaning.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # the process of a request imports only the standard library and the hub's
    from answerkey.sections.corpora import Download

COMMIT = re.compile(r"[0-9a-f]{40}")
_ATTEMPTS = 2
_BACKOFF_S = 1.0  # times the number of the attempt
_SILENCE_S = 10.0  # after which a line says that it waits, and again after twice as long
_ADVICE = (
    "without a network, use `corpus: sample`, which is here, or `local` with a copy in"
    " corpora.local.root"
)

Result = TypeVar("Result")


class HubError(ConnectionError):
    """The hub did not give the wanted file or commit."""


def resolve_revision(repo_id: str, revision: str, *, limits: Download) -> str:
    """Return the commit of a branch or tag, from the hub; a full commit is returned without a
    request.

    Raises:
        HubError: the hub does not answer.
    """
    if COMMIT.fullmatch(revision):
        return revision

    def ask(seconds: float) -> str:
        commit = _ask_once(repo_id, revision, "", seconds=seconds)
        if not COMMIT.fullmatch(commit):  # it becomes the name of a folder in the cache
            raise HubError(f"expected a commit of 40 hex digits, found {commit!r:.80}")
        return commit

    return _try_twice(ask, f"commit of {repo_id} at {revision}", limits)


def fetch_file(
    repo_id: str, revision: str, path: str, *, limits: Download, sha256: str | None = None
) -> Path:
    """Return the file of a full commit in the hub's cache; download it first if it is not there.

    Raises:
        HubError: the download fails, or has another checksum; then the file leaves the cache.
    """

    def fetch(seconds: float) -> Path:
        file = Path(_ask_once(repo_id, revision, path, seconds=seconds))
        if sha256 is not None:
            with file.open("rb") as content:
                actual = hashlib.file_digest(content, "sha256").hexdigest()
            if actual != sha256:
                file.resolve().unlink()  # the file itself: only its link would be made again
                raise HubError(f"wrong checksum: sha256 is {actual}, expected {sha256}")
        return file

    return _try_twice(fetch, f"{path} of {repo_id} at {revision}", limits)


def _try_twice(ask: Callable[[float], Result], where: str, limits: Download) -> Result:
    """Return the result of `ask`, which gets the seconds that are left."""
    ends_at = time.monotonic() + limits.deadline_s
    attempt = 0
    while True:
        attempt += 1
        try:
            return ask(ends_at - time.monotonic())
        except subprocess.TimeoutExpired:
            raise HubError(
                f"{where}: no end after {limits.deadline_s:g} s (download.deadline_s)"
            ) from None
        except HubError as error:
            if attempt == _ATTEMPTS:
                raise HubError(f"{where}: {error} ({attempt} attempts; {_ADVICE})") from error
            _say(f"{where}: {error}; once more")
            time.sleep(_BACKOFF_S * attempt)


def _say(words: str) -> None:
    from answerkey.base.secrets import hide_secrets  # which the process of a request lacks

    if sys.stderr is not None:
        print(hide_secrets(f"hub: {words}"), file=sys.stderr, flush=True)


def _ask_once(repo_id: str, revision: str, path: str, *, seconds: float) -> str:
    """Run this file. Its last line of output is the answer or, with exit status 1, the error. Its
    process dies with this call."""
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    quiet = {} if is_watched else {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-P", __file__, repo_id, revision, path]
    with subprocess.Popen(
        command,
        env={"HF_HUB_VERBOSITY": "error", "HF_HUB_DISABLE_XET": "1"} | os.environ | quiet,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if is_watched else subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            output = _wait(process, f"{path or 'commit'} of {repo_id}", seconds)
        finally:
            process.kill()
    *_, answer = output.strip().split("\n")
    if process.returncode != 0:
        raise HubError(answer or f"the transfer ended with code {process.returncode}")
    return answer


def _wait(process: subprocess.Popen[str], awaited: str, seconds: float) -> str:
    """Return the output of a process that has ended; say now and then that it is waited for."""
    waited, pause = 0.0, _SILENCE_S
    while True:
        try:
            return process.communicate(timeout=min(pause, max(seconds - waited, 0)))[0]
        except subprocess.TimeoutExpired:
            waited += pause
            if waited >= seconds:
                raise
            _say(f"{awaited}: waiting, {waited:g} s so far, {seconds:.0f} s at most")
            pause = waited


def _answer(repo_id: str, revision: str, path: str) -> str:
    from huggingface_hub import HfApi, get_session, hf_hub_download

    client: Any = get_session()
    client.send = _fail_at_once(client.send)
    if path:
        return hf_hub_download(repo_id, path, repo_type="dataset", revision=revision)
    commit = HfApi().dataset_info(repo_id, revision=revision).sha
    if commit is None:
        raise HubError(f"the hub names no commit of {repo_id} at {revision}")
    return commit


def _fail_at_once(send: Callable[..., Any]) -> Callable[..., Any]:
    """Turn failures into errors that the hub's library does not know, and so does not retry."""

    def send_once(*request: Any, **options: Any) -> Any:
        try:
            response = send(*request, **options)
        except Exception as error:
            raise HubError(f"{type(error).__name__}: {error}") from error
        if response.status_code in (408, 429) or response.status_code >= 500:
            raise HubError(f"HTTP {response.status_code} {response.reason_phrase}")
        read = response.iter_bytes

        def read_once(*sizes: Any, **named: Any) -> Iterator[bytes]:
            try:
                yield from read(*sizes, **named)
            except Exception as error:
                raise HubError(f"{type(error).__name__}: {error}") from error

        response.iter_bytes = read_once
        return response

    return send_once


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: the parent prints the message
    try:
        print(_answer(*sys.argv[1:]))
    except Exception as error:  # this process ends, and the parent prints it
        kind = "" if isinstance(error, HubError) else f"{type(error).__name__}: "
        print(f"{kind}{' '.join(str(error).split())}")
        sys.exit(1)
