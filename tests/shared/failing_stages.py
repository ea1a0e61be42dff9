"""Stages that fail, or are killed, in the middle of what they write, as on a full disk.

    python -m tests.shared.failing_stages '{"load_questions": ["data/interim/questions.jsonl"]}'

takes stages and their outs, in the order of the pipeline, in a project that has run. Each stage is
run with too little room for its largest files, in processes of its own, and then with enough. What
became of its outs is printed as JSON, by stage.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from pathlib import Path

from tests.shared.checkout import hash_tree
from tests.shared.stages import call_stage

MAX_SECONDS = 120


def fail_stages(stages: dict[str, list[str]]) -> dict[str, dict[str, object]]:
    """The outs of each stage before it failed, after that, and after it ran."""
    return {name: fail_stage(name, outs) for name, outs in stages.items()}


def fail_stage(name: str, outs: list[str]) -> dict[str, object]:
    before = hash_outs(outs)
    largest = max((Path(path).stat().st_size for path in before), default=0)
    statuses = [
        run_stage(name, max_bytes=largest // 2),
        run_stage(name, max_bytes=largest // 3, is_killed=True),  # what comes may be smaller
    ]
    failed = hash_outs(outs)
    statuses.append(run_stage(name))
    return {"statuses": statuses, "before": before, "failed": failed, "after": hash_outs(outs)}


def hash_outs(outs: list[str]) -> dict[str, str]:
    """sha256 of each file, but for keys of shards, which are appended to, and what .dvcignore has:
    the rest of a file that was being written."""
    files = hash_tree(Path(), "data", "metrics", "plots", "reports")
    made = tuple(out for out in outs if not out.endswith(".keys"))
    return {
        path: sha256
        for path, sha256 in files.items()
        if (path in made or path.startswith(tuple(f"{out}/" for out in made)))
        and not path.endswith(".partial")
    }


def run_stage(name: str, *, max_bytes: int | None = None, is_killed: bool = False) -> int:
    """The status of a stage; a file that grows beyond the bytes is an error, or kills."""
    importlib.import_module(f"stages.{name}")
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(MAX_SECONDS)
            if is_killed:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            if max_bytes is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, resource.RLIM_INFINITY))
            call_stage(name)
            status = 0
        except Exception as error:
            print(f"{name}: {error!r}", file=sys.stderr)
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    print(json.dumps(fail_stages(json.loads(sys.argv[1]))))
