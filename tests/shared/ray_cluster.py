"""A Ray cluster of this machine that tests join."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.shared.paths import ROOT
from tests.shared.processes import MARK, find_processes, wait_until


@contextlib.contextmanager
def start_cluster(*, cpus: int, mark: str) -> Iterator[dict[str, str]]:
    """The variables with which a process joins a new cluster; it ends with the block."""
    variables = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    options = ["--head", "--block", "--port=0", "--include-dashboard=false", f"--num-cpus={cpus}"]
    # Paths of sockets have to be short.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        head = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ray.scripts.scripts",
                "start",
                *options,
                f"--temp-dir={folder}",
            ],
            env={**os.environ, **variables, MARK: mark, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = Path(folder, "ray_current_cluster")
            wait_until(lambda: address.is_file() and address.read_text().strip(), seconds=120)
            yield {**variables, "RAY_ADDRESS": address.read_text().strip()}
        finally:
            head.terminate()
            head.wait(60)
            wait_until(lambda: not find_processes(mark), seconds=30)
