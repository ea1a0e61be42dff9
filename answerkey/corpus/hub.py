"""Files of a Hugging Face dataset repository, read at exactly the commit that was asked for.

The hub's library holds a client of a silent server for minutes whatever its timeouts say, and reads
its environment only once, at import. So each request runs this file as a process of its own, which
is ended at the deadline. That library tries again, keeps files in its cache, and checks their
sizes; HF_ENDPOINT, HF_TOKEN, HF_HOME and HF_HUB_OFFLINE mean the same as to it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the process of a request has the standard library and the hub's alone
    from answerkey.sections.corpora import Download

COMMIT = re.compile(r"[0-9a-f]{40}")
_ATTEMPTS = 2
_BACKOFF_S = 1.0  # times the number of the attempt


class HubError(ConnectionError):
    """The hub did not give what was asked for."""


def resolve_revision(repo_id: str, revision: str, *, limits: Download) -> str:
    """The commit of a branch or tag, asked online; a full commit is its own answer, unasked.

    Raises:
        HubError: if the hub does not say.
    """
    if COMMIT.fullmatch(revision):
        return revision
    return _ask(repo_id, revision, "", limits)


def fetch_file(
    repo_id: str, revision: str, path: str, *, limits: Download, sha256: str | None = None
) -> Path:
    """The file of a full commit in the hub's cache, fetched if it is not there.

    Raises:
        HubError: if it does not come, or has another checksum; then it leaves the cache.
    """
    file = Path(_ask(repo_id, revision, path, limits))
    if sha256 is None:
        return file
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != sha256:
        file.resolve().unlink()  # the link to it alone would come back
        raise HubError(
            f"{path} of {repo_id} at {revision}: wrong checksum: sha256 is {found}, expected"
            f" {sha256}; run again to fetch it anew"
        )
    return file


def _ask(repo_id: str, revision: str, path: str, limits: Download) -> str:
    where = f"{path or 'commit'} of {repo_id} at {revision}"
    ends_at = time.monotonic() + limits.deadline_s
    for attempt in itertools.count(1):
        try:
            return _ask_once(repo_id, revision, path, seconds=ends_at - time.monotonic())
        except subprocess.TimeoutExpired:
            raise HubError(
                f"{where}: no end after {limits.deadline_s:g} s (download.deadline_s)"
            ) from None
        except HubError as error:
            if attempt == _ATTEMPTS:
                advice = "without a network, use `corpus: sample`"
                raise HubError(f"{where}: {error} ({attempt} attempts; {advice})") from error
            time.sleep(_BACKOFF_S * attempt)


def _ask_once(repo_id: str, revision: str, path: str, *, seconds: float) -> str:
    """Run this file, whose last line of output is the answer, or, with exit status 1, what went
    wrong. Its process dies with this call."""
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    quiet = {} if is_watched else {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", __file__, repo_id, revision, path],
        env={"HF_HUB_VERBOSITY": "error"} | os.environ | quiet,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if is_watched else subprocess.DEVNULL,
        timeout=seconds,
        encoding="utf-8",
        errors="replace",
    )
    *_, answer = done.stdout.strip().split("\n")
    if done.returncode != 0:
        raise HubError(answer or f"the transfer ended with code {done.returncode}")
    return answer


def _answer(repo_id: str, revision: str, path: str) -> str:
    from huggingface_hub import HfApi, hf_hub_download

    if path:
        return hf_hub_download(repo_id, path, repo_type="dataset", revision=revision)
    return HfApi().dataset_info(repo_id, revision=revision).sha


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: the parent says what there is to say
    try:
        print(_answer(*sys.argv[1:]))
    except Exception as error:  # the end of this process: the parent says it
        print(f"{type(error).__name__}: {' '.join(str(error).split())}")
        sys.exit(1)
