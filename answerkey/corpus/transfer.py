"""One request to the Hugging Face hub, run as a process of its own that its parent can end.

The hub's library holds a client of a silent server for minutes whatever its timeouts say, and reads
its environment only once, at import. So `answerkey.corpus.hub` runs this file as a script and ends
it at the deadline. Its last line of output is the answer, or, with exit status 1, what went wrong.
"""

import signal
import sys


def ask(repo_id: str, revision: str, path: str) -> str:
    """Return the local path of a file, or the commit of a branch or tag if the path is empty."""
    from huggingface_hub import HfApi, hf_hub_download

    if path:
        return hf_hub_download(repo_id, path, repo_type="dataset", revision=revision)
    return HfApi().dataset_info(repo_id, revision=revision).sha


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: the parent says what there is to say
    try:
        print(ask(*sys.argv[1:]))
    except Exception as error:  # the end of this process: the parent says it
        print(f"{type(error).__name__}: {' '.join(str(error).split())}")
        sys.exit(1)
