"""Ask the default DVC remote whether it answers, and whether its files are what their names say.

    python examples/check_remote.py
    python examples/check_remote.py --mend

It reads, on the remote, every file of the dataset that this clone knows of, and names those that
are missing or corrupted; exit status 1 where there are any, or where the remote does not answer.
`--mend` removes what is corrupted, so that `dvc push` stores it again out of a clone that has it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dvc.repo import Repo
from dvc_data.hashfile.db import HashFileDB
from dvc_data.hashfile.hash import hash_file
from dvc_data.hashfile.tree import Tree

FOLDER = ".dir"  # ends the name of a folder's list of files


class Findings(NamedTuple):
    """The names of a remote's files, by what is known of them."""

    right: list[str]
    missing: list[str]
    corrupted: list[str]


def list_names(repo: Repo) -> Iterator[str]:
    """The names of the dataset's files: hashes, out of dvc.lock and the folders in the cache."""
    cache = repo.cache.local
    for out in repo.index.outs:
        if not (out.use_cache and out.can_push and out.hash_info):
            continue
        yield out.hash_info.value
        if out.hash_info.isdir and cache.exists(out.hash_info.value):
            for _, _, hash_info in Tree.load(cache, out.hash_info):
                yield hash_info.value


def check_files(remote: HashFileDB, names: Iterable[str]) -> Findings:
    """What a remote holds of these files; each is read from end to end.

    Raises whatever its library raises where the remote does not answer.
    """
    findings = Findings([], [], [])
    for name in names:
        path = remote.oid_to_path(name)
        try:
            remote.fs.info(path)
        except FileNotFoundError as error:
            # Over HTTP, a server that is down looks like a missing file but for the cause.
            if error.__cause__ and getattr(error.__cause__, "status", None) != 404:
                raise error.__cause__ from None
            findings.missing.append(name)
            continue
        _, found = hash_file(path, remote.fs, remote.hash_name)
        is_right = found.value == name.removesuffix(FOLDER)
        (findings.right if is_right else findings.corrupted).append(name)
    return findings


def mend(remote: HashFileDB, findings: Findings) -> None:
    """Remove what is corrupted, and every list of files: a push looks for the files of a folder
    only where the remote does not have its list."""
    lists = [name for name in findings.right if name.endswith(FOLDER)]
    for name in findings.corrupted + lists:
        remote.delete(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mend", action="store_true", help="remove what is corrupted")
    arguments = parser.parse_args()
    with Repo() as repo:
        remote = repo.cloud.get_remote_odb()
        names = sorted(set(list_names(repo)))
        place = remote.fs.unstrip_protocol(remote.path)
        try:
            findings = check_files(remote, names)
            if arguments.mend and findings.corrupted:
                mend(remote, findings)
        except Exception as error:  # each kind of remote has a library, and errors, of its own
            print(f"ERROR: {place}: {error or type(error).__name__}", file=sys.stderr)
            return 1
    for title in ("missing", "corrupted"):
        for name in getattr(findings, title):
            print(f"{title}: {name[:2]}/{name[2:]}")
    print(f"{place}: {len(findings.right)} of {len(names)} files are right")
    if arguments.mend and findings.corrupted:
        print("Removed what is corrupted. Now: dvc push")
        return 0
    return int(bool(findings.missing or findings.corrupted))


if __name__ == "__main__":
    sys.exit(main())
