"""One request to the Hugging Face hub, run as a process of its own that its parent can end.

The hub's library holds a client of a silent server for minutes whatever its timeouts say, and reads
its environment only once, at import. So `answerkey.corpus.hub` runs this file as a script, gives it
a request as JSON, ends it at the deadline, and reads one JSON object from its last line of output:
`{"answer": ...}`, or `{"error": words, "is_permanent": true, "is_unreachable": false}`.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any


def resolve(repo_id: str, revision: str) -> str:
    """The commit that a branch or tag points to, by an online call."""
    from huggingface_hub import HfApi, constants

    timeout_s = constants.HF_HUB_ETAG_TIMEOUT
    return HfApi().dataset_info(repo_id, revision=revision, timeout=timeout_s).sha


def fetch(repo_id: str, revision: str, path: str, *, directory: str | None, is_forced: bool) -> str:
    """The local path of the file of that very commit: in the hub's cache, or newly fetched to
    `directory` (None: to the cache).

    A plain HEAD comes first: the library's own retries of it take half a minute without a network.
    """
    from huggingface_hub import (
        constants,
        get_hf_file_metadata,
        hf_hub_download,
        hf_hub_url,
        try_to_load_from_cache,
    )

    cached = try_to_load_from_cache(repo_id, path, revision=revision, repo_type="dataset")
    if isinstance(cached, str) and not is_forced:
        return cached
    url = hf_hub_url(repo_id, path, repo_type="dataset", revision=revision)
    found = get_hf_file_metadata(url, timeout=constants.HF_HUB_ETAG_TIMEOUT).commit_hash
    if found != revision:
        raise ValueError(f"asked for commit {revision}, was offered {found}")
    return hf_hub_download(
        repo_id,
        path,
        repo_type="dataset",
        revision=revision,
        local_dir=directory,
        force_download=is_forced,
    )


def describe_error(error: Exception) -> dict[str, Any]:
    """The error in a line, whether another attempt is in vain, and whether the hub itself was not
    reached."""
    from huggingface_hub import constants, errors

    asked = f"(asked {constants.ENDPOINT})"
    cause = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
    unreachable = {
        "error": f"{constants.ENDPOINT} cannot be reached: {cause}",
        "is_permanent": False,
        "is_unreachable": True,
    }
    # Order matters: a gated repository is a kind of one that is not found, and so on.
    known = (
        (errors.LocalEntryNotFoundError, ""),
        (errors.GatedRepoError, "access is restricted: ask for it there, then set HF_TOKEN"),
        (errors.RepositoryNotFoundError, "no such dataset, or a private one (then set HF_TOKEN)"),
        (errors.RevisionNotFoundError, "no such revision"),
        (errors.EntryNotFoundError, "no such file in that revision"),
    )
    if isinstance(error, errors.OfflineModeIsEnabled):
        words = f"HF_HUB_OFFLINE is set, and the cache does not have it from {constants.ENDPOINT}"
        return {"error": words, "is_permanent": True, "is_unreachable": True}
    for kind, words in known:
        if isinstance(error, kind):
            return {"error": f"{words} {asked}", "is_permanent": True} if words else unreachable
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        is_permanent = 400 <= status < 500 and status not in (408, 429)
        return {"error": f"HTTP {status} {asked}", "is_permanent": is_permanent}
    is_network = isinstance(error, ConnectionError | TimeoutError)
    if isinstance(error, ValueError | OSError) and not is_network:  # refused here, or by the disk
        return {"error": f"{cause} {asked}", "is_permanent": isinstance(error, ValueError)}
    return unreachable


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: the parent says what there is to say
    request = json.loads(sys.argv[1])
    act = {"resolve": resolve, "fetch": fetch}[request.pop("act")]
    try:
        result = {"answer": act(**request)}
    except Exception as error:  # the end of this process: the parent is told, and decides
        result = describe_error(error)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
