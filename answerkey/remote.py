"""Ask the default DVC remote whether it answers, and whether its files are what their names say."""

from __future__ import annotations

import sys
from typing import NamedTuple

from aiohttp import ClientError
from dvc.repo import Repo
from dvc.utils.strictyaml import YAMLFileCorruptedError, YAMLValidationError
from dvc_data.hashfile.db import HashFileDB
from dvc_data.hashfile.hash import hash_file
from dvc_data.hashfile.tree import Tree

FOLDER = ".dir"  # ends the name of a folder's list of files

# Errors by which libraries say that nobody may enter. They are known by their names, since a
# library is only installed where its kind of remote is used.
REFUSALS = ("KeyImportError", "NoCredentialsError", "PermissionDenied", "PermissionError")


class Findings(NamedTuple):
    """Paths of the dataset by the names that a remote has for them, by what is found there."""

    right: dict[str, str]
    missing: dict[str, str]
    corrupted: dict[str, str]


def connect(remote: HashFileDB) -> None:
    """Log in, if a kind of remote does so before it is asked for a file.

    Raises what its library raises if the remote does not answer or does not let us in.
    """
    try:
        _ = remote.fs.fs
    except FileNotFoundError as error:  # not a file of the dataset
        raise PermissionError(f"no keyfile {error.filename}") from None


def find_fault(remote: HashFileDB, name: str) -> str:
    """What is wrong with a file of a remote, which is read from end to end; "right" if nothing.

    Raises what its library raises if the remote does not answer or does not let us in.
    """
    path = remote.oid_to_path(name)
    try:
        _, found = hash_file(path, remote.fs, remote.hash_name)
    except FileNotFoundError as error:
        # Over HTTP, a server that is down looks like a missing file but for the cause.
        cause = error.__cause__
        if isinstance(cause, ClientError) and getattr(cause, "status", None) != 404:
            raise cause from None
        return "missing"
    return "right" if found.value == name.removesuffix(FOLDER) else "corrupted"


def check_files(repo: Repo, remote: HashFileDB) -> Findings:
    """What a remote holds of the files that dvc.lock names, and of those in its folders.

    Raises what its library raises if the remote does not answer or does not let us in.
    """
    findings = Findings({}, {}, {})

    def check(name: str, path: str) -> None:
        if not any(name in found for found in findings):
            getattr(findings, find_fault(remote, name))[name] = path

    for out in sorted(repo.index.outs, key=str):
        if not (out.use_cache and out.can_push and out.hash_info):
            continue
        name = out.hash_info.value
        check(name, f"{out}/" if out.hash_info.isdir else str(out))
        if out.hash_info.isdir:
            holders = [repo.cache.local] if repo.cache.local.exists(name) else []
            holders += [remote] if name in findings.right else []
            for parts, _, hash_info in Tree.load(holders[0], out.hash_info) if holders else ():
                check(hash_info.value, "/".join((str(out), *parts)))
    return findings


def mend(remote: HashFileDB, findings: Findings) -> None:
    """Remove what is corrupted, and every list of files: a push looks for the files of a folder
    only where the remote does not have its list."""
    lists = [name for name in findings.right if name.endswith(FOLDER)]
    for name in [*findings.corrupted, *lists]:
        remote.delete(name)


def describe(error: Exception) -> str:
    """What a library says of a remote that was not read, in one line."""
    status = getattr(error, "status", getattr(error, "status_code", None))
    refused = status in (401, 403) or type(error).__name__ in REFUSALS
    return f"{'not let in: ' if refused else ''}{error or type(error).__name__}"


def check_remote(*, is_mending: bool) -> int:
    """Read every file of the dataset on the remote, and name those that are missing or corrupted;
    exit status 1 if there are any, or if the remote does not answer or does not let us in.

    is_mending: remove what keeps `dvc push` from storing them again, from a clone that has them.
    """
    with Repo() as repo:
        remote = repo.cloud.get_remote_odb()
        place = remote.fs.unstrip_protocol(remote.path)
        try:
            connect(remote)
            findings = check_files(repo, remote)
            wrong = {**findings.missing, **findings.corrupted}
            if is_mending and wrong:
                mend(remote, findings)
        except (YAMLFileCorruptedError, YAMLValidationError) as error:
            print(f"ERROR: {error}: if a run was cut off, run", file=sys.stderr)
            print("git checkout dvc.lock && dvc repro", file=sys.stderr)
            return 1
        except Exception as error:  # each kind of remote has a library, and errors, of its own
            print(f"ERROR: {place}: {describe(error)}", file=sys.stderr)
            return 1
    for title in ("missing", "corrupted"):
        for name, path in getattr(findings, title).items():
            print(f"{title}: {path} ({name[:2]}/{name[2:]})")
    print(f"{place}: {len(findings.right)} of {len(findings.right) + len(wrong)} files are right")
    if not findings.right:
        print("ERROR: nothing is there: its url is wrong, or nobody has pushed", file=sys.stderr)
        return 1
    if is_mending and wrong:
        print("Now, in a clone that has these files: dvc push")
        return 0
    return int(bool(wrong))
